"""A finished run as an Observation."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from slotwise.model import Observation, TimeSeries, counted, is_stable
from slotwise.prediction import node_loads, slot_loads
from slotwise.simulation.kernels.arrivals import emitted_by
from slotwise.simulation.kernels.measure import quantiles, visited
from slotwise.simulation.loads import (
    asked_of_links,
    asked_of_threads,
    asked_of_turns,
    counted_s,
    link_loads,
    operator_loads,
    per_second,
    slot_use,
    stream_loads,
    thread_loads,
    traffic,
)

if TYPE_CHECKING:
    from slotwise.simulation.run import Run

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]

BATCHES = 20
"""Stretches of the run whose means are nearly independent."""
STUDENT_T_95 = 2.0930240544083087
"""97.5 % quantile of Student's t with BATCHES - 1 degrees of freedom: scipy's, which takes 0.1 s to
import. A test compares them.
"""

NOWHERE: Mapping[str, Any] = {
    "slots": (),
    "nodes": (),
    "inter_slot_traffic": None,
    "inter_node_traffic": None,
}


def observed(run: Run) -> Observation:
    """The inputs that came due after the warm-up, each followed to its end."""
    tally = run.tally
    visits = visited(tally, run.world, "handled")
    inputs = max(1, int(visits[run.world.operators["source"] > 0].sum()))
    network_s = float(tally.operators["network"].sum())
    total_s = network_s + float(
        (visited(tally, run.world, "waiting") + visited(tally, run.world, "busy")).sum()
    )
    series, here = _series(run), _counted(run)
    windows = tally.windows[here]
    seconds = (here.stop - here.start) / tally.per_window
    middle_s = np.asarray((np.arange(here.start, here.stop) + 0.5) / tally.per_window)
    return Observation(
        **shared_figures(run, tally.cells["completed"][:, here].sum(axis=1) / seconds),
        backlog=_backlog(run, series),
        latency_ms=mean_ms(windows["sink_latency"], windows["sinks"]),
        latency_slope=slope(middle_s, windows["sink_latency"], windows["sinks"]),
        sojourn_ms=1000 * total_s / inputs,
        sojourn_margin_ms=_margin_ms(run),
        network_ms=1000 * network_s / inputs,
        operators=operator_loads(run, [float(np.mean(q[here])) for q in series.queue.values()]),
        series=series,
    )


def shared_figures(run: Run, ended_rate: Floats, places: bool = True) -> dict[str, Any]:
    """What is found alike for a whole run and for a window of a deployment.

    `ended_rate` is how many tuples/s each operator has handled. Without `places`, figures of
    threads, slots and nodes, and traffic, are left out.
    """
    tally = run.tally
    names = [operator.name for operator in run.plan.pipeline.topology.operators]
    # Figures per thread, and so the load they are asked for, begin with the last change of plan.
    offered_rate = _offered_rate(run, run.end_s - counted_s(run))
    work, asked = asked_of_threads(run, offered_rate)
    bottleneck = names[int(run.world.threads["operator"][int(np.argmax(work))])]
    busiest = max(float(asked.max()), asked_of_links(run), asked_of_turns(run))
    stable = is_stable(busiest) and not run.stuck and run.end_s >= run.asked_s
    throughput = _throughput(run, ended_rate)
    saturated = not stable or bool(tally.operators["lost"].any())
    p50, p95, p99 = _percentiles_ms(run)
    return {
        "origin": "simulated",
        "start_s": tally.warm_up,
        "end_s": run.end_s,
        "offered_rate": _offered_rate(run, tally.warm_up),
        "throughput": throughput,
        "capacity": throughput if saturated else None,
        "stable": stable,
        "busiest": busiest,
        "bottleneck": bottleneck,
        "latency_p50_ms": p50,
        "latency_p95_ms": p95,
        "latency_p99_ms": p99,
        "streams": stream_loads(run),
        "links": link_loads(run),
        "cost_per_hour": run.plan.cost_per_hour,
        "seed": run.seed,
        "remarks": _remarks(run, stable, bottleneck, asked),
        **(_at_places(run, names, offered_rate, asked) if places else NOWHERE),
    }


def _at_places(run: Run, names: list[str], offered_rate: float, asked: Floats) -> dict[str, Any]:
    cpu, mem = slot_use(run, offered_rate)
    between, far = traffic(run)
    return {
        "threads": thread_loads(run, names, asked),
        "slots": slot_loads(run.plan.cluster, cpu, mem),
        "nodes": node_loads(run.plan.cluster, cpu, mem),
        "inter_slot_traffic": float(per_second(run, far[1:].sum())),
        "inter_node_traffic": float(per_second(run, far[2:].sum())),
        **between,
    }


def _offered_rate(run: Run, start_s: float) -> float:
    """The input rate that sources were asked for: the nominal one, as the schedules change it."""
    sources = run.world.sources
    if not sources.scheduled or start_s >= run.end_s:
        return run.rate
    asked = emitted_by(sources, run.end_s) - emitted_by(sources, start_s)
    return run.rate * asked / ((run.end_s - start_s) * run.figures.rates.external)


def _throughput(run: Run, ended_rate: Floats) -> float | None:
    """The lowest over operators without outputs: what they ended per second, per input.

    `rates` are those at the nominal input rate, so dividing by them gives inputs.
    """
    expected = run.figures.rates.operators / run.rate
    ends = [end for end in run.plan.pipeline.topology.ends if expected[end] > 0]
    return float((ended_rate[ends] / expected[ends]).min()) if ends else None


def _backlog(run: Run, series: TimeSeries) -> float:
    """What waits at sources in the last window: inputs that are due and not yet taken in."""
    last = _counted(run).stop - 1
    sources = run.plan.pipeline.topology.sources
    return float(sum(series.queue[source.name][last] for source in sources))


def _counted(run: Run) -> slice:
    """Windows after the warm-up and before the end."""
    windows = len(run.tally.windows)
    first = int(np.ceil(run.tally.warm_up * run.tally.per_window - 1e-9))
    first = min(first, windows - 1)
    last = int(np.floor(run.end_s * run.tally.per_window + 1e-9))
    return slice(first, max(last, first + 1))


def _margin_ms(run: Run) -> float | None:
    """Half the 95 % confidence interval of the sojourn time, by batch means."""
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


def _percentiles_ms(run: Run) -> tuple[float | None, float | None, float | None]:
    found = [1000 * seconds for _, seconds in quantiles(run.tally, (0.5, 0.95, 0.99))]
    return (found[0], found[1], found[2]) if found else (None, None, None)


def mean_ms(seconds: Floats, counts: Integers) -> float | None:
    """Over all windows; None where there was nothing."""
    count = int(counts.sum())
    return 1000 * float(seconds.sum()) / count if count else None


def slope(middle_s: Floats, seconds: Floats, counts: Integers) -> float | None:
    """Growth of the windows' means, ms per second: least squares, each weighed by its count."""
    weights = counts.astype(np.float64)
    if np.count_nonzero(weights) < 2:
        return None
    means_ms = 1000 * seconds / np.maximum(weights, 1)
    centred = middle_s - np.average(middle_s, weights=weights)
    return float((weights * centred * means_ms).sum() / (weights * centred * centred).sum())


def _series(run: Run) -> TimeSeries:
    """From second 0 on, the warm-up included."""
    tally, names = run.tally, [o.name for o in run.plan.pipeline.topology.operators]
    window_s = 1 / tally.per_window
    windows, cells = tally.windows, tally.cells
    queue = cells["queue"] / window_s + np.cumsum(cells["covering"], axis=1)
    inputs = sum(source.share for source in run.plan.pipeline.topology.sources)
    return TimeSeries(
        window_s=window_s,
        offered_rate=tuple((windows["roots"] / window_s / inputs).tolist()),
        latency_ms=_ratios(windows["sink_latency"], windows["sinks"]),
        sojourn_ms=_ratios(windows["sojourn"], windows["roots"]),
        handled_rate=dict(
            zip(names, map(tuple, (cells["completed"] / window_s).tolist()), strict=True)
        ),
        queue=dict(zip(names, map(tuple, queue.tolist()), strict=True)),
    )


def _ratios(seconds: Floats, counts: Integers) -> tuple[float | None, ...]:
    pairs = zip(seconds.tolist(), counts.tolist(), strict=True)
    return tuple(1000 * total / count if count else None for total, count in pairs)


def _remarks(run: Run, stable: bool, bottleneck: str, asked: Floats) -> tuple[str, ...]:
    remarks = []
    if run.stuck:
        remarks.append(
            f"deadlock: {counted(run.stuck, 'tuple')} can never move again, because full buffers "
            "block each other's senders"
        )
    if run.end_s < run.asked_s:
        remarks.append(
            f"the sources were stopped after {run.end_s:g} s: too many tuples were waiting"
        )
    if not is_stable(asked_of_links(run)):
        remarks.append(
            f"unstable: the busiest link of a node needs {asked_of_links(run):.2f} s per second"
        )
    if not is_stable(asked_of_turns(run)):
        remarks.append(
            "unstable: one node's tuples for another need "
            f"{asked_of_turns(run):.2f} times the turns that its time slots have"
        )
    if not stable and not is_stable(float(asked.max())):
        remarks.append(
            f"unstable: '{bottleneck}' is the bottleneck, its busiest thread needs "
            f"{float(asked.max()):.2f} s per second"
        )
    slowed = np.flatnonzero(run.figures.of_threads.slowed > 1)
    slots = run.world.threads["slot"]
    for slot in np.unique(slots[slowed]).tolist():
        factor = run.figures.of_threads.slowed[slots == slot].max()
        remarks.append(
            f"slot {run.plan.cluster.slot(slot)} is over-committed: its threads take "
            f"{factor:.2f} times as long"
        )
    return tuple(remarks)
