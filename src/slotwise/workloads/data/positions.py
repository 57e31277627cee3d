"""Positions of soccer players, as in the DEBS 2013 Grand Challenge: 32 sensors at 200 Hz.

A line is `sid,ts,x,y,z,|v|,|a|,vx,vy,vz,ax,ay,az`: the sensor, picoseconds, millimetres, µm/s,
µm/s², and the directions of velocity and acceleration times 10,000. Players 0 to 15 have two
sensors each, 2 × player and 2 × player + 1, one in each shoe.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from random import Random

SENSORS = 32
HERTZ = 200
SECONDS = 5
PICOSECONDS = 10**12
LENGTH_MM, WIDTH_MM = 52_483, 67_925
"""Half of the field's length, on each side of the centre; its width, likewise."""


def lines() -> Iterator[str]:
    """All sensors in turn, 200 times a second."""
    random = Random(5)
    shoes = [_Shoe(sensor, random) for sensor in range(SENSORS)]
    return (shoe.sample(tick) for tick in range(SECONDS * HERTZ) for shoe in shoes)


class _Shoe:
    def __init__(self, sensor: int, random: Random) -> None:
        self.sensor, self.random = sensor, random
        self.x = random.uniform(-LENGTH_MM, LENGTH_MM)
        self.y = random.uniform(-WIDTH_MM / 2, WIDTH_MM / 2)
        self.heading = random.uniform(0, math.tau)
        self.speed = random.uniform(0, 7000)  # mm/s

    def sample(self, tick: int) -> str:
        gained = self.random.gauss(0, 40)
        self.speed = min(max(self.speed + gained, 0.0), 9000.0)
        self.heading += self.random.gauss(0, 0.02)
        across, along = math.cos(self.heading), math.sin(self.heading)
        self.x += self.speed * across / HERTZ
        self.y += self.speed * along / HERTZ
        directions = f"{across * 10_000:.0f},{along * 10_000:.0f},0"
        speed, gain = round(self.speed * 1000), round(abs(gained) * HERTZ * 1000)
        at = tick * PICOSECONDS // HERTZ
        place = f"{self.x:.0f},{self.y:.0f},100"
        return f"{self.sensor},{at},{place},{speed},{gain},{directions},{directions}"
