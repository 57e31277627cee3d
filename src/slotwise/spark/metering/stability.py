"""Whether a run keeps pace with its sources.

Beside the threads' own figures (`pace`), three signs show that the pipeline is asked for more than
it does, also where the time is spent outside the operators (in the shuffle, in garbage collection,
or waiting for a CPU quota): less comes out than came due, the latency grows, or a backlog does not
shrink. What they show is attributed to the busiest thread.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from slotwise import sketch
from slotwise.model import is_stable
from slotwise.spark.metering import pace
from slotwise.spark.metering.counters import Floats
from slotwise.spark.metering.loads import Loads

LATE_MS = 500.0
"""Tuples that wait longer than this, and longer than LONG_QUEUE services, are late."""
LONG_QUEUE = 20
"""A queue of this length is usual for a thread that is busy 95 % of the time."""
CATCH_UP_S = 30.0
"""A backlog is to be worked off within this time, or within the window if that is shorter."""
GROWTH_MS = 100.0
"""Latency that grows by less than this in the whole window grows by chance."""
FALLING_MS_PER_S = -10.0
"""Latency that falls faster than this falls because a backlog is worked off."""
BUSY = 0.9
"""A thread that is busy for more of the time than this is named in a remark."""
REMARKED_S = 0.1
"""A backlog of more than what comes due in this time is named in a remark."""


@dataclass(frozen=True)
class Trend:
    """The line of least squares through latencies."""

    slope: float
    """ms per second."""
    error: float
    """The standard error of `slope`."""
    seconds: float

    @property
    def grows(self) -> bool:
        return self.slope > 3 * self.error and self.slope * self.seconds > GROWTH_MS

    @property
    def falls(self) -> bool:
        return self.slope < min(FALLING_MS_PER_S, -3 * self.error)


def trend(latencies: Sequence[tuple[float, float]]) -> Trend | None:
    """Of (seconds, ms) in the order of time; None for fewer than five.

    The medians of three neighbours are taken, so that a pause between two batches is not a slope.
    """
    if len(latencies) < 5:
        return None
    times, values = np.array(latencies).T
    smooth = np.median(np.stack([values[:-2], values[1:-1], values[2:]]), axis=0)
    # Times since the epoch must be centred, or their squares have no digits left for the seconds.
    centred = times[1:-1] - times[1:-1].mean()
    spread = float(centred @ centred)
    slope = float(centred @ smooth) / spread
    rest = smooth - smooth.mean() - slope * centred
    error = math.sqrt(float(rest @ rest) / (len(rest) - 2) / spread)
    return Trend(slope, error, float(times[-1] - times[0]))


@dataclass(frozen=True)
class Stability:
    """What a window shows of the pipeline as a whole."""

    loads: Loads
    recent: Loads
    """The second half of the window."""
    latencies: Sequence[tuple[float, float]]
    """(seconds, mean ms at sinks) of each report in which tuples came to a sink."""

    @cached_property
    def due(self) -> Floats:
        return pace.due_rates(self.loads)

    @property
    def offered_rate(self) -> float:
        return pace.offered_rate(self.loads, self.due)

    @cached_property
    def trend(self) -> Trend | None:
        return trend(self.latencies)

    @cached_property
    def late_ms(self) -> float:
        """How much later than usual tuples came to the sinks in the last third of the window.

        Usual are the services on the longest way there, and one wait that is not yet long. With
        micro-batches a tuple waits for its batch, however long that is: none is late.
        """
        if self.loads.watched.mode == "micro-batch":
            return 0.0
        service_ms = np.nan_to_num(self.loads.service_ms)
        usual = _longest_way(self.loads, service_ms)
        usual += max(LATE_MS, LONG_QUEUE * float(service_ms.max()))
        last = [ms for _, ms in self.latencies[-math.ceil(len(self.latencies) / 3) :]]
        if not last:
            whole = sketch.mean_s(self.loads.counted.latencies)
            last = [] if whole is None else [1000 * whole]
        return max(float(np.median(last)) - usual, 0.0) if last else 0.0

    @cached_property
    def is_catching_up(self) -> bool:
        """A backlog is being worked off, or the window is too short to see whether it is."""
        if self.late_ms == 0:
            return False
        if self._gains:
            return True
        lately = trend(self.latencies[len(self.latencies) // 2 :]) or self.trend
        if lately is None:
            return is_stable(float(self._asked_by_counts.max()))
        return lately.falls and self._finishes_what_comes_due

    @cached_property
    def grows(self) -> bool:
        """The latency grows, and not because tuples that were held up are finished now."""
        return self.trend is not None and self.trend.grows and not self._gains

    @cached_property
    def _gains(self) -> bool:
        """More came out than came due, and at the end of the window still no less."""
        windows = ((self.loads, self.due), (self.recent, self._due_recently))
        return self._finishes_what_comes_due and any(pace.gains(*each) for each in windows)

    @cached_property
    def _finishes_what_comes_due(self) -> bool:
        return pace.unfinished(self.recent, self._due_recently) <= 1

    @cached_property
    def _due_recently(self) -> Floats:
        return pace.due_rates(self.recent)

    @cached_property
    def asked(self) -> Floats:
        """Per thread, the work that it is asked for per second, in seconds."""
        found = self._asked_by_counts
        if self.grows and self.trend is not None:
            # Of what comes due in a second, that much less is finished in it.
            found = _of_busiest(found, 1 / (1 - min(self.trend.slope / 1000, 0.99)))
        if self.late_ms and not self.is_catching_up:
            seconds = min(self.loads.window_s, CATCH_UP_S)
            found = _of_busiest(found, 1 + self.late_ms / 1000 / seconds)
        return found

    @cached_property
    def _asked_by_counts(self) -> Floats:
        """By the threads' busy time, and by what came due and what came out."""
        found = pace.asked_of_threads(self.loads, self.due)
        unfinished = pace.unfinished(self.loads, self.due)
        return _of_busiest(found, unfinished) if unfinished > 1 and self.has_begun else found

    @property
    def has_begun(self) -> bool:
        """A tuple was handled in the window."""
        return bool(self.loads.handled.any())

    @cached_property
    def stable(self) -> bool | None:
        """None before the first tuple, and while a backlog is worked off."""
        if self.is_catching_up or not self.has_begun:
            return None
        return is_stable(float(self.asked.max()))

    @property
    def busiest(self) -> float | None:
        """None before the first tuple."""
        return float(self.asked.max()) if self.has_begun else None

    @cached_property
    def throughput(self) -> float | None:
        return pace.throughput(self.loads)

    @cached_property
    def backlog(self) -> float | None:
        return pace.backlog(self.loads, self.due)

    @property
    def bottleneck(self) -> str | None:
        if not self.asked.any():
            return None
        owner = self.loads.watched.plan.allocation.thread_operator[int(np.argmax(self.asked))]
        return self.loads.topology.operators[int(owner)].name

    @property
    def remarks(self) -> tuple[str, ...]:
        return tuple(self._remarks())

    def _remarks(self) -> Iterator[str]:
        offered = self.offered_rate
        if self.stable is False:
            yield (
                f"unstable: '{self.bottleneck}' is the bottleneck, its busiest thread needs "
                f"{float(self.asked.max()):.2f} s per second"
            )
        if pace.unfinished(self.loads, self.due) > 1 and self.throughput is not None:
            yield f"{self.throughput:,.0f} of {offered:,.0f} inputs/s leave the pipeline"
        if self.grows and self.trend is not None:
            yield f"the latency grows by {self.trend.slope:,.1f} ms per second"
        if self.backlog is not None and self.backlog > REMARKED_S * self.due.sum():
            yield f"{self.backlog:,.0f} tuples were due and not yet taken in at the end"
        if self.late_ms and self.latencies:
            left = round(self.latencies[-1][1] / 1000 * self.due.sum())
            judged = "" if self.stable is False else ": too early to say whether the run keeps pace"
            yield f"about {left:,} tuples that came due are still to be worked off{judged}"
        yield from self._busy_remark()

    def _busy_remark(self) -> Iterator[str]:
        thread = int(np.argmax(self.asked))
        busy = float(self.loads.busy_by_thread[thread])
        if busy > BUSY:
            first = self.loads.watched.plan.allocation.first_thread
            owner = int(self.loads.watched.plan.allocation.thread_operator[thread])
            name = self.loads.topology.operators[owner].name
            yield (
                f"thread {thread - int(first[owner])} of '{name}' is busy {min(busy, 1.0):.0%} "
                "of the time"
            )


def _longest_way(loads: Loads, service_ms: Floats) -> float:
    """The services that a tuple has behind it at a sink, added up, on the longest way there."""
    topology, found = loads.topology, service_ms.copy()
    for operator in topology.order:
        before = [found[topology.edges[stream][0]] for stream in topology.inputs[operator]]
        found[operator] += max(before, default=0.0)
    return float(found.max())


def _of_busiest(asked: Floats, least: float) -> Floats:
    """With the busiest thread asked for `least` or more."""
    changed = asked.copy()
    busiest = int(np.argmax(asked))
    changed[busiest] = max(asked[busiest], least)
    return changed
