"""Ctrl-C in the middle of `slotwise profile`, and the next call."""

from __future__ import annotations

import signal
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("pyspark")

from slotwise.cli import INTERRUPTED
from slotwise.profilers.bench import Bench
from slotwise.profilers.experiment import measure
from slotwise.profilers.operators import Procedure
from slotwise.profilers.peaks import saturation
from slotwise.profilers.trial import Profiled
from slotwise.spec import load
from tests.profilers.conftest import CORES

pytestmark = pytest.mark.cluster

SPEC = """
topology:
  name: waiting
  operators:
    source: {kind: source, options: {payload: id}}
    wait: {expr: "IF(wait_us(5000) > 0, value, NULL)"}
    sink: {kind: sink}
  streams: [{from: source, to: wait}, {from: wait, to: sink}]
profiles: {source: {fixed: {}}, wait: {service: {rate: 10}}, sink: {fixed: {}}}
cluster: [{name: n, slots: 1, memory_gb: 1}]
goals: {rate: 10}
"""


def test_ctrl_c_keeps_finished_thread_counts(bench: Bench, tmp_path: Path) -> None:
    (tmp_path / "waiting.yaml").write_text(SPEC)
    command = ["profile", "waiting.yaml", "wait", "--cores", str(CORES)]
    with subprocess.Popen(
        [sys.executable, "-m", "slotwise", *command],
        cwd=tmp_path,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
    ) as started:
        assert started.stderr is not None
        said = []
        for line in started.stderr:
            said.append(line)
            if line.startswith("wait: 1 thread, "):
                break
        else:
            pytest.fail("".join(said))
        assert line.endswith(" left\n")
        started.send_signal(signal.SIGINT)
        rest = started.stderr.read()
    assert started.returncode == INTERRUPTED, rest
    assert "interrupted: run the same command again" in rest
    assert not (tmp_path / "waiting.profiles.yaml").exists()

    kept = tmp_path / "waiting.trials.jsonl"
    before = kept.read_bytes()
    one_thread = Procedure(saturation, 1, with_costs=False)
    pipeline = load(tmp_path / "waiting.yaml")
    (again,) = measure(bench, pipeline, ("wait",), one_thread, trials=kept)
    assert isinstance(again, Profiled)
    assert kept.read_bytes() == before  # nothing was measured again
    assert line.startswith(f"wait: 1 thread, {again.peaks[0].confirmed.rate:,.1f} tuples/s")
