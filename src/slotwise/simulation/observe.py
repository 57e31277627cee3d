"""A finished run as an Observation."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from slotwise.model import (
    Observation,
    OperatorLoad,
    SlotLoad,
    ThreadLoad,
    ThreadTraffic,
    TimeSeries,
)
from slotwise.predictors.groups import summed
from slotwise.simulation.measure import quantiles

if TYPE_CHECKING:
    from slotwise.simulation.simulate import Run

Floats = NDArray[np.float64]

QUANTILES = (0.5, 0.9, 0.95, 0.99, 0.999, 1.0)
BATCHES = 20
STUDENT_T_95 = 2.093
"""For BATCHES - 1 degrees of freedom."""


def observed(run: Run) -> Observation:
    tally, names = run.tally, [o.name for o in run.plan.pipeline.topology.operators]
    inputs = max(1, int(tally.visits[run.world.source].sum()))
    latency_ms = 1000 * float((tally.waiting + tally.service + tally.network).sum()) / inputs
    busy = _per_second(run, tally.busy)
    needed = _per_second(run, tally.busy + tally.blocked)
    bottleneck = int(run.world.operator[int(np.argmax(busy))])
    slope = _slope(run)
    growth = slope * (run.end_s - tally.warm_up)
    stopped = run.end_s < run.asked_s
    stable = not (
        run.stuck or stopped or (float(needed.max()) > 1 and growth > latency_ms / 2)
    )
    lost = tally.lost / np.maximum(tally.lost + tally.visits, 1)
    series = _series(run, names)
    cpu, mem = _slot_use(run, busy)
    return Observation(
        origin="simulated",
        input_rate=run.rate,
        rate=run.rate * (1 - float(lost.max())) / (1.0 if stable else max(1.0, needed.max())),
        latency_ms=latency_ms,
        network_ms=1000 * float(tally.network.sum()) / inputs,
        operators=_operator_loads(run, names, series),
        slots=_slots(run, cpu, mem),
        nodes=_nodes(run, cpu, mem),
        inter_slot_traffic=float(tally.distances[1:].sum()) / _thread_seconds(run),
        inter_node_traffic=float(tally.distances[2:].sum()) / _thread_seconds(run),
        latency_margin_ms=_margin_ms(run),
        sink_latency_ms=_sink_latency_ms(run),
        latency_quantiles=tuple((q, 1000 * s) for q, s in quantiles(tally, QUANTILES)),
        latency_slope=slope,
        stable=stable,
        bottleneck=names[bottleneck],
        threads=_threads(run, names, needed),
        **_traffic(run),
        series=series,
        remarks=_remarks(run, stable, names[bottleneck], float(needed.max())),
    )


def _thread_seconds(run: Run) -> float:
    """How long figures per thread, and traffic, were counted."""
    return max(run.end_s - run.tally.threads_from, 1e-12)


def _per_second(run: Run, seconds: Floats) -> Floats:
    return np.asarray(seconds / _thread_seconds(run))


def _counted(run: Run) -> slice:
    """Windows after the warm-up and before the end."""
    windows = len(run.tally.roots)
    first = int(np.ceil(run.tally.warm_up * run.tally.per_window - 1e-9))
    last = int(np.floor(run.end_s * run.tally.per_window + 1e-9))
    return slice(min(first, windows - 1), max(last, first + 1))


def _margin_ms(run: Run) -> float | None:
    """Batch means: BATCHES stretches of the run, long enough to be nearly independent."""
    here = _counted(run)
    sojourn, roots = run.tally.sojourn[here], run.tally.roots[here]
    if len(roots) < BATCHES:
        return None
    total = [part.sum() for part in np.array_split(sojourn, BATCHES)]
    count = [part.sum() for part in np.array_split(roots, BATCHES)]
    if min(count) == 0:
        return None
    means = 1000 * np.array(total) / np.array(count)
    return float(STUDENT_T_95 * means.std(ddof=1) / np.sqrt(BATCHES))


def _sink_latency_ms(run: Run) -> float | None:
    here = _counted(run)
    count = int(run.tally.sinks[here].sum())
    return 1000 * float(run.tally.sink_latency[here].sum()) / count if count else None


def _slope(run: Run) -> float:
    """Least squares through the windows' latencies, each weighed by its inputs; ms per second."""
    here = _counted(run)
    roots = run.tally.roots[here].astype(np.float64)
    if np.count_nonzero(roots) < 2:
        return 0.0
    time = (np.arange(len(run.tally.roots))[here] + 0.5) / run.tally.per_window
    latency = 1000 * run.tally.sojourn[here] / np.maximum(roots, 1)
    centred = time - np.average(time, weights=roots)
    return float((roots * centred * latency).sum() / (roots * centred * centred).sum())


def _series(run: Run, names: list[str]) -> TimeSeries:
    tally = run.tally
    window_s = 1 / tally.per_window
    covered = np.cumsum(tally.queue_steps, axis=1)[:, :-1]
    queue = tally.queue / window_s + covered
    return TimeSeries(
        window_s=window_s,
        input_rate=tuple((tally.roots / window_s).tolist()),
        latency_ms=_ratios(tally.sojourn, tally.roots),
        sink_latency_ms=_ratios(tally.sink_latency, tally.sinks),
        throughput=dict(
            zip(names, map(tuple, (tally.completed / window_s).tolist()), strict=True)
        ),
        queue=dict(zip(names, map(tuple, queue.tolist()), strict=True)),
    )


def _ratios(seconds: Floats, counts: NDArray[np.int64]) -> tuple[float | None, ...]:
    pairs = zip(seconds.tolist(), counts.tolist(), strict=True)
    return tuple(1000 * total / count if count else None for total, count in pairs)


def _operator_loads(run: Run, names: list[str], series: TimeSeries) -> tuple[OperatorLoad, ...]:
    tally, world = run.tally, run.world
    length_s = max(run.end_s - tally.warm_up, 1e-12)
    with np.errstate(divide="ignore"):
        capacity = summed(1 / world.service_s, world.operator, len(names))
    busy = summed(_per_second(run, tally.busy), world.operator, len(names)) / np.diff(world.first)
    visits = np.maximum(tally.visits, 1)
    here = _counted(run)
    return tuple(
        OperatorLoad(
            operator=name,
            arrival_rate=float(tally.visits[i]) / length_s,
            capacity=float(capacity[i]),
            utilisation=float(busy[i]),
            waiting_ms=1000 * float(tally.waiting[i] / visits[i]),
            service_ms=1000 * float(tally.service[i] / visits[i]),
            network_ms=1000 * float(tally.network[i] / visits[i]),
            queue=float(np.mean(series.queue[name][here])),
            lost=int(tally.lost[i]),
            resent=int(tally.resent[i]),
        )
        for i, name in enumerate(names)
    )


def _slot_use(run: Run, busy: Floats) -> tuple[Floats, Floats]:
    """Per slot, CPU and memory used, in reference slots."""
    world, slots = run.world, run.plan.cluster.slots
    at_work = np.where(world.service_s > 0, np.minimum(busy, 1.0), 1.0)
    return (
        summed(run.figures.cpu * at_work, world.slot, slots),
        summed(run.figures.mem * at_work, world.slot, slots),
    )


def _slots(run: Run, cpu: Floats, mem: Floats) -> tuple[SlotLoad, ...]:
    """Used slots only."""
    cluster = run.plan.cluster
    return tuple(
        SlotLoad(
            str(cluster.slot(slot)),
            float(cpu[slot] / cluster.slot_cpu[slot]),
            float(mem[slot] / cluster.slot_memory[slot]),
        )
        for slot in run.plan.placement.used_slots.tolist()
    )


def _nodes(run: Run, cpu: Floats, mem: Floats) -> tuple[SlotLoad, ...]:
    cluster = run.plan.cluster

    def by_node(values: Floats) -> Floats:
        return summed(values, cluster.slot_node, len(cluster.nodes))

    share_cpu = by_node(cpu) / by_node(cluster.slot_cpu)
    share_mem = by_node(mem) / by_node(cluster.slot_memory)
    return tuple(
        SlotLoad(node.name, float(share_cpu[i]), float(share_mem[i]))
        for i, node in enumerate(cluster.nodes)
    )


def _threads(run: Run, names: list[str], needed: Floats) -> tuple[ThreadLoad, ...]:
    world = run.world
    slots = {slot: str(run.plan.cluster.slot(slot)) for slot in np.unique(world.slot).tolist()}
    rows = zip(
        world.operator.tolist(),
        world.slot.tolist(),
        (run.tally.handled / _thread_seconds(run)).tolist(),
        needed.tolist(),
        strict=True,
    )
    return tuple(
        ThreadLoad(names[operator], thread - int(world.first[operator]), slots[slot], rate, load)
        for thread, (operator, slot, rate, load) in enumerate(rows)
    )


def _traffic(run: Run) -> dict[str, ThreadTraffic]:
    """Between threads, slots and nodes; nothing where there are too many pairs to count."""
    world, tally = run.world, run.tally
    if len(tally.pairs) == 0:
        return {}
    used = np.flatnonzero(tally.pairs)
    stream = np.searchsorted(world.pair, used, side="right") - 1
    edges = np.array(run.plan.pipeline.topology.edges, dtype=np.int64).reshape(-1, 2)[stream]
    width = np.diff(world.first)[edges[:, 1]]
    inside = used - world.pair[stream]
    senders = world.first[edges[:, 0]] + inside // width
    receivers = world.first[edges[:, 1]] + inside % width
    rates = tally.pairs[used] / _thread_seconds(run)
    return {
        "thread_traffic": ThreadTraffic(senders, receivers, rates),
        "slot_traffic": _merged(world.slot[senders], world.slot[receivers], rates),
        "node_traffic": _merged(world.node[senders], world.node[receivers], rates),
    }


def _merged(
    senders: NDArray[np.int64], receivers: NDArray[np.int64], rates: Floats
) -> ThreadTraffic:
    width = int(receivers.max(initial=0)) + 1
    keys, at = np.unique(senders * width + receivers, return_inverse=True)
    return ThreadTraffic(keys // width, keys % width, summed(rates, at, len(keys)))


def _remarks(run: Run, stable: bool, bottleneck: str, needed: float) -> tuple[str, ...]:
    remarks = []
    if run.stuck:
        remarks.append(
            f"{run.stuck:,} tuples never move again: full buffers hold each other's senders back"
        )
    if run.end_s < run.asked_s:
        remarks.append(f"the sources were stopped at {run.end_s:g} s: too many tuples were waiting")
    if not stable:
        remarks.append(
            f"unstable: '{bottleneck}' is the bottleneck, its busiest thread is asked for "
            f"{needed:.2f} times what it can do"
        )
    slowed = np.flatnonzero(run.figures.slowed > 1)
    for slot in np.unique(run.world.slot[slowed]).tolist():
        factor = run.figures.slowed[run.world.slot == slot].max()
        remarks.append(
            f"slot {run.plan.cluster.slot(slot)} is over-committed: its threads take "
            f"{factor:.2f} times as long"
        )
    return tuple(remarks)
