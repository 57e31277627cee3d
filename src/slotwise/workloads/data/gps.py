"""GPS traces: what a vehicle has recorded in its last minute, as XML, for paper 1's Traffic."""

from __future__ import annotations

import math
from collections.abc import Iterator
from random import Random

LINES = 600
VEHICLES = 60
FIXES = 30
"""One each two seconds."""
LATITUDE, LONGITUDE = 12.97, 77.59
METRES_PER_DEGREE = 111_000


def lines() -> Iterator[str]:
    """Vehicles in turn; each goes on from where it was, in a direction that changes slowly."""
    random = Random(2)
    fleet = [_Vehicle(f"v{number}", random) for number in range(VEHICLES)]
    return (fleet[number % VEHICLES].minute(number) for number in range(LINES))


class _Vehicle:
    def __init__(self, name: str, random: Random) -> None:
        self.name, self.random = name, random
        self.latitude = LATITUDE + random.uniform(-0.1, 0.1)
        self.longitude = LONGITUDE + random.uniform(-0.1, 0.1)
        self.heading = random.uniform(0, math.tau)
        self.speed = random.uniform(5, 15)

    def minute(self, number: int) -> str:
        fixes = "".join(self._fix(2 * step) for step in range(FIXES))
        return f'<trace vehicle="{self.name}" minute="{number // VEHICLES}">{fixes}</trace>'

    def _fix(self, second: int) -> str:
        self.heading += self.random.gauss(0, 0.1)
        self.speed = min(max(self.speed + self.random.gauss(0, 0.5), 0.0), 25.0)
        moved = 2 * self.speed / METRES_PER_DEGREE
        self.latitude += moved * math.sin(self.heading)
        self.longitude += moved * math.cos(self.heading)
        return (
            f'<fix second="{second}" lat="{self.latitude:.6f}" lon="{self.longitude:.6f}" '
            f'speed="{self.speed:.2f}"/>'
        )
