"""Existing clusters by the address of their master, as `--master` has it."""

from __future__ import annotations

import os
import socket
from pathlib import Path

from slotwise.model import SlotwiseError
from slotwise.spark.cluster import java

STANDALONE = "spark://"
YARN = "yarn"
KUBERNETES = "k8s://"
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
    return made


def check(master: str) -> None:
    """Raise SlotwiseError, with one sentence, unless a session can be made at this master."""
    if is_standalone(master):
        host, port = _address(master)
        java.check()
        _check_answers(master, host, port)
    elif master == YARN:
        java.check()
        _check_hadoop()
    elif master.startswith(KUBERNETES) and len(master) > len(KUBERNETES):
        java.check()
    else:
        raise SlotwiseError(
            f"invalid master '{master}': expected spark://host:port, yarn or k8s://https://host:port"
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
