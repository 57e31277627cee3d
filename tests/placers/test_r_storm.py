"""R-Storm: what it prefers, what it refuses, and a plain reference on random cases."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings

from slotwise.model import Allocation, Bundle, Cluster, Node, Placement, Refusal, Topology
from slotwise.placers.base import PlacementProblem
from slotwise.placers.r_storm import RStorm
from slotwise.testing.placers import cases
from tests import builders
from tests.placers.test_parts import parted_cases, plain_parts, plain_steps
from tests.placers.test_sam import allocated


def placed(topology: Topology, allocation: Allocation, cluster: Cluster) -> Placement:
    answer = RStorm().place(PlacementProblem(topology, allocation, cluster))
    assert isinstance(answer, Placement), answer
    return answer


def test_fills_a_node_before_it_opens_the_next_and_stays_in_the_rack() -> None:
    topology = builders.chain(2)
    allocation = builders.allocation(topology, {"o0": 3, "o1": 3}, cpu=0.5, mem=0.5)
    nodes = tuple(Node(f"n{i}", 1, 3.5, rack=rack) for i, rack in enumerate("abba"))
    # Two threads per node; from node 0 the nearest is node 3, in the same rack.
    assert placed(topology, allocation, Cluster(nodes, 3.5)).slots.tolist() == [0, 3, 1, 0, 3, 1]


def test_sweeps_take_one_thread_of_each_operator_in_turn() -> None:
    topology = builders.topology("a>b", "a>c")
    allocation = builders.allocation(topology, {"a": 2, "b": 2, "c": 2}, cpu=0.3, mem=0.3)
    assert placed(topology, allocation, builders.cluster(2, slots=1)).slots.tolist() == [
        *(0, 1),
        *(0, 1),
        *(0, 1),
    ]


def test_cpu_is_shared_by_the_node_and_memory_by_the_slot() -> None:
    topology = builders.chain(2)
    allocation = allocated(topology, o0=(Bundle(1, 1.5, 0.6),), o1=(Bundle(1, 0.5, 0.6),))
    assert placed(topology, allocation, builders.cluster(1, slots=2)).slots.tolist() == [0, 1]


def test_needs_are_even_shares_of_the_operator() -> None:
    topology = builders.chain(2)
    bundles = (Bundle(3, 1.0, 1.0, full=True), Bundle(1, 0.2, 0.2))
    allocation = allocated(topology, o0=(Bundle(1, 0.1, 0.1),), o1=bundles)
    # 1.2 over four threads: three fit beside the source in one slot, at 0.3 each.
    assert placed(topology, allocation, builders.cluster(1, slots=2)).slots.tolist() == [
        *(0,),
        *(0, 0, 0, 1),
    ]


@pytest.mark.parametrize(
    ("bundle", "resource", "missing", "final"),
    [
        (Bundle(1, 0.7, 0.1), "cpu", 0.1, False),
        (Bundle(1, 0.2, 0.6), "memory", 0.2, False),
        (Bundle(1, 0.2, 1.6), "memory", 0.6, True),
    ],
)
def test_refusals_say_what_is_missing(
    bundle: Bundle, resource: str, missing: float, final: bool
) -> None:
    topology = builders.chain(2)
    allocation = allocated(topology, o0=(Bundle(1, 0.0, 0.0),), o1=(bundle,) * 3)
    refusal = RStorm().place(PlacementProblem(topology, allocation, builders.cluster(1, slots=2)))
    assert isinstance(refusal, Refusal)
    assert (refusal.operator, refusal.resource, refusal.final) == ("o1", resource, final)
    assert refusal.missing == pytest.approx(missing)


def test_a_negative_weight_is_an_error() -> None:
    with pytest.raises(ValueError, match="cpu_weight: invalid value '-1'"):
        RStorm(cpu_weight=-1)


@settings(max_examples=200, deadline=None)
@given(case=cases() | parted_cases())
def test_agrees_with_the_plain_reading_of_the_algorithm(case: PlacementProblem) -> None:
    answer = RStorm().place(case)
    expected = plain_r_storm(RStorm(), case.topology, case.allocation, case.cluster)
    if expected is None:
        assert isinstance(answer, Refusal)
    else:
        assert isinstance(answer, Placement)
        assert answer.slots.tolist() == expected


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("network_weight", [1.0, 100.0])
def test_agrees_on_many_threads(seed: int, network_weight: float) -> None:
    topology = builders.chain(10)
    random = np.random.default_rng(seed)
    allocation = allocated(
        topology,
        **{
            operator.name: (Bundle(1, *random.integers(1, 80, 2) / 100),)
            * int(random.integers(1, 40))
            for operator in topology.operators
        },
    )
    fast = (Node(f"f{i}", 5, 3.5 * 5, speed=1.5, rack=f"r{i % 3}") for i in range(20))
    cluster = Cluster((*builders.cluster(30, racks=3).nodes, *fast), 3.5)
    placer = RStorm(network_weight=network_weight)
    answer = placer.place(PlacementProblem(topology, allocation, cluster))
    assert isinstance(answer, Placement)
    assert answer.slots.tolist() == plain_r_storm(placer, topology, allocation, cluster)


def plain_r_storm(
    placer: RStorm, topology: Topology, allocation: Allocation, cluster: Cluster
) -> list[int] | None:
    """R-Storm as reading.md words it: every node's distance for every thread."""
    slots_of = [np.flatnonzero(cluster.slot_node == v) for v in range(len(cluster.nodes))]
    node_cpu = [cluster.slot_cpu[slots].sum() for slots in slots_of]
    node_mem = [cluster.slot_memory[slots].sum() for slots in slots_of]
    slot_mem = cluster.slot_memory.copy()
    rack = cluster.node_rack
    found = [-1] * allocation.total_threads

    def nearest(cpu: float, mem: float, reference: int, nodes: list[int]) -> tuple[int, int] | None:
        """The node with the least distance and its first slot with the memory."""

        def distance(v: int) -> float:
            net = 0.0 if v == reference else 0.5 if rack[v] == rack[reference] else 1.0
            away = placer.cpu_weight * (cpu - node_cpu[v]) ** 2
            away += placer.memory_weight * (mem - node_mem[v]) ** 2
            return float(away + placer.network_weight * net)

        fitting = [
            (distance(v), v, int(slot))
            for v in nodes
            if node_cpu[v] >= cpu - 1e-9
            for slot in slots_of[v][slot_mem[slots_of[v]] >= mem - 1e-9][:1]
        ]
        return min(fitting)[1:] if fitting else None

    for part in plain_parts(topology, allocation):
        problem = PlacementProblem(topology, allocation, cluster)
        steps = plain_steps(part, problem, node_cpu, node_mem)
        nodes: list[int] = []
        reference = steps[0][0]
        for sweep in range(int(allocation.threads.max())):
            for operator in topology.breadth_first_order:
                if operator not in part or sweep >= allocation.threads[operator]:
                    continue
                thread = int(allocation.first_thread[operator]) + sweep
                need = allocation.thread_cpu[thread], allocation.thread_mem[thread]
                while (where := nearest(*need, reference, nodes)) is None and steps:
                    nodes = nodes + steps.pop(0)
                if where is None:
                    return None
                reference, found[thread] = where
                node_cpu[reference] -= need[0]
                node_mem[reference] -= need[1]
                slot_mem[found[thread]] -= need[1]
    return found
