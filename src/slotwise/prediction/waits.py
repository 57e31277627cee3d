"""How long tuples wait at a thread that they reach irregularly.

Tuples that come faster than they are served count as a batch. Its first tuple waits as Kraemer and
Langenbach-Belz say for single customers that are batches; a tuple further back also waits for those
before it. Exact for M/G/1, and for batches of one size at Poisson times.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from slotwise.prediction.dispersion import Windows
from slotwise.prediction.groups import Floats

GAPS = 2.0
"""A queue feels windows of at least so many mean gaps between tuples: evenness shows over that."""


@dataclass(frozen=True)
class Waits:
    """Parallel arrays, one entry per kind of threads."""

    first_s: Floats
    """Mean wait of the first tuple of a batch; infinite where threads cannot keep up."""
    in_batch_s: Floats
    """Mean time that a tuple waits for those of its batch before it."""
    batch: Floats
    """How many tuples a tuple finds in its batch, itself included."""
    burst: Floats
    """How many come in a burst, as a queue feels it over the time it takes to empty; at least 1."""

    @classmethod
    def none(cls, kinds: int) -> Waits:
        return cls(np.zeros(kinds), np.zeros(kinds), np.ones(kinds), np.ones(kinds))

    @property
    def mean_s(self) -> Floats:
        return self.first_s + self.in_batch_s

    def put(self, here: slice, others: Waits) -> None:
        """Replace the entries `here`."""
        for mine, theirs in zip(self._arrays, others._arrays, strict=True):
            mine[here] = theirs

    def without_bound(self, stuck: NDArray[np.bool_]) -> Waits:
        first_s = np.where(stuck, np.inf, self.first_s)
        return Waits(first_s, self.in_batch_s, self.batch, self.burst)

    @property
    def _arrays(self) -> tuple[Floats, ...]:
        return self.first_s, self.in_batch_s, self.batch, self.burst


def waits(
    windows: Windows, rate: Floats, service_s: Floats, service_scv: Floats, index: Floats
) -> Waits:
    """`index` [kind, window] is the index of dispersion of what reaches one thread at `rate`.

    A thread without work, or with more than it can do, gets no wait: see `Waits.without_bound`.
    """
    busy = rate * service_s
    found = Waits.none(len(rate))
    queues = np.flatnonzero((busy > 0) & (busy < 1))
    if len(queues):
        rate, service_s, service_scv, busy = (
            each[queues] for each in (rate, service_s, service_scv, busy)
        )
        index = index[queues]
        felt = windows.at(index, _felt_s(windows, rate, service_s, service_scv, index))
        batch = _batch(windows, service_s, index)
        evenness = _evenness(busy, felt / batch, service_scv / batch)
        found.first_s[queues] = (
            busy * service_s / (2 * (1 - busy)) * (felt + service_scv) * evenness
        )
        found.in_batch_s[queues] = service_s * (batch - 1) / 2
        found.batch[queues] = batch
        found.burst[queues] = np.maximum(1.0, felt)
    return found


def _felt_s(
    windows: Windows, rate: Floats, service_s: Floats, service_scv: Floats, index: Floats
) -> Floats:
    """The window that a queue feels: over which the work that comes is most ahead of what the
    thread can do, by √2 standard deviations (Whitt and You's robust queueing).
    """
    busy, lengths_s = rate * service_s, windows.lengths_s
    variance = (busy * service_s)[:, None] * lengths_s * (index + service_scv[:, None])
    ahead = np.sqrt(2 * variance) - (1 - busy)[:, None] * lengths_s
    return np.asarray(np.maximum(lengths_s[np.argmax(ahead, axis=1)], GAPS / rate))


def _batch(windows: Windows, service_s: Floats, index: Floats) -> Floats:
    """How many tuples come faster than they are served, so that each waits for those before it: as
    many as make the work that is left of them largest. At least 1.

    The index is a mean over a window; its growth says how many come within that time of a tuple.
    """
    near = np.gradient(index * windows.lengths_s, windows.lengths_s, axis=1)
    passed_s = windows.lengths_s - windows.lengths_s[0]  # the shortest window is as good as none
    left = (near - 1) * service_s[:, None] - passed_s
    return np.asarray(1 + np.maximum(left.max(axis=1), 0.0) / service_s)


def _evenness(busy: Floats, arrival_scv: Floats, service_scv: Floats) -> Floats:
    """Kraemer and Langenbach-Belz's factor: at most 1, for arrivals more even than Poisson's."""
    uneven = np.maximum(arrival_scv + service_scv, 1e-12)
    spared = np.maximum(0.0, 1 - arrival_scv) ** 2
    return np.asarray(np.exp(-2 * (1 - busy) * spared / (3 * busy * uneven)))
