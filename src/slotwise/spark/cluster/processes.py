"""The processes of an embedded cluster: a standalone master and its workers."""

from __future__ import annotations

import json
import re
import socket
import subprocess
import urllib.error
import urllib.request
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from slotwise.clock import SYSTEM, Clock, await_condition
from slotwise.model import SlotwiseError, counted
from slotwise.spark.cluster import class_archive, java

START_SECONDS = 60
STOP_SECONDS = 10
SETTINGS = "daemons.conf"
"""In place of the settings of another Spark."""
LOGGING = "-Dlog4j2.configurationFile=slotwise-log4j2.properties"
DRIVER_LOGGING = "-Dlog4j2.configurationFile=slotwise-driver-log4j2.properties"
QUICK_START = ("-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC")
"""For processes that do little and end soon: a third less CPU time until they are ready."""
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
    # Not used, and its port is fixed: a second cluster would not start.
    "-Dspark.master.rest.enabled=false",
)


@dataclass(frozen=True)
class Worker:
    """One node's worker: where it listens and what it may give to executors."""

    name: str
    host: str
    cores: int
    memory_mb: int
    slot_cores: float | None = None
    """The CPU quota of each of its executors; None: they have none."""


@dataclass
class Daemons:
    """The master of an embedded cluster and its workers, which may come and go.

    Each reads a pipe from this program and ends when that closes (jvm/…/Daemon.java), so none is
    left however this program ends. They are in sessions of their own: a Ctrl-C reaches this program
    only, which ends them in order.
    """

    folder: Path
    host: str
    port: int
    page: int
    """The port of the master's page."""
    _master: list[subprocess.Popen[bytes]] = field(default_factory=list)
    _workers: dict[str, subprocess.Popen[bytes]] = field(default_factory=dict)
    """By host."""
    conf: Mapping[str, str] = field(default_factory=dict)
    """Settings of Spark for all of them."""

    @property
    def pids(self) -> tuple[int, ...]:
        """The master's first, then the workers', in the order in which they were started."""
        return tuple(process.pid for process in self._processes)

    @property
    def hosts(self) -> tuple[str, ...]:
        """Of the workers."""
        return tuple(self._workers)

    @property
    def _processes(self) -> list[subprocess.Popen[bytes]]:
        return [*self._master, *self._workers.values()]

    def start_master(self) -> None:
        lines = [f"{name} {value}\n" for name, value in self.conf.items()]
        (self.folder / SETTINGS).write_text("".join(lines))
        arguments = _master_arguments(self.host, self.port, self.page)
        self._master.append(self._started(arguments, self.folder / "master.log", self.host))

    def start(self, worker: Worker) -> None:
        """It registers with the master some seconds later. One that was there before is ended."""
        self.end(worker.host)
        arguments = _worker_arguments(worker, self.folder, f"spark://{self.host}:{self.port}")
        cores = {} if worker.slot_cores is None else {"SLOTWISE_CORES": str(worker.slot_cores)}
        self._workers[worker.host] = self._started(
            arguments, self._log(worker.host), worker.host, cores
        )

    def end(self, host: str) -> None:
        """End the worker of this host and its executors, if it has one."""
        if (process := self._workers.pop(host, None)) is not None:
            _end(process)

    def end_all(self) -> None:
        """The workers, then the master."""
        for process in reversed(self._processes):
            _end(process)

    def runs(self, host: str) -> bool:
        """Whether the worker of this host has not ended."""
        return host in self._workers and self._workers[host].poll() is None

    def complaint(self, host: str | None = None) -> str:
        """What the logs say: of this host's worker, or of all."""
        return _complaint([self._log(host)] if host else sorted(self.folder.glob("*.log")))

    def await_workers(self, clock: Clock = SYSTEM) -> None:
        """Until the master's page lists all workers. Raises SlotwiseError if a process ends before
        that.
        """
        page, workers = f"http://{self.host}:{self.page}/json/", len(self._workers)

        def all_registered() -> bool:
            if any(process.poll() is not None for process in self._processes):
                raise SlotwiseError(
                    f"a process of the cluster ended during its start-up: {self.complaint()}"
                )
            return _living_workers(page) == workers

        if not await_condition(all_registered, START_SECONDS, clock):
            raise SlotwiseError(
                f"only {_living_workers(page)} of {counted(workers, 'worker')} registered with the "
                f"master in {START_SECONDS} s: {self.complaint()}"
            )

    def _log(self, host: str) -> Path:
        return self.folder / f"worker-{host}.log"

    def _started(
        self, arguments: Sequence[str], log: Path, host: str, more: Mapping[str, str] | None = None
    ) -> subprocess.Popen[bytes]:
        launched = java.launched("org.slotwise.Daemon")
        command = [*launched[:-1], *OPTIONS, *class_archive.options(), launched[-1], *arguments]
        with log.open("wb") as written:
            return subprocess.Popen(
                command,
                stdin=subprocess.PIPE,
                stdout=written,
                stderr=written,
                env=_environment(log.parent, host) | dict(more or {}),
                cwd=log.parent,
                start_new_session=True,
            )


@contextmanager
def running(
    folder: Path,
    host: str,
    port: int,
    workers: Sequence[Worker],
    conf: Mapping[str, str] | None = None,
) -> Iterator[Daemons]:
    """The master and the workers, once all workers have registered; ended after."""
    daemons = Daemons(folder, host, port, free_port(host), conf=conf or {})
    try:
        daemons.start_master()
        for worker in workers:
            daemons.start(worker)
        daemons.await_workers()
        yield daemons
    finally:
        daemons.end_all()


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
            raise SlotwiseError(f"port {port} on {host} is in use: choose another one") from taken


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


def _end(process: subprocess.Popen[bytes]) -> None:
    """Together with what it started."""
    import psutil

    try:
        started = psutil.Process(process.pid).children(recursive=True)
    except psutil.NoSuchProcess:
        started = []
    end_by_input(process, STOP_SECONDS)
    _, left = psutil.wait_procs(started, timeout=STOP_SECONDS)
    for child in left:
        child.kill()


def end_by_input(process: subprocess.Popen[bytes], within_s: float | None) -> None:
    """Close its standard input, which ends it in order; kill it if that takes longer."""
    assert process.stdin is not None
    process.stdin.close()
    try:
        process.wait(within_s)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()


def _living_workers(page: str) -> int:
    """As the master's page says; 0 while it does not answer."""
    try:
        with urllib.request.urlopen(page, timeout=5) as answer:
            return int(json.load(answer)["aliveworkers"])
    except (urllib.error.URLError, OSError, ValueError):
        return 0


def _complaint(logs: Sequence[Path]) -> str:
    """The first exception in the logs, or else the first line that is not a warning."""
    for log in logs:
        lines = [line.strip() for line in log.read_text(errors="replace").splitlines()]
        printed = [line for line in lines if line and not line.startswith("WARNING")]
        if printed:
            thrown = (line for line in printed if re.match(r"[\w.]+(Exception|Error): ", line))
            return f"{log.stem}: {next(thrown, printed[0])[:300]}"
    return "their logs are empty"
