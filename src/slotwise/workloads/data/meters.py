"""Smart-meter readings of a quarter of an hour, with the weather, as XML, for paper 1's Grid."""

from __future__ import annotations

import math
from collections.abc import Iterator
from random import Random

LINES = 960
METERS = 10
READINGS = 30


def lines() -> Iterator[str]:
    """Meters in turn, through one day: most is used in the evening, and when it is warm."""
    random = Random(4)
    return (_quarter(number, random) for number in range(LINES))


def _quarter(number: int, random: Random) -> str:
    hour = number // METERS / 4
    temperature = 26 - 6 * math.cos(math.tau * (hour - 3) / 24) + random.gauss(0, 0.5)
    usual = 0.5 + 0.3 * math.cos(math.tau * (hour - 20) / 24) + 0.02 * max(temperature - 24, 0)
    readings = "".join(
        f'<reading minute="{minute / 2:.1f}" kw="{usual * random.uniform(0.7, 1.3):.3f}"/>'
        for minute in range(READINGS)
    )
    return (
        f'<meter id="m{number % METERS}" hour="{hour:.2f}">{readings}'
        f'<weather temperature="{temperature:.1f}"/></meter>'
    )
