"""SAM: the paper's example, its micro-DAGs, and a plain reference on random cases."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings

from slotwise.model import (
    Allocation,
    Bundle,
    Cluster,
    Node,
    OperatorAllocation,
    Placement,
    Refusal,
    Topology,
)
from slotwise.placers.base import PlacementProblem
from slotwise.placers.sam import Sam
from slotwise.testing.placers import cases
from tests import builders
from tests.placers.test_parts import node_sums, parted_cases, plain_parts, plain_steps

SOURCE, SINK = Bundle(1, 0.10, 0.01), Bundle(1, 0.10, 0.02)
FULL_BLOB, FULL_TABLE = Bundle(50, 1.0, 1.0, full=True), Bundle(60, 1.0, 1.0, full=True)
FULL_PI = Bundle(2, 1.0, 1.0, full=True)
PARSE_100 = Bundle(1, 0.8469 * 100 / 310, 0.3563 * 100 / 310)
BATCH_100 = Bundle(1, 0.5827 * 100 / 60_000, 0.1195 * 100 / 60_000)


def allocated(of: Topology, **bundles: tuple[Bundle, ...]) -> Allocation:
    entries = (OperatorAllocation(o.name, 1.0, bundles[o.name], "by hand") for o in of.operators)
    return Allocation("by hand", 100.0, tuple(entries))


def linear_at_100() -> tuple[Topology, Allocation]:
    """Paper 1's linear micro-DAG as MBA sizes it for 100 tuples/s."""
    topology = builders.topology(
        "source>blob", "blob>table", "table>pi", "pi>parse", "parse>batch", "batch>sink"
    )
    return topology, allocated(
        topology,
        source=(SOURCE,),
        blob=(FULL_BLOB,) * 3 + (Bundle(20, 0.1469, 0.263),),
        table=(FULL_TABLE,) * 2 + (Bundle(40, 0.2653, 0.092),),
        pi=(Bundle(1, 0.9235 * 100 / 105, 0.0207 * 100 / 105),),
        parse=(PARSE_100,),
        batch=(BATCH_100,),
        sink=(SINK,),
    )


def diamond_at_100() -> tuple[Topology, Allocation]:
    """Paper 1's diamond: four spokes side by side into pi, which gets 400 tuples/s."""
    spokes = ("blob", "table", "parse", "batch")
    topology = builders.topology(
        *(f"source>{spoke}" for spoke in spokes), *(f"{spoke}>pi" for spoke in spokes), "pi>sink"
    )
    return topology, allocated(
        topology,
        source=(SOURCE,),
        blob=(FULL_BLOB,) * 3 + (Bundle(20, 0.1469, 0.263),),
        table=(FULL_TABLE,) * 2 + (Bundle(40, 0.2653, 0.092),),
        parse=(PARSE_100,),
        batch=(BATCH_100,),
        pi=(FULL_PI,) * 3 + (Bundle(1, 0.9235 * 70 / 105, 0.0207 * 70 / 105),),
        sink=(SINK,),
    )


def placed(topology: Topology, allocation: Allocation, cluster: Cluster) -> Placement:
    answer = Sam().place(PlacementProblem(topology, allocation, cluster))
    assert isinstance(answer, Placement), answer
    return answer


def test_the_papers_example() -> None:
    """{B1 B2} {O1-3} {Y1-3} {G1-4} {B3 B4} {O4 G5 B5}, section 7.3."""
    topology = builders.topology("blue>orange", "blue>yellow", "orange>green", "yellow>green")
    one = (Bundle(1, 0.3, 0.3),)

    def full(size: int) -> tuple[Bundle, ...]:
        return (Bundle(size, 1.0, 1.0, full=True),)

    allocation = allocated(
        topology,
        blue=full(2) * 2 + one,
        orange=full(3) + one,
        yellow=full(3),
        green=full(4) + one,
    )
    slots = placed(topology, allocation, builders.cluster(3, slots=2)).slots
    blue, orange, yellow, green = np.split(slots, allocation.first_thread[1:-1])
    assert blue.tolist() == [0, 0, 4, 4, 5]
    assert orange.tolist() == [1, 1, 1, 5]
    assert yellow.tolist() == [2, 2, 2]
    assert green.tolist() == [3, 3, 3, 3, 5]


def test_linear_at_100_takes_the_seven_slots_it_pays_for() -> None:
    topology, allocation = linear_at_100()
    assert allocation.slots == 7
    assert len(placed(topology, allocation, builders.cluster(2).first(7)).used_slots) == 7


def test_diamond_at_100_splits_the_table_threads_60_60_40() -> None:
    topology, allocation = diamond_at_100()
    assert allocation.slots == 10
    placement = placed(topology, allocation, builders.cluster(3).first(10))
    operator, _, threads = placement.groups
    assert sorted(threads[operator == topology.index["table"]].tolist()) == [40, 60, 60]


def test_a_full_bundle_goes_to_the_next_node_round_the_cluster() -> None:
    topology = builders.chain(2)
    small = Bundle(1, 0.4, 0.4)
    allocation = allocated(topology, o0=(small,), o1=(Bundle(2, 1.0, 1.0, full=True),) * 3)
    assert placed(topology, allocation, builders.cluster(2, slots=2)).slots.tolist() == [
        *(0, 1, 1),
        *(2, 2, 3, 3),
    ]


def test_full_bundles_come_first_whatever_the_order_in_the_allocation() -> None:
    topology = builders.chain(2)
    part, full = Bundle(1, 0.4, 0.4), Bundle(2, 1.0, 1.0, full=True)
    allocation = allocated(topology, o0=(part, full), o1=(part,))
    assert placed(topology, allocation, builders.cluster(1)).slots.tolist() == [1, 0, 0, 1]


def test_the_reason_counts_only_the_bundles_there_are() -> None:
    topology = builders.chain(2)
    part, full = Bundle(1, 0.4, 0.4), Bundle(2, 1.0, 1.0, full=True)
    for bundles, reason in (
        (((part,), (part,)), "2 partial bundles are in 1 slot"),
        (((full,), (full,)), "2 full bundles have a slot each"),
        (((full,), (part,)), "1 full bundle has a slot to itself; 1 partial bundle is in 1 slot"),
    ):
        allocation = allocated(topology, o0=bundles[0], o1=bundles[1])
        assert placed(topology, allocation, builders.cluster(1)).reasons == (reason,)


def test_best_fit_prefers_a_used_slot_to_a_smaller_empty_one() -> None:
    topology = builders.chain(2)
    nodes = (Node("fast", 1, 3.5, speed=4.0), Node("slow", 1, 3.5))
    allocation = allocated(topology, o0=(Bundle(1, 2.0, 0.1),), o1=(Bundle(1, 0.5, 0.1),))
    assert placed(topology, allocation, Cluster(nodes, 3.5)).slots.tolist() == [0, 0]


def test_thirds_fill_a_slot_exactly() -> None:
    topology = builders.chain(3)
    allocation = allocated(topology, **{f"o{i}": (Bundle(1, 1 / 3, 1 / 3),) for i in range(3)})
    assert placed(topology, allocation, builders.cluster(1)).slots.tolist() == [0, 0, 0]


def test_a_full_bundle_keeps_its_slot_when_the_next_part_needs_nothing() -> None:
    topology = builders.topology("a>b", "c>d")
    full, nothing = (Bundle(2, 1.0, 1.0, full=True),), (Bundle(1, 0.0, 0.0),)
    allocation = allocated(topology, a=full, b=full, c=nothing, d=nothing)
    slots = placed(topology, allocation, builders.cluster(1, slots=3)).slots
    assert slots.tolist() == [*(0, 0), *(1, 1), 2, 2]


@pytest.mark.parametrize(
    ("bundles", "resource", "missing", "final"),
    [
        ((Bundle(2, 1.0, 1.0, full=True),) * 5, "slots", 1.0, False),
        ((Bundle(1, 0.2, 0.7),) * 5, "memory", 0.4, False),
        ((Bundle(1, 0.7, 0.2),) * 5, "cpu", 0.4, False),
        ((Bundle(1, 0.7, 1.25),), "memory", 0.25, True),
    ],
)
def test_refusals_say_what_is_missing(
    bundles: tuple[Bundle, ...], resource: str, missing: float, final: bool
) -> None:
    topology = builders.chain(2)
    allocation = allocated(topology, o0=(Bundle(1, 0.0, 0.0),), o1=bundles)
    refusal = Sam().place(PlacementProblem(topology, allocation, builders.cluster(1)))
    assert isinstance(refusal, Refusal)
    assert (refusal.operator, refusal.resource, refusal.final) == ("o1", resource, final)
    assert refusal.missing == pytest.approx(missing)


@settings(max_examples=200, deadline=None)
@given(case=cases() | parted_cases())
def test_agrees_with_the_plain_reading_of_the_algorithm(case: PlacementProblem) -> None:
    answer = Sam().place(case)
    expected = plain_sam(case.topology, case.allocation, case.cluster)
    if expected is None:
        assert isinstance(answer, Refusal)
    else:
        assert isinstance(answer, Placement)
        assert answer.slots.tolist() == expected


@pytest.mark.parametrize("seed", range(5))
def test_agrees_on_many_small_bundles(seed: int) -> None:
    topology = builders.chain(12)
    random = np.random.default_rng(seed)
    allocation = allocated(
        topology,
        **{
            operator.name: (Bundle(1, *random.integers(1, 80, 2) / 100),) * int(random.integers(30))
            + (Bundle(2, 1.0, 1.0, full=True),)
            for operator in topology.operators
        },
    )
    fast = (Node(f"f{i}", 5, 3.5 * 5, speed=1.5) for i in range(20))
    cluster = Cluster((*builders.cluster(30).nodes, *fast), 3.5)
    expected = plain_sam(topology, allocation, cluster)
    assert expected is not None
    assert placed(topology, allocation, cluster).slots.tolist() == expected


def plain_sam(topology: Topology, allocation: Allocation, cluster: Cluster) -> list[int] | None:
    """SAM as reading.md words it, slot by slot."""
    cpu, mem = cluster.slot_cpu.copy(), cluster.slot_memory.copy()
    empty = set(range(cluster.slots))
    closed: set[int] = set()
    nodes = len(cluster.nodes)
    found: dict[tuple[int, int], int] = {}

    def options(bundle: Bundle, last: int, opened: list[int]) -> list[int]:
        """The slots that hold the bundle, the one to take first."""
        holding = [
            int(s)
            for s in np.flatnonzero(np.isin(cluster.slot_node, opened))
            if s not in closed and bundle.cpu <= cpu[s] + 1e-9 and bundle.mem <= mem[s] + 1e-9
        ]
        fresh = [s for s in holding if s in empty]
        if bundle.full:
            return sorted(fresh, key=lambda s: ((cluster.slot_node[s] - last) % nodes, s))
        used = [s for s in holding if s not in empty]
        return sorted(used or fresh, key=lambda s: (cpu[s] + mem[s], s))

    queues = [
        sorted(enumerate(entry.bundles), key=lambda pair: not pair[1].full) for entry in allocation
    ]
    for part in plain_parts(topology, allocation):
        left = node_sums(cpu, cluster), node_sums(mem, cluster)
        steps = plain_steps(part, PlacementProblem(topology, allocation, cluster), *left)
        last, opened = steps[0][0], list[int]()
        for sweep in range(max(map(len, queues))):
            for operator in topology.order:
                if operator not in part or sweep >= len(queues[operator]):
                    continue
                number, bundle = queues[operator][sweep]
                while not (slots := options(bundle, last, opened)) and steps:
                    opened = opened + steps.pop(0)
                if not slots:
                    return None
                slot = found[operator, number] = slots[0]
                empty.discard(slot)
                cpu[slot] = 0.0 if bundle.full else cpu[slot] - bundle.cpu
                mem[slot] = 0.0 if bundle.full else mem[slot] - bundle.mem
                if bundle.full:
                    closed.add(slot)
                last = int(cluster.slot_node[slot])
    return [
        found[operator, number]
        for operator, entry in enumerate(allocation)
        for number, bundle in enumerate(entry.bundles)
        for _ in range(bundle.threads)
    ]
