"""What the threads of a query did between two snapshots of the meters, as the plan numbers them.

A tuple carries when it was due at its source, so its age is known wherever it is metered. What an
operator's tuples are older on arrival than when the operators before were done with them is their
wait. Where threads are on several machines, their clocks are taken to agree.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from slotwise.model import OperatorLoad, Plan, ThreadLoad, ThreadTraffic
from slotwise.spark.levels import Layout
from slotwise.spark.meters import MeterSnapshot, ThreadMeter, bucket_ms


@dataclass(frozen=True)
class Watched:
    """The query that the meters are read for."""

    plan: Plan
    layout: Layout
    query: str
    offered_rate: float


class Loads:
    """Differences of two snapshots, per thread as the plan numbers them."""

    def __init__(
        self, watched: Watched, first: MeterSnapshot, last: MeterSnapshot, seconds: float
    ) -> None:
        self.watched = watched
        self.first_thread = watched.plan.allocation.first_thread
        before, after = by_thread(watched, first), by_thread(watched, last)
        began, ended = (
            {meter.executor: meter.time for meter in snapshot.executors}
            for snapshot in (first, last)
        )
        self.seconds = [
            _between(began, before.get(number), ended, after.get(number)) or seconds
            for number in range(watched.plan.allocation.total_threads)
        ]
        self.latencies = latencies_of(after.values())
        earlier = latencies_of(before.values())
        self.latencies[: len(earlier)] -= earlier
        self.threads = tuple(
            self._thread(number, before.get(number), after.get(number))
            for number in range(watched.plan.allocation.total_threads)
        )
        self.operators = self._with_waits(
            [
                self._operator(position, before, after)
                for position in range(len(watched.layout.threads))
            ],
            [
                self._age_ms(position, before, after)
                for position in range(len(watched.layout.threads))
            ],
        )
        self.traffic = self._traffic(first, last)

    def threads_of(self, operator: int) -> range:
        return range(int(self.first_thread[operator]), int(self.first_thread[operator + 1]))

    @property
    def source_rate(self) -> float:
        topology = self.watched.layout.topology
        return math.fsum(
            load.arrival_rate
            for load, operator in zip(self.operators, topology.operators, strict=True)
            if operator.kind == "source"
        )

    @property
    def latency_ms(self) -> float:
        """Waiting and service of all tuples that an input causes; NaN while there are none."""
        worked = [load for load in self.operators if load.arrival_rate > 0]
        total = math.fsum(
            load.arrival_rate * (load.waiting_ms + load.service_ms) for load in worked
        )
        return total / self.source_rate if self.source_rate else math.nan

    def crossing(self, place: NDArray[np.int64]) -> float:
        """Tuples/s between threads at different places."""
        traffic = self.traffic
        return float(traffic.rates[place[traffic.senders] != place[traffic.receivers]].sum())

    def _thread(
        self, number: int, before: ThreadMeter | None, after: ThreadMeter | None
    ) -> ThreadLoad:
        plan = self.watched.plan
        operator = int(plan.allocation.thread_operator[number])
        arrivals, busy = self._differences(operator, before, after)
        seconds = self.seconds[number]
        return ThreadLoad(
            plan.pipeline.topology.operators[operator].name,
            number - int(self.first_thread[operator]),
            str(plan.cluster.slot(int(plan.placement.slots[number]))),
            arrivals / seconds,
            busy / seconds,
        )

    def _differences(
        self, operator: int, before: ThreadMeter | None, after: ThreadMeter | None
    ) -> tuple[float, float]:
        """(arrivals, seconds busy). An aggregate works inside Spark: its CPU time counts."""
        if after is None:
            return 0.0, 0.0
        by_cpu = operator == self.watched.layout.aggregate
        arrivals = after.arrivals - (before.arrivals if before else 0)
        busy = after.cpu_seconds if by_cpu else after.busy_seconds
        earlier = (before.cpu_seconds if by_cpu else before.busy_seconds) if before else 0.0
        return float(arrivals), busy - earlier

    def _operator(
        self, position: int, before: dict[int, ThreadMeter], after: dict[int, ThreadMeter]
    ) -> OperatorLoad:
        numbers = self.threads_of(position)
        pairs = [self._differences(position, before.get(n), after.get(n)) for n in numbers]
        arrivals, busy = (math.fsum(column) for column in zip(*pairs, strict=True))
        loads = [self.threads[number] for number in numbers]
        return OperatorLoad(
            self.watched.layout.topology.operators[position].name,
            arrival_rate=math.fsum(load.arrival_rate for load in loads),
            capacity=len(numbers) * arrivals / busy if busy > 0 else math.inf,
            utilisation=math.fsum(load.utilisation for load in loads) / len(numbers),
            waiting_ms=math.nan,
            service_ms=1000 * busy / arrivals if arrivals else math.nan,
            lost=sum(
                after[n].failures - (before[n].failures if n in before else 0)
                for n in numbers
                if n in after
            ),
        )

    def _age_ms(
        self, position: int, before: dict[int, ThreadMeter], after: dict[int, ThreadMeter]
    ) -> float:
        """How old its tuples were on arrival, in the mean; NaN if there were none."""
        seconds, arrivals = 0.0, 0
        for number in self.threads_of(position):
            for sign, meters in ((1, after), (-1, before)):
                if number in meters:
                    seconds += sign * meters[number].age_seconds
                    arrivals += sign * meters[number].arrivals
        return 1000 * seconds / arrivals if arrivals else math.nan

    def _with_waits(
        self, loads: Sequence[OperatorLoad], ages_ms: Sequence[float]
    ) -> tuple[OperatorLoad, ...]:
        left_ms = [
            age if position == self.watched.layout.aggregate else age + load.service_ms
            for position, (age, load) in enumerate(zip(ages_ms, loads, strict=True))
        ]
        made = []
        for position, (load, age) in enumerate(zip(loads, ages_ms, strict=True)):
            wait = age - self._sent_ms(position, loads, left_ms)
            if position == self.watched.layout.aggregate:  # metered when it has answered
                wait -= load.service_ms
            # Means of tuples that are still on their way differ a little.
            made.append(replace(load, waiting_ms=wait if math.isnan(wait) else max(wait, 0.0)))
        return tuple(made)

    def _sent_ms(
        self, position: int, loads: Sequence[OperatorLoad], left_ms: Sequence[float]
    ) -> float:
        """How old an operator's tuples were when they were sent to it, in the mean."""
        topology = self.watched.layout.topology
        weights, ages = [], []
        for stream in topology.inputs[position]:
            source = topology.edges[stream][0]
            if loads[source].arrival_rate > 0:
                sent = topology.streams[stream]
                copies = len(self.threads_of(position)) if sent.grouping.kind == "all" else 1
                weights.append(loads[source].arrival_rate * sent.selectivity * copies)
                ages.append(left_ms[source])
        if not topology.inputs[position]:
            return 0.0  # a source: its tuples were due at age 0
        return float(np.average(ages, weights=weights)) if math.fsum(weights) > 0 else math.nan

    def _traffic(self, first: MeterSnapshot, last: MeterSnapshot) -> ThreadTraffic:
        before = {
            (pair.level, pair.sender, pair.receiver): pair.tuples
            for pair in first.pairs
            if pair.query == self.watched.query
        }
        rows = []
        for pair in last.pairs:
            if pair.query == self.watched.query:
                sender = _number(self.watched, pair.level, pair.sender)
                receiver = _number(self.watched, pair.level + 1, pair.receiver)
                sent = pair.tuples - before.get((pair.level, pair.sender, pair.receiver), 0.0)
                rows.append((sender, receiver, sent / self.seconds[sender]))
        senders, receivers, rates = zip(*rows, strict=True) if rows else ((), (), ())
        # Estimates from a sample may fall a little from one snapshot to the next.
        return ThreadTraffic(
            np.array(senders, dtype=np.int64),
            np.array(receivers, dtype=np.int64),
            np.maximum(np.array(rates, dtype=np.float64), 0.0),
        )


def _between(
    began: Mapping[str, float],
    before: ThreadMeter | None,
    ended: Mapping[str, float],
    after: ThreadMeter | None,
) -> float | None:
    """Seconds from one count to the other, by when the executors reported them: each does so at
    times of its own. None if these are not known, or if the thread began in between.
    """
    if before is None or after is None:
        return None
    first, last = began.get(before.executor), ended.get(after.executor)
    return last - first if first is not None and last is not None and last > first else None


def _number(watched: Watched, level: int, partition: int) -> int:
    operator, k = watched.layout.thread(level, partition)
    return int(watched.plan.allocation.first_thread[operator]) + k


def by_thread(watched: Watched, snapshot: MeterSnapshot) -> dict[int, ThreadMeter]:
    """The meters of the query's threads, by their number in the plan."""
    return {
        _number(watched, meter.level, meter.partition): meter
        for meter in snapshot.threads
        if meter.query == watched.query and meter.partition < watched.layout.partitions[meter.level]
    }


def latencies_of(threads: Iterable[ThreadMeter]) -> NDArray[np.int64]:
    """How many tuples were in each bucket of latencies, all threads together."""
    meters = list(threads)
    longest = max((len(meter.latencies) for meter in meters), default=0)
    total = np.zeros(longest, dtype=np.int64)
    for meter in meters:
        total[: len(meter.latencies)] += np.array(meter.latencies, dtype=np.int64)
    return total


def quantile(buckets: NDArray[np.int64], part: float) -> float:
    """The latency, ms, that `part` of all tuples do not exceed; NaN if there were none."""
    total = int(buckets.sum())
    if not total:
        return math.nan
    return bucket_ms(int(np.searchsorted(np.cumsum(buckets), math.ceil(part * total))))


def mean_ms(buckets: NDArray[np.int64]) -> float:
    total = int(buckets.sum())
    if not total:
        return math.nan
    return float(sum(bucket_ms(int(b)) * buckets[b] for b in np.flatnonzero(buckets)) / total)
