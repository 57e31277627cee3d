"""A finished run as an Observation."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from slotwise.model import (
    Observation,
    OperatorLoad,
    ThreadLoad,
    ThreadTraffic,
    TimeSeries,
)
from slotwise.predictors import node_loads, slot_loads
from slotwise.predictors.groups import summed
from slotwise.simulation.measure import quantiles, visited

if TYPE_CHECKING:
    from slotwise.simulation.run import Run

Floats = NDArray[np.float64]

QUANTILES = (0.5, 0.9, 0.95, 0.99, 0.999, 1.0)
BATCHES = 20
STUDENT_T_95 = 2.093
"""For BATCHES - 1 degrees of freedom."""


def observed(run: Run) -> Observation:
    tally, names = run.tally, [o.name for o in run.plan.pipeline.topology.operators]
    visits = visited(tally, run.world, "handled")
    inputs = max(1, int(visits[run.world.operators["source"] > 0].sum()))
    network_s = float(tally.operators["network"].sum())
    total_s = network_s + float(
        (visited(tally, run.world, "waiting") + visited(tally, run.world, "busy")).sum()
    )
    latency_ms = 1000 * total_s / inputs
    busy = _per_second(run, tally.threads["busy"])
    needed = busy + _per_second(run, tally.threads["blocked"])
    bottleneck = int(run.world.threads["operator"][int(np.argmax(busy))])
    slope = _slope(run)
    growth = slope * (run.end_s - tally.warm_up)
    stopped = run.end_s < run.asked_s
    stable = not (run.stuck or stopped or (float(needed.max()) > 1 and growth > latency_ms / 2))
    lost = tally.operators["lost"]
    lost_share = lost / np.maximum(lost + visits, 1)
    series = _series(run, names)
    cpu, mem = _slot_use(run, busy)
    traffic, far = _traffic(run)
    return Observation(
        origin="simulated",
        input_rate=run.rate,
        rate=run.rate * (1 - float(lost_share.max())) / (1.0 if stable else max(1.0, needed.max())),
        latency_ms=latency_ms,
        network_ms=1000 * network_s / inputs,
        operators=_operator_loads(run, names, series),
        slots=slot_loads(run.plan, cpu, mem),
        nodes=node_loads(run.plan.cluster, cpu, mem),
        inter_slot_traffic=float(far[1:].sum()) / _thread_seconds(run),
        inter_node_traffic=float(far[2:].sum()) / _thread_seconds(run),
        latency_margin_ms=_margin_ms(run),
        sink_latency_ms=_sink_latency_ms(run),
        latency_quantiles=tuple((q, 1000 * s) for q, s in quantiles(tally, QUANTILES)),
        latency_slope=slope,
        stable=stable,
        bottleneck=names[bottleneck],
        threads=_threads(run, names, needed),
        **traffic,
        series=series,
        remarks=_remarks(run, stable, names[bottleneck], float(needed.max())),
    )


def _thread_seconds(run: Run) -> float:
    """How long figures per thread, and traffic, were counted."""
    return max(run.end_s - max(run.tally.warm_up, run.last_change_s), 1e-12)


def _per_second(run: Run, seconds: Floats) -> Floats:
    return np.asarray(seconds / _thread_seconds(run))


def _counted(run: Run) -> slice:
    """Windows after the warm-up and before the end."""
    windows = len(run.tally.windows)
    first = int(np.ceil(run.tally.warm_up * run.tally.per_window - 1e-9))
    last = int(np.floor(run.end_s * run.tally.per_window + 1e-9))
    return slice(min(first, windows - 1), max(last, first + 1))


def _margin_ms(run: Run) -> float | None:
    """Batch means: BATCHES stretches of the run, long enough to be nearly independent."""
    windows = run.tally.windows[_counted(run)]
    sojourn, roots = windows["sojourn"], windows["roots"]
    if len(roots) < BATCHES:
        return None
    total = [part.sum() for part in np.array_split(sojourn, BATCHES)]
    count = [part.sum() for part in np.array_split(roots, BATCHES)]
    if min(count) == 0:
        return None
    means = 1000 * np.array(total) / np.array(count)
    return float(STUDENT_T_95 * means.std(ddof=1) / np.sqrt(BATCHES))


def _sink_latency_ms(run: Run) -> float | None:
    windows = run.tally.windows[_counted(run)]
    count = int(windows["sinks"].sum())
    return 1000 * float(windows["sink_latency"].sum()) / count if count else None


def _slope(run: Run) -> float:
    """Least squares through the windows' latencies, each weighed by its inputs; ms per second."""
    here = _counted(run)
    windows = run.tally.windows[here]
    roots = windows["roots"].astype(np.float64)
    if np.count_nonzero(roots) < 2:
        return 0.0
    time = (np.arange(len(run.tally.windows))[here] + 0.5) / run.tally.per_window
    latency = 1000 * windows["sojourn"] / np.maximum(roots, 1)
    centred = time - np.average(time, weights=roots)
    return float((roots * centred * latency).sum() / (roots * centred * centred).sum())


def _series(run: Run, names: list[str]) -> TimeSeries:
    tally = run.tally
    window_s = 1 / tally.per_window
    windows, cells = tally.windows, tally.cells
    queue = cells["queue"] / window_s + np.cumsum(cells["covering"], axis=1)
    return TimeSeries(
        window_s=window_s,
        input_rate=tuple((windows["roots"] / window_s).tolist()),
        latency_ms=_ratios(windows["sojourn"], windows["roots"]),
        sink_latency_ms=_ratios(windows["sink_latency"], windows["sinks"]),
        throughput=dict(
            zip(names, map(tuple, (cells["completed"] / window_s).tolist()), strict=True)
        ),
        queue=dict(zip(names, map(tuple, queue.tolist()), strict=True)),
    )


def _ratios(seconds: Floats, counts: NDArray[np.int64]) -> tuple[float | None, ...]:
    pairs = zip(seconds.tolist(), counts.tolist(), strict=True)
    return tuple(1000 * total / count if count else None for total, count in pairs)


def _operator_loads(run: Run, names: list[str], series: TimeSeries) -> tuple[OperatorLoad, ...]:
    sums, threads = run.tally.operators, run.world.threads
    fields = ("handled", "waiting", "busy")
    visits, waiting, service = (visited(run.tally, run.world, field) for field in fields)
    length_s = max(run.end_s - run.tally.warm_up, 1e-12)
    with np.errstate(divide="ignore"):
        capacity = summed(1 / threads["service_s"], threads["operator"], len(names))
    busy = summed(_per_second(run, run.tally.threads["busy"]), threads["operator"], len(names))
    here = _counted(run)

    def mean_ms(seconds: Floats, position: int) -> float:
        return 1000 * float(seconds[position]) / max(1.0, float(visits[position]))

    return tuple(
        OperatorLoad(
            operator=name,
            arrival_rate=float(visits[i]) / length_s,
            capacity=float(capacity[i]),
            utilisation=float(busy[i]) / run.plan.placement.threads[i],
            waiting_ms=mean_ms(waiting, i),
            service_ms=mean_ms(service, i),
            network_ms=mean_ms(sums["network"], i),
            queue=float(np.mean(series.queue[name][here])),
            lost=int(sums["lost"][i]),
            resent=int(sums["resent"][i]),
        )
        for i, name in enumerate(names)
    )


def _slot_use(run: Run, busy: Floats) -> tuple[Floats, Floats]:
    """Per slot, CPU and memory used, in reference slots."""
    threads, slots = run.world.threads, run.plan.cluster.slots
    at_work = np.where(threads["service_s"] > 0, np.minimum(busy, 1.0), 1.0)
    return (
        summed(run.figures.cpu * at_work, threads["slot"], slots),
        summed(run.figures.mem * at_work, threads["slot"], slots),
    )


def _threads(run: Run, names: list[str], needed: Floats) -> tuple[ThreadLoad, ...]:
    threads = run.world.threads
    slots = {slot: str(run.plan.cluster.slot(slot)) for slot in np.unique(threads["slot"]).tolist()}
    rows = zip(
        threads["operator"].tolist(),
        threads["place"].tolist(),
        threads["slot"].tolist(),
        _per_second(run, run.tally.threads["handled"]).tolist(),
        needed.tolist(),
        strict=True,
    )
    return tuple(
        ThreadLoad(names[operator], place, slots[slot], rate, load)
        for operator, place, slot, rate, load in rows
    )


def _traffic(run: Run) -> tuple[dict[str, ThreadTraffic], NDArray[np.int64]]:
    """Between threads, slots and nodes, nothing where there are too many pairs to count; and how
    many tuples stayed in a slot, on a node, and left it.
    """
    threads, pairs = run.world.threads, run.tally.pairs
    if len(pairs) == 0:
        return {}, run.tally.distances
    used = np.flatnonzero(pairs)
    streams = run.world.streams[np.searchsorted(run.world.streams["pair"], used, side="right") - 1]
    inside = used - streams["pair"]
    senders = run.world.operators["first"][streams["source"]] + inside // streams["width"]
    receivers = streams["first"] + inside % streams["width"]
    rates = _per_second(run, pairs[used].astype(np.float64))
    apart = (threads["slot"][senders] != threads["slot"][receivers]).astype(np.int64)
    apart += threads["node"][senders] != threads["node"][receivers]
    far = np.bincount(apart, pairs[used], 3).astype(np.int64)
    return {
        "thread_traffic": ThreadTraffic(senders, receivers, rates),
        "slot_traffic": _merged(threads["slot"][senders], threads["slot"][receivers], rates),
        "node_traffic": _merged(threads["node"][senders], threads["node"][receivers], rates),
    }, far


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
    slots = run.world.threads["slot"]
    for slot in np.unique(slots[slowed]).tolist():
        factor = run.figures.slowed[slots == slot].max()
        remarks.append(
            f"slot {run.plan.cluster.slot(slot)} is over-committed: its threads take "
            f"{factor:.2f} times as long"
        )
    return tuple(remarks)
