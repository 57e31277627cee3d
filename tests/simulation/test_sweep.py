"""Sweeps: files that are wrong, points and their keys, and that nothing finished is ever lost."""

from __future__ import annotations

import json
import os
import resource
import signal
import subprocess
import sys
from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path

import pytest

from slotwise.journal import Journal
from slotwise.model import Goals, SlotwiseError
from slotwise.parts import Row, finished, run_here, run_in_processes
from slotwise.simulation.sweep import COLUMNS, Point, row_of
from slotwise.spec import SpecError, dump, load
from slotwise.spec.sweep import load_sweep

GRID = """
spec: linear
rates: [30, 50]
allocators: [mba]
placers: [sam, {topology: {alpha: 0.2}}]
seeds: [0, 1]
simulation: {tuples: 300}
"""
LONG = GRID.replace("[0, 1]", str(list(range(100)))).replace("300", "1000000")
"""Takes far longer than a test may be kept from its core: it can be stopped in the middle."""


@pytest.fixture
def sweep(tmp_path: Path) -> Path:
    file = tmp_path / "grid.yaml"
    file.write_text(GRID)
    return file


class TestFile:
    def test_points_come_in_the_order_of_the_grid(self, sweep: Path) -> None:
        sweep.write_text(
            GRID + "clusters:\n"
            "  small: {catalog: [{type: D2, slots: 2, memory_gb: 7}]}\n"
            "  fixed: {cluster: [{name: node, slots: 4, memory_gb: 14, count: 6}]}\n"
        )
        points = load_sweep(sweep)
        assert [str(point) for point in points[:3]] == [
            "small, 30/s, mba + sam, seed 0",
            "small, 30/s, mba + sam, seed 1",
            "small, 30/s, mba + topology:alpha=0.2, seed 0",
        ]
        assert len(points) == 16
        assert str(points[-1]) == "fixed, 50/s, mba + topology:alpha=0.2, seed 1"

    def test_left_out_is_the_specs_own(self, tmp_path: Path) -> None:
        (tmp_path / "grid.yaml").write_text("spec: vld")
        (point,) = load_sweep(tmp_path / "grid.yaml")
        assert str(point) == "26/s, drs:latency_ms=500 + sam, seed 0"

    def test_a_spec_without_a_rate_needs_rates(self, sweep: Path, tmp_path: Path) -> None:
        without = replace(load("linear"), goals=Goals())
        (tmp_path / "own.yaml").write_text(dump(without))
        sweep.write_text("spec: own.yaml")
        with pytest.raises(SpecError, match="no rate to plan for"):
            load_sweep(sweep)

    def test_a_spec_stands_beside_the_sweep(self, sweep: Path, tmp_path: Path) -> None:
        from slotwise import workloads

        text = workloads.read("linear").replace("name: linear", "name: mine", 1)
        (tmp_path / "own.yaml").write_text(text)
        sweep.write_text(GRID.replace("linear", "own.yaml"))
        assert load_sweep(sweep)[0].question.pipeline.topology.name == "mine"

    def test_keys_tell_contents_apart(self, sweep: Path) -> None:
        points = load_sweep(sweep)
        assert len({point.key for point in points}) == len(points)
        assert [p.key for p in load_sweep(sweep)] == [p.key for p in points]
        sweep.write_text(GRID.replace("tuples: 300", "tuples: 301"))
        assert not {p.key for p in load_sweep(sweep)} & {p.key for p in points}

    @pytest.mark.parametrize(
        ("text", "says"),
        [
            ("", "1:1: the sweep is empty"),
            ("[1]", "1:1: the sweep is not a mapping"),
            ("spec: linear\nrats: [1]", "2:1: unknown key 'rats': did you mean 'rates'?"),
            ("rates: [1]", "the sweep has no 'spec': add it"),
            ("spec: linear\nrates: [0]", "2:9: rates.0 is 0: expected a number > 0"),
            ("spec: linear\nrates: []", "2:1: rates is empty"),
            ("spec: linear\nrates: [5, 5.0]", "2:12: rates: duplicate value 5.0"),
            ("spec: linear\nrates: [5]\nplacers: [samm]", "3:11: unknown placer 'samm'"),
            ("spec: linear\nrates: [5]\nplacers: [{sam: {x: 1}}]", "3:11: placer 'sam' has no"),
            ("spec: linear\nrates: [5]\nallocators: [x]", "3:14: unknown allocator 'x'"),
            ("spec: linear\nrates: [5]\nprovisioner: x", "3:14: unknown provisioner 'x'"),
            ("spec: linear\nrates: [5]\nseeds: [-1]", "3:9: seeds.0 is -1"),
            ("spec: linear\nrates: [5]\nclusters: {a: {}}", "expected either a 'catalog' or"),
            (
                "spec: linear\nrates: [5]\nclusters:\n  a:\n    cluster:\n"
                "    - {name: x, slots: 1, memory_gb: 1}\n    - {name: x, slots: 1, memory_gb: 1}",
                "7:7: duplicate node name 'x'",
            ),
            (
                "spec: linear\nrates: [5]\nsimulation: {arrivals: poison}",
                "3:24: unknown arrivals 'poison': did you mean 'poisson'?",
            ),
            (
                "spec: linear\nrates: [5]\nsimulation:\n  service: {gamma: {sv: 2}}",
                "4:3: service times 'gamma' has no option 'sv': did you mean 'scv'?",
            ),
            (
                "spec: linear\nrates: [5]\nsimulation: {schedule: {step: {at: 4s}}}",
                "schedule 'step' needs the option 'factor'",
            ),
            (
                "spec: linear\nrates: [5]\nsimulation: {duration: 4x}",
                "3:24: simulation.duration: invalid duration '4x': expected a number with ms,",
            ),
            ("spec: linear\nrates: [5]\nsimulation: {network: {send_ms: -1}}", "send_ms is -1"),
            (
                "spec: linear\nrates: [5]\nsimulation: {buffers: {lose: {node_capacity: 4}}}",
                "set the network's bandwidth_mb_per_s as well",
            ),
            (
                "spec: linear\nrates: [5]\nsimulation: {buffers: block}",
                "buffers 'block' needs the option 'capacity' or 'node_capacity'",
            ),
            (
                "spec: linear\nrates: [5]\nsimulation: {tuples: 5, duration: 4s}",
                "'tuples' cannot be used with",
            ),
            ("spec: linear\nrates: [5]\nsimulation: {sed: 4}", "3:14: simulation: unknown key"),
            (
                "spec: linear\nrates: [5]\nsimulation: {keys: {recorded: {file: no}}}",
                "no: the file",
            ),
            (
                f"spec: linear\nrates: {list(range(1, 1002))}\nseeds: {list(range(1000))}",
                "the grid has 1,001,000 points",
            ),
        ],
    )
    def test_what_is_wrong_is_told_with_its_place(self, sweep: Path, text: str, says: str) -> None:
        sweep.write_text(text)
        with pytest.raises(SpecError) as error:
            load_sweep(sweep)
        assert str(error.value).startswith(f"{sweep}:")
        assert says in str(error.value)
        assert "\n" not in str(error.value)


class TestRows:
    def test_a_row_has_every_column(self, sweep: Path) -> None:
        row = row_of(load_sweep(sweep)[0])
        assert list(row) == list(COLUMNS)
        for name, kind in COLUMNS.items():
            assert row[name] is None or type(row[name]) is kind, name
        assert json.loads(json.dumps(row, allow_nan=False)) == row

    def test_what_has_no_plan_says_why(self, sweep: Path) -> None:
        sweep.write_text("spec: linear\nrates: [1.0e+9]\n")
        row = row_of(load_sweep(sweep)[0])
        assert "above the limit of 1,000,000 threads in a plan" in row["refused"]
        assert row["slots"] is None

    def test_processes_and_order_change_nothing(self, sweep: Path, tmp_path: Path) -> None:
        points = load_sweep(sweep)
        here = {point.key: row_of(point) for point in reversed(points)}
        with Journal(tmp_path / "journal") as journal:
            assert set(finished(points, journal, run_in_processes)) == set(here)
            assert journal.rows() == here


class TestJournal:
    def test_only_what_is_missing_is_run(self, sweep: Path, tmp_path: Path) -> None:
        points = load_sweep(sweep)
        asked: list[Point] = []

        def runner(points: Sequence[Point]) -> Iterator[tuple[Point, Row]]:
            asked.extend(points)
            return run_here(points)

        for upto in (2, 5, 5):
            asked.clear()
            with Journal(tmp_path / "journal") as journal:
                done = journal.rows()
                assert len(list(finished(points[:upto], journal, runner))) == upto
            assert asked == [point for point in points[:upto] if point.key not in done]

    @pytest.mark.parametrize("cut", [1, 9, 100, 300])
    def test_a_line_cut_in_the_middle_does_not_count(self, tmp_path: Path, cut: int) -> None:
        file = tmp_path / "journal"
        row = {"refused": "ö" * 200}
        for part in (1, 2, 3):
            with Journal(file) as journal:
                assert list(journal.rows()) == [f"{n}" for n in range(1, part)]
                journal.add("cut", row)
                journal.add(f"{part}", row)
            whole = file.read_bytes()
            start = whole.rindex(b'{"key": "cut"')
            end = whole.index(b"\n", start) + 1
            file.write_bytes(whole[:start] + whole[end:] + whole[start:end][:cut])
        with Journal(file) as journal:
            assert list(journal.rows()) == ["1", "2", "3"]

    def test_one_sweep_at_a_time(self, tmp_path: Path) -> None:
        with (
            Journal(tmp_path / "journal"),
            pytest.raises(SlotwiseError, match="another sweep is writing to it"),
            Journal(tmp_path / "journal"),
        ):
            pass

    @pytest.mark.parametrize("content", ["# notes of mine\n", "[]", "{}\n"])
    def test_other_files_are_left_alone(self, tmp_path: Path, content: str) -> None:
        file = tmp_path / "notes"
        file.write_text(content)
        with pytest.raises(SlotwiseError, match="not the journal"), Journal(file) as journal:
            journal.rows()
        assert file.read_text() == content

    def test_what_is_no_file(self, tmp_path: Path) -> None:
        with pytest.raises(SlotwiseError, match="not a regular file"), Journal(tmp_path):
            pass
        with pytest.raises(SlotwiseError, match="cannot be written"), Journal(tmp_path / "a" / "b"):
            pass


RUN = """
import signal
import sys
from pathlib import Path
from slotwise import parts
from slotwise.journal import Journal
from slotwise.spec.sweep import load_sweep

if __name__ == "__main__":
    signal.signal(signal.SIGINT, signal.default_int_handler)  # tests in the background ignore it
    with Journal(Path("journal")) as journal:
        for key in parts.finished(load_sweep("grid.yaml"), journal, parts.run_in_processes):
            print(key, flush=True)
"""


def script(folder: Path, **settings: object) -> subprocess.Popen[str]:
    (folder / "script.py").write_text(RUN)
    return subprocess.Popen(
        [sys.executable, "script.py"],
        cwd=folder,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        **settings,  # type: ignore[call-overload]
    )


def children(process: int) -> set[int]:
    """All processes below this one."""
    import psutil

    return {child.pid for child in psutil.Process(process).children(recursive=True)}


def expect_gone(processes: set[int]) -> None:
    import psutil

    alive = [psutil.Process(pid) for pid in processes if psutil.pid_exists(pid)]
    _, left = psutil.wait_procs(alive, timeout=30)
    assert left == []


class TestInterrupted:
    """The whole sweep in a process of its own, stopped after the first point."""

    @pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGINT])
    def test_nothing_is_lost_and_nobody_left(
        self, sweep: Path, tmp_path: Path, how: signal.Signals
    ) -> None:
        sweep.write_text(LONG)
        running = script(tmp_path)
        assert running.stdout is not None
        first = running.stdout.readline().strip()
        workers = children(running.pid)
        assert workers
        running.send_signal(how)
        running.communicate()
        expect_gone(workers)
        with Journal(tmp_path / "journal") as journal:
            done = journal.rows()
            points = load_sweep(sweep)
            assert first in done
            assert len(done) < len(points)
            missing = [point for point in points if point.key not in done]
            again: list[Point] = []

            def runner(points: Sequence[Point]) -> Iterator[tuple[Point, Row]]:
                again.extend(points)
                return run_here(points[:1])

            list(finished(points, journal, runner))
            assert again == missing
            assert row_of(next(p for p in points if p.key == first)) == done[first]

    def test_a_worker_that_is_killed(self, sweep: Path, tmp_path: Path) -> None:
        sweep.write_text(LONG)
        running = script(tmp_path)
        assert running.stdout is not None
        running.stdout.readline()
        for worker in children(running.pid):
            os.kill(worker, signal.SIGKILL)
        _, told = running.communicate()
        assert "a process of this work was killed" in told
        with Journal(tmp_path / "journal") as journal:
            assert journal.rows()

    def test_no_room_for_the_journal(self, tmp_path: Path) -> None:
        (tmp_path / "script.py").write_text(
            "from pathlib import Path\nfrom slotwise.journal import Journal\n"
            "with Journal(Path('full')) as journal:\n"
            "    for n in range(9): journal.add(f'{n}', {'text': 'x' * 400})\n"
        )
        done = subprocess.run(
            [sys.executable, "script.py"],
            cwd=tmp_path,
            capture_output=True,
            text=True,
            preexec_fn=partial(resource.setrlimit, resource.RLIMIT_FSIZE, (1500, 1500)),
        )
        assert done.stderr.splitlines()[-1].startswith(
            "slotwise.model.errors.SlotwiseError: full: the journal cannot be written (File too"
        )
        assert (tmp_path / "full").stat().st_size == 1500
        with Journal(tmp_path / "full") as journal:
            assert list(journal.rows()) == ["0", "1", "2"]
            journal.add("3", {})
            assert list(journal.rows()) == ["0", "1", "2", "3"]
