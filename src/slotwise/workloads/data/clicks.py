"""Clicks on pages as JSON; four in five are of people, the others of crawlers."""

from __future__ import annotations

import json
from collections.abc import Iterator
from random import Random

LINES = 5000
PAGES = 50


def lines() -> Iterator[str]:
    random = Random(7)
    return (_click(number, random) for number in range(LINES))


def _click(number: int, random: Random) -> str:
    user = f"u{random.randrange(1000)}" if number % 5 else f"bot{random.randrange(10)}"
    page = int(PAGES ** random.random())  # page 1 most often
    return json.dumps({"page": f"/page-{page}", "user": user})
