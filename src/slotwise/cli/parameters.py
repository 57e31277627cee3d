"""Parameters that several commands share, and how their text is read."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Annotated, Any

from cyclopts import Parameter, Token


def _rate(text: str) -> float:
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if not (math.isfinite(value) and value > 0):
        raise ValueError(f"'{text}' is no rate: write tuples/s as a number above 0, such as 100.")
    return value


def _read_rate(_: Any, tokens: Sequence[Token]) -> float:
    return _rate(tokens[0].value)


def _read_rates(_: Any, tokens: Sequence[Token]) -> tuple[float, ...]:
    return tuple(_rate(part.strip()) for token in tokens for part in token.value.split(","))


def _read_algorithms(_: Any, tokens: Sequence[Token]) -> tuple[str, ...]:
    return tuple(name for token in tokens for name in split_algorithms(token.value))


def split_algorithms(text: str) -> list[str]:
    """Names by comma; a part `option=value` belongs to the algorithm before it.

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
            raise ValueError(f"'{text}' has an empty name: write names with a comma between them.")
    return names


Spec = Annotated[str, Parameter(help="A spec file, or the name of a bundled example.")]
Rate = Annotated[
    float | None,
    Parameter(converter=_read_rate, help="Input tuples/s; in place of the spec's goals.rate."),
]
Rates = Annotated[
    tuple[float, ...],
    Parameter(
        converter=_read_rates,
        n_tokens=1,
        negative=(),
        show_default=False,
        help="Input tuples/s, with commas between: 50,100,200. Default: the spec's goals.rate.",
    ),
]
Algorithms = Annotated[
    tuple[str, ...],
    Parameter(converter=_read_algorithms, n_tokens=1, negative=(), show_default=False),
]
Json = Annotated[
    bool,
    Parameter(name="--json", negative=(), show_default=False, help="Print JSON, and nothing else."),
]
