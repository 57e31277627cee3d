"""Two runs at once on one master, one by `slotwise submit`, and a third that finds no room; for
test_side_by_side.py. The master is that of an embedded cluster, and asks for a secret.

`python -m tests.spark.side_by_side` prints one line of JSON.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import tempfile
import urllib.request
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import Any

import psutil

from slotwise.model import Cluster, Node, SlotwiseError
from slotwise.spark import cluster
from slotwise.spark.cluster import class_archive, java
from tests.spark.conftest import wait_until

TWO_CORES = Cluster((Node("left", 1, 1.0), Node("right", 1, 1.0)), slot_memory_gb=1.0)
ONE_MORE = Cluster((Node("more", 1, 1.0),), slot_memory_gb=1.0)
SECRET = {
    "spark.authenticate": "true",
    "spark.authenticate.secret": "of the tests",
    "spark.network.crypto.enabled": "true",
}
SPEC = """
topology:
  name: {name}
  operators:
    s: {{kind: source}}
    a: {{expr: upper(value)}}
    k: {{kind: sink}}
  streams: [{{from: s, to: a}}, {{from: a, to: k}}]
profiles: {{s: {{fixed: {{}}}}, a: {{fixed: {{}}}}, k: {{fixed: {{}}}}}}
cluster: [{{name: n, slots: 1, memory_gb: 1}}]
goals: {{rate: 100}}
"""


def main() -> None:
    with (
        tempfile.TemporaryDirectory() as name,
        cluster.embedded(TWO_CORES, threads_per_slot=1, conf=SECRET) as made,
        ExitStack() as stack,
    ):
        assert made.master is not None
        folder, log = Path(name), Path(name) / "log"
        defaults = folder / "conf"
        defaults.mkdir()
        conf = {**SECRET, **_quick_executors()}
        lines = [f"{name} {value}\n" for name, value in conf.items()]
        (defaults / "spark-defaults.conf").write_text("".join(lines))
        given = [part for item in conf.items() for part in ("--spark-conf", "=".join(item))]
        runs = [
            _Running(folder, "first", made.master, ["run"], [*given, "--event-log", str(log)]),
            _Running(
                folder,
                "second",
                made.master,
                ["submit", "--"],
                ["--spark-ui"],
                {"SPARK_CONF_DIR": str(defaults)},
            ),
        ]
        for run in runs:
            stack.callback(run.kill)
        for run in runs:
            wait_until(run.has_begun, 240)
        page = _applications(runs[1].told("Spark's own page: "))
        refusal = _refusal(made.master)
        summaries = [run.summary() for run in runs]
        logged = _logged(log)
        told = {"page": page, "refusal": refusal, "summaries": summaries, "logged": logged}
    print(json.dumps(told))


class _Running:
    """A plan with one slot, run by a command of slotwise."""

    def __init__(
        self,
        folder: Path,
        name: str,
        master: str,
        command: list[str],
        options: list[str],
        environment: Mapping[str, str] | None = None,
    ) -> None:
        spec = folder / f"{name}.yaml"
        spec.write_text(SPEC.format(name=name))
        self.printed = folder / f"{name}.printed"
        name, *separator = command
        usual = ["--for", "10m", "--warm-up", "1s", "--batch", "5s", "--runs", "none", "--json"]
        with self.printed.open("w") as printed:
            self.process = psutil.Popen(
                [
                    *(sys.executable, "-m", "slotwise", name, str(spec), "--master", master),
                    *(*separator, *usual, *options),
                ],
                stdout=printed,
                stderr=subprocess.STDOUT,
                env={**os.environ, **(environment or {})},
            )

    def kill(self) -> None:
        with suppress(psutil.NoSuchProcess):
            for process in (*self.process.children(recursive=True), self.process):
                process.kill()

    def told(self, what: str) -> str:
        """What follows in the line that begins so; empty if there is none."""
        lines = self.printed.read_text().splitlines()
        return next((line.partition(what)[2] for line in lines if what in line), "")

    def has_begun(self) -> bool:
        assert self.process.poll() is None, self.printed.read_text()
        return bool(self.told("start-up: "))

    def summary(self) -> dict[str, Any]:
        """After Ctrl-C at the Python program that has the run."""
        everyone = [self.process, *self.process.children(recursive=True)]
        running = [each for each in everyone if each.name().startswith("python")][-1]
        running.send_signal(signal.SIGINT)
        self.process.wait(60)
        printed = self.printed.read_text()
        told, _ = json.JSONDecoder().raw_decode(printed, printed.index("\n{") + 1)
        return {name: told[name] for name in ("threads", "threads_in_place", "events")}


def _quick_executors() -> dict[str, str]:
    """They are on this machine, where our jar and the archive of classes are."""
    options = [*class_archive.options(), "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1"]
    return {
        "spark.executor.extraClassPath": str(java.classpath_jar()),
        "spark.executor.extraJavaOptions": " ".join(options),
    }


def _applications(page: str) -> list[str]:
    with urllib.request.urlopen(f"{page}/api/v1/applications") as answer:
        return [each["name"] for each in json.load(answer)]


def _refusal(master: str) -> str:
    """Of one more session, while the others have all cores."""
    try:
        cluster.session(cluster.existing(master, ONE_MORE, threads_per_slot=1), SECRET, timeout_s=2)
    except SlotwiseError as refused:
        return str(refused)
    return ""


def _logged(folder: Path) -> list[tuple[str, bool, int]]:
    """What Spark's history server reads in a folder: of each application its name, whether it has
    ended, and its executors.
    """
    from pyspark import SparkContext

    jvm: Any = SparkContext._jvm
    conf = jvm.org.apache.spark.SparkConf(False)
    conf.set("spark.history.fs.logDirectory", folder.as_uri())
    provider = jvm.org.apache.spark.deploy.history.FsHistoryProvider(conf)
    provider.start()
    try:
        wait_until(lambda: provider.getListing().hasNext())
        return list(_read(provider))
    finally:
        provider.stop()


def _read(provider: Any) -> Iterator[tuple[str, bool, int]]:
    listing = provider.getListing()
    while listing.hasNext():
        application = listing.next()
        attempt = application.attempts().head()
        loaded = provider.getAppUI(application.id(), attempt.attemptId()).get()
        executors = loaded.ui().store().executorList(False)
        yield application.name(), attempt.completed(), executors.size()


if __name__ == "__main__":
    main()
