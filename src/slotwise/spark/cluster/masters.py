"""Existing clusters by the address of their master, as `--master` has it."""

from __future__ import annotations

import os
import secrets
import socket
from collections.abc import Mapping
from pathlib import Path

from slotwise.model import SlotwiseError
from slotwise.spark.cluster import java

STANDALONE = "spark://"
YARN = "yarn"
KUBERNETES = "k8s://"
IMAGE = "spark.kubernetes.container.image"
IMAGE_OF_EXECUTORS = "spark.kubernetes.executor.container.image"
EXECUTOR_POD = Path(__file__).parent.parent / "kubernetes" / "executor-pod.yaml"
"""The template of their pods; see jvm/…/KubernetesNodes.java."""
HADOOP = ("HADOOP_CONF_DIR", "YARN_CONF_DIR")


def is_standalone(master: str) -> bool:
    return master.startswith(STANDALONE)


def url(master: str | None) -> str:
    """The master of a session, which chooses our scheduler (jvm/…/PlacedClusterManager.java). That
    of a standalone master is named by `connect`.

    >>> url("spark://here:7077"), url("yarn")
    ('spark-placed:standalone', 'spark-placed:yarn')
    """
    if master is None or is_standalone(master):
        return "spark-placed:standalone"
    return f"spark-placed:{master}"


def settings(master: str, executors: int) -> dict[str, str]:
    """What this kind of master needs beside the settings of every session."""
    if is_standalone(master):
        return {}
    made = {"spark.executor.instances": str(executors)}
    if master.startswith(KUBERNETES):
        made["spark.kubernetes.executor.request.cores"] = "1"
        made["spark.kubernetes.executor.podTemplateFile"] = str(EXECUTOR_POD)
    return made


def authentication(master: str | None, conf: Mapping[str, str]) -> dict[str, str]:
    """A secret for a session that needs one and has none. Spark makes it on YARN and Kubernetes,
    but not where the master's address is ours.
    """
    asks = conf.get("spark.authenticate") == "true"
    has = any(name.startswith("spark.authenticate.secret") for name in conf)
    if master is None or is_standalone(master) or has or not asks:
        return {}
    return {"spark.authenticate.secret": secrets.token_hex(32)}


def check(master: str) -> None:
    """Raise SlotwiseError, with one sentence, unless a session can be made at this master."""
    check_kind(master)
    java.check()
    if is_standalone(master):
        _check_answers(master, *_address(master))
    elif master == YARN:
        _check_hadoop()


def check_kind(master: str) -> None:
    """Raise SlotwiseError unless this is the address of a master, whether there is one or not."""
    if is_standalone(master):
        _address(master)
    elif master != YARN and not (master.startswith(KUBERNETES) and len(master) > len(KUBERNETES)):
        raise SlotwiseError(
            f"invalid master '{master}': expected spark://host:port, yarn or k8s://https://host:port"
        )


def check_conf(master: str, conf: Mapping[str, str]) -> None:
    """Raise SlotwiseError for a setting that this master cannot do without."""
    if not master.startswith(KUBERNETES) or os.environ.get("SPARK_CONF_DIR"):
        return
    if not {IMAGE, IMAGE_OF_EXECUTORS} & conf.keys():
        raise SlotwiseError(
            f"{master} needs the image of the executors: --spark-conf {IMAGE}=NAME, one that was "
            "built from Slotwise's Dockerfile"
        )


def _address(master: str) -> tuple[str, int]:
    host, _, port = master.removeprefix(STANDALONE).rpartition(":")
    if not (host and port.isdigit()):
        raise SlotwiseError(f"invalid master '{master}': expected spark://host:port")
    return host, int(port)


def _check_answers(master: str, host: str, port: int) -> None:
    try:
        socket.create_connection((host, port), timeout=5).close()
    except (OSError, OverflowError) as failed:
        reason = failed.strerror if isinstance(failed, OSError) else failed
        raise SlotwiseError(f"cannot connect to master {master}: {reason or failed}") from failed


def _check_hadoop() -> None:
    """Spark's client finds the resource manager by Hadoop's settings only."""
    folder = next((os.environ[name] for name in HADOOP if os.environ.get(name)), None)
    if folder is None:
        raise SlotwiseError(
            "--master yarn needs Hadoop's settings: set HADOOP_CONF_DIR to the folder with "
            "yarn-site.xml and core-site.xml"
        )
    if not (Path(folder) / "yarn-site.xml").is_file():
        raise SlotwiseError(
            f"{folder} has no yarn-site.xml: set HADOOP_CONF_DIR to the one that has"
        )
