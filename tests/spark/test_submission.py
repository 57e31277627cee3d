"""What `slotwise submit --print` prints, without Spark: scripts for three kinds of masters."""

from __future__ import annotations

import os
import re
import shlex
import subprocess
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("pyspark")

from ruamel.yaml import YAML

import slotwise
from slotwise.cli import DONE, ERROR, USAGE, run
from slotwise.spark import submitted
from slotwise.spark.cluster import java
from slotwise.spark.kubernetes import image, manifests
from slotwise.spec import loads
from slotwise.spec.plan_json import plan_from_json

ROOT = Path(__file__).parents[2]
ENTRYPOINT = Path(manifests.__file__).with_name("entrypoint.sh")
SPEC = """
topology:
  name: Two Words
  operators: {s: {kind: source}, a: {expr: upper(value)}, k: {kind: sink}}
  streams: [{from: s, to: a}, {from: a, to: k}]
profiles: {s: {fixed: {}}, a: {service: {rate: 1000, cpu: 0.1}}, k: {fixed: {}}}
cluster: [{name: worker-1, slots: 1, memory_gb: 1}, {name: worker-2, slots: 1, memory_gb: 1}]
goals: {rate: 100}
conf: {spark.io.compression.codec: zstd}
"""
STANDALONE, KUBERNETES = "spark://host:7077", "k8s://https://host:6443"


@pytest.fixture
def spec(tmp_path: Path) -> str:
    file = tmp_path / "two words.yaml"
    file.write_text(SPEC, encoding="utf-8")
    return str(file)


def printed(capsys: pytest.CaptureFixture[str], *arguments: str) -> str:
    """A script that sh can read."""
    assert run(["submit", "--print", *arguments]) == DONE
    text = capsys.readouterr().out
    assert subprocess.run(["sh", "-n"], input=text, text=True).returncode == 0
    return text


def call(text: str) -> list[str]:
    """The words of its call of spark-submit."""
    begins = text.index(str(java.spark_home() / "bin" / "spark-submit"))
    return shlex.split(text[begins:])


def options(words: list[str], name: str) -> list[str]:
    return [value for option, value in pairwise(words) if option == name]


def test_on_a_standalone_master_the_driver_runs_here(
    spec: str, capsys: pytest.CaptureFixture[str]
) -> None:
    given = ("--spark-conf", "spark.ui.port=0", "--", "--for", "1h")
    words = call(printed(capsys, spec, "--master", STANDALONE, *given))
    program = words.index(submitted.__file__)
    assert words[program + 1 :] == [
        *("run", spec, "--master", STANDALONE),
        *("--spark-conf", "spark.ui.port=0", "--for", "1h"),
    ]
    before = words[:program]
    assert options(before, "--master") == [STANDALONE]
    assert options(before, "--deploy-mode") == ["client"]
    assert options(before, "--name") == ["Two Words"]
    assert {f"spark.jars={java.JAR}", f"spark.driver.extraClassPath={java.JAR}"} <= set(
        options(before, "--conf")
    )


def test_a_plan_goes_with_its_spec(
    spec: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    plan = str(tmp_path / "plan.json")
    assert run(["plan", spec, "--output", plan]) == DONE
    capsys.readouterr()
    text = printed(capsys, spec, "--master", "yarn", "--plan", plan)
    assert call(text)[-2:] == ["--plan", plan]
    assert "HADOOP_CONF_DIR" in text


def documents(text: str) -> list[dict[str, Any]]:
    """The manifests of a script, then its templates."""
    found = re.findall(r"<<'(\S+)'\n(.*?)^\1$", text, re.DOTALL | re.MULTILINE)
    return [each for _, part in found for each in YAML(typ="safe").load_all(part)]


def test_on_kubernetes_the_driver_has_a_pod_with_spec_and_plan(
    spec: str, capsys: pytest.CaptureFixture[str]
) -> None:
    given = ("--image", "slotwise:1", "--namespace", "streams", "--", "--for", "1h")
    text = printed(capsys, spec, "--master", KUBERNETES, *given)
    *_, binding, files, driver = documents(text)
    assert binding["subjects"] == [
        {"kind": "ServiceAccount", "name": "slotwise", "namespace": "streams"}
    ]
    assert files["metadata"]["name"] == "slotwise-two-words"
    assert loads(files["data"]["spec.yaml"]).topology == slotwise.load(spec).topology
    assert plan_from_json(files["data"]["plan.json"]) == slotwise.plan(spec)
    (volume,) = driver["spec"]["volumes"]
    assert volume["configMap"]["name"] == "slotwise-two-words"
    words = call(text)
    assert options(words, "--deploy-mode") == ["cluster"]
    conf = dict(each.split("=", 1) for each in options(words, "--conf"))
    assert conf["spark.kubernetes.container.image"] == "slotwise:1"
    assert conf["spark.kubernetes.namespace"] == "streams"
    assert conf["spark.io.compression.codec"] == "zstd"
    program = words[words.index(image.PROGRAM) :]
    assert options(program, "run") == ["/opt/slotwise/work/spec.yaml"]
    assert options(program, "--plan") == ["/opt/slotwise/work/plan.json"]
    assert "spark.kubernetes.container.image=slotwise:1" in options(program, "--spark-conf")
    assert program[-2:] == ["--for", "1h"]


def test_executors_go_to_nodes_of_the_plan() -> None:
    def rule(of: str) -> dict[str, Any]:
        pod = manifests.executor_pod(slotwise.plan(of).cluster)
        affinity = pod["spec"]["affinity"]["nodeAffinity"]
        (term,) = affinity["requiredDuringSchedulingIgnoredDuringExecution"]["nodeSelectorTerms"]
        (found,) = term["matchExpressions"]
        return found

    types = {node.type for node in slotwise.plan("word-count").cluster.nodes}
    assert rule("word-count") == {
        "key": "node.kubernetes.io/instance-type",
        "operator": "In",
        "values": sorted(types),
    }


def test_named_nodes_are_hosts(spec: str) -> None:
    pod = manifests.executor_pod(slotwise.load(spec).cluster)  # type: ignore[arg-type]
    assert "kubernetes.io/hostname" in str(pod)
    assert "'values': ['worker-1', 'worker-2']" in str(pod)
    assert "SPARK_EXECUTOR_ATTRIBUTE_NODE" in str(pod)


def test_what_cannot_be_submitted_is_refused(
    spec: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    def told(*arguments: str, status: int = ERROR) -> str:
        assert run(["submit", "--print", *arguments]) == status
        return capsys.readouterr().err

    assert "Kubernetes needs --image" in told(spec, "--master", KUBERNETES)
    assert "--image is for Kubernetes" in told(spec, "--master", "yarn", "--image", "x")
    assert "invalid master 'here'" in told(spec, "--master", "here")
    assert "--fro" in told(spec, "--master", "yarn", "--", "--fro", "1h", status=USAGE)
    jars = tmp_path / "jars.yaml"
    jars.write_text(f"{SPEC}jars: [functions.jar]\n", encoding="utf-8")
    refused = told(str(jars), "--master", KUBERNETES, "--image", "x")
    assert "on Kubernetes a jar is in the image" in refused


def test_the_image_starts_java_with_the_class_path_of_the_archive(tmp_path: Path) -> None:
    fake = tmp_path / "java"
    fake.write_text("#!/bin/sh\nprintf '%s\\n' \"$@\"\n", encoding="utf-8")
    fake.chmod(0o700)
    given = {
        "SPARK_HOME": str(java.spark_home()),
        "SPARK_CLASSPATH": str(java.JAR),
        "SPARK_CONF_DIR": "/opt/spark/conf",
        "SPARK_JAVA_OPT_0": "-Da=b c",
        "SPARK_JAVA_OPT_1": "-Dd=$e",
        "SPARK_EXECUTOR_MEMORY": "512m",
        "SPARK_EXECUTOR_POD_IP": "10.0.0.1",
        "PATH": f"{tmp_path}:{os.environ['PATH']}",
    }
    told = subprocess.run(["sh", str(ENTRYPOINT), "executor"], env=given, capture_output=True)
    words = told.stdout.decode().splitlines()
    assert words[:2] == ["-Da=b c", "-Dd=$e"]
    assert {"-Xms512m", "-Xmx512m"} <= set(words)
    launched = java.launched("org.slotwise.Daemon")
    (path,) = options(launched, "-cp")
    assert options(words, "-cp") == [f"{path}:/opt/spark/conf"]
    assert options(words, "--hostname") == ["10.0.0.1"]


def test_the_dockerfile_puts_things_where_they_are_looked_for() -> None:
    text = (ROOT / "Dockerfile").read_text(encoding="utf-8")
    assert f"--target {image.FOLDER}/python" in text
    package = Path(slotwise.__file__).parents[1]
    for path in (image.JAR, image.PROGRAM.removeprefix("local://")):
        inside = Path(path).relative_to(f"{image.FOLDER}/python")
        assert (package / inside).is_file()
    assert str(ENTRYPOINT.relative_to(package)) in text
