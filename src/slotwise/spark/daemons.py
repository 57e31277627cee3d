"""The processes of an embedded cluster: a standalone master and its workers."""

from __future__ import annotations

import json
import re
import socket
import subprocess
import time
import urllib.error
import urllib.request
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

from slotwise.model import SlotwiseError
from slotwise.spark import archive, java

START_SECONDS = 60
STOP_SECONDS = 10
POLL_SECONDS = 0.1
SETTINGS = "daemons.conf"
"""Empty, in place of those that somebody may have given to all of Spark."""
LOGGING = "-Dlog4j2.configurationFile=slotwise-log4j2.properties"
DRIVER_LOGGING = "-Dlog4j2.configurationFile=slotwise-driver-log4j2.properties"
QUICK_START = ("-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC")
"""For processes that do little and live shortly: a third less CPU time until they are ready."""
HOT_CODE_ONLY = (
    "-XX:+UseSerialGC",
    "-XX:Tier4InvocationThreshold=50000",
    "-XX:Tier4MinInvocationThreshold=6000",
    "-XX:Tier4CompileThreshold=150000",
    "-XX:Tier4BackEdgeThreshold=400000",
)
"""For executors that share few cores: Java optimises what runs ten times as often as by default.
Else its compiler takes the cores from the query, for the first half minute."""
OPTIONS = (
    "-Xmx128m",
    LOGGING,
    *QUICK_START,
    "-Dspark.port.maxRetries=0",
    # Nobody submits jobs to it, and its port is fixed: a second cluster would not start.
    "-Dspark.master.rest.enabled=false",
)


@dataclass(frozen=True)
class Worker:
    """One node's worker: where it listens and what it may give to executors."""

    name: str
    host: str
    cores: int
    memory_mb: int


@contextmanager
def running(
    folder: Path, host: str, port: int, workers: Sequence[Worker]
) -> Iterator[tuple[int, ...]]:
    """Start the master and the workers, wait until all have found each other; end them after.

    Gives their process ids, the master's first. Each hangs on a pipe from this program and ends
    when that closes (jvm/…/Daemon.java), so none is left whatever becomes of us. They are in
    sessions of their own: a Ctrl-C reaches this program only, which ends them in order.
    """
    launched = java.launched("org.slotwise.Daemon")
    command = [*launched[:-1], *OPTIONS, *archive.options(), launched[-1]]
    (folder / SETTINGS).touch()
    page = free_port(host)
    with ExitStack() as stack:
        master = stack.enter_context(
            _process(
                [*command, *_master_arguments(host, port, page)],
                folder / "master.log",
                host,
            )
        )
        started = [master]
        for worker in workers:
            arguments = _worker_arguments(worker, folder, f"spark://{host}:{port}")
            log = folder / f"worker-{worker.host}.log"
            started.append(stack.enter_context(_process([*command, *arguments], log, worker.host)))
        _await_workers(f"http://{host}:{page}/json/", len(workers), started, folder)
        yield tuple(process.pid for process in started)


def free_port(host: str) -> int:
    with socket.socket() as bound:
        bound.bind((host, 0))
        return int(bound.getsockname()[1])


def check_free(host: str, port: int) -> None:
    with socket.socket() as bound:
        bound.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            bound.bind((host, port))
        except (OSError, OverflowError) as taken:
            raise SlotwiseError(f"port {port} on {host} is taken: give another one") from taken


def _environment(folder: Path, host: str) -> dict[str, str]:
    return java.environment() | {"SPARK_LOCAL_DIRS": str(folder), "SPARK_LOCAL_IP": host}


def _master_arguments(host: str, port: int, page: int) -> list[str]:
    return [
        "org.apache.spark.deploy.master.Master",
        *("--host", host, "--port", str(port), "--webui-port", str(page)),
        *("--properties-file", SETTINGS),
    ]


def _worker_arguments(worker: Worker, folder: Path, master: str) -> list[str]:
    work = folder / f"work-{worker.host}"
    return [
        "org.apache.spark.deploy.worker.Worker",
        *("--host", worker.host, "--port", "0", "--webui-port", "0"),
        *("--cores", str(worker.cores), "--memory", f"{worker.memory_mb}M"),
        *("--properties-file", SETTINGS, "--work-dir", str(work), master),
    ]


@contextmanager
def _process(command: Sequence[str], log: Path, host: str) -> Iterator[subprocess.Popen[bytes]]:
    with log.open("wb") as written:
        process = subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=written,
            stderr=written,
            env=_environment(log.parent, host),
            cwd=log.parent,
            start_new_session=True,
        )
    try:
        yield process
    finally:
        _end(process)


def _end(process: subprocess.Popen[bytes]) -> None:
    """Close its input, which ends it; kill it, with what it started, if it takes too long."""
    import psutil

    try:
        started = psutil.Process(process.pid).children(recursive=True)
    except psutil.NoSuchProcess:
        started = []
    assert process.stdin is not None
    process.stdin.close()
    try:
        process.wait(STOP_SECONDS)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
    _, left = psutil.wait_procs(started, timeout=STOP_SECONDS)
    for child in left:
        child.kill()


def _await_workers(
    page: str, workers: int, started: Sequence[subprocess.Popen[bytes]], folder: Path
) -> None:
    end = time.monotonic() + START_SECONDS
    while time.monotonic() < end:
        for process in started:
            if process.poll() is not None:
                raise SlotwiseError(f"a process of the cluster ended at once: {_complaint(folder)}")
        if _living_workers(page) == workers:
            return
        time.sleep(POLL_SECONDS)
    raise SlotwiseError(
        f"after {START_SECONDS} s only {_living_workers(page)} of {workers} workers have found "
        f"the master: {_complaint(folder)}"
    )


def _living_workers(page: str) -> int:
    """As the master's page tells; 0 while it does not answer."""
    try:
        with urllib.request.urlopen(page, timeout=5) as answer:
            return int(json.load(answer)["aliveworkers"])
    except (urllib.error.URLError, OSError, ValueError):
        return 0


def _complaint(folder: Path) -> str:
    """The first exception in the logs, or else the first line that is not a mere warning."""
    for log in sorted(folder.glob("*.log")):
        lines = [line.strip() for line in log.read_text(errors="replace").splitlines()]
        told = [line for line in lines if line and not line.startswith("WARNING")]
        if told:
            thrown = (line for line in told if re.match(r"[\w.]+(Exception|Error): ", line))
            return f"{log.stem}: {next(thrown, told[0])[:300]}"
    return "their logs tell nothing"
