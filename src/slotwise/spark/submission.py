"""A plan for spark-submit: the shell script that `slotwise submit` prints or runs.

Spark's program is then `slotwise run` with the same options. On a standalone master and on YARN the
driver runs where spark-submit does; on Kubernetes in a pod of its own, from Slotwise's image.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from slotwise.model import Pipeline, Plan, SlotwiseError
from slotwise.spark import submitted
from slotwise.spark.cluster import java, libraries, masters, processes, sessions
from slotwise.spark.cluster.conf import AT_LAUNCH, joined
from slotwise.spark.cluster.standalone import SparkCluster
from slotwise.spark.kubernetes import image, manifests
from slotwise.spec import dump
from slotwise.spec.plan_json import plan_to_json

INSIDE = f"{masters.KUBERNETES}https://kubernetes.default.svc"
"""The master, as seen from a pod."""
OF_PROGRAM = ("spark.jars", "spark.pyspark.python", "spark.pyspark.driver.python")
END = "END-OF-SLOTWISE"
SPEC, PLAN = "spec.yaml", "plan.json"


@dataclass(frozen=True)
class Submission:
    """What is to be submitted, and where."""

    spec: str
    """As `slotwise run` takes it."""
    plan: Plan
    master: str
    options: Sequence[str] = ()
    """Of `slotwise run`, other than the following ones."""
    conf: Mapping[str, str] = field(default_factory=dict)
    image: str | None = None
    """On Kubernetes: the containers' image."""
    namespace: str = "default"

    @property
    def name(self) -> str:
        """The topology's, as Kubernetes takes names."""
        plain = re.sub("[^a-z0-9]+", "-", self.plan.pipeline.topology.name.lower())
        return f"slotwise-{plain}"[:50].strip("-")


def script(of: Submission) -> str:
    """For `sh`. Raises SlotwiseError for what cannot be submitted."""
    masters.check_kind(of.master)
    if of.master.startswith(masters.KUBERNETES):
        return _on_kubernetes(of)
    if of.image is not None:
        raise SlotwiseError(f"--image is for Kubernetes: remove it, or --master {of.master}")
    return _on_this_machine(of)


def _on_this_machine(of: Submission) -> str:
    """One call of spark-submit, whose driver runs here."""
    chosen = libraries.settings(of.plan.pipeline, of.conf)
    cluster = SparkCluster(of.plan.cluster, 1, 512, master=of.master)
    made = joined(sessions.settings(cluster, of.plan.pipeline.topology.name), chosen)
    at_launch = {name: made[name] for name in (*AT_LAUNCH, *OF_PROGRAM) if made.get(name)}
    given = [part for item in of.conf.items() for part in ("--spark-conf", "=".join(item))]
    program = [submitted.__file__, "run", of.spec, "--master", of.master, *given, *of.options]
    call = _spark_submit(of, "client", {**at_launch, **of.conf}, program)
    needs = "HADOOP_CONF_DIR must name the folder with yarn-site.xml.\n# "
    remark = f"{needs if of.master == masters.YARN else ''}The driver runs on this machine."
    return f"#!/bin/sh\n# {remark}\n{call}\n"


def _on_kubernetes(of: Submission) -> str:
    """The manifests are applied, then the driver's pod is submitted."""
    if of.image is None:
        raise SlotwiseError(
            "Kubernetes needs --image: one that was built from Slotwise's Dockerfile"
        )
    pipeline = of.plan.pipeline
    files = {
        SPEC: dump(pipeline),
        PLAN: plan_to_json(of.plan),
        manifests.EXECUTOR_TEMPLATE: manifests.text([manifests.executor_pod(of.plan.cluster)]),
    }
    applied = manifests.text(manifests.manifests(of.name, of.namespace, files))
    driver = manifests.text([manifests.driver_pod(of.name)])
    call = _spark_submit(of, "cluster", _driver_conf(of), [image.PROGRAM, *_in_a_pod(of)])
    return "\n".join(
        [
            "#!/bin/sh",
            "# The driver runs in a pod of its own. kubectl must be configured for the cluster.",
            "set -e",
            f"kubectl apply --filename - <<'{END}'\n{applied}{END}",
            f"cat > {_driver_file(of)} <<'{END}'\n{driver}{END}",
            f"{call}\n",
        ]
    )


def _driver_file(of: Submission) -> str:
    return f"{of.name}-driver.yaml"


def _driver_conf(of: Submission) -> dict[str, str]:
    pipeline = of.plan.pipeline
    jars = ",".join(f"local://{path}" for path in (image.JAR, *_jars(pipeline)))
    made = {
        "spark.kubernetes.container.image": of.image or "",
        "spark.kubernetes.namespace": of.namespace,
        "spark.kubernetes.authenticate.driver.serviceAccountName": manifests.ACCOUNT,
        "spark.kubernetes.driver.podTemplateFile": _driver_file(of),
        "spark.kubernetes.driver.request.cores": "1",
        "spark.jars": jars,
        "spark.driver.extraClassPath": image.JAR,
        "spark.driver.extraJavaOptions": processes.DRIVER_LOGGING,
    }
    if pipeline.packages:
        made["spark.jars.packages"] = ",".join(pipeline.packages)
    return joined(made, {**dict(pipeline.conf), **of.conf})


def _jars(pipeline: Pipeline) -> Iterable[str]:
    for jar in pipeline.jars:
        if not (jar.startswith("/") and jar.endswith(".jar")):
            raise SlotwiseError(
                f"jars: {jar}: on Kubernetes a jar is in the image, so give its path there, such "
                "as /opt/jars/functions.jar"
            )
        yield jar


def _in_a_pod(of: Submission) -> list[str]:
    """The arguments of `slotwise` in the driver's pod."""
    ours = {
        "spark.kubernetes.container.image": of.image or "",
        "spark.kubernetes.executor.podTemplateFile": f"{image.WORK}/{manifests.EXECUTOR_TEMPLATE}",
        "spark.executor.extraClassPath": image.JAR,
        "spark.executor.extraJavaOptions": image.java_options(),
    }
    conf = joined(ours, of.conf)
    given = [part for item in conf.items() for part in ("--spark-conf", "=".join(item))]
    files = [f"{image.WORK}/{SPEC}", "--plan", f"{image.WORK}/{PLAN}"]
    return ["run", *files, "--master", INSIDE, "--runs", "none", *given, *of.options]


def _spark_submit(
    of: Submission, mode: str, conf: Mapping[str, str], program: Sequence[str]
) -> str:
    """The call, an option per line."""
    path = java.spark_home() / "bin" / "spark-submit"
    name = of.name if mode == "cluster" else of.plan.pipeline.topology.name
    options = [("--master", of.master), ("--deploy-mode", mode), ("--name", name)]
    options += [("--conf", f"{key}={value}") for key, value in conf.items()]
    lines = [shlex.quote(str(path)), *(f"{key} {shlex.quote(value)}" for key, value in options)]
    return " \\\n  ".join([*lines, shlex.join(program)])
