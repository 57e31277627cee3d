"""Traffic in blocks says what all pairs of threads say, one by one."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from slotwise.model import Grouping, ThreadTraffic
from slotwise.placers._blocks import Blocks
from slotwise.placers._pairs import Pairs
from slotwise.placers.base import PlacementProblem
from slotwise.testing.placers import cases
from tests import builders


def both(case: PlacementProblem) -> tuple[Blocks, Pairs]:
    """The traffic between the threads of a case, in blocks and in pairs."""
    blocks = Blocks.of(case.topology, case.allocation, case.stream_rates)
    flows = ThreadTraffic.divided_evenly(case.topology, case.allocation, case.stream_rates)
    threads = case.allocation.total_threads
    return blocks, Pairs.of(threads, flows.senders, flows.receivers, flows.rates)


def test_a_block_is_an_operator_or_the_receiver_of_a_global_stream_and_the_rest() -> None:
    topology = builders.topology("a>b", "b>c")
    streams = topology.streams[0], replace(topology.streams[1], grouping=Grouping("global"))
    topology = replace(topology, streams=streams)
    allocation = builders.allocation(topology, {"a": 2, "b": 3, "c": 3}, rate=12.0)
    blocks = Blocks.of(topology, allocation, np.array([12.0, 12.0]))
    assert blocks.block.tolist() == [0, 0, 1, 1, 1, 2, 3, 3]
    assert blocks.rates.first.tolist() == [0, 1, 3, 4, 4]
    assert blocks.rates.neighbours.tolist() == [1, 0, 2, 1]
    # 12/s over 2 · 3 pairs, and over 3 threads that send to one.
    assert blocks.rates.rates.tolist() == [2.0, 2.0, 4.0, 4.0]


def test_threads_of_a_loop_exchange_with_each_other_and_not_with_themselves() -> None:
    topology = builders.topology("a>b", "b>b:0.5!")
    allocation = builders.allocation(topology, {"a": 1, "b": 2}, rate=8.0)
    case = PlacementProblem(topology, allocation, builders.cluster(1))
    blocks, pairs = both(case)
    together = np.zeros(3, dtype=np.int64)
    # b handles 16/s: 8/s loop back, of which each thread sends 2 to the other, and gets 2.
    assert blocks.local_rates(together).tolist() == [8.0, 4.0 + 4.0, 4.0 + 4.0]
    assert pairs.local_rates(together).tolist() == [8.0, 8.0, 8.0]
    assert blocks.leaving(np.array([0, 0, 1])) == pairs.leaving(np.array([0, 0, 1])) == 8.0


@settings(max_examples=100, deadline=None)
@given(case=cases(), data=st.data())
def test_says_what_all_pairs_say(case: PlacementProblem, data: st.DataObject) -> None:
    blocks, pairs = both(case)
    threads = case.allocation.total_threads
    places = data.draw(st.integers(1, 4))
    drawn = st.lists(st.integers(0, places - 1), min_size=threads, max_size=threads)
    place = np.array(data.draw(drawn))
    assert blocks.local_rates(place) == pytest.approx(pairs.local_rates(place))
    assert blocks.leaving(place) == pytest.approx(pairs.leaving(place))
    thread, others = data.draw(st.integers(0, threads - 1)), np.flatnonzero(place == 0)
    others = others[others != thread]
    rates = blocks.rates_with(thread, others)
    assert rates.tolist() == pairs.rates_with(thread, others).tolist()
    workers, expected = blocks.between(place, places), pairs.between(place, places)
    assert dense(workers).ravel() == pytest.approx(dense(expected).ravel())
    assert workers.first[-1] == len(workers.block) == len(workers.threads)
    assert int(workers.threads.sum()) == threads


def dense(traffic: Blocks | Pairs) -> np.ndarray[tuple[int, int], np.dtype[np.float64]]:
    """Tuples/s between any two different things."""
    size = len(traffic.first) - 1
    found = np.zeros((size, size))
    for one in range(size):
        links = slice(traffic.first[one], traffic.first[one + 1])
        if isinstance(traffic, Pairs):
            found[one, traffic.neighbours[links]] = traffic.rates[links]
            continue
        for block, threads in zip(traffic.block[links], traffic.threads[links], strict=True):
            of = slice(traffic.rates.first[block], traffic.rates.first[block + 1])
            rates = dict(zip(traffic.rates.neighbours[of], traffic.rates.rates[of], strict=True))
            for other in set(range(size)) - {one}:
                there = slice(traffic.first[other], traffic.first[other + 1])
                for far, count in zip(traffic.block[there], traffic.threads[there], strict=True):
                    found[one, other] += rates.get(far, 0.0) * threads * count
    return found


def test_nothing_leaves_when_all_are_together() -> None:
    topology = builders.chain(3)
    allocation = builders.allocation(topology, {"o0": 3, "o1": 7, "o2": 3}, rate=0.1)
    blocks, _ = both(PlacementProblem(topology, allocation, builders.cluster(1)))
    assert blocks.leaving(np.zeros(13, dtype=np.int64)) == 0.0
