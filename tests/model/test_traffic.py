"""Traffic between threads, and what is left of it when numbers of threads change."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from slotwise.model import Grouping, ThreadTraffic, Topology
from tests import builders

CHAIN = builders.topology("a>b", "b>c")


def traffic(*sent: tuple[int, int, float]) -> ThreadTraffic:
    senders, receivers, rates = np.array(sent).T
    return ThreadTraffic(senders.astype(int), receivers.astype(int), rates)


def rates(of: ThreadTraffic) -> dict[tuple[int, int], float]:
    ends = zip(of.senders.tolist(), of.receivers.tolist(), strict=True)
    return dict(zip(ends, of.rates.tolist(), strict=True))


def test_the_same_threads_keep_their_traffic() -> None:
    measured = traffic((0, 1, 5.0), (1, 2, 3.0))
    assert measured.for_threads(CHAIN, (1, 1, 1), (1, 1, 1)) is measured


def test_an_operator_with_other_threads_has_its_traffic_divided_evenly() -> None:
    # a: thread 0; b: threads 1 and 2, then 1 to 3; c: threads 3 and 4, then 4 and 5.
    measured = traffic((0, 1, 9.0), (0, 2, 3.0), (1, 3, 6.0), (2, 4, 3.0))
    after = rates(measured.for_threads(CHAIN, (1, 2, 2), (1, 3, 2)))
    assert after == {
        **{(0, thread): 4.0 for thread in (1, 2, 3)},
        **{(thread, 4): 2.0 for thread in (1, 2, 3)},
        **{(thread, 5): 1.0 for thread in (1, 2, 3)},
    }


def test_a_global_stream_keeps_its_one_receiver() -> None:
    first, second = CHAIN.streams
    of = replace(CHAIN, streams=(first, replace(second, grouping=Grouping("global"))))
    measured = traffic((0, 1, 6.0), (1, 2, 6.0))
    assert rates(measured.for_threads(of, (1, 1, 1), (1, 2, 3))) == {
        (0, 1): 3.0,
        (0, 2): 3.0,
        (1, 3): 3.0,
        (2, 3): 3.0,
    }


counts = st.tuples(*[st.integers(1, 4)] * 3)


@given(counts, counts, st.data())
def test_no_traffic_is_lost_or_added(
    before: tuple[int, ...], after: tuple[int, ...], data: st.DataObject
) -> None:
    """Between each two operators, and at each thread of an operator that did not change."""
    pairs = [(a, before[0] + b) for a in range(before[0]) for b in range(before[1])]
    drawn = data.draw(st.lists(st.integers(1, 99), min_size=len(pairs), max_size=len(pairs)))
    measured = traffic(*((*pair, rate) for pair, rate in zip(pairs, drawn, strict=True)))
    found = measured.for_threads(CHAIN, before, after)
    assert found.rates.sum() == pytest.approx(sum(drawn))
    assert len(rates(found)) == len(found.rates) == after[0] * after[1]
    if before[0] == after[0]:
        sent = np.bincount(measured.senders, measured.rates)
        assert np.bincount(found.senders, found.rates) == pytest.approx(sent)
    assert found.senders.max() < after[0] <= found.receivers.min()


def test_streams_divide_evenly_over_their_pairs() -> None:
    of: Topology = builders.topology("a>b")
    given = builders.allocation(of, {"a": 2, "b": 3})
    divided = ThreadTraffic.divided_evenly(of, given, np.array([60.0]))
    assert rates(divided) == {(a, 2 + b): 10.0 for a in range(2) for b in range(3)}
