"""A small YARN on this machine: a resource manager, and nodes at loopback addresses."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from slotwise.spark.cluster import java
from slotwise.spark.cluster.processes import end_by_input, free_port
from tests.spark import maven

HOST = "127.0.0.1"
NODES = ("127.0.0.31", "127.0.0.32")
NODE_MB = 2700
"""Three containers of an executor of 512 MB, with what YARN's client adds to it."""
SITE = """<configuration>
{properties}
</configuration>
"""


@contextmanager
def running(folder: Path, nodes: Sequence[str] = NODES) -> Iterator[Path]:
    """The folder with Hadoop's settings for it; its processes are ended after."""
    settings = folder / "settings"
    settings.mkdir()
    (settings / "core-site.xml").write_text(_site({"fs.defaultFS": "file:///"}))
    (settings / "yarn-site.xml").write_text(_site(_yarn(folder)))
    jars = [str(settings), f"{maven.minicluster()}/*", f"{java.spark_home()}/jars/*"]
    log = folder / "yarn.log"
    with log.open("w") as written:
        process = subprocess.Popen(
            [
                *(java.java(), "-Xmx256m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1"),
                *("-cp", os.pathsep.join(jars), str(Path(__file__).with_name("MiniYarn.java"))),
                *(str(folder), *nodes),
            ],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=written,
            env={**os.environ, "JAVA_HOME": str(Path(java.java()).resolve().parents[1])},
            cwd=folder,
        )
    try:
        assert process.stdout is not None
        assert b"ready" in process.stdout.read(5), log.read_text()[-3000:]
        yield settings
    finally:
        end_by_input(process, 10)
        process.stdout.close()


def _yarn(folder: Path) -> dict[str, str]:
    services = ("", "scheduler.", "resource-tracker.")
    free: set[int] = set()
    while len(free) < len(services):
        free.add(free_port(HOST))
    ports = zip(services, free, strict=True)
    return {
        **{f"yarn.resourcemanager.{name}address": f"{HOST}:{port}" for name, port in ports},
        **{f"yarn.resourcemanager.{name}.address": f"{HOST}:0" for name in ("admin", "webapp")},
        "yarn.resourcemanager.hostname": HOST,
        "yarn.resourcemanager.scheduler.class": "org.apache.hadoop.yarn.server.resourcemanager"
        ".scheduler.fifo.FifoScheduler",
        "yarn.scheduler.minimum-allocation-mb": "100",
        "yarn.nodemanager.resource.memory-mb": str(NODE_MB),
        "yarn.nodemanager.resource.cpu-vcores": "3",
        "yarn.nodemanager.vmem-check-enabled": "false",
        "yarn.nodemanager.pmem-check-enabled": "false",
        "yarn.nodemanager.disk-health-checker.enable": "false",
        "yarn.nm.liveness-monitor.expiry-interval-ms": "5000",
        "yarn.resourcemanager.nodemanagers.heartbeat-interval-ms": "200",
        "hadoop.tmp.dir": str(folder),
    }


def _site(properties: dict[str, str]) -> str:
    return SITE.format(
        properties="\n".join(
            f"<property><name>{name}</name><value>{value}</value></property>"
            for name, value in properties.items()
        )
    )
