"""Snapshots of the meters become an Observation, the same shape as a simulation's.

What differs from a simulation, because Spark does not show more:

- A tuple's wait before an operator has two parts that cannot be measured apart: on the way
  (shuffle buffers, network) and in the queue. Both are in `waiting_ms`; `network_ms` is None.
- Latencies of the time series are of the tuples that came to a sink in the window, not of the
  inputs that came due in it.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from slotwise import sketch
from slotwise.model import Observation, Plan, SlotLoad, ThreadLoad, TimeSeries
from slotwise.spark.metering.counters import Floats, counters, numbered
from slotwise.spark.metering.loads import Loads, Watched, crossing
from slotwise.spark.metering.meters import ExecutorMeter, MeterSnapshot
from slotwise.spark.metering.pace import due_rates
from slotwise.spark.metering.stability import Stability


def observe(
    watched: Watched, snapshots: Sequence[MeterSnapshot], zero_s: float | None = None
) -> Observation:
    """What happened between the first and the last of at least two snapshots.

    `zero_s` is when the run's clock began, in seconds since the epoch; None: at the first snapshot.
    """
    first, last = snapshots[0], snapshots[-1]
    zero_s = first.time if zero_s is None else zero_s
    watched = replace(watched, plan=_as_seen(watched, last))
    plan = watched.plan
    middle = snapshots[(len(snapshots) - 1) // 2]
    began, halfway, ended = (counters(watched, each) for each in (first, middle, last))
    loads = Loads(watched, began, ended)
    intervals = _intervals(watched, snapshots)
    known = [(i.end, i.latency_ms) for i in intervals if i.latency_ms is not None]
    seen = Stability(loads, Loads(watched, halfway, ended), known)
    traffic = loads.traffic(first, last)
    places = plan.placement.slots, plan.cluster.slot_node[plan.placement.slots]
    latencies = loads.counted.latencies
    return Observation(
        origin="measured",
        start_s=first.time - zero_s,
        end_s=last.time - zero_s,
        offered_rate=seen.offered_rate,
        throughput=seen.throughput,
        capacity=seen.throughput if seen.stable is False else None,
        backlog=seen.backlog,
        stable=seen.stable,
        busiest=seen.busiest,
        bottleneck=seen.bottleneck,
        latency_ms=_ms(sketch.mean_s(latencies)),
        latency_p50_ms=_ms(sketch.quantile_s(latencies, 0.5)),
        latency_p95_ms=_ms(sketch.quantile_s(latencies, 0.95)),
        latency_p99_ms=_ms(sketch.quantile_s(latencies, 0.99)),
        latency_slope=None if seen.trend is None else seen.trend.slope,
        sojourn_ms=loads.sojourn_ms,
        network_ms=None,
        operators=loads.operators,
        streams=loads.streams,
        threads=_threads(loads, seen),
        slots=(slots := _slot_loads(watched, first, last)),
        nodes=_node_loads(plan, slots),
        cost_per_hour=plan.cluster.price_per_hour,
        inter_slot_traffic=None if traffic is None else crossing(traffic, places[0]),
        inter_node_traffic=None if traffic is None else crossing(traffic, places[1]),
        thread_traffic=traffic,
        slot_traffic=None if traffic is None else traffic.between(places[0]),
        node_traffic=None if traffic is None else traffic.between(places[1]),
        series=_series(watched, intervals, loads.window_s),
        remarks=seen.remarks,
    )


def _ms(seconds: float | None) -> float | None:
    return None if seconds is None else 1000 * seconds


def _as_seen(watched: Watched, last: MeterSnapshot) -> Plan:
    """The plan with every thread in the slot where it ran, as far as it is in one."""
    slots = watched.plan.placement.slots.copy()
    slot_of = {meter.executor: meter.slot for meter in last.executors}
    for number, meter in numbered(watched, last):
        if slot_of.get(meter.executor, -1) >= 0:
            slots[number] = slot_of[meter.executor]
    return replace(watched.plan, placement=replace(watched.plan.placement, slots=slots))


def _threads(loads: Loads, seen: Stability) -> tuple[ThreadLoad, ...]:
    plan = loads.watched.plan
    owners, first = plan.allocation.thread_operator.tolist(), plan.allocation.first_thread
    return tuple(
        ThreadLoad(
            operator=loads.topology.operators[owner].name,
            thread=number - int(first[owner]),
            slot=str(plan.cluster.slot(int(plan.placement.slots[number]))),
            arrival_rate=float(loads.handled_by_thread[number]),
            utilisation=float(seen.asked[number]),
        )
        for number, owner in enumerate(owners)
    )


class _Interval(NamedTuple):
    """What is kept of two snapshots that follow each other."""

    end: float
    """Seconds since the epoch."""
    offered_rate: float
    latency_ms: float | None
    sojourn_ms: float | None
    handled: Floats


def _intervals(watched: Watched, snapshots: Sequence[MeterSnapshot]) -> list[_Interval]:
    shares = math.fsum(source.share for source in watched.layout.topology.sources)
    counted = (counters(watched, snapshot) for snapshot in snapshots)
    found = []
    for first, last in itertools.pairwise(counted):
        loads = Loads(watched, first, last)
        latency_ms = _ms(sketch.mean_s(loads.counted.latencies))
        due = float(due_rates(loads).sum()) / shares
        found.append(_Interval(last.time, due, latency_ms, loads.sojourn_ms, loads.handled))
    return found


def _series(watched: Watched, intervals: Sequence[_Interval], seconds: float) -> TimeSeries | None:
    if len(intervals) < 2:
        return None
    names = [operator.name for operator in watched.layout.topology.operators]
    handled = np.array([interval.handled for interval in intervals]).T.tolist()
    return TimeSeries(
        window_s=seconds / len(intervals),
        offered_rate=tuple(interval.offered_rate for interval in intervals),
        latency_ms=tuple(interval.latency_ms for interval in intervals),
        sojourn_ms=tuple(interval.sojourn_ms for interval in intervals),
        handled_rate={name: tuple(rates) for name, rates in zip(names, handled, strict=True)},
        queue={},
    )


def _slot_loads(
    watched: Watched, first: MeterSnapshot, last: MeterSnapshot
) -> tuple[SlotLoad, ...]:
    """All slots of the cluster, as parts of what they may use; None for one without an executor
    that reports.
    """
    plan = watched.plan
    earlier = {meter.executor: meter for meter in first.executors}
    executors = {meter.slot: meter for meter in last.executors}
    memory = plan.cluster.slot_memory * plan.cluster.slot_memory_gb * 2**30
    found = []
    for slot in range(plan.cluster.slots):
        cpu = mem = None
        if meter := executors.get(slot):
            cores = _cores(earlier.get(meter.executor), meter)
            most = watched.cores_per_slot * float(plan.cluster.slot_cpu[slot])
            cpu = None if cores is None else cores / most
            # Only Linux reports the memory of a process.
            mem = meter.memory_bytes / float(memory[slot]) if meter.memory_bytes else None
        found.append(SlotLoad(str(plan.cluster.slot(slot)), cpu, mem))
    return tuple(found)


def _cores(before: ExecutorMeter | None, after: ExecutorMeter) -> float | None:
    """In use in the mean; of an executor that is new, in its last second; None: not yet known."""
    if before is None or after.time <= before.time:
        return after.cpu
    return (after.cpu_seconds - before.cpu_seconds) / (after.time - before.time)


def _node_loads(plan: Plan, slots: Sequence[SlotLoad]) -> tuple[SlotLoad, ...]:
    """The means of each node's slots: of those that are known, which are alike."""
    found = []
    for position, node in enumerate(plan.cluster.nodes):
        own = slots[plan.cluster.first_slot[position] : plan.cluster.first_slot[position + 1]]
        found.append(SlotLoad(node.name, _mean([s.cpu for s in own]), _mean([s.mem for s in own])))
    return tuple(found)


def _mean(values: Sequence[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return math.fsum(known) / len(known) if known else None
