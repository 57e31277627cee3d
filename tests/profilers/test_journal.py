"""Finished experiments survive whatever stops the work."""

from __future__ import annotations

import importlib
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from slotwise.model import Logic, Operator, SlotwiseError, Stream, Topology
from slotwise.profilers.journal import Journal, Key, fingerprint
from tests.profilers.made import peak, trial

KEY = Key("pi", "abc", "saturation", 0.5, 512.0, "4.3.0", "17.0.1", "Some CPU")


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "pi.journal"


def test_what_was_added_comes_back(path: Path) -> None:
    remarked = replace(peak(12), remark="it may be faster")
    with Journal(path) as journal:
        assert journal.peaks(KEY) == {}
        assert journal.costs_trials(KEY) is None
        journal.add(KEY, remarked)
        journal.add(KEY, peak(2))
        journal.add_costs_trials(KEY, [trial(1), trial(3, 5000.0)])
    with Journal(path) as journal:
        assert list(journal.peaks(KEY).items()) == [(2, peak(2)), (12, remarked)]
        assert journal.costs_trials(KEY) == (trial(1), trial(3, 5000.0))
        journal.add(KEY, peak(2, 7.0))
        assert journal.peaks(KEY)[2] == peak(2, 7.0)


@pytest.mark.parametrize(
    "other",
    [
        replace(KEY, operator="xml"),
        replace(KEY, logic="def"),
        replace(KEY, procedure="staircase"),
        replace(KEY, cores=None),
        replace(KEY, memory_mb=1024.0),
        replace(KEY, spark="4.4.0"),
        replace(KEY, java="21.0.1"),
        replace(KEY, cpu="Another CPU"),
    ],
)
def test_entries_of_another_key_do_not_count(path: Path, other: Key) -> None:
    with Journal(path) as journal:
        journal.add(other, peak())
        journal.add_costs_trials(other, [trial()])
        assert journal.peaks(KEY) == {}
        assert journal.costs_trials(KEY) is None
        assert list(journal.peaks(other)) == [1]


def test_a_line_that_was_cut_does_not_count(path: Path) -> None:
    with Journal(path) as journal:
        journal.add(KEY, peak(1))
        journal.add(KEY, peak(2))
    path.write_bytes(path.read_bytes()[:-40])
    with Journal(path) as journal:
        assert list(journal.peaks(KEY)) == [1]
        journal.add(KEY, peak(3))
        assert list(journal.peaks(KEY)) == [1, 3]


def test_trials_with_other_fields_do_not_count(path: Path) -> None:
    with Journal(path) as journal:
        journal.add(KEY, peak(1))
        journal.add_costs_trials(KEY, [trial()])
    path.write_text(path.read_text().replace('"seconds"', '"minutes"'))
    with Journal(path) as journal:
        assert journal.peaks(KEY) == {}
        assert journal.costs_trials(KEY) is None


def test_what_is_no_journal_of_a_profile(path: Path) -> None:
    path.write_text("topology: {}\n")
    with Journal(path) as journal, pytest.raises(SlotwiseError, match="is not the journal of a p"):
        journal.peaks(KEY)
    with pytest.raises(SlotwiseError, match="not a regular file"), Journal(path.parent):
        pass


def test_only_one_has_it_open(path: Path) -> None:
    with Journal(path), pytest.raises(SlotwiseError, match="another profile is writing to it"):
        Journal(path).__enter__()


ENDLESS = """
from itertools import count
from pathlib import Path
from slotwise.profilers.journal import Journal
from tests.profilers.made import peak
from tests.profilers.test_journal import KEY

with Journal(Path("journal")) as journal:
    for threads in count(1):
        journal.add(KEY, peak(threads))
        print(threads, flush=True)
"""


def test_nothing_is_lost_when_it_is_killed(tmp_path: Path) -> None:
    running = subprocess.Popen(
        [sys.executable, "-c", ENDLESS],
        cwd=tmp_path,
        stdout=subprocess.PIPE,
        text=True,
        env={"PYTHONPATH": ":".join(sys.path)},
    )
    assert running.stdout is not None
    while int(running.stdout.readline()) < 20:
        pass
    running.kill()
    told = running.communicate()[0].splitlines()
    last = int(told[-1]) if told else 20
    with Journal(tmp_path / "journal") as journal:
        peaks = journal.peaks(KEY)
    # One more may be on the disk than was said.
    assert list(peaks) in (list(range(1, last + 1)), list(range(1, last + 2)))
    assert all(found == peak(threads) for threads, found in peaks.items())


def topology(**logic: Logic) -> Topology:
    names = ("source", "parse", "pi", "other")
    return Topology(
        "t",
        tuple(
            Operator(name, "operator" if i else "source", 1.0, logic.get(name, Logic()))
            for i, name in enumerate(names)
        ),
        (Stream("source", "parse"), Stream("parse", "pi"), Stream("source", "other")),
    )


def test_the_fingerprint_is_of_the_operator_and_what_is_upstream() -> None:
    plain, another = topology(), Logic(expr="value + 1")
    same = fingerprint(plain, "pi")
    assert len(same) == 16
    assert fingerprint(topology(other=another), "pi") == same
    for name in ("source", "parse", "pi"):
        assert fingerprint(topology(**{name: another}), "pi") != same
    streams = (replace(plain.streams[0], selectivity=2.0), *plain.streams[1:])
    assert fingerprint(replace(plain, streams=streams), "pi") != same
    assert fingerprint(plain, "parse") != same


def test_the_fingerprint_is_of_the_whole_file_of_a_function(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "edited_for_fingerprints.py"
    file.write_text("def parse(value):\n    return value\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    calls = {"parse": importlib.import_module("edited_for_fingerprints").parse}

    def fingerprint_of(operator: str) -> str:
        return fingerprint(topology(), operator, lambda each: calls.get(each.name))

    before = fingerprint_of("pi"), fingerprint_of("other")
    assert (fingerprint_of("pi"), fingerprint_of("other")) == before
    file.write_text("def parse(value):\n    return value + 1\n")
    assert fingerprint_of("pi") != before[0]
    assert fingerprint_of("other") == before[1]


def test_code_without_a_file_is_never_the_same_again() -> None:
    call = eval("lambda value: value")
    found = {fingerprint(topology(), "pi", lambda each: call) for _ in range(2)}
    assert len(found) == 2
