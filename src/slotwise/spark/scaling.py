"""A pipeline made smaller, so that this machine can hold its cluster: a lower rate, fewer nodes.

Profiles are per tuple, so they stay as they are; only what is planned for them changes.
"""

from __future__ import annotations

import math
import os
from collections.abc import Callable
from dataclasses import dataclass, replace

from slotwise.model import Cluster, ModelError, Pipeline, Plan, Refused, counted
from slotwise.planner import asking_for
from slotwise.spark.cluster import Site
from slotwise.spark.cluster.standalone import has_memory

MOST_SLOTS = 10
"""Executors that a small machine can hold side by side, each a Java process."""
THREADS_PER_CORE = 32
"""Most of them wait; each is a Java thread with its shuffle buffers."""
SMALLEST = 2.0**-8

Planner = Callable[[Pipeline], Plan]
"""Plans a pipeline for the rate among its goals."""


@dataclass(frozen=True)
class Scaled:
    """A plan for a part of what the spec asks for."""

    plan: Plan
    factor: float

    def __str__(self) -> str:
        return (
            f"scaled to {_fraction(self.factor)}: {self.plan.rate:g} tuples/s, "
            f"{counted(self.plan.cluster.slots, 'slot')}"
        )


def factor(text: str) -> float | None:
    """`auto` is None. Raises ModelError.

    >>> factor("1/16"), factor("0.5"), factor("auto")
    (0.0625, 0.5, None)
    """
    if text.strip() == "auto":
        return None
    above, slash, below = text.partition("/")
    try:
        value = float(above) / float(below) if slash else float(above)
    except (ValueError, ZeroDivisionError):
        value = math.nan
    if not 0 < value <= 1:
        raise ModelError(f"invalid scale '{text}': expected auto, or a part such as 1/16 or 0.25")
    return value


def plan_for(
    pipeline: Pipeline, rate: float | None, factor: float | None, site: Site, planned: Planner
) -> Scaled:
    """Of a given rate, or the pipeline's own, the part that is asked for. Without one, a given
    rate is planned for as it is, and the pipeline's own as far as it fits.
    """
    asked, _ = asking_for(pipeline, rate)
    if factor is not None:
        return at_scale(asked, factor, planned)
    return at_scale(asked, 1.0, planned) if rate is not None else fitted(asked, site, planned)


def at_scale(pipeline: Pipeline, factor: float, planned: Planner) -> Scaled:
    """Planned for `factor` times the rate; of a fixed cluster as many nodes, rounded up, and more
    if the threads need them. Raises Refused as the planner does for the whole cluster.
    """
    assert pipeline.goals.rate is not None
    goals = replace(pipeline.goals, rate=pipeline.goals.rate * factor)
    smaller = replace(pipeline, goals=goals)
    cluster = pipeline.cluster
    if cluster is None:
        return Scaled(planned(smaller), factor)
    for count in range(math.ceil(factor * len(cluster.nodes)), len(cluster.nodes)):
        try:
            return Scaled(planned(replace(smaller, cluster=_part(cluster, count))), factor)
        except Refused:
            continue
    return Scaled(planned(smaller), factor)


def fitted(pipeline: Pipeline, site: Site, planned: Planner) -> Scaled:
    """The largest of 1, 1/2, 1/4, … whose plan this machine can hold; an existing master gets all.

    Where no part fits, because it takes many threads or slots at any rate, it is not scaled.
    """
    whole = at_scale(pipeline, 1.0, planned)
    if site.master is not None or fits(whole.plan, site):
        return whole
    factor = 0.5
    while factor >= SMALLEST:
        scaled = at_scale(pipeline, factor, planned)
        if fits(scaled.plan, site):
            return scaled
        factor /= 2
    return whole


def fits(plan: Plan, site: Site) -> bool:
    """Whether an embedded cluster can be expected to run the plan here."""
    threads = THREADS_PER_CORE * len(os.sched_getaffinity(0))
    return (
        plan.cluster.slots <= MOST_SLOTS
        and plan.allocation.total_threads <= threads
        and has_memory(plan.cluster, site.slot_memory_mb)
    )


def _part(cluster: Cluster, count: int) -> Cluster:
    """So many of the nodes, evenly from the first to the last, so that racks stay represented."""
    nodes = [cluster.nodes[k * len(cluster.nodes) // count] for k in range(count)]
    return Cluster(tuple(nodes), cluster.slot_memory_gb)


def _fraction(factor: float) -> str:
    return f"1/{1 / factor:g}" if (1 / factor).is_integer() else f"{factor:g}"
