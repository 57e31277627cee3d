"""DRS: the fewest processors for a latency, or the least latency for a number (paper 5).

Each operator is a queue with k servers, the topology an open Jackson network:
E[T] = (1/λ0) Σ λ_i E[T_i](k_i). E[T_i] is convex in k_i, so giving one processor at a time to the
operator with the largest gain λ_i (E[T_i](k) - E[T_i](k+1)) is optimal for both programs.
"""

from __future__ import annotations

import heapq
import math
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numba import njit
from numpy.typing import NDArray

from slotwise import queueing
from slotwise.allocators.base import (
    Demand,
    demands,
    fixed_entry,
    settle,
    too_many,
    too_many_in_all,
)
from slotwise.model import (
    Allocation,
    Bundle,
    Goals,
    OperatorAllocation,
    Profiles,
    Refusal,
    ServiceRate,
    Topology,
    counted,
)
from slotwise.model.limits import MOST
from slotwise.rates import ArrivalRates


@dataclass(frozen=True)
class Drs:
    """With `processors`, Program 4: least mean latency with that many. With `latency_ms`, Program
    6: fewest processors with mean latency at or below it. With neither option, Program 6 for
    `goals.sojourn_ms`, or else for `goals.latency_ms`. Fixed loads take no processor and no time.
    Time O(K log N) for K processors, at most MOST, and N operators; Erlang is carried from k to
    k+1.
    """

    name: ClassVar[str] = "drs"
    processors: int | None = None
    latency_ms: float | None = None

    def __post_init__(self) -> None:
        if self.processors is not None and self.latency_ms is not None:
            raise ValueError("expected only one of the options processors and latency_ms")
        if self.processors is not None and not 1 <= self.processors <= MOST:
            raise ValueError(
                f"processors: invalid value '{self.processors}': "
                f"expected an integer from 1 to {MOST:,}"
            )
        if self.latency_ms is not None and not 0 < self.latency_ms < math.inf:
            raise ValueError(
                f"latency_ms: invalid value '{self.latency_ms}': expected a number > 0"
            )

    def allocate(
        self, topology: Topology, profiles: Profiles, rate: float, goals: Goals
    ) -> Allocation | Refusal:
        bounds = (self.latency_ms, goals.sojourn_ms, goals.latency_ms)
        latency_ms = next((ms for ms in bounds if ms is not None), None)
        if self.processors is None and latency_ms is None:
            return Refusal(
                self.name,
                "needs a latency bound (goals.sojourn_ms, goals.latency_ms or the option "
                "latency_ms) or a number of processors (the option processors)",
                resource="latency",
                final=True,
            )

        def size(rates: ArrivalRates) -> tuple[OperatorAllocation, ...] | Refusal:
            return self._size(topology, profiles, rates, latency_ms)

        return settle(self.name, topology, profiles, rate, size)

    def _size(
        self,
        topology: Topology,
        profiles: Profiles,
        rates: ArrivalRates,
        latency_ms: float | None,
    ) -> tuple[OperatorAllocation, ...] | Refusal:
        found = demands(topology, rates)
        queues = [demand for demand in found if not profiles.fixed(demand.operator)]
        services = [profiles.service(demand.operator, demand.sent_per_tuple) for demand in queues]
        for demand, service in zip(queues, services, strict=True):
            wanted = demand.arriving / service.rate
            if refusal := too_many(self.name, demand.operator, wanted, service.rate):
                return refusal
        shared = share_out(
            np.array([demand.arriving for demand in queues]),
            np.array([service.rate for service in services]),
            np.array([(s.arrival_scv + s.service_scv) / 2 for s in services]),
            rates.external,
            self.processors,
            latency_ms,
        )
        if isinstance(shared, Refusal):
            return shared
        threads, mean_ms = shared
        entries = {
            demand.operator: _entry(
                demand, count, service, mean_ms, profiles.derived(demand.operator, ServiceRate)
            )
            for demand, count, service in zip(queues, threads.tolist(), services, strict=True)
        }
        for demand in found:
            if (fixed := profiles.fixed(demand.operator)) is not None:
                entries[demand.operator] = fixed_entry(demand, fixed)
        in_order = tuple(entries[demand.operator] for demand in found)
        threads_in_all = sum(entry.threads for entry in in_order)
        return too_many_in_all(self.name, threads_in_all) or in_order


def share_out(
    arrival_rates: NDArray[np.float64],
    service_rates: NDArray[np.float64],
    variations: NDArray[np.float64],
    external_rate: float,
    processors: int | None = None,
    latency_ms: float | None = None,
) -> tuple[NDArray[np.int64], float] | Refusal:
    """(processors per operator, mean latency in ms): the decision itself, on arrays.

    `processors` given: Program 4 (then `latency_ms` is not used); else Program 6.
    """
    least = int(sum(_least_servers(offered) for offered in arrival_rates / service_rates))
    if refusal := too_many_in_all("drs", least):
        return refusal
    if processors is not None:
        if processors < least:
            return Refusal(
                "drs",
                f"{counted(processors, 'processor')} cannot keep up: at least {least:,} are needed",
                resource="processors",
                missing=least - processors,
                final=True,
            )
        budget, bound = processors, -math.inf
    else:
        assert latency_ms is not None
        budget, bound = MOST, latency_ms / 1000
        floor_s = float(np.sum(arrival_rates / service_rates)) / external_rate
        if floor_s >= bound * (1 - 1e-12):
            return Refusal(
                "drs",
                f"a latency of {latency_ms:g} ms is out of reach: the service times alone add up "
                f"to {floor_s * 1000:g} ms, with any number of processors",
                resource="latency",
                missing=floor_s * 1000 - latency_ms,
                final=True,
            )
    enough = bound * external_rate * (1 + 1e-12)
    threads, total = _greedy(arrival_rates, service_rates, variations, budget, enough)
    if processors is None and total > enough:
        return Refusal(
            "drs",
            f"a latency of {latency_ms:g} ms needs more processors than the limit of {MOST:,} "
            f"threads in a plan: they reach {float(total) / external_rate * 1000:g} ms",
            resource="latency",
            missing=(float(total) - enough) / external_rate * 1000,
            final=True,
        )
    return threads, float(total) / external_rate * 1000


def _entry(
    demand: Demand, threads: int, service: ServiceRate, latency_ms: float, derived: bool
) -> OperatorAllocation:
    busy = demand.arriving / (threads * service.rate)
    reason = f"{busy:.0%} busy at {service.rate:g}/s per thread; mean latency {latency_ms:.4g} ms"
    if derived:
        reason += " (service rate derived from the profile's full bundle)"
    bundle = Bundle(1, service.cpu, service.mem)
    return OperatorAllocation(demand.operator, demand.arriving, (bundle,) * threads, reason)


_erlang_b = njit(cache=True)(queueing.erlang_b_next)
_mean_wait = njit(cache=True)(queueing.mean_wait)


@njit(cache=True)
def _least_servers(offered: float) -> int:  # pragma: no cover - compiled
    """⌊λ/μ⌋ + 1, where a whole λ/μ may have lost its last bit."""
    return math.floor(offered * (1 + 1e-12)) + 1


@njit(cache=True)
def _greedy(
    arrival: NDArray[np.float64],
    service: NDArray[np.float64],
    variation: NDArray[np.float64],
    budget: int,
    bound: float,
) -> tuple[NDArray[np.int64], float]:  # pragma: no cover - compiled
    """Processors per operator and Σ λ_i E[T_i], at most `bound` or with `budget` used up."""
    count = len(arrival)
    servers = np.empty(count, np.int64)
    blocked = np.empty(count)  # Erlang B at one server more
    cost = np.empty(count)  # λ_i times the mean wait
    gains = [(0.0, 0) for _ in range(0)]
    for i in range(count):
        offered = arrival[i] / service[i]
        servers[i] = _least_servers(offered)
        b = 1.0
        for k in range(1, servers[i] + 1):
            b = _erlang_b(k, offered, b)
        cost[i] = arrival[i] * _mean_wait(servers[i], arrival[i], service[i], variation[i], b)
        blocked[i] = _erlang_b(servers[i] + 1, offered, b)
        after = arrival[i] * _mean_wait(
            servers[i] + 1, arrival[i], service[i], variation[i], blocked[i]
        )
        gains.append((after - cost[i], i))
    heapq.heapify(gains)
    used = servers.sum()
    serving = (arrival / service).sum()
    total = serving + cost.sum()
    summed = total
    while used < budget and total > bound and count > 0:
        i = gains[0][1]
        servers[i] += 1
        used += 1
        k = servers[i]
        before = cost[i]
        cost[i] = arrival[i] * _mean_wait(k, arrival[i], service[i], variation[i], blocked[i])
        total += cost[i] - before
        if total < summed / 2 or total <= bound:
            # A sum that shrinks by differences loses its digits: take it anew in time.
            total = serving + cost.sum()
            summed = total
        blocked[i] = _erlang_b(k + 1, arrival[i] / service[i], blocked[i])
        after = arrival[i] * _mean_wait(k + 1, arrival[i], service[i], variation[i], blocked[i])
        heapq.heapreplace(gains, (after - cost[i], i))
    return servers, serving + cost.sum()
