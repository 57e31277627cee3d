"""What every allocator keeps: inherit from `AllocatorContract`, or call `check` on a case."""

from __future__ import annotations

from collections import Counter
from typing import ClassVar

import pytest
from hypothesis import strategies as st

from slotwise.allocators.base import Allocator
from slotwise.model import (
    Allocation,
    Goals,
    Grouping,
    Operator,
    OperatorAllocation,
    Profiles,
    Refusal,
    ServiceRate,
    Stream,
    Topology,
)
from slotwise.model.topology import GroupingKind
from slotwise.rates import arrival_rates
from slotwise.testing import strategies
from slotwise.testing.answers import answer_to, check_all, check_fits, check_refusal

TOLERANCE = 1e-6
"""Relative, for rates and charges that are sums of many."""
Case = tuple[Topology, Profiles, float]


class AllocatorContract:
    """Tests of any allocator. A subclass gives the argument `allocator`: one allocator, or one
    after the other, by `pytest.mark.parametrize("allocator", [...])` or a fixture of that name.
    """

    examples: ClassVar[int] = 50
    """Random cases per test."""
    goals: ClassVar[Goals] = Goals(latency_ms=1e7)
    """The goals of every case; loose, so that they refuse nothing."""

    def capacity(self, entry: OperatorAllocation, profiles: Profiles) -> float:
        """Tuples/s that the threads of one operator handle by its profile: bundle by bundle, each
        alone in its slot. To be replaced where an allocator counts in another way.
        """
        table = profiles.table(entry.operator)
        sizes = Counter(bundle.threads for bundle in entry.bundles)
        return sum(count * table.at(threads).rate for threads, count in sizes.items())

    def test_fits_the_registry(self, allocator: Allocator) -> None:
        check_fits("allocator", allocator)

    def test_keeps_the_contract(self, allocator: Allocator) -> None:
        check_all(cases(), lambda case: check(allocator, *case, self.goals), self.examples)

    def test_the_threads_carry_the_rate(self, allocator: Allocator) -> None:
        def carries(case: Case) -> None:
            _, profiles, _ = case
            answer = check(allocator, *case, self.goals)
            for entry in answer if isinstance(answer, Allocation) else ():
                if not profiles.fixed(entry.operator):
                    carried = self.capacity(entry, profiles)
                    assert carried >= entry.arrival_rate * (1 - TOLERANCE), entry.operator

        check_all(cases(), carries, self.examples)

    def test_threads_keep_up_with_what_all_grouping_copies(self, allocator: Allocator) -> None:
        topology, profiles, rate = with_grouping("all", thread_rate=100.0)
        answer = check(allocator, topology, profiles, rate, self.goals)
        assert isinstance(answer, Allocation), answer.reason
        entry = answer.operators[2]
        # Every thread gets 50/s of the `all` stream and serves 100/s: n·100 ≥ 100 + n·50.
        assert entry.threads >= 2
        assert self.capacity(entry, profiles) >= 100 + 50 * entry.threads

    @pytest.mark.parametrize("kind", ["all", "global"])
    def test_a_stream_that_one_thread_cannot_carry_is_refused(
        self, allocator: Allocator, kind: GroupingKind
    ) -> None:
        """Every thread (or the only one) gets 50/s and serves 40: more threads do not help."""
        answer = check(allocator, *with_grouping(kind, thread_rate=40.0), self.goals)
        assert isinstance(answer, Refusal)
        assert answer.operator == "a"


@st.composite
def cases(draw: st.DrawFn) -> Case:
    """A random topology with profiles of all kinds, and a rate to allocate it for."""
    pipeline = draw(strategies.pipelines())
    return pipeline.topology, pipeline.profiles, draw(st.floats(0.1, 5000.0))


def with_grouping(kind: GroupingKind, thread_rate: float) -> Case:
    """Two sources of 100/s into `a`: one by `shuffle`, half of the other by the given grouping."""
    topology = Topology(
        "alerts",
        (Operator("in", "source"), Operator("side", "source"), Operator("a")),
        (Stream("in", "a", 0.5, Grouping(kind)), Stream("side", "a")),
    )
    profiles = {"in": ServiceRate(1e6), "side": ServiceRate(1e6), "a": ServiceRate(thread_rate)}
    return topology, Profiles(profiles, 1024.0), 100.0


def check(
    allocator: Allocator, topology: Topology, profiles: Profiles, rate: float, goals: Goals
) -> Allocation | Refusal:
    """Run the allocator and check all that an allocator promises; returns its answer."""
    answer = answer_to(allocator.allocate, topology, profiles, rate, goals)
    if isinstance(answer, Refusal):
        check_refusal(allocator, answer)
    else:
        assert answer.algorithm == allocator.name
        check_allocation(answer, topology, profiles, rate)
    return answer


def check_allocation(
    answer: Allocation, topology: Topology, profiles: Profiles, rate: float
) -> None:
    """Every operator in the topology's order, at its own arrival rate, paid for, with a reason."""
    assert answer.rate == rate
    assert [entry.operator for entry in answer] == [o.name for o in topology.operators]
    arriving = arrival_rates(topology, rate, answer.threads).operators
    for entry, expected in zip(answer, arriving.tolist(), strict=True):
        assert entry.reason
        assert entry.arrival_rate == pytest.approx(expected)
        assert entry.bundles
        assert all(b.threads >= 1 and b.cpu >= 0 and b.mem >= 0 for b in entry.bundles)
        check_charges(entry, profiles)


def check_charges(entry: OperatorAllocation, profiles: Profiles) -> None:
    """A fixed load is charged as it is; others at least the least CPU that the profile has for a
    tuple, times the tuples.
    """
    if fixed := profiles.fixed(entry.operator):
        assert entry.threads == fixed.threads
        assert (entry.cpu, entry.mem) == pytest.approx((fixed.cpu, fixed.mem))
        return
    rows = profiles.table(entry.operator).rows
    least = entry.arrival_rate * min(row.cpu / row.rate for row in rows)
    assert entry.cpu >= least * (1 - TOLERANCE), f"'{entry.operator}' is not charged its CPU"
