"""XML messages of a few kB: orders with many positions, for paper 1's micro-DAGs."""

from __future__ import annotations

from collections.abc import Iterator
from random import Random

LINES = 500
POSITIONS = 60
"""A message has about 5 kB, which XPath takes a few milliseconds for."""
CITIES = ("Bengaluru", "Chennai", "Delhi", "Mumbai", "Pune")


def lines() -> Iterator[str]:
    random = Random(1)
    return (_message(number, random) for number in range(LINES))


def _message(number: int, random: Random) -> str:
    positions = "".join(
        f'<position article="a{random.randrange(5000)}" quantity="{random.randint(1, 9)}" '
        f'price="{random.randint(100, 99_999) / 100:.2f}"/>'
        for _ in range(POSITIONS)
    )
    return (
        f'<order number="{number}"><customer>c{random.randrange(1000)}</customer>'
        f"<city>{random.choice(CITIES)}</city><positions>{positions}</positions></order>"
    )
