"""Paper 2's offline scheduler."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from slotwise.model import Placement, Refusal, Topology
from slotwise.placers._workers import most_threads
from slotwise.placers.base import PlacementProblem
from slotwise.placers.topology import TopologyBased
from slotwise.testing.placers import cases
from tests import builders


def placed(of: Topology, threads: dict[str, int], nodes: int, **options: float) -> list[int]:
    allocation = builders.allocation(of, threads)
    cluster = builders.cluster(nodes, slots=1)
    placer = TopologyBased(**options)
    answer = placer.place(PlacementProblem(of, allocation, cluster))
    assert isinstance(answer, Placement)
    return answer.slots.tolist()


@pytest.mark.parametrize(("alpha", "most"), [(0, 4), (0.05, 5), (0.2, 8), (1, 23)])
def test_most_threads_of_the_paper(alpha: float, most: int) -> None:
    assert most_threads(30, 8, alpha) == most


def test_threads_join_those_that_feed_them() -> None:
    chain = builders.chain(3)
    assert placed(chain, {"o0": 2, "o1": 2, "o2": 2}, nodes=2, beta=1) == [0, 1, 0, 1, 0, 1]


def test_the_least_filled_worker_that_feeds_comes_first() -> None:
    fork = builders.topology("a>b", "a>c")
    # b puts one thread beside a's first; c goes beside a's second.
    assert placed(fork, {"a": 2, "b": 1, "c": 1}, nodes=2, beta=1) == [0, 1, 0, 1]


def test_from_beta_on_empty_workers_are_filled() -> None:
    chain = builders.chain(4)
    threads = {"o0": 1, "o1": 1, "o2": 1, "o3": 1}
    assert placed(chain, threads, nodes=3, alpha=1, beta=0.5) == [0, 0, 1, 2]
    assert placed(chain, threads, nodes=3, alpha=1, beta=0.25) == [0, 1, 2, 2]


def test_all_workers_are_used_even_if_beta_never_says_so() -> None:
    chain = builders.chain(4)
    threads = dict.fromkeys(("o0", "o1", "o2", "o3"), 1)
    assert placed(chain, threads, nodes=3, alpha=1, beta=1) == [0, 0, 1, 2]


def test_loops_do_not_count_as_feeding() -> None:
    loop = builders.topology("a>b", "b>c", "c>b:0.5!")
    assert placed(loop, {"a": 1, "b": 1, "c": 1}, nodes=1) == [0, 0, 0]


def test_workers_go_round_the_nodes() -> None:
    chain = builders.chain(2)
    allocation = builders.allocation(chain, {"o0": 3, "o1": 1})
    cluster = builders.cluster(2, slots=2)
    answer = TopologyBased().place(PlacementProblem(chain, allocation, cluster))
    assert isinstance(answer, Placement)
    assert answer.slots.tolist() == [0, 2, 1, 3]


def test_more_workers_than_slots_are_refused() -> None:
    chain = replace(builders.chain(2), workers=9)
    allocation = builders.allocation(chain, {"o0": 1, "o1": 1})
    answer = TopologyBased().place(PlacementProblem(chain, allocation, builders.cluster(2)))
    assert isinstance(answer, Refusal)
    assert (answer.resource, answer.missing) == ("slots", 1.0)
    assert "9 workers" in answer.explanation
    assert "8 slots" in answer.explanation


@pytest.mark.parametrize("options", [{"alpha": -0.1}, {"alpha": 1.1}, {"beta": float("nan")}])
def test_options_outside_0_to_1_are_refused(options: dict[str, float]) -> None:
    with pytest.raises(ValueError, match="expected a number from 0 to 1"):
        TopologyBased(**options)


@settings(max_examples=100, deadline=None)
@given(case=cases(), alpha=st.floats(0, 1), beta=st.floats(0, 1))
def test_uses_all_workers_and_none_has_more_than_the_most(
    case: PlacementProblem, alpha: float, beta: float
) -> None:
    topology, allocation, cluster = case.topology, case.allocation, case.cluster
    answer = TopologyBased(alpha, beta).place(case)
    if isinstance(answer, Placement):
        workers = min(topology.workers or cluster.slots, allocation.total_threads)
        assert len(answer.used_slots) == workers
        most = most_threads(allocation.total_threads, workers, alpha)
        assert np.bincount(answer.slots).max() <= most
