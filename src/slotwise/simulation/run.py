"""simulate(plan, rate) -> Observation."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from slotwise.model import ModelError, Observation, Plan
from slotwise.simulation.kernels import change, feed_forward
from slotwise.simulation.kernels.arrivals import clock_after
from slotwise.simulation.kernels.measure import Tally, empty_tally
from slotwise.simulation.kernels.under_way import Limits
from slotwise.simulation.kernels.world import Figures, World, build
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
    Speeds,
)

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
    speeds: Speeds = _USUAL.speeds,
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
        speeds=speeds,
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
    """What a simulation, or a window of a deployment, has counted."""

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
    seed: int
    last_change_s: float = 0.0
    """Figures per thread and traffic count from here on."""
    stuck: int = 0
    """Tuples that can never move again."""


def run(plan: Plan, rate: float | None, options: Options, log_size: int = 0) -> Run:
    """As `simulate`; keeps the first `log_size` visits one by one."""
    rate = plan.rate if rate is None else rate
    check_options(plan, options)
    for each in options.changes:
        check_same_topology(plan, each.plan)
    starts = [(0.0, 0.0), *((each.at_s, each.pause_s) for each in options.changes)]
    plans = [plan, *(each.plan for each in options.changes)]
    built = [
        part_of(each, rate, options, number, *start)
        for number, (each, start) in enumerate(zip(plans, starts, strict=True))
    ]
    world, figures = built[0][0].world, built[0][1]
    end_s = _duration(world, figures, options)
    tally = empty_tally(world, options.warm_up * end_s, end_s, options.windows, log_size)
    chosen = _kernel(plan, options)
    if chosen == "feed-forward":
        rates = figures.rates.operators
        order = plan.pipeline.topology.order
        stopped = feed_forward.run(world, tally, order, rates, MOST_UNDER_WAY)
        return Run(plan, rate, world, figures, tally, end_s, stopped, chosen, options.seed)
    last, figures = built[-1]
    if last.start_s >= end_s:
        raise ModelError(
            f"invalid plan change at {last.start_s:g} s: the run ends after {end_s:g} s"
        )
    done = change.run(tuple(part for part, _ in built), tally, MOST_UNDER_WAY)
    return Run(
        plans[-1],
        rate,
        last.world,
        figures,
        done.tally,
        end_s,
        done.end_s,
        chosen,
        options.seed,
        last.start_s,
        done.stuck,
    )


def part_of(
    plan: Plan,
    rate: float,
    options: Options,
    number: int,
    start_s: float = 0.0,
    pause_s: float = 0.0,
) -> tuple[change.Part, Figures]:
    """The stretch of a run under `plan`, with `number` changes of plan before it."""
    world, figures = build(plan, rate, options, number)
    nodes = len(plan.cluster.nodes)
    return change.Part(world, _limits(world, options), nodes, start_s, pause_s), figures


def check_options(plan: Plan, options: Options) -> None:
    topology = plan.pipeline.topology
    for what, names in (
        ("service times are", options.service_of),
        ("a speed is", options.speeds.operators),
    ):
        for name in names:
            if name not in topology.index:
                raise ModelError(
                    f"{what} given for '{name}', but topology '{topology.name}' has no such "
                    "operator"
                )


def check_same_topology(before: Plan, after: Plan) -> None:
    if after.pipeline.topology != before.pipeline.topology:
        raise ModelError("a change of plan must keep the topology, but the new plan has another")


def _duration(world: World, figures: Figures, options: Options) -> float:
    """How long sources emit: as given, or until `tuples` came in the mean."""
    if options.duration_s is not None:
        return float(options.duration_s)
    tuples = options.tuples or USUAL_TUPLES
    end_s = tuples / figures.rates.external
    if world.sources.scheduled:
        end_s = clock_after(world.sources, tuples)
    if not math.isfinite(end_s):
        raise ModelError(f"the schedule never emits {tuples:,} tuples: set a duration instead")
    return end_s


def _kernel(plan: Plan, options: Options) -> Kernel:
    """The fastest that can do it."""
    needs_events = [
        what
        for what, present in (
            ("loops", plan.pipeline.topology.has_loops),
            ("bounded buffers", options.buffers.bounded),
            ("a bandwidth", options.network.bandwidth_mb_per_s is not None),
            ("plan changes", bool(options.changes)),
            ("speeds that change", options.speeds.vary),
        )
        if present
    ]
    if options.kernel == "feed-forward" and needs_events:
        raise ModelError(
            f"the feed-forward kernel does not support {needs_events[0]}: use 'events'"
        )
    return options.kernel or ("events" if needs_events else "feed-forward")


def _limits(world: World, options: Options) -> Limits:
    streams = world.streams
    most = np.ceil(streams["selectivity"]) * streams["copies"]
    per_operator = np.bincount(streams["source"], weights=most, minlength=1)
    buffers = options.buffers
    return Limits(
        capacity=buffers.capacity or 0,
        node_capacity=buffers.node_capacity or 0,
        blocks=buffers.bounded and buffers.when_full == "block",
        resend_s=(buffers.resend_after_ms or 0.0) / 1000,
        link_s=options.network.link_s,
        most_caused=int(per_operator.max()),
    )
