"""Percentile: the fewest slots for a latency at sinks, by one queue per thread (ours).

DRS sizes for a mean with one queue per operator. Engines have one per thread, and users ask for a
p99. Every thread is an M/G/1 queue here: T_i = s_i + W_i, with W_i = ρ_i/(1 - ρ_i) (1 + c²)/2 s_i;
a tuple waits with probability ρ_i, then an exponential time. Means and variances add up on the way
to the sinks, and a gamma distribution with both has the percentile. What is left out (bursts, the
network, threads that share a slot) is left to the plan's prediction and simulation.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np

from slotwise.allocators.base import Demand, demands, fixed_entry, settle, too_many, too_many_in_all
from slotwise.model import (
    Allocation,
    Bundle,
    Goals,
    OperatorAllocation,
    Profiles,
    Refusal,
    ThreadRow,
    Topology,
    counted,
)
from slotwise.rates import ArrivalRates

QUANTILES = {"latency_p50_ms": 0.5, "latency_p95_ms": 0.95, "latency_p99_ms": 0.99}
MOST_STEPS = 20_000
LEAST_SAVED = 1e-4
"""A step that saves less of an operator's time is none: the service time itself is left."""


@dataclass(frozen=True)
class Percentile:
    """Starts with the fewest slots that carry the rate. While a latency goal is missed, the
    operator that gains most for a slot gets more bundles, or bundles of fewer, faster threads.

    `rate` must be carried, and the latencies kept at `goals.rate` if that is lower. `share` is the
    part of a goal that waiting and service may take: the rest is for the network. Time
    O(steps × (operators × rows + operators³)); a step adds an eighth of an operator's bundles.
    """

    name: ClassVar[str] = "percentile"
    share: float = 0.9

    def __post_init__(self) -> None:
        if not 0 < self.share <= 1:
            raise ValueError(f"invalid value '{self.share}' for share: expected > 0 and ≤ 1")

    def allocate(
        self, topology: Topology, profiles: Profiles, rate: float, goals: Goals
    ) -> Allocation | Refusal:
        limits_ms = {
            goal: self.share * wanted
            for goal in ("latency_ms", *QUANTILES)
            if (wanted := getattr(goals, goal)) is not None
        }
        if not limits_ms:
            return Refusal(
                self.name,
                "needs a latency goal: latency_ms, latency_p50_ms, latency_p95_ms or "
                "latency_p99_ms",
                resource="latency",
                final=True,
            )
        least_rate = rate if goals.rate is None else min(rate, goals.rate)

        def size(rates: ArrivalRates) -> tuple[OperatorAllocation, ...] | Refusal:
            return self._size(topology, profiles, rates, least_rate / rate, limits_ms)

        return settle(self.name, topology, profiles, rate, size)

    def _size(
        self,
        topology: Topology,
        profiles: Profiles,
        rates: ArrivalRates,
        load: float,
        limits_ms: dict[str, float],
    ) -> tuple[OperatorAllocation, ...] | Refusal:
        found, sizes = demands(topology, rates), list[_Size | None]()
        for demand in found:
            if profiles.fixed(demand.operator):
                sizes.append(None)
                continue
            size = _cheapest(demand, profiles, load)
            wanted = size.bundles * size.row.threads
            thread_rate = size.row.rate / size.row.threads
            if refusal := too_many(self.name, demand.operator, wanted, thread_rate):
                return refusal
            sizes.append(size)
        for _ in range(MOST_STEPS):
            threads = sum(size.bundles * size.row.threads for size in sizes if size is not None)
            if refusal := too_many_in_all(self.name, threads):
                return refusal
            excess, goal, seen_ms = _worst(_at_sinks(topology, rates, sizes), limits_ms)
            if excess <= 1:
                _trim(sizes, lambda: _worst(_at_sinks(topology, rates, sizes), limits_ms)[0] <= 1)
                return tuple(_entry(d, profiles, s) for d, s in zip(found, sizes, strict=True))
            if not _improve(sizes, rates):
                break
        return Refusal(
            self.name,
            f"{goal} of {limits_ms[goal] / self.share:g} is out of reach: with any number of "
            f"threads it is about {seen_ms:,.4g} ms",
            resource="latency",
            missing=seen_ms - limits_ms[goal] if math.isfinite(seen_ms) else None,
            final=True,
        )


@dataclass(frozen=True)
class _Size:
    """So many bundles of one row of the operator's table."""

    row: ThreadRow
    rows: tuple[ThreadRow, ...]
    bundles: int
    arriving: float
    """Tuples/s at which the latency counts."""
    carried: float
    """Tuples/s that must be carried, at least."""
    service_scv: float

    @property
    def slots(self) -> float:
        return self.bundles * max(self.row.cpu, self.row.mem, 1e-6)

    @property
    def times_s(self) -> tuple[float, float]:
        """(mean, variance) of the time at one of its threads."""
        service_s = self.row.threads / self.row.rate
        busy = self.arriving / (self.bundles * self.row.rate)
        if busy >= 1:
            return math.inf, math.inf
        wait_s = busy / (1 - busy) * (1 + self.service_scv) / 2 * service_s
        of_wait = wait_s**2 * (2 / busy - 1) if busy > 0 else 0.0
        return service_s + wait_s, of_wait + self.service_scv * service_s**2

    def larger(self) -> Iterator[_Size]:
        """More bundles; or bundles of another row, just enough to be no busier than now."""
        more = max(1, self.bundles // 8)
        yield replace(self, bundles=self.bundles + more)
        for row in self.rows:
            if row.threads / row.rate < self.row.threads / self.row.rate:
                enough = math.ceil(self.bundles * self.row.rate / row.rate - 1e-9)
                yield replace(self, row=row, bundles=max(1, enough))


def _cheapest(demand: Demand, profiles: Profiles, load: float) -> _Size:
    table = profiles.table(demand.operator)
    sizes = (
        _Size(
            row,
            table.rows,
            max(1, math.ceil(demand.arriving / row.rate * (1 - 1e-12))),
            demand.arriving * load,
            demand.arriving,
            profiles.service_scv(demand.operator),
        )
        for row in table.rows
    )
    return min(sizes, key=lambda size: (size.slots, size.row.threads))


def _improve(sizes: list[_Size | None], rates: ArrivalRates) -> bool:
    """The step that saves most time per slot, put into `sizes`; False: none saves any."""
    best: tuple[float, int, _Size] | None = None
    for position, size in enumerate(sizes):
        if size is None:
            continue
        visits = float(rates.operators[position]) / rates.external
        before = _felt_s(size)
        for larger in size.larger():
            saved = min(visits, 1.0) * _saved(before, _felt_s(larger))
            added = max(larger.slots - size.slots, 1e-9)
            if saved > 0 and (best is None or saved / added > best[0]):
                best = saved / added, position, larger
    if best is None:
        return False
    sizes[best[1]] = best[2]
    return True


def _trim(sizes: list[_Size | None], holds: Callable[[], bool]) -> None:
    """Take back what steps gave too much: per operator the fewest bundles with which all holds."""
    for position, size in enumerate(sizes):
        if size is None:
            continue
        low = max(1, math.ceil(size.carried / size.row.rate * (1 - 1e-12)))
        high = size.bundles
        while low < high:
            middle = (low + high) // 2
            sizes[position] = replace(size, bundles=middle)
            low, high = (low, middle) if holds() else (middle + 1, high)
        sizes[position] = replace(size, bundles=high)


def _felt_s(size: _Size) -> float:
    mean_s, variance = size.times_s
    return mean_s + math.sqrt(variance)


def _saved(before_s: float, after_s: float) -> float:
    """0 where it is not worth mentioning; without a bound before, all that is bounded saves."""
    if math.isinf(before_s):
        return 0.0 if math.isinf(after_s) else 1e18 / (1 + after_s)
    saved = before_s - after_s
    return saved if saved > LEAST_SAVED * before_s else 0.0


def _at_sinks(
    topology: Topology, rates: ArrivalRates, sizes: Sequence[_Size | None]
) -> tuple[float, float]:
    """(mean, variance) of the latency at sinks, s: mixtures over all ways there.

    First and second moments of a tuple's age are linear in those of its causes; loops make both a
    linear system.
    """
    count = len(sizes)
    times = [(0.0, 0.0) if size is None else size.times_s for size in sizes]
    mean, variance = np.array(times).T
    if not np.all(np.isfinite(mean)):
        return math.inf, math.inf
    flow = np.zeros((count, count))
    for (source, target), rate in zip(topology.edges, rates.streams.tolist(), strict=True):
        if rates.operators[target] > 0:
            flow[target, source] += rate / rates.operators[target]
    system = np.identity(count) - flow
    # The age when a tuple is done at i: A_i + T_i; that of what it causes at j starts from it.
    first = np.linalg.solve(system, flow @ mean)
    square = variance + mean**2
    second = np.linalg.solve(system, flow @ (2 * first * mean + square))
    ends = list(topology.ends)
    weights = rates.operators[ends]
    if not weights.sum() > 0:
        return 0.0, 0.0
    done = (first + mean)[ends]
    done_square = (second + 2 * first * mean + square)[ends]
    total = float(weights @ done / weights.sum())
    return total, max(float(weights @ done_square / weights.sum()) - total**2, 0.0)


def _worst(moments: tuple[float, float], limits_ms: dict[str, float]) -> tuple[float, str, float]:
    """(times its limit, goal, ms) of the goal that is missed by most."""
    seen = {goal: _quantile_ms(moments, QUANTILES.get(goal)) for goal in limits_ms}
    return max((seen[goal] / limit, goal, seen[goal]) for goal, limit in limits_ms.items())


def _quantile_ms(moments: tuple[float, float], quantile: float | None) -> float:
    """Of the gamma distribution with these moments; the mean where no quantile is asked for."""
    mean_s, variance = moments
    if quantile is None or variance <= 0 or not math.isfinite(mean_s):
        return 1000 * mean_s
    from scipy.special import gammaincinv

    shape = mean_s**2 / variance
    return 1000 * mean_s * float(gammaincinv(shape, quantile)) / shape


def _entry(demand: Demand, profiles: Profiles, size: _Size | None) -> OperatorAllocation:
    if size is None:
        fixed = profiles.fixed(demand.operator)
        assert fixed is not None
        return fixed_entry(demand, fixed)
    row, best = size.row, profiles.table(demand.operator).best
    full = row.threads == best.threads and row.threads > 1
    whole = max(1.0, row.cpu), max(1.0, row.mem)
    cpu, mem = whole if full else (row.cpu, row.mem)
    busy = size.arriving / (size.bundles * row.rate)
    bundle = Bundle(row.threads, cpu, mem, full=full)
    reason = f"{size.bundles} × {counted(row.threads, 'thread')} at {row.rate:g}/s, {busy:.0%} busy"
    return OperatorAllocation(demand.operator, demand.arriving, (bundle,) * size.bundles, reason)
