"""Parameters that several commands share, and how their text is read."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Annotated, Any, Literal

from cyclopts import CycloptsError, Group, Parameter, Token


def _invalid(token: Token, problem: str) -> CycloptsError:
    """A usage error that names the option."""
    return CycloptsError(msg=f"{token.keyword}: {problem}" if token.keyword else problem)


def _rate(token: Token, text: str) -> float:
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if not (math.isfinite(value) and value > 0):
        raise _invalid(token, f"invalid value '{text}': expected a number > 0, such as 100")
    return value


def _read_rate(_: Any, tokens: Sequence[Token]) -> float:
    return _rate(tokens[0], tokens[0].value)


def _read_rates(_: Any, tokens: Sequence[Token]) -> tuple[float, ...]:
    return tuple(_rate(token, part.strip()) for token in tokens for part in token.value.split(","))


def _read_duration(_: Any, tokens: Sequence[Token]) -> float:
    from slotwise.durations import positive_seconds
    from slotwise.model import ModelError

    try:
        return positive_seconds(tokens[0].value)
    except ModelError as error:
        raise _invalid(tokens[0], error.message) from None


def _read_scale(_: Any, tokens: Sequence[Token]) -> float | None:
    from slotwise.model import ModelError
    from slotwise.spark.scaling import factor

    try:
        return factor(tokens[0].value)
    except ModelError as error:
        raise _invalid(tokens[0], error.message) from None


def integer_from(least: int) -> Callable[[Any, Sequence[Token]], int]:
    """Reads an integer ≥ `least`; `100,000` and `100_000` are 100000."""

    def read(_: Any, tokens: Sequence[Token]) -> int:
        text = tokens[0].value.replace("_", "").replace(",", "")
        if not re.fullmatch("[0-9]{1,18}", text) or int(text) < least:
            given = tokens[0].value
            raise _invalid(tokens[0], f"invalid value '{given}': expected an integer ≥ {least}")
        return int(text)

    return read


def _read_algorithms(_: Any, tokens: Sequence[Token]) -> tuple[str, ...]:
    names: list[str] = []
    for token in tokens:
        try:
            names += split_algorithms(token.value)
        except ValueError as error:
            raise _invalid(token, str(error)) from None
    return tuple(names)


def _read_conf(_: Any, tokens: Sequence[Token]) -> tuple[tuple[str, str], ...]:
    read = []
    for token in tokens:
        name, equals, value = token.value.partition("=")
        if not (name.strip() and equals):
            raise _invalid(token, f"invalid value '{token.value}': expected NAME=VALUE")
        read.append((name.strip(), value.strip()))
    return tuple(read)


def split_algorithms(text: str) -> list[str]:
    """Names by comma; a part `option=value` belongs to the algorithm before it. Raises ValueError.

    >>> split_algorithms("sam,topology:alpha=0.2,beta=0.5,traffic")
    ['sam', 'topology:alpha=0.2,beta=0.5', 'traffic']
    """
    names: list[str] = []
    for part in text.split(","):
        if names and ":" in names[-1] and "=" in part and ":" not in part:
            names[-1] += f",{part.strip()}"
        elif part.strip():
            names.append(part.strip())
        else:
            raise ValueError(f"empty name in '{text}': expected names separated by commas")
    return names


Spec = Annotated[str, Parameter(help="A spec file, or the name of a bundled example.")]
Rate = Annotated[
    float | None,
    Parameter(converter=_read_rate, help="Input rate in tuples/s. Default: the spec's goals.rate."),
]
Rates = Annotated[
    tuple[float, ...],
    Parameter(
        converter=_read_rates,
        n_tokens=1,
        negative=(),
        show_default=False,
        help="Input rates in tuples/s, such as 50,100,200. Default: the spec's goals.rate.",
    ),
]
Duration = Annotated[float, Parameter(converter=_read_duration)]
"""In seconds, above 0; see durations.py."""
Scale = Annotated[float | None, Parameter(converter=_read_scale, show_default=False)]
"""A part of 1, or None for `auto`."""
Algorithms = Annotated[
    tuple[str, ...],
    Parameter(converter=_read_algorithms, n_tokens=1, negative=(), show_default=False),
]
SparkConf = Annotated[
    tuple[tuple[str, str], ...],
    Parameter(
        converter=_read_conf,
        n_tokens=1,
        negative=(),
        show_default=False,
        help="A setting of Spark, NAME=VALUE; repeatable. It comes before 'conf' of the spec.",
    ),
]
EventLog = Annotated[
    str | None,
    Parameter(
        show_default=False,
        help="Write Spark's event log to this directory, or address, for Spark's history server.",
    ),
]
SparkUi = Annotated[
    bool,
    Parameter(
        name="--spark-ui",
        negative=(),
        show_default=False,
        help="Serve Spark's own page, at the address that is printed.",
    ),
]
Json = Annotated[
    bool,
    Parameter(name="--json", negative=(), show_default=False, help="Print JSON instead of text."),
]

_ADAPTATION = Group("Adaptation", sort_key=4)


def _adapting(text: str) -> Parameter:
    return Parameter(group=_ADAPTATION, show_default=False, help=text)


Controller = Annotated[
    str | None,
    _adapting(
        "Adapt the plan while it runs: threshold:above=0.7, or another controller of 'slotwise "
        "algorithms'. Default: look-ahead if another option of this group is given, else none."
    ),
]
Apply = Annotated[
    Literal["never", "placement", "all"] | None,
    _adapting(
        "Which changes to apply: all (default), placement (threads in other slots only), or never "
        "(only recommend)."
    ),
]
Period = Annotated[
    float | None,
    Parameter(converter=_read_duration),
    _adapting("The time between two decisions: 10s (default), 1m."),
]
Decisions = Annotated[
    Path | None, _adapting("Write each decision and what it rests on to this file, as JSON lines.")
]
ControlFile = Annotated[
    Path | None,
    Parameter(name="--control"),
    _adapting("Read this file at each decision: it can hold, forbid or force changes."),
]
"""Options of a run under a controller; see cli/adapting.py. None: not given."""
