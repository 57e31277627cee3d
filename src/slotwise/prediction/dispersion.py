"""How irregularly tuples come: indices of dispersion, over windows of all lengths.

The index of a flow over windows of length t is Var N(t) / E N(t), N(t) being how many tuples come
in a window: 1 for Poisson arrivals, less for even ones, and for bursts about as many as come
together. A queue feels the index over windows about as long as it takes to empty, so one number per
flow (as in Whitt's QNA) is not enough: tuples that three senders deal out in turn are random over a
second and even over a minute. Whitt and You's RQNA follows the whole curve. So do we, with rules
for what engines do: selectivities, dealing out in turn or by key, and delays in queues before.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from slotwise.prediction.groups import Floats

WINDOWS = 96
SHORTEST, LONGEST = 0.05, 3e4
"""The windows, in the shortest and the longest service time. Longer ones change nothing: queues
that need longer to empty feel what the longest window has."""
LAG = 0.5
"""Tuples of one input are a part of their mean delay apart after it: two exponential times with
the same mean differ by that mean, tuples of one queue leave one after the other by less. Half is
between the two."""
_SCALES = np.geomspace(1e-3, 1e6, 181)


@dataclass(frozen=True)
class Windows:
    """The lengths of windows that indices are given for, rising by one factor."""

    lengths_s: Floats

    @classmethod
    def for_services(cls, service_s: Floats) -> Windows:
        times = service_s[service_s > 0]
        shortest, longest = (times.min(), times.max()) if len(times) else (1.0, 1.0)
        return cls(np.geomspace(shortest * SHORTEST, longest * LONGEST, WINDOWS))

    def kept(self, delay_s: float) -> Floats:
        """The part of an input's tuples in one window that still are in one after a delay of that
        mean.
        """
        if delay_s <= 0:
            return np.ones(len(self.lengths_s))
        lags = self.lengths_s / (LAG * delay_s)
        return np.asarray(1 + np.expm1(-lags) / lags)

    def let_through(self, relaxation_s: Floats) -> Floats:
        """[thread, window]: how much of the arrivals' index the departures of a queue have.

        Over windows far shorter than the queue's relaxation time they have that of services, over
        far longer ones that of arrivals; between them Whitt and You's weight (2018), which is that
        of a reflected Brownian motion.
        """
        scales = self.lengths_s / np.maximum(relaxation_s, 1e-300)[:, None]
        return np.asarray(np.interp(scales, _SCALES, _WEIGHTS, left=0.0, right=1.0))

    def rounding(self, rate: float | Floats) -> Floats:
        """The index that dealing out in turn adds at `rate`, for each tuple's part not dealt.

        A turn that is under way when a window begins or ends makes a count differ by up to 1: its
        variance goes from that of few tuples, their mean, to 1/6. The last axis is the windows'.
        """
        return np.asarray(1 / (1 + 6 * np.multiply.outer(rate, self.lengths_s)))

    def at(self, index: Floats, length_s: Floats) -> Floats:
        """`index` [row, window] at one length per row; at the ends, that of the last window."""
        step = np.log(self.lengths_s[1] / self.lengths_s[0])
        place = np.clip(np.log(length_s / self.lengths_s[0]) / step, 0, WINDOWS - 1 - 1e-9)
        left = place.astype(np.int64)
        rows = np.arange(len(index))
        part = place - left
        return np.asarray((1 - part) * index[rows, left] + part * index[rows, left + 1])


@dataclass(frozen=True)
class Flow:
    """Tuples on their way, by window."""

    counts: Floats
    """The index of dispersion."""
    kin: Floats
    """How many tuples of the same input, itself included, a tuple finds in its window. Tuples of
    one input have one key, so that `fields` grouping keeps them together."""

    def delayed(self, kept: Floats, let_through: Floats, served: Floats) -> Flow:
        """After queues; see `Windows.kept` and `let_through`. `served` is the index of tuples that
        leave busy threads.
        """
        counts = let_through * self.counts + (1 - let_through) * served
        return Flow(counts, kept * self.kin + 1 - kept)

    def emitted(self, windows: Windows, selectivity: float, sender_rate: float) -> Flow:
        """What every sender, at `sender_rate` tuples/s each, makes of it: whole tuples, spread
        evenly (0.4: two of five), and all that one tuple causes at once.
        """
        uneven = _uneven(selectivity)
        rounding = windows.rounding(selectivity * sender_rate)
        return Flow(selectivity * self.counts + uneven * rounding, selectivity * self.kin + uneven)

    def in_turn(
        self, windows: Windows, selectivity: float, sender_rate: float, share: Floats
    ) -> Floats:
        """[thread, window]: the index at threads that get their share in turn from each sender. To
        one of them, the sender's tuples are as if emitted with a lower selectivity.
        """
        each = selectivity * share
        rounding = windows.rounding(each * sender_rate)
        return np.multiply.outer(each, self.counts) + _uneven(each)[:, None] * rounding

    def by_key(self, share: Floats) -> Floats:
        """[thread, window]: the index at threads that have that share of all keys."""
        return np.multiply.outer(share, self.counts) + np.multiply.outer(1 - share, self.kin)

    def at_random(self, share: Floats) -> Floats:
        """[thread, window]: the index at threads that get tuples with that probability."""
        return np.multiply.outer(share, self.counts) + (1 - share)[:, None]


def _uneven(selectivity: float | Floats) -> Floats:
    """Variance over mean of a count of tuples that is the whole number below or above."""
    part = np.mod(selectivity, 1.0)
    return np.asarray(part * (1 - part) / np.maximum(selectivity, 1e-300))


def _reflected(scale: float) -> float:
    """Whitt and You's w*: 0 for short windows, 1 for long ones."""
    root = math.sqrt(scale)
    density = math.exp(-scale / 2) / math.sqrt(2 * math.pi)
    within = math.erf(root / math.sqrt(2))
    summed = (scale**2 + 2 * scale - 1) * within + 2 * root * density * (1 + scale)
    return (summed - scale**2) / (2 * scale)


_WEIGHTS = np.array([_reflected(scale) for scale in _SCALES.tolist()])
