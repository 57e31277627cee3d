"""Finished experiments on disk: an interrupted `slotwise profile` continues after the last one.

with Journal(path) as journal:
    peaks = journal.peaks(key)               # by thread count
    journal.add(key, peak)
"""

from __future__ import annotations

import hashlib
import inspect
import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from types import TracebackType
from typing import Any
from uuid import uuid4

from slotwise import journal
from slotwise.json_data import json_data
from slotwise.model import Operator, Topology
from slotwise.profilers.trial import Peak, Trial

_COSTS = "costs"


@dataclass(frozen=True)
class Key:
    """All that an operator's figures depend on: those of another key do not count."""

    operator: str
    logic: str
    """See `fingerprint`."""
    procedure: str
    cores: float | None
    """The slot's CPU quota."""
    memory_mb: float
    """The slot's memory."""
    spark: str
    java: str
    cpu: str
    """The CPU model."""


class Journal:
    """Open it with `with`; nobody else can have it open at the same time.

    Raises SlotwiseError for a file that is not such a journal, or cannot be written.
    """

    def __init__(self, path: Path) -> None:
        self._lines = journal.Journal(path, "profile")

    def __enter__(self) -> Journal:
        self._lines.__enter__()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self._lines.__exit__(kind, error, traceback)

    def peaks(self, key: Key) -> dict[int, Peak]:
        """By rising thread count. Trials of a version that gave them other fields do not count."""
        found = [peak for row in self._rows(key) if (peak := _peak(row))]
        return {peak.threads: peak for peak in sorted(found, key=lambda peak: peak.threads)}

    def add(self, key: Key, peak: Peak) -> None:
        self._lines.add(_line_key(key, str(peak.threads)), json_data(peak))

    def costs_trials(self, key: Key) -> tuple[Trial, ...] | None:
        """None: they have not been done."""
        rows = self._lines.rows()
        row = rows.get(_line_key(key, _COSTS))
        return None if row is None else _trials(row.get("trials"))

    def add_costs_trials(self, key: Key, trials: Sequence[Trial]) -> None:
        self._lines.add(_line_key(key, _COSTS), {"trials": json_data(trials)})

    def _rows(self, key: Key) -> Iterator[dict[str, Any]]:
        for line_key, row in self._lines.rows().items():
            if line_key == _line_key(key, str(row.get("threads"))):
                yield row


def fingerprint(
    topology: Topology,
    operator: str,
    function_of: Callable[[Operator], Callable[..., Any] | None] = lambda operator: None,
) -> str:
    """A hash of what an operator computes and of what makes its input: all that is upstream.

    A function in Python, which `function_of` gives, counts with the whole file that defines it.
    Data that sources read from files or topics is known by name only, and so are classes of Java.
    What is downstream does not matter, and neither do names and positions of other operators'
    entries.
    """
    upstream = {operator}
    streams: list[Any] = []
    while reaching := [s for s in topology.streams if s.target in upstream and s not in streams]:
        streams += reaching
        upstream |= {stream.source for stream in reaching}
    used = [each for each in topology.operators if each.name in upstream]
    content = {
        "operators": {each.name: asdict(each) for each in used},
        "code": {each.name: _code(call) for each in used if (call := function_of(each))},
        "streams": sorted(json.dumps(asdict(stream)) for stream in streams),
    }
    return hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()[:16]


def _code(function: Callable[..., Any]) -> str:
    """What a function may do, itself and by others of its file. Code that no file has, such as a
    program's from the standard input, is never the same again.
    """
    try:
        file = inspect.getsourcefile(inspect.unwrap(function))
        return Path(file or "").read_text(encoding="utf-8")
    except (TypeError, OSError):
        return uuid4().hex


def _line_key(key: Key, part: str) -> str:
    return json.dumps([part, *(getattr(key, field.name) for field in fields(key))])


def _peak(row: dict[str, Any]) -> Peak | None:
    match row:
        case {"threads": int(threads), "confirmed": dict(confirmed), "tried": list(tried)}:
            trials = _trials([confirmed, *tried])
            return Peak(threads, trials[0], trials[1:], row.get("remark")) if trials else None
    return None


def _trials(rows: Any) -> tuple[Trial, ...] | None:
    try:
        return tuple(Trial(**row) for row in rows)
    except TypeError:
        return None
