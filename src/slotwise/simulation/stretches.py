"""What happened in a deployment, stretch by stretch, as far back as it is kept.

Every stretch of simulated time has a tally of its own, kept small once it is over: pairs of threads
and latency buckets that counted nothing are left out. A window is the sum of its stretches.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from slotwise.simulation.kernels.measure import Tally, empty_tally, visited
from slotwise.simulation.kernels.world import Table, World

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]

_VISITED = ("handled", "waiting", "busy", "busy_squared")
_SUMS = ("network", "lost", "resent")


def stretch_tally(world: World) -> Tally:
    """It counts whatever ends while it is in use, whenever its input came due."""
    return empty_tally(world, -np.inf, np.inf, windows=1, log_size=0)


class Queues(NamedTuple):
    """Per operator, up to some time: tuples that arrived, and tuple-seconds that they waited."""

    arrived: Integers
    waited: Floats

    @classmethod
    def at(cls, queues: Table, now_s: float) -> Queues:
        """From the event kernel's state."""
        return cls(queues["arrived"].copy(), queues["waited"] + queues["length"] * now_s)

    def since(self, before: Queues) -> Queues:
        return Queues(self.arrived - before.arrived, self.waited - before.waited)


class _Sparse(NamedTuple):
    """An array of counts without its zeros."""

    at: Integers
    counts: Integers

    @classmethod
    def of(cls, counts: Integers) -> _Sparse:
        at = np.flatnonzero(counts)
        return cls(at, counts[at])

    def add_to(self, counts: Integers) -> None:
        counts[self.at] += self.counts


@dataclass(frozen=True)
class Stretch:
    """What was counted from `start_s` to `end_s` under one plan."""

    start_s: float
    end_s: float
    changes: int
    """Changes of plan before."""
    queues: Queues
    """What arrived and waited in it."""
    operators: Table
    """As in a Tally, with the figures of all threads."""
    threads: Table
    window: Table
    sketch: _Sparse
    largest: float
    pairs: _Sparse
    distances: Integers
    sent: Integers
    links: Table
    turns: _Sparse

    @classmethod
    def of(
        cls, tally: Tally, world: World, span_s: tuple[float, float], changes: int, queues: Queues
    ) -> Stretch:
        for field in _VISITED:
            tally.operators[field] = visited(tally, world, field)
        return cls(
            *span_s,
            changes,
            queues,
            tally.operators,
            tally.threads,
            tally.windows,
            _Sparse.of(tally.sketch),
            float(tally.largest[0]),
            _Sparse.of(tally.pairs),
            tally.distances,
            tally.sent,
            tally.links,
            _Sparse.of(tally.turns.ravel()),
        )


class Stretches:
    """The stretches of the last `kept_s` seconds, oldest first."""

    def __init__(self, kept_s: float) -> None:
        self.kept_s = kept_s
        self._stretches: deque[Stretch] = deque()

    def __len__(self) -> int:
        return len(self._stretches)

    def append(self, stretch: Stretch) -> None:
        """Stretches that ended more than `kept_s` before the new one are dropped."""
        self._stretches.append(stretch)
        oldest_s = stretch.end_s - self.kept_s * (1 - 1e-9)
        while self._stretches[0].end_s <= oldest_s:
            self._stretches.popleft()

    def since(self, start_s: float) -> list[Stretch]:
        """From the one that `start_s` is in, or begins, to the last; rounding errors aside."""
        late = start_s + 1e-9 * max(1.0, start_s)
        return [stretch for stretch in self._stretches if stretch.end_s > late]


def merged(stretches: Sequence[Stretch], world: World) -> Tally:
    """All of them in one tally: figures per thread and of traffic since the last change of plan,
    to which `world` belongs; the others of the whole time. It has a window for each stretch.

    O(stretches · (operators + threads + pairs in use)).
    """
    last = stretches[-1]
    tally = empty_tally(world, stretches[0].start_s, last.end_s, windows=1, log_size=0)
    for each in stretches:
        each.sketch.add_to(tally.sketch)
        tally.largest[0] = max(tally.largest[0], each.largest)
        _add(tally.operators, each.operators, _SUMS)
        if each.changes == last.changes:
            _add_threads(tally, each)
        else:
            _add(tally.operators, each.operators, _VISITED)
    return tally._replace(windows=np.concatenate([each.window for each in stretches]))


def _add(total: Table, more: Table, names: tuple[str, ...]) -> None:
    for name in names:
        total[name] += more[name]


def _add_threads(tally: Tally, stretch: Stretch) -> None:
    _add(tally.threads, stretch.threads, (*_VISITED, "blocked"))
    stretch.pairs.add_to(tally.pairs)
    tally.distances[:] += stretch.distances
    tally.sent[:] += stretch.sent
    _add(tally.links, stretch.links, ("sending", "receiving", "held", "lost", "resent"))
    stretch.turns.add_to(tally.turns.ravel())
    np.maximum(tally.links["most"], stretch.links["most"], out=tally.links["most"])
