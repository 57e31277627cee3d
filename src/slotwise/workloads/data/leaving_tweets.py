"""The tweets again, each WINDOW tweets later: record n is the one that leaves a window of the last
WINDOW tweets when tweet n enters it. The first records are of the round before.
"""

from __future__ import annotations

from collections.abc import Iterator

from slotwise.workloads.data import tweets

WINDOW = 500


def lines() -> Iterator[str]:
    entered = list(tweets.lines())
    return iter([*entered[-WINDOW:], *entered[:-WINDOW]])
