"""Simulation options as people write them: a name with options, or options alone.

    poisson · poisson:spread=0.2 · gamma:scv=2 · lose:capacity=100,resend_after_ms=5

The command line and sweep files both come through here, so they know the same names. An option
`file` names a text file of recorded numbers.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from slotwise import forms
from slotwise.forms import Form
from slotwise.model import Choice, ModelError, Schedule, SlotwiseError
from slotwise.simulation.options import Arrivals, Buffers, Keys, Network, Routing, ServiceTimes

MOST_RECORDED = 10_000_000
"""Numbers in a file of recorded ones."""


_SPREAD = {"spread": float}
_KEYS = {"number": int, "forwarded": float}
ARRIVALS = {
    "constant": Form(may_have=_SPREAD),
    "poisson": Form(may_have=_SPREAD),
    "uniform": Form(may_have=_SPREAD),
    "trace": Form({"file": Path}, _SPREAD),
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
_CAPACITIES = {"capacity": int, "node_capacity": int}
BUFFERS = {
    "unbounded": Form(),
    "block": Form(may_have=_CAPACITIES),
    "lose": Form(may_have={**_CAPACITIES, "resend_after_ms": float}),
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
    if not _CAPACITIES.keys() & options.keys():
        raise ModelError(f"buffers '{choice.name}' needs the option 'capacity' or 'node_capacity'")
    return Buffers(when_full=choice.name, **options)  # type: ignore[arg-type]


def routing(options: Mapping[str, Any]) -> Routing:
    return Routing(**ROUTING.read("routing", options))


def network(options: Mapping[str, Any]) -> Network:
    return Network(**NETWORK.read("network", options))


def _options(what: str, known: Mapping[str, Form], choice: Choice, folder: Path) -> dict[str, Any]:
    """Options that are files become the numbers in them."""
    return {
        name: recorded_numbers(folder / value) if isinstance(value, Path) else value
        for name, value in forms.read(what, known, choice).items()
    }


def recorded_numbers(file: Path) -> tuple[float, ...]:
    """The numbers in a text file, with blanks, commas or line ends between them."""
    try:
        text = file.read_text(encoding="utf-8")
    except OSError as error:
        raise SlotwiseError(f"{file}: the file cannot be read ({error.strerror})") from None
    except UnicodeDecodeError:
        raise SlotwiseError(f"{file}: this is not text: expected one number per line") from None
    found: list[float] = []
    for number, line in enumerate(text.splitlines(), 1):
        for word in filter(None, re.split(r"[,;\s]+", line)):
            found.append(_recorded(word, f"{file}:{number}"))
    if not 0 < len(found) <= MOST_RECORDED:
        raise SlotwiseError(
            f"{file}: it has {len(found):,} numbers: expected 1 to {MOST_RECORDED:,}"
        )
    return tuple(found)


def _recorded(word: str, place: str) -> float:
    try:
        value = float(word)
    except ValueError:
        value = math.nan
    if not math.isfinite(value):
        raise SlotwiseError(f"{place}: '{word[:40]}' is not a number: expected one number per line")
    return value
