"""What the threads of a query did between two snapshots of the meters, as the plan numbers them.

A tuple carries when it was due at its source, so its age is known wherever it is metered. How much
older an operator's tuples are on arrival than when the operators before were done with them is
their wait. Where threads are on several machines, their clocks are assumed to agree.

An operator sends every output tuple on all its streams, so the tuples that it emitted divide among
them as its routes say; no tuple has to be looked at for that, and a stream's rate is exact however
many levels the stream spans.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from slotwise.model import OperatorLoad, Plan, StreamLoad, ThreadTraffic
from slotwise.rates import propagated
from slotwise.spark.metering.counters import Counters, Floats, difference, sent
from slotwise.spark.metering.meters import MeterSnapshot
from slotwise.spark.query.levels import Layout
from slotwise.spark.query.refusals import Mode
from slotwise.spark.query.routing import sent_per_output


@dataclass(frozen=True)
class Watched:
    """The query that the meters are read for."""

    plan: Plan
    layout: Layout
    query: str
    nominal_rate: float
    """The input rate that its sources are asked for now, in the unit of `--rate`: what counts where
    it is not seen."""
    mode: Mode = "real-time"
    is_scheduled: bool = False
    """Something else sets the rate of some source: a schedule, or data that comes when it comes."""
    outside: frozenset[int] = frozenset()
    """The operators that compute in processes of their own, which are not metered."""
    cores_per_slot: float = 1.0
    """What a slot on a node of speed 1 may use: its CPU quota, or a core without one."""


class Loads:
    """Differences of two snapshots: per thread, per operator and per stream.

    Arrays are in the plan's order of threads and the topology's of operators and streams; NaN where
    something is not known.
    """

    def __init__(self, watched: Watched, before: Counters, after: Counters) -> None:
        self.watched = watched
        self.layout, self.topology = watched.layout, watched.layout.topology
        owners = watched.plan.allocation.thread_operator
        self.in_spark = np.isin(owners, watched.layout.keyed)
        """Per thread: it is one of an aggregate, which works inside Spark."""
        self.after = after
        self.window_s = max(after.time - before.time, 1e-9)
        self.counted = difference(before, after)

    def of_operators(self, per_thread: Floats) -> Floats:
        """The sums of each operator's threads."""
        owners = self.watched.plan.allocation.thread_operator
        return np.asarray(np.bincount(owners, per_thread, len(self.topology.operators)), np.float64)

    def rates(self, name: str) -> Floats:
        """Per thread, what one of the meters' sums grew by per second."""
        return self.counted.sums[name] / self.counted.seconds

    # -- tuples -----------------------------------------------------------------------------

    @cached_property
    def handled_by_thread(self) -> Floats:
        """Tuples/s. Micro-batches answer an aggregate's groups, not its tuples: there, what was
        sent to it counts, divided among its threads as their answers are.
        """
        found = self.rates("arrivals")
        if self.watched.mode != "micro-batch":
            return found
        for aggregate in self.layout.keyed:
            own = self.watched.plan.allocation.thread_operator == aggregate
            answers = found[own].sum()
            sent = self.stream_rates[list(self.topology.inputs[aggregate])].sum()
            found = np.where(own, found * (sent / answers if answers else 0.0), found)
        return found

    @cached_property
    def handled(self) -> Floats:
        """Per operator, tuples/s."""
        return self.of_operators(self.handled_by_thread)

    @cached_property
    def emitted(self) -> Floats:
        """Per operator, tuples/s sent on all its streams; 0 at the end of the query."""
        found = self.of_operators(self.rates("emitted"))
        return np.where([bool(streams) for streams in self.topology.outputs], found, 0.0)

    @cached_property
    def stream_rates(self) -> Floats:
        """Per stream, tuples/s that were sent on it, every copy counted."""
        per_output = np.array(
            [sent_per_output(self.layout, stream) for stream in range(len(self.topology.streams))]
        )
        found = np.zeros(len(per_output))
        for operator, streams in enumerate(self.topology.outputs):
            own = list(streams)
            if own:
                found[own] = self.emitted[operator] * per_output[own] / per_output[own].sum()
        return found

    @cached_property
    def copies(self) -> Floats:
        """Per stream, the copies of a tuple that are sent: one to each thread with `all`."""
        return np.array(
            [
                self.layout.threads[target] if stream.grouping.kind == "all" else 1
                for stream, (_, target) in zip(
                    self.topology.streams, self.topology.edges, strict=True
                )
            ],
            dtype=np.float64,
        )

    @cached_property
    def selectivities(self) -> Floats:
        """Per stream, tuples sent per tuple that its source handled; NaN if it handled none."""
        handled = self.handled[[source for source, _ in self.topology.edges]]
        with np.errstate(divide="ignore", invalid="ignore"):
            return np.where(handled > 0, self.stream_rates / self.copies / handled, np.nan)

    @property
    def streams(self) -> tuple[StreamLoad, ...]:
        return tuple(
            StreamLoad(stream.source, stream.target, float(rate), _known(selectivity))
            for stream, rate, selectivity in zip(
                self.topology.streams, self.stream_rates, self.selectivities, strict=True
            )
        )

    # -- what one input causes --------------------------------------------------------------

    def caused(self, external: Floats) -> Floats:
        """Per operator, tuples/s that sources which emit at the rates `external` cause there: by
        the measured selectivities, and the topology's where a stream's source handled nothing.
        """
        given = np.array([stream.selectivity for stream in self.topology.streams])
        found = np.where(np.isnan(self.selectivities), given, self.selectivities)
        return propagated(self.topology, external, found * self.copies)

    @cached_property
    def caused_by_one(self) -> Floats:
        """Per operator, tuples that an input rate of 1/s causes there."""
        return self.caused(self.shares)

    @cached_property
    def shares(self) -> Floats:
        """Per operator, a source's share of the input rate; 0 for the others."""
        return np.array([o.share if o.kind == "source" else 0.0 for o in self.topology.operators])

    @property
    def source_rate(self) -> float:
        """Tuples/s that the sources have taken in."""
        return float(self.handled[self.shares > 0].sum())

    # -- time -------------------------------------------------------------------------------

    @cached_property
    def busy_by_thread(self) -> Floats:
        """The part of the time that each thread worked. An aggregate works inside Spark: its CPU
        time counts.
        """
        return np.where(self.in_spark, self.rates("cpu_seconds"), self.rates("busy_seconds"))

    @cached_property
    def service_ms(self) -> Floats:
        """Per operator, the mean of its tuples; NaN if it handled none."""
        seconds = self.counted.seconds
        return 1000 * _ratio(
            self.of_operators(self.busy_by_thread * seconds),
            self.of_operators(self.handled_by_thread * seconds),
        )

    @cached_property
    def service_scv(self) -> Floats:
        """Per operator, the squared coefficient of variation of its service time; NaN where tuples
        are not timed one by one (on Arrow batches, in an aggregate).
        """
        timed, total, squares = (
            self.of_operators(self.counted.sums[name])
            for name in ("timed", "busy_seconds", "busy_squared")
        )
        found = np.maximum(_ratio(squares * timed, total**2) - 1, 0.0)
        aggregates = np.isin(np.arange(len(found)), self.layout.keyed)
        return np.where((timed < 2) | aggregates, np.nan, found)

    @cached_property
    def waiting_ms(self) -> Floats:
        """Per operator, the mean wait of its tuples; of a source's, how late it took them in."""
        sums = self.counted.sums
        age_ms = 1000 * _ratio(
            self.of_operators(sums["age_seconds"]), self.of_operators(sums["arrivals"])
        )
        # An aggregate is metered when it has answered.
        aggregates = np.isin(np.arange(len(age_ms)), self.layout.keyed)
        in_aggregate = np.where(aggregates, self.service_ms, 0.0)
        left_ms = age_ms + self.service_ms - in_aggregate
        sent_ms = np.array([self._sent_ms(i, left_ms) for i in range(len(age_ms))])
        # Means of tuples that are still on their way differ a little.
        waits: Floats = np.maximum(age_ms - in_aggregate - sent_ms, 0.0)
        return waits

    def _sent_ms(self, operator: int, left_ms: Floats) -> float:
        """How old an operator's tuples were when they were sent to it, in the mean."""
        streams = self.topology.inputs[operator]
        if not streams:
            return 0.0  # a source: its tuples were due at age 0
        rates = self.stream_rates[list(streams)]
        ages = left_ms[[self.topology.edges[stream][0] for stream in streams]]
        used = (rates > 0) & ~np.isnan(ages)
        return float(np.average(ages[used], weights=rates[used])) if used.any() else math.nan

    @property
    def sojourn_ms(self) -> float | None:
        """Waiting and service of all tuples that an input causes, handled or still in buffers; None
        if none of them was handled at some operator.
        """
        visits = self.caused_by_one / self.shares.sum()
        each = (visits * (self.waiting_ms + self.service_ms))[visits > 0]
        return _known(each.sum()) if self.source_rate else None

    # -- all together -----------------------------------------------------------------------

    @cached_property
    def operators(self) -> tuple[OperatorLoad, ...]:
        threads = np.array(self.layout.threads)
        busy = self.of_operators(self.busy_by_thread)
        cpu = self.of_operators(self.rates("cpu_seconds"))
        failed = self.of_operators(self.counted.sums["failures"])
        capacity = 1000 * threads * _ratio(np.ones(len(busy)), self.service_ms)
        return tuple(
            OperatorLoad(
                operator=operator.name,
                arrival_rate=float(self.handled[i]),
                emitted_rate=float(self.emitted[i]),
                capacity=_known(capacity[i]),
                utilisation=float(busy[i] / threads[i]),
                waiting_ms=_known(self.waiting_ms[i]),
                service_ms=_known(self.service_ms[i]),
                service_scv=_known(self.service_scv[i]),
                cpu=None if i in self.watched.outside else float(cpu[i]),
                failed=round(failed[i]),
            )
            for i, operator in enumerate(self.topology.operators)
        )

    def traffic(self, first: MeterSnapshot, last: MeterSnapshot) -> ThreadTraffic | None:
        """Tuples/s between the threads at both ends of streams, whatever threads pass them on.

        What a thread emitted is divided as the tuples are whose receivers were looked at: up to
        20,000/s all of them. None if some thread's receivers are not known. Memory: threads².
        """
        found = sent(self.watched, last) - sent(self.watched, first)
        looked_at = found.sum(axis=1)
        has_outputs = np.array([bool(streams) for streams in self.topology.outputs])
        owners = self.watched.plan.allocation.thread_operator
        emitted = np.where(has_outputs[owners], self.rates("emitted"), 0.0)
        if (emitted[looked_at == 0] > 0).any():
            return None
        senders, receivers = np.nonzero(found)
        rates = emitted[senders] * found[senders, receivers] / looked_at[senders]
        return ThreadTraffic(senders, receivers, rates)


def _ratio(above: Floats, below: Floats) -> Floats:
    """NaN instead of a division by zero."""
    made: Floats = np.full(np.broadcast(above, below).shape, np.nan)
    return np.divide(above, below, out=made, where=below > 0)


def _known(value: float | np.float64) -> float | None:
    return None if math.isnan(value) else float(value)


def crossing(traffic: ThreadTraffic, place: NDArray[np.int64]) -> float:
    """Tuples/s between threads at different places."""
    return float(traffic.rates[place[traffic.senders] != place[traffic.receivers]].sum())
