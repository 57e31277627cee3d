"""Every study's quick version, run once for all tests; its clock ticks a millisecond a look."""

from __future__ import annotations

import itertools
from functools import cache

from slotwise import studies
from slotwise.studies import Effort, Study


def fresh(name: str, seed: int = 0) -> Study:
    ticks = itertools.count()
    return studies.run(name, Effort(quick=True, seed=seed, clock=lambda: next(ticks) / 1000))


quick = cache(fresh)
