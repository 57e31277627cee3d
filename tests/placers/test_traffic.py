"""Paper 2's online scheduler, against its Algorithm 1 read word for word."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from slotwise.model import (
    Allocation,
    Cluster,
    Node,
    Placement,
    Refusal,
    ThreadTraffic,
    Topology,
    Traffic,
)
from slotwise.placers._pairs import Pairs
from slotwise.placers.topology import most_threads
from slotwise.placers.traffic import TrafficBased, assign
from tests import builders
from tests.placers.contract import Case, cases

Rates = dict[tuple[int, int], float]


def measured(of: Topology, allocation: Allocation, rates: Rates) -> Traffic:
    ends = np.array(list(rates), dtype=np.int64).reshape(-1, 2)
    between = ThreadTraffic(ends[:, 0], ends[:, 1], np.array(list(rates.values()), dtype=float))
    return Traffic(builders.traffic(of, allocation).streams, between)


def place(
    threads: int, rates: Rates, cluster: Cluster, cpu: float = 0.1, alpha: float = 0.0
) -> Placement | Refusal:
    chain = builders.chain(2)
    allocation = builders.allocation(chain, {"o0": 1, "o1": threads - 1}, cpu=cpu)
    traffic = measured(chain, allocation, rates)
    return TrafficBased(alpha).place(chain, allocation, cluster, traffic)


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


@settings(max_examples=100, deadline=None)
@given(case=cases(), alpha=st.floats(0, 1))
def test_uses_all_workers_and_none_has_more_than_the_most(case: Case, alpha: float) -> None:
    topology, allocation, cluster, _ = case
    answer = TrafficBased(alpha).place(*case)
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
    placement = TrafficBased(alpha=1.0).place(of, given, on, builders.traffic(of, given))
    assert isinstance(placement, Placement)
    assert max(np.bincount(placement.slots)) <= 2
