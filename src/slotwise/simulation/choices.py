"""Simulation options as people write them: a name with options, or options alone.

    poisson · poisson:spread=0.2 · gamma:scv=2 · lose:capacity=100,resend_after_ms=5

The command line and sweep files both come through here, so they know the same names. An option
`file` names a text file of recorded numbers.
"""

from __future__ import annotations

import difflib
import math
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from slotwise.model import Choice, ModelError, SlotwiseError
from slotwise.simulation.options import (
    Arrivals,
    Buffers,
    Keys,
    Network,
    Routing,
    Schedule,
    ServiceTimes,
)

MOST_RECORDED = 10_000_000
"""Numbers in a file of recorded ones."""


@dataclass(frozen=True)
class Form:
    """The options that a name needs, and those it may have, each with its type."""

    needs: Mapping[str, type] = field(default_factory=dict)
    may_have: Mapping[str, type] = field(default_factory=dict)


_SPREAD = {"spread": float}
_KEYS = {"number": int, "forwarded": float}
ARRIVALS = {
    "constant": Form(may_have=_SPREAD),
    "poisson": Form(may_have=_SPREAD),
    "uniform": Form(may_have=_SPREAD),
    "trace": Form({"file": Path}, _SPREAD),
}
SCHEDULES = {
    "step": Form({"at_s": float, "factor": float}),
    "ramp": Form({"from_s": float, "to_s": float, "factor": float}),
    "sine": Form({"period_s": float, "amplitude": float}),
    "burst": Form({"period_s": float, "length_s": float, "factor": float}),
}
SERVICE = {
    "profile": Form(),
    "deterministic": Form(),
    "exponential": Form(),
    "gamma": Form({"scv": float}),
    "lognormal": Form({"scv": float}),
    "samples": Form({"file": Path}),
}
KEYS = {
    "uniform": Form(may_have=_KEYS),
    "zipf": Form(may_have={**_KEYS, "exponent": float}),
    "recorded": Form({"file": Path}, {"forwarded": float}),
}
BUFFERS = {
    "unbounded": Form(),
    "block": Form({"capacity": int}),
    "lose": Form({"capacity": int}, {"resend_after_ms": float}),
}
ROUTING = Form(may_have={"shuffle": str, "selectivity": str, "queue": str})
NETWORK = Form(
    may_have={
        "send_ms": float,
        "receive_ms": float,
        "tuple_bytes": float,
        "bandwidth_mb_per_s": float,
        "stepwise": bool,
        "step_ms": float,
    }
)


def arrivals(choice: Choice, folder: Path, schedule: Schedule | None = None) -> Arrivals:
    """Files are looked for in `folder`, here and below."""
    options = _options("arrivals", ARRIVALS, choice, folder)
    recorded = {"trace_s": options.pop("file")} if "file" in options else {}
    return Arrivals(choice.name, schedule, **recorded, **options)  # type: ignore[arg-type]


def schedule(choice: Choice, folder: Path) -> Schedule:
    options = _options("schedule", SCHEDULES, choice, folder)
    made: Schedule = getattr(Schedule, choice.name)(**options)
    return made


def service_times(choice: Choice, folder: Path) -> ServiceTimes:
    options = _options("service times", SERVICE, choice, folder)
    recorded = {"samples": options.pop("file")} if "file" in options else {}
    return ServiceTimes(choice.name, **recorded, **options)  # type: ignore[arg-type]


def keys(choice: Choice, folder: Path) -> Keys:
    options = _options("keys", KEYS, choice, folder)
    recorded = {"recorded": options.pop("file")} if "file" in options else {}
    return Keys(choice.name, **recorded, **options)  # type: ignore[arg-type]


def buffers(choice: Choice, folder: Path) -> Buffers:
    options = _options("buffers", BUFFERS, choice, folder)
    if choice.name == "unbounded":
        return Buffers()
    return Buffers(when_full=choice.name, **options)  # type: ignore[arg-type]


def routing(options: Mapping[str, Any], folder: Path) -> Routing:
    return Routing(**_checked("routing", ROUTING, options, folder))


def network(options: Mapping[str, Any], folder: Path) -> Network:
    return Network(**_checked("network", NETWORK, options, folder))


def _options(what: str, known: Mapping[str, Form], choice: Choice, folder: Path) -> dict[str, Any]:
    if choice.name not in known:
        hint = _nearest(choice.name, known)
        raise ModelError(f"unknown {what} '{choice.name}': {hint}there are {', '.join(known)}")
    return _checked(f"{what} '{choice.name}'", known[choice.name], choice.options, folder)


def _checked(what: str, form: Form, options: Mapping[str, Any], folder: Path) -> dict[str, Any]:
    known = {**form.needs, **form.may_have}
    for name in options:
        if name not in known:
            has = f"{_nearest(name, known)}there are {', '.join(known)}" if known else "it has none"
            raise ModelError(f"{what} has no option '{name}': {has}")
    for name in form.needs:
        if name not in options:
            raise ModelError(f"{what} needs {name}: write {name}=…")
    return {
        name: _value(f"{what}: {name}", known[name], value, folder)
        for name, value in options.items()
    }


def _nearest(name: str, known: Mapping[str, object]) -> str:
    near = difflib.get_close_matches(name, known, n=1)
    return f"did you mean '{near[0]}'? " if near else ""


def _value(what: str, kind: type, value: Any, folder: Path) -> Any:
    """The value as `kind`; on the command line, true and false come as text."""
    if kind is Path:
        return recorded_numbers(folder / str(value))
    if kind is str:
        return str(value)
    if kind is bool:
        truths = {True: True, False: False, "true": True, "false": False}
        if not isinstance(value, bool | str) or value not in truths:
            raise ModelError(f"{what} is {value}: write true or false")
        return truths[value]
    if isinstance(value, bool) or not isinstance(value, int if kind is int else int | float):
        wanted = "a whole number" if kind is int else "a number"
        raise ModelError(f"{what} is '{value}': write {wanted}")
    if not math.isfinite(value):
        raise ModelError(f"{what} is {value}: write a finite number")
    return value


def recorded_numbers(file: Path) -> tuple[float, ...]:
    """The numbers in a text file, with blanks, commas or line ends between them."""
    try:
        text = file.read_text(encoding="utf-8")
    except OSError as error:
        raise SlotwiseError(f"{file}: the file cannot be read ({error.strerror})") from None
    except UnicodeDecodeError:
        raise SlotwiseError(f"{file}: this is not text: write a number per line") from None
    found: list[float] = []
    for number, line in enumerate(text.splitlines(), 1):
        for word in filter(None, re.split(r"[,;\s]+", line)):
            found.append(_recorded(word, f"{file}:{number}"))
    if not 0 < len(found) <= MOST_RECORDED:
        raise SlotwiseError(f"{file}: it has {len(found):,} numbers: write 1 to {MOST_RECORDED:,}")
    return tuple(found)


def _recorded(word: str, place: str) -> float:
    try:
        value = float(word)
    except ValueError:
        value = math.nan
    if not math.isfinite(value):
        raise SlotwiseError(f"{place}: '{word[:40]}' is not a number: write one per line")
    return value
