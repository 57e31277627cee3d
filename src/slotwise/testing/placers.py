"""What every placer keeps: inherit from `PlacerContract`, or call `check` on a case.

A placer with a true `whole_bundles` attribute keeps bundles whole and is charged by the bundle;
any other is charged even shares per thread.
"""

from __future__ import annotations

from dataclasses import replace
from typing import ClassVar

import numpy as np
from hypothesis import strategies as st
from numpy.typing import NDArray

from slotwise.model import (
    Allocation,
    Bundle,
    Cluster,
    Node,
    Operator,
    OperatorAllocation,
    Placement,
    Refusal,
    Stream,
    Topology,
)
from slotwise.placers.base import PlacementProblem, Placer
from slotwise.testing import answers, strategies
from slotwise.testing.answers import answer_to, check_all, check_fits

TOLERANCE = 1e-9


class PlacerContract:
    """Tests of any placer. A subclass gives the argument `placer`: one placer, or one after the
    other, by `pytest.mark.parametrize("placer", [...])` or a fixture of that name.
    """

    examples: ClassVar[int] = 50
    """Random cases per test."""

    def test_fits_the_registry(self, placer: Placer) -> None:
        check_fits("placer", placer)

    def test_keeps_the_contract(self, placer: Placer) -> None:
        check_all(cases(), lambda case: check(placer, case), self.examples)

    def test_keeps_the_contract_when_a_running_plan_is_planned_again(self, placer: Placer) -> None:
        check_all(replanning_cases(), lambda case: check(placer, case), self.examples)

    def test_more_machines_end_a_refusal_that_is_not_final(self, placer: Placer) -> None:
        check_all(cases(), lambda case: check_growth(placer, case), self.examples)

    def test_places_where_there_is_room(self, placer: Placer) -> None:
        answer = check(placer, roomy_case())
        assert isinstance(answer, Placement), f"a third of the slots would do: {answer.reason}"


@st.composite
def cases(draw: st.DrawFn) -> PlacementProblem:
    """A random topology, an allocation for it, and a cluster that may be too small."""
    topology = draw(strategies.topologies())
    if draw(st.booleans()):
        topology = replace(topology, workers=draw(st.integers(1, 8)))
    allocation = draw(strategies.allocations(topology))
    return PlacementProblem(topology, allocation, draw(strategies.clusters()))


def roomy_case() -> PlacementProblem:
    """Six operators in a row with 20 threads each, and three times the slots that they fill."""
    operators = tuple(Operator(f"o{i}", "operator" if i else "source") for i in range(6))
    streams = tuple(Stream(f"o{i}", f"o{i + 1}") for i in range(5))
    threads = (Bundle(1, 0.1, 0.1),) * 20
    entries = tuple(OperatorAllocation(o.name, 100.0, threads, "20 threads") for o in operators)
    nodes = tuple(Node(f"n{i}", slots=4, memory_gb=14.0, rack=f"r{i // 5}") for i in range(10))
    return PlacementProblem(
        Topology("chain", operators, streams),
        Allocation("roomy-case", 100.0, entries),
        Cluster(nodes, slot_memory_gb=3.5),
    )


@st.composite
def replanning_cases(draw: st.DrawFn) -> PlacementProblem:
    """A case with a placement in effect, of as many or other threads, and measured traffic."""
    case = draw(cases())
    other = draw(strategies.allocations(case.topology))
    threads = draw(st.sampled_from([case.allocation, other])).threads.tolist()
    lost = draw(st.sampled_from([0, -1]))  # -1: its slot may be gone
    places = st.integers(lost, case.cluster.slots - 1)
    slots = draw(st.lists(places, min_size=sum(threads), max_size=sum(threads)))
    sent = case.thread_traffic
    rate = st.floats(0.0, 100.0)
    rates = draw(st.lists(rate, min_size=len(sent.rates), max_size=len(sent.rates)))
    return replace(
        case,
        current=Placement("current", tuple(threads), np.array(slots)),
        measured=draw(st.sampled_from([None, replace(sent, rates=np.array(rates))])),
    )


def check(placer: Placer, problem: PlacementProblem) -> Placement | Refusal:
    """Run the placer and check all that a placer promises; returns its answer."""
    answer = answer_to(placer.place, problem)
    if isinstance(answer, Refusal):
        check_refusal(placer, answer)
    else:
        check_placement(placer, answer, problem.allocation, problem.cluster)
    return answer


def check_placement(
    placer: Placer, placement: Placement, allocation: Allocation, cluster: Cluster
) -> None:
    """Every thread once in an existing slot, and the capacities the placer vouches for kept."""
    assert placement.algorithm == placer.name
    assert placement.threads == tuple(allocation.threads.tolist())
    assert len(placement.slots) == allocation.total_threads
    assert placement.slots.min() >= 0
    assert placement.slots.max() < cluster.slots
    if placement.proven_bound is not None:
        assert placement.proven_bound <= len(placement.used_slots)
    cpu, mem = charges(placer, placement, allocation, cluster)
    node = cluster.slot_node
    for resource, charged, capacity in (
        ("cpu", cpu, cluster.slot_cpu),
        ("memory", mem, cluster.slot_memory),
    ):
        if f"slot-{resource}" in placer.guarantees:
            assert np.all(charged <= capacity + TOLERANCE), f"a slot is over its {resource}"
        if f"node-{resource}" in placer.guarantees:
            over = np.bincount(node, charged) - np.bincount(node, capacity)
            assert np.all(over <= TOLERANCE), f"a node is over its {resource}"


def check_refusal(placer: Placer, refusal: Refusal) -> None:
    """As any refusal; and what ran short comes with an amount, so that slots can be added."""
    answers.check_refusal(placer, refusal)
    assert refusal.resource is None or refusal.missing is not None


def check_growth(placer: Placer, problem: PlacementProblem) -> None:
    """Unless a refusal is final, enough machines like those at hand end it."""
    most = max(problem.allocation.total_threads, problem.topology.workers or 1)
    while isinstance(answer := placer.place(problem), Refusal) and not answer.final:
        cluster = problem.cluster
        assert cluster.slots < 2 * most * len(cluster.nodes), f"still refused: {answer.reason}"
        problem = replace(problem, cluster=doubled(cluster))


def doubled(cluster: Cluster) -> Cluster:
    """Every node twice."""
    size = len(cluster.nodes)
    again = tuple(replace(n, name=f"{n.name}+{size}") for n in cluster.nodes)
    return replace(cluster, nodes=cluster.nodes + again)


def charges(
    placer: Placer, placement: Placement, allocation: Allocation, cluster: Cluster
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """(cpu, memory) charged to each slot."""
    if not getattr(placer, "whole_bundles", False):
        slots, cpu, mem = placement.slots, allocation.thread_cpu, allocation.thread_mem
        return _per_slot(slots, cpu, cluster), _per_slot(slots, mem, cluster)
    bundles = [bundle for entry in allocation for bundle in entry.bundles]
    sizes = [bundle.threads for bundle in bundles]
    slots = placement.slots[np.concatenate(([0], np.cumsum(sizes)[:-1]))]
    assert np.array_equal(np.repeat(slots, sizes), placement.slots), "a bundle was split"
    full = slots[[bundle.full for bundle in bundles]]
    assert np.all(np.bincount(slots)[full] == 1), "a full bundle shares its slot"
    cpu = np.array([bundle.cpu for bundle in bundles])
    mem = np.array([bundle.mem for bundle in bundles])
    return _per_slot(slots, cpu, cluster), _per_slot(slots, mem, cluster)


def _per_slot(
    slots: NDArray[np.int64], charged: NDArray[np.float64], cluster: Cluster
) -> NDArray[np.float64]:
    return np.bincount(slots, charged, cluster.slots).astype(np.float64, copy=False)
