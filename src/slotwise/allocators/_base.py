"""allocate(topology, profiles, rate) -> Allocation: how many threads does each operator need?

The planner calls an allocator first, once per plan. Its answer decides how many slots are
bought; the placer must place exactly its threads. Options are the fields of the allocator.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

from slotwise.model import (
    Allocation,
    Bundle,
    FixedLoad,
    OperatorAllocation,
    Profiles,
    Refusal,
    Topology,
)
from slotwise.rates import ArrivalRates, arrival_rates

MOST_THREADS = 10_000_000
"""An operator that would need more is refused: its profile cannot reach the rate."""
_ROUNDS = 200


class Allocator(Protocol):
    """One way to size operators. The same input gives the same answer."""

    @property
    def name(self) -> str: ...

    def allocate(self, topology: Topology, profiles: Profiles, rate: float) -> Allocation | Refusal:
        """Threads for `rate` input tuples/s, or why no number of threads will do."""
        ...


@dataclass(frozen=True)
class Demand:
    """What one operator has to handle, tuples/s."""

    operator: str
    arriving: float
    leaving: float


def settle(
    algorithm: str,
    topology: Topology,
    profiles: Profiles,
    rate: float,
    size: Callable[[ArrivalRates], tuple[OperatorAllocation, ...] | Refusal],
) -> Allocation | Refusal:
    """Size, and size again while the threads change the rates, as `all` grouping does.

    Every thread behind an `all` stream gets every tuple, so more threads bring more tuples: a
    fixed point is sought from one thread each upwards. Without `all`, one round.
    """
    threads = [1] * len(topology.operators)
    copied = any(stream.grouping.kind == "all" for stream in topology.streams)
    for _ in range(_ROUNDS):
        rates = arrival_rates(topology, rate, threads)
        if refusal := _check_thread_inputs(algorithm, topology, profiles, rates, threads):
            return refusal
        entries = size(rates)
        if isinstance(entries, Refusal):
            return entries
        if not copied or [entry.threads for entry in entries] == threads:
            return Allocation(algorithm, rate, entries)
        threads = [entry.threads for entry in entries]
    return _never_settles(algorithm, topology)


def allocate_each(
    algorithm: str,
    topology: Topology,
    profiles: Profiles,
    rate: float,
    size_operator: Callable[[Demand], OperatorAllocation | Refusal],
) -> Allocation | Refusal:
    """Size every operator on its own; fixed loads take what they say. O(operators) a round."""

    def size(rates: ArrivalRates) -> tuple[OperatorAllocation, ...] | Refusal:
        entries = []
        for position, operator in enumerate(topology.operators):
            leaving = sum(float(rates.streams[s]) for s in topology.outputs[position])
            demand = Demand(operator.name, float(rates.operators[position]), leaving)
            fixed = profiles.fixed(operator.name)
            entry = fixed_entry(demand, fixed) if fixed else size_operator(demand)
            if isinstance(entry, Refusal):
                return entry
            entries.append(entry)
        return tuple(entries)

    return settle(algorithm, topology, profiles, rate, size)


def fixed_entry(demand: Demand, fixed: FixedLoad) -> OperatorAllocation:
    """A fixed load's threads, charged what its profile says."""
    each = Bundle(1, fixed.cpu / fixed.threads, fixed.mem / fixed.threads)
    reason = "fixed load, whatever the rate"
    return OperatorAllocation(demand.operator, demand.arriving, (each,) * fixed.threads, reason)


def too_many(algorithm: str, operator: str, threads: float, thread_rate: float) -> Refusal | None:
    """The refusal of an operator whose profile is hopelessly slow for its rate."""
    if threads <= MOST_THREADS:
        return None
    return Refusal(
        algorithm,
        f"operator '{operator}' would need {threads:,.0f} threads of {thread_rate:g} tuples/s "
        f"each, more than the {MOST_THREADS:,} that are planned at most: "
        f"its profile cannot reach the rate",
        operator=operator,
        resource="rate",
        missing=(threads - MOST_THREADS) * thread_rate,
        final=True,
    )


def _check_thread_inputs(
    algorithm: str,
    topology: Topology,
    profiles: Profiles,
    rates: ArrivalRates,
    threads: list[int],
) -> Refusal | None:
    """`global` sends all to one thread, `all` to each: no number of threads helps a slow one."""
    for stream, (_, target), rate in zip(
        topology.streams, topology.edges, rates.streams.tolist(), strict=True
    ):
        name, kind = topology.operators[target].name, stream.grouping.kind
        if kind not in ("global", "all") or profiles.fixed(name):
            continue
        arriving = rate if kind == "global" else rate / threads[target]
        alone = max(row.rate / row.threads for row in profiles.table(name).rows)
        if arriving > alone * (1 + 1e-9):
            which = "one thread" if kind == "global" else "every thread"
            return Refusal(
                algorithm,
                f"stream {stream} sends all its {arriving:,.1f} tuples/s to {which} ('{kind}' "
                f"grouping), but one thread of '{name}' handles at most {alone:,.1f}",
                operator=name,
                resource="rate",
                missing=arriving - alone,
                final=True,
            )
    return None


def _never_settles(algorithm: str, topology: Topology) -> Refusal:
    stream = next(s for s in topology.streams if s.grouping.kind == "all")
    return Refusal(
        algorithm,
        f"'all' grouping into '{stream.target}' brings every new thread as many tuples as the "
        f"others have: no number of threads catches up",
        operator=stream.target,
        resource="rate",
        final=True,
    )
