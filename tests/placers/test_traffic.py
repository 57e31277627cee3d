"""Paper 2's online scheduler, against its Algorithm 1 read word for word."""

from __future__ import annotations

from dataclasses import replace
from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from slotwise.model import (
    Cluster,
    Node,
    Placement,
    Refusal,
    ThreadTraffic,
)
from slotwise.placers._pair_assignment import assign
from slotwise.placers._pairs import Pairs
from slotwise.placers._workers import most_threads
from slotwise.placers.base import PlacementProblem
from slotwise.placers.traffic import TrafficBased, _use_all
from slotwise.testing.placers import cases, replanning_cases
from tests import builders

Rates = dict[tuple[int, int], float]


def between(rates: Rates) -> ThreadTraffic:
    ends = np.array(list(rates), dtype=np.int64).reshape(-1, 2)
    return ThreadTraffic(ends[:, 0], ends[:, 1], np.array(list(rates.values()), dtype=float))


def place(
    threads: int, rates: Rates, cluster: Cluster, cpu: float = 0.1, alpha: float = 0.0
) -> Placement | Refusal:
    chain = builders.chain(2)
    allocation = builders.allocation(chain, {"o0": 1, "o1": threads - 1}, cpu=cpu)
    problem = PlacementProblem(chain, allocation, cluster, measured=between(rates))
    return TrafficBased(alpha).place(problem)


class Reference:
    """All traffic counted anew for every assignment that is tried."""

    def __init__(self, rates: Rates, loads: list[float], room: list[int], capacity: list[float]):
        self.rates, self.loads, self.room, self.capacity = rates, loads, room, capacity
        self.bins = [-1] * len(loads)

    def load(self, target: int) -> float:
        return sum(n for n, b in zip(self.loads, self.bins, strict=True) if b == target)

    def fits(self) -> bool:
        return all(
            self.bins.count(b) <= self.room[b] and self.load(b) <= self.capacity[b]
            for b in range(len(self.room))
        )

    def least(self) -> int:
        free = [b for b in range(len(self.room)) if self.bins.count(b) < self.room[b]]
        scale = [c if np.isfinite(c) else 1.0 for c in self.capacity]
        return min(free, key=lambda b: (self.load(b) / scale[b], b), default=-1)

    def local(self) -> float:
        return sum(r for (j, k), r in self.rates.items() if self.bins[j] == self.bins[k] >= 0)

    def attempt(self, item: int, target: int) -> bool:
        self.bins[item] = target
        if target >= 0 and not self.fits():
            self.bins[item] = -1
        return self.bins[item] >= 0

    def pair(self, j: int, k: int) -> None:
        before = self.bins[j], self.bins[k]
        if before == (-1, -1):
            self.attempt(j, self.least())
            if self.bins[j] < 0 or not self.attempt(k, self.bins[j]):
                self.attempt(k, self.least())
            return
        options = list(dict.fromkeys(b for b in (*before, self.least()) if b >= 0))
        best, highest = before, self.local() if min(before) >= 0 else -1.0
        for choice in product(options, repeat=2):
            self.bins[j], self.bins[k] = choice
            if self.fits() and self.local() > highest:
                best, highest = choice, self.local()
        self.bins[j], self.bins[k] = best

    def run(self) -> list[int]:
        for (j, k), _ in sorted(self.rates.items(), key=lambda item: (-item[1], item[0])):
            self.pair(j, k)
        for item in sorted(range(len(self.loads)), key=lambda i: (-self.loads[i], i)):
            if self.bins[item] < 0 and not self.attempt(item, self.least()):
                free = [self.capacity[b] - self.load(b) for b in range(len(self.room))]
                for b in sorted(range(len(free)), key=lambda b: (-free[b], b)):
                    if self.attempt(item, b):
                        break
        return self.bins


@settings(max_examples=200, deadline=None)
@given(st.data())
def test_assigns_as_algorithm_1_word_for_word(data: st.DataObject) -> None:
    """Whole numbers, so that sums are exact and ties are ties."""
    items = data.draw(st.integers(2, 8))
    numbers = st.integers(0, items - 1)
    ends = st.tuples(numbers, numbers).filter(lambda pair: pair[0] < pair[1])
    drawn = data.draw(st.dictionaries(ends, st.integers(1, 9), max_size=15))
    rates = {pair: float(rate) for pair, rate in drawn.items()}
    loads = [
        float(n) for n in data.draw(st.lists(st.integers(0, 4), min_size=items, max_size=items))
    ]
    bins = data.draw(st.integers(1, 4))
    room = [data.draw(st.integers(-(-items // bins), items)) for _ in range(bins)]
    bounded = data.draw(st.booleans())
    capacity = [float(data.draw(st.sampled_from([4, 8]))) if bounded else np.inf for _ in room]
    one, other = np.array(list(rates), dtype=np.int64).reshape(-1, 2).T
    pairs = Pairs.of(items, one, other, np.array(list(rates.values()), dtype=float))
    found = assign(pairs, np.array(loads), np.array(room), np.array(capacity))
    assert found.tolist() == Reference(rates, loads, room, capacity).run()


def test_pairs_add_both_directions_and_leave_out_what_stays() -> None:
    one, other = np.array([0, 1, 2, 2]), np.array([1, 0, 2, 0])
    pairs = Pairs.of(3, one, other, np.array([1.0, 2.0, 9.0, 5.0]))
    assert pairs.neighbours.tolist() == [1, 2, 0, 0]
    assert pairs.rates.tolist() == [3.0, 5.0, 3.0, 5.0]
    assert [ends.tolist() for ends in pairs.by_falling_rate()] == [[0, 0], [2, 1]]


def test_those_that_talk_most_share_a_worker() -> None:
    answer = place(4, {(0, 3): 9.0, (1, 2): 5.0, (0, 1): 1.0}, builders.cluster(2, slots=1))
    assert isinstance(answer, Placement)
    assert answer.slots.tolist() == [0, 1, 1, 0]


def test_workers_that_talk_most_share_a_node() -> None:
    rates = {(0, 2): 9.0, (1, 3): 8.0}
    answer = place(4, rates, builders.cluster(2, slots=2))
    assert isinstance(answer, Placement)
    node = answer.slots // 2
    assert node[0] == node[2] != node[1] == node[3]


def test_threads_without_traffic_are_spread() -> None:
    answer = place(6, {}, builders.cluster(3, slots=1))
    assert isinstance(answer, Placement)
    assert np.bincount(answer.slots).tolist() == [2, 2, 2]


def test_the_faster_node_takes_more_load() -> None:
    nodes = (Node("slow", 3, 10.5), Node("fast", 3, 10.5, speed=3.0))
    cluster = Cluster(nodes, slot_memory_gb=3.5)
    answer = place(4, {}, cluster, cpu=1.0)
    assert isinstance(answer, Placement)
    assert np.bincount(cluster.slot_node[answer.slots]).tolist() == [1, 3]


def test_cpu_left_on_a_node_without_a_free_slot_does_not_count() -> None:
    nodes = (Node("slow", 2, 7.0), Node("fast", 2, 7.0, speed=3.0))
    answer = place(4, {}, Cluster(nodes, slot_memory_gb=3.5), cpu=1.5)
    assert isinstance(answer, Refusal)
    assert (answer.resource, answer.missing) == ("cpu", pytest.approx(1.0))


def test_a_worker_larger_than_any_node_is_refused() -> None:
    answer = place(4, {}, builders.cluster(2, slots=1), cpu=0.6)
    assert isinstance(answer, Refusal)
    assert (answer.resource, answer.missing) == ("cpu", pytest.approx(0.2))
    assert answer.operator == "o0"
    assert not answer.final


def recounting(worker: list[int], rates: Rates, workers: int) -> list[int]:
    """Rule 4, with all traffic counted anew for every move."""
    worker = list(worker)
    for target in sorted(set(range(workers)) - set(worker)):
        local = [0.0] * len(worker)
        for (j, k), rate in rates.items():
            if worker[j] == worker[k]:
                local[j] += rate
                local[k] += rate
        movable = [t for t in range(len(worker)) if worker.count(worker[t]) > 1]
        worker[min(movable, key=lambda t: (local[t], t))] = target
    return worker


@settings(max_examples=200, deadline=None)
@given(st.data())
def test_empty_workers_are_filled_with_what_exchanges_least_then(data: st.DataObject) -> None:
    threads = data.draw(st.integers(2, 8))
    numbers = st.integers(0, threads - 1)
    ends = st.tuples(numbers, numbers).filter(lambda pair: pair[0] < pair[1])
    drawn = data.draw(st.dictionaries(ends, st.integers(1, 9), max_size=15))
    rates = {pair: float(rate) for pair, rate in drawn.items()}
    workers = data.draw(st.integers(1, threads))
    before = data.draw(st.lists(st.integers(0, workers - 1), min_size=threads, max_size=threads))
    worker, flows = np.array(before), between(rates)
    _use_all(worker, Pairs.of(threads, flows.senders, flows.receivers, flows.rates), workers)
    assert worker.tolist() == recounting(before, rates, workers)


def test_what_stays_behind_is_counted_anew() -> None:
    # All exchange as much. Once 0 has gone, 2 has nobody to exchange with, while 1 still has 3.
    flows, worker = between({(0, 2): 1.0, (1, 3): 1.0}), np.array([0, 0, 0, 0])
    _use_all(worker, Pairs.of(4, flows.senders, flows.receivers, flows.rates), 3)
    assert worker.tolist() == [1, 0, 2, 0]


@settings(max_examples=100, deadline=None)
@given(case=cases(), alpha=st.floats(0, 1))
def test_uses_all_workers_and_none_has_more_than_the_most(
    case: PlacementProblem, alpha: float
) -> None:
    topology, allocation, cluster = case.topology, case.allocation, case.cluster
    answer = TrafficBased(alpha).place(case)
    if isinstance(answer, Placement):
        workers = min(topology.workers or cluster.slots, allocation.total_threads)
        assert len(answer.used_slots) == workers
        most = most_threads(allocation.total_threads, workers, alpha)
        assert np.bincount(answer.slots).max() <= most


def test_workers_keep_within_a_slots_cpu_where_they_can() -> None:
    # All exchange as much with each other, so that by traffic alone one worker would take all.
    of = builders.topology("a>b")
    given = builders.allocation(of, {"a": 2, "b": 2}, cpu=0.5)
    on = builders.cluster(2, slots=2)
    placement = TrafficBased(alpha=1.0).place(PlacementProblem(of, given, on))
    assert isinstance(placement, Placement)
    assert max(np.bincount(placement.slots)) <= 2


def test_so_they_do_where_the_topology_asks_for_workers() -> None:
    of = replace(builders.topology("a>b"), workers=2)
    given = builders.allocation(of, {"a": 2, "b": 2}, cpu=0.5)
    placement = TrafficBased(alpha=1.0).place(
        PlacementProblem(of, given, builders.cluster(2, slots=2))
    )
    assert isinstance(placement, Placement)
    assert np.bincount(placement.slots, given.thread_cpu).max() <= 1.0


@pytest.mark.parametrize("workers", [None, 2])
def test_a_worker_holds_what_its_threads_were_measured_to_get(workers: int | None) -> None:
    # By even shares any two threads would fill a slot. But thread 2 gets three of four tuples, so
    # that it needs 0.75, and fits only with thread 3, with which it exchanges nothing.
    of = replace(builders.topology("a>b"), workers=workers)
    given = builders.allocation(of, {"a": 2, "b": 2}, cpu=0.5)
    measured = between({(0, 2): 5.0, (1, 2): 4.0, (0, 3): 2.0, (1, 3): 1.0})
    on = builders.cluster(1, slots=2)
    placement = TrafficBased(alpha=1.0).place(PlacementProblem(of, given, on, measured=measured))
    assert isinstance(placement, Placement)
    needs = np.array([0.5, 0.5, 0.75, 0.25])
    assert np.bincount(placement.slots, needs).max() <= 1.0


def leaving_nodes(placement: Placement, problem: PlacementProblem) -> float:
    flows, node = problem.thread_traffic, problem.cluster.slot_node[placement.slots]
    return float(flows.rates[node[flows.senders] != node[flows.receivers]].sum())


def running(slots: list[int], rates: Rates, threads: int = 3) -> PlacementProblem:
    """One thread of o0 and three of o1, two slots on each of two nodes; `slots` are in effect."""
    chain = builders.chain(2)
    allocation = builders.allocation(chain, {"o0": 1, "o1": 3})
    current = Placement("other", (1, threads), np.array(slots))
    cluster = builders.cluster(2, slots=2)
    return PlacementProblem(chain, allocation, cluster, current, between(rates))


def test_a_current_placement_that_is_as_good_is_kept() -> None:
    problem = running([3, 0, 1, 2], {(0, 3): 9.0, (1, 2): 8.0})
    answer = TrafficBased().place(problem)
    assert isinstance(answer, Placement)
    assert answer.slots.tolist() == [3, 0, 1, 2]
    assert answer.algorithm == "traffic"
    assert "the current placement is kept: 0.0 tuples/s leave their node" in answer.reasons[0]


def test_a_current_placement_with_more_traffic_is_left() -> None:
    problem = running([3, 0, 1, 2], {(0, 1): 9.0, (2, 3): 8.0})
    answer = TrafficBased().place(problem)
    assert isinstance(answer, Placement)
    assert leaving_nodes(answer, problem) == 0.0
    assert answer.reasons[-1] == "measured traffic"


@pytest.mark.parametrize(
    ("slots", "threads"),
    [([3, 0, 1, -1], 3), ([3, 0, 1], 2), ([3, 0, 1, 1], 3)],
    ids=["a slot is gone", "fewer threads", "a worker is empty"],
)
def test_a_current_placement_that_does_not_fit_is_left(slots: list[int], threads: int) -> None:
    answer = TrafficBased().place(running(slots, {(0, 3): 9.0, (1, 2): 8.0}, threads))
    assert isinstance(answer, Placement)
    assert answer.slots.tolist() == [0, 2, 3, 1]


@settings(max_examples=100, deadline=None)
@given(case=replanning_cases(), alpha=st.floats(0, 1))
def test_planned_again_its_own_placement_is_kept(case: PlacementProblem, alpha: float) -> None:
    first = TrafficBased(alpha).place(case)
    if isinstance(first, Placement):
        again = TrafficBased(alpha).place(replace(case, current=first))
        assert isinstance(again, Placement)
        assert again.slots.tolist() == first.slots.tolist()


@settings(max_examples=100, deadline=None)
@given(case=replanning_cases(), alpha=st.floats(0, 1))
def test_the_current_placement_never_brings_more_traffic(
    case: PlacementProblem, alpha: float
) -> None:
    found = TrafficBased(alpha).place(replace(case, current=None))
    if isinstance(found, Placement):
        answer = TrafficBased(alpha).place(case)
        assert isinstance(answer, Placement)
        assert leaving_nodes(answer, case) <= leaving_nodes(found, case) * (1 + 1e-9) + 1e-9
