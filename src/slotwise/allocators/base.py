"""allocate(topology, profiles, rate, goals) -> Allocation: how many threads per operator?

An allocator is a frozen dataclass: its fields are its options, each with a default. Who calls it,
in which order, and what its answer causes:

1. `registry.allocator` makes it from its name and options. An option that cannot work raises
   ValueError in `__post_init__`; the user reads its text.
2. The planner calls `allocate` once per plan, before any machine is bought and any thread is
   placed. `auto` and `compare` make a plan per placer, so they call it once per placer.
3. An Allocation fixes the threads: the provisioner buys `Allocation.slots` slots or more, the
   placer places exactly these threads, and each entry's `reason` becomes a reason of the plan.
   A Refusal ends planning with its explanation: no machines are bought, nothing is tried again.

The planner never asks twice for one plan, and takes the same answer to the same arguments for
granted: no clock, no randomness without a fixed seed, no change of the arguments.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar, Protocol

from slotwise.model import (
    Allocation,
    Bundle,
    FixedLoad,
    Goals,
    OperatorAllocation,
    Profiles,
    Refusal,
    Topology,
)
from slotwise.model.limits import MOST
from slotwise.rates import ArrivalRates, arrival_rates

_ROUNDS = 200


class Allocator(Protocol):
    """One way to size operators."""

    @property
    def name(self) -> str:
        """As in spec files and on the command line; `Allocation.algorithm` repeats it."""
        ...

    def allocate(
        self, topology: Topology, profiles: Profiles, rate: float, goals: Goals
    ) -> Allocation | Refusal:
        """Threads for `rate` input tuples/s, or why no number of threads is enough.

        One entry per operator, in the topology's order, with at least one thread each. `rate` is
        the rate to plan for, which may differ from `goals.rate`. `goals` are the pipeline's: an
        allocator that has an option for the same figure prefers the option.
        """
        ...


class PerOperatorAllocator(ABC):
    """An allocator that sizes every operator by itself, from its rates and its profile.

    `allocate` calls `size` for each operator in the topology's order, and again for all of them
    while `all` groupings change the rates (see `settle`). Operators with a fixed load are not
    asked about: they take what their profile says. More than MOST threads in all are refused.
    O(operators) calls a round.
    """

    name: ClassVar[str]

    @abstractmethod
    def size(self, demand: Demand, profiles: Profiles) -> OperatorAllocation | Refusal:
        """The threads of one operator. A refusal is the allocator's answer."""

    def allocate(
        self, topology: Topology, profiles: Profiles, rate: float, goals: Goals
    ) -> Allocation | Refusal:
        def size(rates: ArrivalRates) -> tuple[OperatorAllocation, ...] | Refusal:
            entries, threads = [], 0
            for demand in demands(topology, rates):
                fixed = profiles.fixed(demand.operator)
                entry = fixed_entry(demand, fixed) if fixed else self.size(demand, profiles)
                if isinstance(entry, Refusal):
                    return entry
                threads += entry.threads
                if refusal := too_many_in_all(self.name, threads):
                    return refusal
                entries.append(entry)
            return tuple(entries)

        return settle(self.name, topology, profiles, rate, size)


@dataclass(frozen=True)
class Demand:
    """What one operator has to handle, tuples/s."""

    operator: str
    arriving: float
    leaving: float

    @property
    def sent_per_tuple(self) -> float:
        """Tuples that leave for each that arrives."""
        return self.leaving / self.arriving


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


def demands(topology: Topology, rates: ArrivalRates) -> tuple[Demand, ...]:
    """What every operator has to handle, in the topology's order."""
    return tuple(
        Demand(operator.name, arriving, sum(float(rates.streams[s]) for s in outputs))
        for operator, arriving, outputs in zip(
            topology.operators, rates.operators.tolist(), topology.outputs, strict=True
        )
    )


def fixed_entry(demand: Demand, fixed: FixedLoad) -> OperatorAllocation:
    """A fixed load's threads, charged what its profile says."""
    each = Bundle(1, fixed.cpu / fixed.threads, fixed.mem / fixed.threads)
    reason = "fixed load, independent of the rate"
    return OperatorAllocation(demand.operator, demand.arriving, (each,) * fixed.threads, reason)


def too_many(algorithm: str, operator: str, threads: float, thread_rate: float) -> Refusal | None:
    """The refusal of an operator that needs more than MOST threads; None if it needs fewer."""
    if threads <= MOST:
        return None
    number = f"{threads:,.0f}" if threads < 1e15 else f"{threads:.3g}"
    return Refusal(
        algorithm,
        f"operator '{operator}' would need {number} threads of {thread_rate:g} tuples/s each, "
        f"above the limit of {MOST:,} threads in a plan: check the unit of its profile",
        operator=operator,
        resource="rate",
        missing=(threads - MOST) * thread_rate,
        final=True,
    )


def too_many_in_all(algorithm: str, threads: int) -> Refusal | None:
    """The refusal of operators that together need more than MOST threads."""
    if threads <= MOST:
        return None
    return Refusal(
        algorithm,
        f"the operators together would need {threads:,} threads or more, "
        f"above the limit of {MOST:,} threads in a plan",
        resource="threads",
        missing=float(threads - MOST),
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
        f"the 'all' grouping into '{stream.target}' sends every tuple to every thread: "
        f"no number of threads keeps up",
        operator=stream.target,
        resource="rate",
        final=True,
    )
