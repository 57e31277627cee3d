"""Lines of a web server's log. One in two is a GET, one in two of these succeeds, and one in four
of these is of more than 100 kB: the selectivities of `tapering`.
"""

from __future__ import annotations

from collections.abc import Iterator
from random import Random

LINES = 8000
LARGE_BYTES = 100_000


def lines() -> Iterator[str]:
    random = Random(8)
    return (_line(number, random) for number in range(LINES))


def _line(number: int, random: Random) -> str:
    method = "GET" if number % 2 == 0 else random.choice(("POST", "HEAD"))
    status = 200 if number // 2 % 2 == 0 else random.choice((301, 404, 500))
    large = number // 4 % 4 == 0
    size = random.randint(LARGE_BYTES + 1, 10**6) if large else random.randint(200, LARGE_BYTES)
    host = f"10.{random.randrange(4)}.{random.randrange(256)}.{random.randrange(256)}"
    second = f"{number // 3600 % 24:02}:{number // 60 % 60:02}:{number % 60:02}"
    path = f"/articles/{random.randrange(500)}"
    return f'{host} - - [17/Nov/2026:{second} +0000] "{method} {path} HTTP/1.1" {status} {size}'
