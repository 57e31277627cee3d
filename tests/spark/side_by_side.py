"""Two `slotwise run` at once on one master, and a third one that finds no room; for
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
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from slotwise.model import Cluster, Node, SlotwiseError
from slotwise.spark import cluster
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
        lines = [f"{name} {value}\n" for name, value in SECRET.items()]
        (defaults / "spark-defaults.conf").write_text("".join(lines))
        given = [part for item in SECRET.items() for part in ("--spark-conf", "=".join(item))]
        runs = [
            _Running(folder, "first", made.master, [*given, "--event-log", str(log)]),
            _Running(folder, "second", made.master, ["--spark-ui"], {"SPARK_CONF_DIR": defaults}),
        ]
        for run in runs:
            stack.callback(run.process.kill)
        for run in runs:
            wait_until(run.has_begun, 240)
        page = _applications(runs[1].told("Spark's own page: "))
        refusal = _refusal(made.master)
        summaries = [run.summary() for run in runs]
        logged = _logged(log)
        told = {"page": page, "refusal": refusal, "summaries": summaries, "logged": logged}
    print(json.dumps(told))


class _Running:
    """`slotwise run` of a plan with one slot."""

    def __init__(
        self, folder: Path, name: str, master: str, more: list[str], conf: Any = None
    ) -> None:
        spec = folder / f"{name}.yaml"
        spec.write_text(SPEC.format(name=name))
        self.notes = folder / f"{name}.notes"
        command = [sys.executable, "-m", "slotwise", "run", str(spec), "--master", master]
        options = ["--for", "10m", "--warm-up", "1s", "--batch", "5s", "--runs", "none", "--json"]
        with self.notes.open("w") as notes:
            self.process = subprocess.Popen(
                [*command, *options, *more],
                stdout=subprocess.PIPE,
                stderr=notes,
                env={**os.environ, **{k: str(v) for k, v in (conf or {}).items()}},
            )

    def told(self, what: str) -> str:
        """What follows in the line that begins so; empty if there is none."""
        lines = self.notes.read_text().splitlines()
        return next((line.partition(what)[2] for line in lines if what in line), "")

    def has_begun(self) -> bool:
        assert self.process.poll() is None, self.notes.read_text()
        return bool(self.told("start-up: "))

    def summary(self) -> dict[str, Any]:
        """After some seconds of a measurement, and Ctrl-C."""
        self.process.send_signal(signal.SIGINT)
        printed, _ = self.process.communicate(timeout=60)
        told = json.loads(printed)
        return {name: told[name] for name in ("threads", "threads_in_place", "events")}


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
