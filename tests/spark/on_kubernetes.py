"""A program with a run on Kubernetes, of which a pod is killed; for test_kubernetes.py. The API is
that of kubernetes.py.

`python -m tests.spark.on_kubernetes` prints one line of JSON.
"""

from __future__ import annotations

import json
import os
import subprocess
import tempfile
from pathlib import Path
from typing import Any

from ruamel.yaml import YAML

from slotwise.model import Cluster, Node, Plan
from slotwise.spark import cluster
from slotwise.spark.cluster import Site, class_archive, java
from slotwise.spark.kubernetes import manifests
from slotwise.spark.query.outline import outline
from slotwise.spark.run import Options
from slotwise.spark.start_up import Timeline, launched
from slotwise.spark.submission import Submission, script
from tests.spark import kubernetes
from tests.spark.kubernetes import Kubernetes
from tests.spark.losing import lose_executor, places
from tests.spark.plans import plan, topology
from tests.spark.running import written

NODES = {"small": 1, "large": 2, "other": 2}
THREE_SLOTS = Cluster((Node("small", 1, 1.0), Node("large", 2, 2.0)), slot_memory_gb=1.0)


def main() -> None:
    of = plan(topology("s>a", "a>b", "b>k"), {"a": 3, "b": 2}, on=THREE_SLOTS, rate=200.0)
    times = Timeline()
    os.environ["SPARK_LOCAL_IP"] = "127.0.0.1"
    with tempfile.TemporaryDirectory() as name, kubernetes.serving(NODES, Path(name)) as made:
        folder = Path(name)
        driver = _submitted(_submission(of, made.address), made, folder)
        options = Options(folder / "checkpoint", batch_seconds=2, output=folder / "out")
        site = Site(made.address, conf=_conf(folder))
        with launched(outline(of), options, site=site, timeline=times) as run:
            pods = list(made.objects[kubernetes.PODS].values())
            hosts = [slot.host if slot else None for slot in cluster.slots(run.spark)]
            placed = places(run)
            lose_executor(run, lambda: made.end(pods[0]["metadata"]["name"]))
            told = {"hosts": hosts, "placed": placed, "after": places(run)}
        ids = sorted(row["id"] for row in written(folder))
        told["complete"] = bool(ids) and ids == list(range(len(ids)))
        left = [kind for kind, found in made.objects.items() if found]
    told |= {"pods": [pod["spec"] for pod in pods], "left": left, "driver": driver}
    print(json.dumps({**told, "start_up": times.steps}))


def _submission(of: Plan, master: str) -> Submission:
    conf = {"spark.kubernetes.submission.waitAppCompletion": "false"}
    return Submission("spec.yaml", of, master, ["--for", "1h"], conf, "slotwise")


def _conf(folder: Path) -> dict[str, str]:
    template = folder / "executor-pod.yaml"
    template.write_text(manifests.text([manifests.executor_pod(THREE_SLOTS)]))
    return {
        "spark.authenticate": "true",
        "spark.kubernetes.container.image": "slotwise",
        "spark.kubernetes.executor.podTemplateFile": str(template),
        # There is no way here to watch pods: they are listed.
        "spark.kubernetes.executor.enableApiWatcher": "false",
        "spark.kubernetes.executor.apiPollingInterval": "500ms",
        "spark.kubernetes.allocation.batch.delay": "500ms",
        "spark.executor.extraClassPath": str(java.classpath_jar()),
        "spark.executor.extraJavaOptions": " ".join(
            [*class_archive.options(), "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1"]
        ),
    }


def _submitted(of: Submission, made: Kubernetes, folder: Path) -> dict[str, Any]:
    """The driver's pod that spark-submit asks for, which is not started, and what kubectl gets."""
    kubectl = folder / "kubectl"
    kubectl.write_text(f"#!/bin/sh\ncat > {folder}/applied.yaml\n")
    kubectl.chmod(0o700)
    ran = subprocess.run(
        ["sh", "-c", script(of)],
        env={**os.environ, "PATH": f"{folder}{os.pathsep}{os.environ['PATH']}"},
        cwd=folder,
        capture_output=True,
        text=True,
    )
    assert ran.returncode == 0, ran.stderr
    (pod,) = made.objects.pop(kubernetes.PODS).values()
    made.objects.clear()
    applied = YAML(typ="safe").load_all((folder / "applied.yaml").read_text())
    return {"pod": pod["spec"], "applied": [each["kind"] for each in applied]}


if __name__ == "__main__":
    main()
