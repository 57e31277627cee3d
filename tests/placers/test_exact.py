"""The exact placer against brute force, the paper's micro-DAGs, and what it says of its proofs."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from slotwise.model import (
    Allocation,
    Bundle,
    Cluster,
    Node,
    Placement,
    Refusal,
    Topology,
)
from slotwise.placers import _fewest_slots, _least_traffic
from slotwise.placers._least_traffic import traffic_between_nodes
from slotwise.placers.base import PlacementProblem
from slotwise.placers.exact import Exact
from slotwise.placers.sam import Sam
from slotwise.testing import strategies
from slotwise.testing.placers import cases
from tests import builders
from tests.placers.test_sam import allocated, diamond_at_100, linear_at_100

SOON = Exact(effort=0.1)


def place(topology: Topology, allocation: Allocation, cluster: Cluster) -> Placement | Refusal:
    return SOON.place(PlacementProblem(topology, allocation, cluster))


def leaving(placement: Placement, case: PlacementProblem) -> float:
    return traffic_between_nodes(case, case.cluster.slot_node[placement.slots])


def test_linear_at_100_is_proven_to_need_seven_slots() -> None:
    placement = place(*linear_at_100(), builders.cluster(2))
    assert isinstance(placement, Placement)
    assert len(placement.used_slots) == placement.proven_bound == 7
    assert "proven to be the fewest" in placement.reasons[0]


def test_diamond_at_100_has_less_traffic_than_sam_in_as_many_slots() -> None:
    topology, allocation = diamond_at_100()
    cluster = builders.cluster(3).first(10)
    case = PlacementProblem(topology, allocation, cluster)
    exact, sam = Exact().place(case), Sam().place(case)
    assert isinstance(exact, Placement)
    assert isinstance(sam, Placement)
    assert len(exact.used_slots) == exact.proven_bound == len(sam.used_slots) == 10
    assert leaving(exact, case) == pytest.approx(402.5, abs=0.05)
    assert leaving(sam, case) == pytest.approx(667.8, abs=0.05)


def fours_and_threes() -> tuple[Topology, Allocation]:
    """Two bundles of 0.4 and four of 0.3: best fit needs three slots, two will do."""
    topology = builders.chain(3)
    four, three = Bundle(1, 0.4, 0.1), Bundle(1, 0.3, 0.1)
    return topology, allocated(topology, o0=(four,), o1=(four,), o2=(three,) * 4)


@pytest.mark.parametrize("slots", [2, 3])
def test_finds_the_packing_that_best_fit_misses(slots: int) -> None:
    placement = place(*fours_and_threes(), builders.cluster(1, slots))
    assert isinstance(placement, Placement)
    assert len(placement.used_slots) == placement.proven_bound == 2


def test_too_few_slots_are_refused_with_a_proof() -> None:
    topology = builders.chain(2)
    halves = (Bundle(1, 0.6, 0.1),) * 2
    allocation = allocated(topology, o0=(Bundle(1, 0.1, 0.1),), o1=halves)
    refusal = place(topology, allocation, builders.cluster(1, 1))
    assert isinstance(refusal, Refusal)
    assert "proven to be too few" in refusal.reason
    assert (refusal.resource, refusal.missing, refusal.final) == ("slots", 1.0, False)


def test_what_no_total_shows_is_proven_by_search() -> None:
    """Three bundles of 0.6 in two slots: in total 1.8, yet no two go together."""
    topology = builders.chain(3)
    allocation = allocated(topology, **{f"o{i}": (Bundle(1, 0.6, 0.1),) for i in range(3)})
    refusal = place(topology, allocation, builders.cluster(1, 2))
    assert isinstance(refusal, Refusal)
    assert "proven to be too few" in refusal.reason


def test_a_search_that_finds_nothing_says_that_there_may_be_a_way(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(_fewest_slots, "MOST_VARIABLES", 0)
    refusal = place(*fours_and_threes(), builders.cluster(1, 2))
    assert isinstance(refusal, Refusal)
    assert "one may exist" in refusal.reason
    assert not refusal.final


def test_without_a_search_the_start_is_given_with_the_gap(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_fewest_slots, "MOST_VARIABLES", 0)
    monkeypatch.setattr(_least_traffic, "MOST_VARIABLES", 0)
    placement = place(*fours_and_threes(), builders.cluster(3, 1))
    assert isinstance(placement, Placement)
    assert (len(placement.used_slots), placement.proven_bound) == (3, 2)
    assert "at least 2 are needed" in placement.reasons[0]
    assert "not decided" in placement.reasons[1]


def test_a_bundle_larger_than_any_slot_is_final() -> None:
    topology = builders.chain(2)
    allocation = allocated(topology, o0=(Bundle(1, 0.1, 0.1),), o1=(Bundle(3, 1.5, 0.1),))
    refusal = place(topology, allocation, builders.cluster(1))
    assert isinstance(refusal, Refusal)
    assert (refusal.operator, refusal.resource, refusal.missing) == ("o1", "cpu", 0.5)
    assert refusal.final


def test_thousands_of_threads_alike_are_one_item_and_settled() -> None:
    """3,000 threads of 0.15: six to a slot, though their total would go into 450."""
    topology = builders.chain(10)
    threads = {operator.name: 300 for operator in topology.operators}
    allocation = builders.allocation(topology, threads, cpu=0.15, mem=0.1)
    placement = place(topology, allocation, builders.cluster(200))
    assert isinstance(placement, Placement)
    assert len(placement.used_slots) == placement.proven_bound == 500


def test_an_effort_of_nothing_is_an_error() -> None:
    with pytest.raises(ValueError, match="effort: invalid value '0': expected a number > 0"):
        Exact(effort=0)


@st.composite
def tiny_cases(draw: st.DrawFn) -> PlacementProblem:
    topology = draw(strategies.topologies(largest=3))
    bundles = {
        operator.name: draw(
            st.lists(
                st.sampled_from(
                    [Bundle(2, 1.0, 1.0, full=True), Bundle(1, 0.5, 0.2), Bundle(2, 0.3, 0.6)]
                ),
                min_size=1,
                max_size=2,
            )
        )
        for operator in topology.operators
    }
    allocation = allocated(topology, **{name: tuple(given) for name, given in bundles.items()})
    sizes = draw(st.sampled_from([(2, 2), (1, 2), (1, 1, 2), (4,), (1, 1, 1, 1)]))
    speeds = draw(st.sampled_from([(1.0,) * 4, (2.0, 1.0, 1.0, 1.0)]))
    nodes = (Node(f"n{i}", size, 3.5 * size, speed=speeds[i]) for i, size in enumerate(sizes))
    cluster = Cluster(tuple(nodes), 3.5)
    return PlacementProblem(topology, allocation, cluster)


@settings(max_examples=60, deadline=None)
@given(case=tiny_cases())
def test_agrees_with_brute_force(case: PlacementProblem) -> None:
    answer = Exact().place(case)
    expected = brute_force(case)
    if expected is None:
        assert isinstance(answer, Refusal)
        assert "proven" in answer.reason
        return
    assert isinstance(answer, Placement)
    fewest, least = expected
    assert len(answer.used_slots) == answer.proven_bound == fewest
    assert leaving(answer, case) == pytest.approx(least, abs=1e-6)
    assert all("proven" in reason for reason in answer.reasons)


@settings(max_examples=30, deadline=None)
@given(case=cases())
def test_is_never_worse_than_sam(case: PlacementProblem) -> None:
    exact, sam = SOON.place(case), Sam().place(case)
    if isinstance(sam, Refusal):
        return
    assert isinstance(exact, Placement)
    assert len(exact.used_slots) <= len(sam.used_slots)
    if len(exact.used_slots) == len(sam.used_slots):
        assert leaving(exact, case) <= leaving(sam, case) + 1e-6


@settings(max_examples=50, deadline=None)
@given(case=cases())
def test_traffic_between_nodes_is_the_sum_over_pairs_of_threads(case: PlacementProblem) -> None:
    allocation, cluster = case.allocation, case.cluster
    slots = np.arange(allocation.total_threads) * 7 % cluster.slots
    pairs = case.thread_traffic
    apart = cluster.slot_node[slots[pairs.senders]] != cluster.slot_node[slots[pairs.receivers]]
    placement = Placement("test", tuple(allocation.threads.tolist()), slots)
    assert leaving(placement, case) == pytest.approx(float(pairs.rates[apart].sum()), abs=1e-6)


def brute_force(case: PlacementProblem) -> tuple[int, float] | None:
    """(fewest slots, least traffic in them) over all ways to put bundles in slots."""
    cluster = case.cluster
    bundles = [bundle for entry in case.allocation for bundle in entry.bundles]
    sizes = [bundle.threads for bundle in bundles]
    best: tuple[int, float] | None = None
    for slots in product(range(cluster.slots), repeat=len(bundles)):
        if not _holds(bundles, slots, cluster):
            continue
        used = len(set(slots))
        if best is not None and used > best[0]:
            continue
        thread_node = cluster.slot_node[np.repeat(slots, sizes)]
        apart = traffic_between_nodes(case, thread_node)
        best = min(best or (used, apart), (used, apart))
    return best


def _holds(bundles: list[Bundle], slots: tuple[int, ...], cluster: Cluster) -> bool:
    for slot in set(slots):
        inside = [bundle for bundle, place in zip(bundles, slots, strict=True) if place == slot]
        if len(inside) > 1 and any(bundle.full for bundle in inside):
            return False
        if sum(bundle.cpu for bundle in inside) > cluster.slot_cpu[slot] + 1e-9:
            return False
        if sum(bundle.mem for bundle in inside) > cluster.slot_memory[slot] + 1e-9:
            return False
    return True
