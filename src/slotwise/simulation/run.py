"""simulate(plan, rate) -> Observation."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from slotwise.model import ModelError, Observation, Plan
from slotwise.simulation import change, feed_forward
from slotwise.simulation.arrivals import clock_time
from slotwise.simulation.measure import Tally, empty_tally
from slotwise.simulation.observe import observed
from slotwise.simulation.options import (
    Arrivals,
    Buffers,
    Kernel,
    Keys,
    Network,
    Options,
    PlanChange,
    Routing,
    ServiceTimes,
)
from slotwise.simulation.under_way import Limits
from slotwise.simulation.world import Figures, World, build

MOST_UNDER_WAY = 8_000_000
"""When more tuples than that are waiting or on their way, sources stop: it is no use."""
USUAL_TUPLES = 100_000
_USUAL = Options()


def simulate(
    plan: Plan,
    rate: float | None = None,
    *,
    arrivals: Arrivals = _USUAL.arrivals,
    service: ServiceTimes | Mapping[str, ServiceTimes] = _USUAL.service,
    keys: Keys = _USUAL.keys,
    routing: Routing = _USUAL.routing,
    network: Network = _USUAL.network,
    buffers: Buffers = _USUAL.buffers,
    tuples: int | None = None,
    duration_s: float | None = None,
    warm_up: float = 0.1,
    seed: int = 0,
    changes: Sequence[PlanChange] = (),
    kernel: Kernel | None = None,
    windows: int = 100,
) -> Observation:
    """The plan at `rate` input tuples/s (its own, if none is given); see simulation/__init__.py.

    Runs for `tuples` input tuples in the mean (100,000 if neither is given) or `duration_s`. Time
    is linear in the visits; memory is bounded by the threads, and by MOST_UNDER_WAY.
    """
    options = Options(
        arrivals=arrivals,
        service=service if isinstance(service, ServiceTimes) else ServiceTimes(),
        service_of={} if isinstance(service, ServiceTimes) else service,
        keys=keys,
        routing=routing,
        network=network,
        buffers=buffers,
        tuples=tuples,
        duration_s=duration_s,
        warm_up=warm_up,
        seed=seed,
        changes=tuple(changes),
        kernel=kernel,
        windows=windows,
    )
    return observed(run(plan, rate, options))


@dataclass(frozen=True)
class Run:
    """What a simulation left behind, before it is put into words."""

    plan: Plan
    """The last one that ran."""
    rate: float
    world: World
    figures: Figures
    tally: Tally
    asked_s: float
    end_s: float
    """When sources stopped: before `asked_s` if too many tuples were under way."""
    kernel: Kernel
    last_change_s: float = 0.0
    """Figures per thread and traffic count from here on."""
    stuck: int = 0
    """Tuples that can never move again."""


def run(plan: Plan, rate: float | None, options: Options, log_size: int = 0) -> Run:
    """As `simulate`; keeps the first `log_size` visits one by one."""
    rate = plan.rate if rate is None else rate
    _check(plan, options)
    plans = [plan, *(each.plan for each in options.changes)]
    built = [build(each, rate, options, part) for part, each in enumerate(plans)]
    world, figures = built[0]
    end_s = _duration(world, figures, options)
    tally = empty_tally(world, options.warm_up * end_s, end_s, options.windows, log_size)
    chosen = _kernel(plan, options)
    if chosen == "feed-forward":
        rates = figures.rates.operators
        order = plan.pipeline.topology.order
        stopped = feed_forward.run(world, tally, order, rates, MOST_UNDER_WAY)
        return Run(plan, rate, world, figures, tally, end_s, stopped, chosen)
    starts = [(0.0, 0.0), *((each.at_s, each.pause_s) for each in options.changes)]
    if starts[-1][0] >= end_s:
        raise ModelError(f"a plan change at second {starts[-1][0]} of a run of {end_s:g}")
    parts = tuple(
        change.Part(each, _limits(each, options), len(where.cluster.nodes), *start)
        for (each, _), where, start in zip(built, plans, starts, strict=True)
    )
    done = change.run(parts, tally, MOST_UNDER_WAY)
    world, figures = built[-1]
    return Run(
        plans[-1],
        rate,
        world,
        figures,
        done.tally,
        end_s,
        done.end_s,
        chosen,
        starts[-1][0],
        done.stuck,
    )


def _check(plan: Plan, options: Options) -> None:
    for each in options.changes:
        if each.plan.pipeline.topology != plan.pipeline.topology:
            raise ModelError("a plan change keeps the topology: its plan is for another one")
    for name in options.service_of:
        if name not in plan.pipeline.topology.index:
            raise ModelError(f"service times are given for '{name}', but no such operator")


def _duration(world: World, figures: Figures, options: Options) -> float:
    """How long sources emit: as told, or until `tuples` came in the mean."""
    if options.duration_s is not None:
        return float(options.duration_s)
    tuples = options.tuples or USUAL_TUPLES
    sources = world.sources
    end_s = tuples / figures.rates.external
    if sources.scheduled:
        end_s = float(clock_time(sources.schedule, sources.period, end_s))
    if not math.isfinite(end_s):
        raise ModelError(f"the schedule never lets {tuples} tuples in: give duration_s")
    return end_s


def _kernel(plan: Plan, options: Options) -> Kernel:
    """The fastest that can do it."""
    needs_events = [
        what
        for what, present in (
            ("loops", plan.pipeline.topology.has_loops),
            ("bounded buffers", options.buffers.capacity is not None),
            ("a bandwidth", options.network.bandwidth_mb_per_s is not None),
            ("plan changes", bool(options.changes)),
        )
        if present
    ]
    if options.kernel == "feed-forward" and needs_events:
        raise ModelError(f"the feed-forward kernel cannot do {needs_events[0]}: use 'events'")
    return options.kernel or ("events" if needs_events else "feed-forward")


def _limits(world: World, options: Options) -> Limits:
    streams = world.streams
    most = np.ceil(streams["selectivity"]) * streams["copies"]
    per_operator = np.bincount(streams["source"], weights=most, minlength=1)
    network, buffers = options.network, options.buffers
    bandwidth = network.bandwidth_mb_per_s
    return Limits(
        capacity=buffers.capacity or 0,
        blocks=buffers.capacity is not None and buffers.when_full == "block",
        resend_s=(buffers.resend_after_ms or 0.0) / 1000,
        link_s=network.tuple_bytes / (bandwidth * 1e6) if bandwidth else 0.0,
        most_caused=int(per_operator.max()),
    )
