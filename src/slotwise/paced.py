"""The options of a paced source, which makes up its own data: what a spec says under `options`.

arrivals: poisson                        constant (default) or poisson gaps between records
seed: 0                                  of the Poisson gaps
schedule: "step:at=60s,factor=2"         how the source's rate changes; see schedules.py
delay: 6s                                before the first record
payload: words(5)                        what a record holds; generated(tweets): a bundled data set
records: 1000                            stop after so many
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import TypeVar

from slotwise import durations, schedules
from slotwise.model import ModelError, Operator, Schedule
from slotwise.suggestions import instead_of

Value = TypeVar("Value")

OPTIONS = ("arrivals", "seed", "schedule", "delay", "payload", "records")


@dataclass(frozen=True)
class Pace:
    """When a source emits."""

    schedule: Schedule | None
    delay_s: float
    others: Mapping[str, str]
    """The options that only a run looks at."""


def pace_of(source: Operator) -> Pace | None:
    """None for a source of another data format. Raises ModelError with a path in the spec."""
    if (source.logic.format or "paced") != "paced":
        return None
    options = dict(source.logic.options)
    for name in options:
        if name not in OPTIONS:
            problem = f"has no option '{name}': {instead_of(name, OPTIONS)}"
            raise ModelError(f"source '{source.name}' {problem}", _path(source, name))
    schedule = None
    if "schedule" in options:
        schedule = _read(source, "schedule", schedules.schedule, options.pop("schedule"))
    delay_s = _read(source, "delay", durations.seconds, options.pop("delay", "0s"))
    _read(source, "payload", data_set, options.get("payload", "id"))
    return Pace(schedule, delay_s, options)


def factor_at(
    sources: Iterable[Operator], second: float, schedule: Schedule | None = None
) -> float:
    """What their schedules make of the nominal rate of all sources so long after the start;
    `schedule` is in place of theirs. Other formats count as if they kept to the nominal rate.
    """
    each = [(source.share, _factor(source, second, schedule)) for source in sources]
    return sum(share * factor for share, factor in each) / sum(share for share, _ in each)


def _factor(source: Operator, second: float, schedule: Schedule | None) -> float:
    pace = pace_of(source)
    if pace is None:
        return 1.0
    if second < pace.delay_s:
        return 0.0
    return (schedule or pace.schedule or Schedule.constant()).at(second - pace.delay_s)


def data_set(payload: str) -> str | None:
    """The name of the bundled data set that a payload stands for, None for any other payload.

    >>> data_set("generated(tweets)")
    'tweets'
    """
    found = re.fullmatch(r"generated\((.*)\)", payload.strip())
    if found is None:
        return None
    from slotwise.workloads import data

    data.check(found[1].strip())
    return found[1].strip()


def _read(source: Operator, option: str, reader: Callable[[str], Value], text: str) -> Value:
    try:
        return reader(text)
    except ModelError as error:
        problem = f"source '{source.name}': {error.message}"
        raise ModelError(problem, _path(source, option)) from None


def _path(source: Operator, option: str) -> tuple[str, ...]:
    return "topology", "operators", source.name, "options", option
