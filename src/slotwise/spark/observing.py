"""Two snapshots of the meters become an Observation, the same shape as a simulation's.

What Spark cannot tell is NaN: how long tuples wait before an operator, and in the network. The
latency is that of tuples at the ends of the query, from when their source tuple was due.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from slotwise.model import (
    Observation,
    OperatorLoad,
    Plan,
    SlotLoad,
    ThreadLoad,
    ThreadTraffic,
    TimeSeries,
)
from slotwise.spark.levels import Layout
from slotwise.spark.meters import MeterSnapshot, ThreadMeter, bucket_ms

QUANTILES = (0.5, 0.95, 0.99)
BUSY = 0.9
"""A thread that is busy for more of the time than this has no time left."""
KEPT_PACE = 0.97
"""Below this part of the offered rate, the sources are held back."""
STEEPEST = 1.0
"""Latency that grows by more than so many ms per second is not stable."""


@dataclass(frozen=True)
class Watched:
    """The query that the meters are read for."""

    plan: Plan
    layout: Layout
    query: str
    offered_rate: float


def observe(watched: Watched, snapshots: Sequence[MeterSnapshot]) -> Observation:
    """What happened between the first and the last of at least two snapshots."""
    first, last = snapshots[0], snapshots[-1]
    seconds = max(last.time - first.time, 1e-9)
    loads = _Loads(watched, first, last, seconds)
    series = _series(watched, snapshots)
    latencies = loads.latencies
    slope = _slope(series)
    busiest = max(loads.threads, key=lambda load: load.utilisation)
    rate = loads.source_rate
    held_back = rate < KEPT_PACE * watched.offered_rate
    growing = slope is not None and slope > STEEPEST
    stable = not (growing or (held_back and busiest.utilisation > BUSY))
    mean = _mean(latencies)
    return Observation(
        origin="measured",
        input_rate=watched.offered_rate,
        rate=rate,
        latency_ms=mean,
        network_ms=math.nan,
        operators=loads.operators,
        slots=_slot_loads(watched.plan, last),
        nodes=_node_loads(watched.plan, last),
        inter_slot_traffic=loads.crossing(watched.plan.placement.slots),
        inter_node_traffic=loads.crossing(
            watched.plan.cluster.slot_node[watched.plan.placement.slots]
        ),
        sink_latency_ms=mean,
        latency_quantiles=tuple((q, quantile(latencies, q)) for q in QUANTILES),
        latency_slope=slope,
        stable=stable,
        bottleneck=busiest.operator,
        threads=loads.threads,
        thread_traffic=loads.traffic,
        series=series,
        remarks=tuple(_remarks(busiest, growing, held_back, slope, rate, watched)),
    )


def quantile(buckets: NDArray[np.int64], part: float) -> float:
    """The latency, ms, that `part` of all tuples do not exceed; NaN if there were none."""
    total = int(buckets.sum())
    if not total:
        return math.nan
    return bucket_ms(int(np.searchsorted(np.cumsum(buckets), math.ceil(part * total))))


class _Loads:
    """Differences of two snapshots, per thread as the plan numbers them."""

    def __init__(
        self, watched: Watched, first: MeterSnapshot, last: MeterSnapshot, seconds: float
    ) -> None:
        self.watched, self.seconds = watched, seconds
        self.first_thread = watched.plan.allocation.first_thread
        before, after = _by_thread(watched, first), _by_thread(watched, last)
        self.latencies = latencies_of(after.values())
        earlier = latencies_of(before.values())
        self.latencies[: len(earlier)] -= earlier
        self.threads = tuple(
            self._thread(number, before.get(number), after.get(number))
            for number in range(watched.plan.allocation.total_threads)
        )
        self.operators = tuple(
            self._operator(position, before, after)
            for position in range(len(watched.layout.threads))
        )
        self.traffic = self._traffic(first, last)

    @property
    def source_rate(self) -> float:
        topology = self.watched.layout.topology
        return math.fsum(
            load.arrival_rate
            for load, operator in zip(self.operators, topology.operators, strict=True)
            if operator.kind == "source"
        )

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
        return ThreadLoad(
            plan.pipeline.topology.operators[operator].name,
            number - int(self.first_thread[operator]),
            str(plan.cluster.slot(int(plan.placement.slots[number]))),
            arrivals / self.seconds,
            busy / self.seconds,
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
        numbers = range(int(self.first_thread[position]), int(self.first_thread[position + 1]))
        pairs = [self._differences(position, before.get(n), after.get(n)) for n in numbers]
        arrivals, busy = (math.fsum(column) for column in zip(*pairs, strict=True))
        return OperatorLoad(
            self.watched.layout.topology.operators[position].name,
            arrival_rate=arrivals / self.seconds,
            capacity=len(numbers) * arrivals / busy if busy > 0 else math.inf,
            utilisation=busy / self.seconds / len(numbers),
            waiting_ms=math.nan,
            service_ms=1000 * busy / arrivals if arrivals else math.nan,
            lost=sum(
                after[n].failures - (before[n].failures if n in before else 0)
                for n in numbers
                if n in after
            ),
        )

    def _traffic(self, first: MeterSnapshot, last: MeterSnapshot) -> ThreadTraffic:
        before = {
            (pair.level, pair.sender, pair.receiver): pair.tuples
            for pair in first.pairs
            if pair.query == self.watched.query
        }
        rows = [
            (
                _number(self.watched, pair.level, pair.sender),
                _number(self.watched, pair.level + 1, pair.receiver),
                (pair.tuples - before.get((pair.level, pair.sender, pair.receiver), 0.0))
                / self.seconds,
            )
            for pair in last.pairs
            if pair.query == self.watched.query
        ]
        senders, receivers, rates = zip(*rows, strict=True) if rows else ((), (), ())
        # Estimates from a sample may fall a little from one snapshot to the next.
        return ThreadTraffic(
            np.array(senders, dtype=np.int64),
            np.array(receivers, dtype=np.int64),
            np.maximum(np.array(rates, dtype=np.float64), 0.0),
        )


def _number(watched: Watched, level: int, partition: int) -> int:
    operator, k = watched.layout.thread(level, partition)
    return int(watched.plan.allocation.first_thread[operator]) + k


def _by_thread(watched: Watched, snapshot: MeterSnapshot) -> dict[int, ThreadMeter]:
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


def _mean(buckets: NDArray[np.int64]) -> float:
    total = int(buckets.sum())
    if not total:
        return math.nan
    return float(sum(bucket_ms(int(b)) * buckets[b] for b in np.flatnonzero(buckets)) / total)


def _series(watched: Watched, snapshots: Sequence[MeterSnapshot]) -> TimeSeries | None:
    """Per pair of snapshots that follow each other."""
    if len(snapshots) < 3:
        return None
    names = [operator.name for operator in watched.layout.topology.operators]
    arriving: list[float] = []
    latency: list[float | None] = []
    throughput: dict[str, list[float]] = {name: [] for name in names}
    for first, last in itertools.pairwise(snapshots):
        loads = _Loads(watched, first, last, max(last.time - first.time, 1e-9))
        arriving.append(loads.source_rate)
        mean = _mean(loads.latencies)
        latency.append(None if math.isnan(mean) else mean)
        for load in loads.operators:
            throughput[load.operator].append(load.arrival_rate)
    return TimeSeries(
        window_s=(snapshots[-1].time - snapshots[0].time) / (len(snapshots) - 1),
        input_rate=tuple(arriving),
        latency_ms=tuple(latency),
        sink_latency_ms=tuple(latency),
        throughput={name: tuple(values) for name, values in throughput.items()},
        queue={},
    )


def _slope(series: TimeSeries | None) -> float | None:
    """Growth of the latency, ms per second: the line of least squares through the windows.

    The windows' medians of three are taken, so that a gap between two batches is not a slope.
    """
    if series is None:
        return None
    known = [
        (n * series.window_s, v) for n, v in enumerate(series.sink_latency_ms) if v is not None
    ]
    if len(known) < 5:
        return None
    times, values = np.array(known).T
    smooth = np.median(np.stack([values[:-2], values[1:-1], values[2:]]), axis=0)
    return float(np.polyfit(times[1:-1], smooth, 1)[0])


def _slot_loads(plan: Plan, last: MeterSnapshot) -> tuple[SlotLoad, ...]:
    executors = {meter.slot: meter for meter in last.executors}
    memory = plan.cluster.slot_memory * plan.cluster.slot_memory_gb * 2**30
    return tuple(
        SlotLoad(
            str(plan.cluster.slot(slot)),
            executors[slot].cpu / float(plan.cluster.slot_cpu[slot]) if slot in executors else 0.0,
            executors[slot].memory_bytes / float(memory[slot]) if slot in executors else 0.0,
        )
        for slot in range(plan.cluster.slots)
    )


def _node_loads(plan: Plan, last: MeterSnapshot) -> tuple[SlotLoad, ...]:
    slots = _slot_loads(plan, last)
    found = []
    for position, node in enumerate(plan.cluster.nodes):
        own = slots[plan.cluster.first_slot[position] : plan.cluster.first_slot[position + 1]]
        cpu, mem = (math.fsum(getattr(s, part) for s in own) / len(own) for part in ("cpu", "mem"))
        found.append(SlotLoad(node.name, cpu, mem))
    return tuple(found)


def _remarks(
    busiest: ThreadLoad,
    growing: bool,
    held_back: bool,
    slope: float | None,
    rate: float,
    watched: Watched,
) -> list[str]:
    found = []
    if growing:
        found.append(f"the latency grows by {slope:,.1f} ms per second")
    if held_back:
        found.append(f"{rate:,.0f} of {watched.offered_rate:,.0f} tuples/s get into the query")
    if busiest.utilisation > BUSY:
        found.append(
            f"thread {busiest.thread} of '{busiest.operator}' is busy "
            f"{min(busiest.utilisation, 1.0):.0%} of the time"
        )
    return found
