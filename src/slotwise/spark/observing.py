"""Two snapshots of the meters become an Observation, the same shape as a simulation's.

A tuple's wait before an operator has two parts that Spark does not tell apart: on the way (shuffle
buffers, network) and in the queue. All is in `waiting_ms`, and `network_ms` is NaN.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from slotwise.model import Observation, Plan, SlotLoad, ThreadLoad, TimeSeries
from slotwise.spark.loads import Loads, Watched, by_thread, mean_ms, quantile
from slotwise.spark.meters import ExecutorMeter, MeterSnapshot

QUANTILES = (0.5, 0.95, 0.99)
BUSY = 0.9
"""A thread that is busy for more of the time than this has no time left."""
KEPT_PACE = 0.97
"""Below this part of the offered rate, the sources are held back."""
STEEPEST = 1.0
"""Latency that grows by more than so many ms per second is not stable."""


def observe(watched: Watched, snapshots: Sequence[MeterSnapshot]) -> Observation:
    """What happened between the first and the last of at least two snapshots."""
    first, last = snapshots[0], snapshots[-1]
    watched = replace(watched, plan=_as_seen(watched, last))
    seconds = max(last.time - first.time, 1e-9)
    loads = Loads(watched, first, last, seconds)
    series = _series(watched, snapshots)
    latencies = loads.latencies
    slope = _slope(series)
    busiest = max(loads.threads, key=lambda load: load.utilisation)
    rate = loads.source_rate
    held_back = rate < KEPT_PACE * watched.offered_rate
    growing = slope is not None and slope > STEEPEST
    stable = not (growing or (held_back and busiest.utilisation > BUSY))
    return Observation(
        origin="measured",
        input_rate=watched.offered_rate,
        rate=rate,
        latency_ms=loads.latency_ms,
        network_ms=math.nan,
        operators=loads.operators,
        slots=(slots := _slot_loads(watched.plan, first, last)),
        nodes=_node_loads(watched.plan, slots),
        inter_slot_traffic=loads.crossing(watched.plan.placement.slots),
        inter_node_traffic=loads.crossing(
            watched.plan.cluster.slot_node[watched.plan.placement.slots]
        ),
        sink_latency_ms=mean_ms(latencies),
        latency_quantiles=tuple((q, quantile(latencies, q)) for q in QUANTILES),
        latency_slope=slope,
        stable=stable,
        bottleneck=busiest.operator,
        threads=loads.threads,
        thread_traffic=loads.traffic,
        series=series,
        remarks=tuple(_remarks(busiest, growing, held_back, slope, rate, watched)),
    )


def _as_seen(watched: Watched, last: MeterSnapshot) -> Plan:
    """The plan with every thread in the slot where it ran, as far as it is in one."""
    slots = watched.plan.placement.slots.copy()
    slot_of = {meter.executor: meter.slot for meter in last.executors}
    for number, meter in by_thread(watched, last).items():
        if slot_of.get(meter.executor, -1) >= 0:
            slots[number] = slot_of[meter.executor]
    return replace(watched.plan, placement=replace(watched.plan.placement, slots=slots))


def _series(watched: Watched, snapshots: Sequence[MeterSnapshot]) -> TimeSeries | None:
    """Per pair of snapshots that follow each other."""
    if len(snapshots) < 3:
        return None
    names = [operator.name for operator in watched.layout.topology.operators]
    arriving: list[float] = []
    latency: list[float | None] = []
    throughput: dict[str, list[float]] = {name: [] for name in names}
    for first, last in itertools.pairwise(snapshots):
        loads = Loads(watched, first, last, max(last.time - first.time, 1e-9))
        arriving.append(loads.source_rate)
        mean = mean_ms(loads.latencies)
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


def _slot_loads(plan: Plan, first: MeterSnapshot, last: MeterSnapshot) -> tuple[SlotLoad, ...]:
    earlier = {meter.executor: meter for meter in first.executors}
    executors = {meter.slot: meter for meter in last.executors}
    memory = plan.cluster.slot_memory * plan.cluster.slot_memory_gb * 2**30
    found = []
    for slot in range(plan.cluster.slots):
        cpu = memory_part = 0.0
        if meter := executors.get(slot):
            cpu = _cores(earlier.get(meter.executor), meter) / float(plan.cluster.slot_cpu[slot])
            memory_part = meter.memory_bytes / float(memory[slot])
        found.append(SlotLoad(str(plan.cluster.slot(slot)), cpu, memory_part))
    return tuple(found)


def _cores(before: ExecutorMeter | None, after: ExecutorMeter) -> float:
    """In use in the mean; of an executor that is new, in its last second."""
    if before is None or after.time <= before.time:
        return after.cpu
    return (after.cpu_seconds - before.cpu_seconds) / (after.time - before.time)


def _node_loads(plan: Plan, slots: Sequence[SlotLoad]) -> tuple[SlotLoad, ...]:
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
