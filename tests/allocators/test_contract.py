"""What every allocator promises, on random pipelines."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from slotwise import registry
from slotwise.model import (
    Allocation,
    Choice,
    Goals,
    Grouping,
    Operator,
    Pipeline,
    Profiles,
    Refusal,
    ServiceRate,
    Stream,
    Topology,
)
from slotwise.rates import arrival_rates
from tests import plannable

GOALS = Goals(latency_ms=1e7)
ALLOCATORS = sorted(registry.ALLOCATORS)


@pytest.mark.parametrize("name", ALLOCATORS)
@settings(max_examples=50, deadline=None)
@given(pipeline=plannable.pipelines(), rate=st.floats(0.1, 5000))
def test_the_contract(name: str, pipeline: Pipeline, rate: float) -> None:
    algorithm = registry.allocator(Choice(name), GOALS)
    answer = algorithm.allocate(pipeline.topology, pipeline.profiles, rate)
    assert answer == algorithm.allocate(pipeline.topology, pipeline.profiles, rate)
    if isinstance(answer, Refusal):
        assert answer.algorithm == name
        assert answer.resource
        return
    assert answer.algorithm == name
    assert [entry.operator for entry in answer] == [o.name for o in pipeline.topology.operators]
    arriving = arrival_rates(pipeline.topology, rate, answer.threads).operators
    for entry, expected in zip(answer, arriving, strict=True):
        assert entry.threads >= 1
        assert entry.reason
        assert entry.arrival_rate == pytest.approx(float(expected))
        assert all(b.threads >= 1 and b.cpu >= 0 and b.mem >= 0 for b in entry.bundles)
    assert answer.slots >= max(1, answer.cpu - 1e-6, answer.mem - 1e-6)


@pytest.mark.parametrize("name", ALLOCATORS)
@settings(max_examples=25, deadline=None)
@given(pipeline=plannable.pipelines(), rate=st.floats(1, 1000))
def test_the_threads_carry_the_rate(name: str, pipeline: Pipeline, rate: float) -> None:
    answer = registry.allocator(Choice(name), GOALS).allocate(
        pipeline.topology, pipeline.profiles, rate
    )
    if isinstance(answer, Refusal):
        return
    profiles = pipeline.profiles
    for entry in answer:
        if profiles.fixed(entry.operator):
            continue
        if name in ("drs", "p-deployer"):  # these count single threads of a full bundle
            capacity = entry.threads * profiles.service(entry.operator).rate
        else:
            table = profiles.table(entry.operator)
            capacity = sum(table.at(bundle.threads).rate for bundle in entry.bundles)
        assert capacity >= entry.arrival_rate * (1 - 1e-6)


def all_grouped(threads_rate: float) -> tuple[Topology, Profiles]:
    alerts = Topology(
        "alerts",
        (Operator("in", "source"), Operator("side", "source"), Operator("a")),
        (Stream("in", "a", 0.5, Grouping("all")), Stream("side", "a")),
    )
    rates = {"in": ServiceRate(1e6), "side": ServiceRate(1e6), "a": ServiceRate(threads_rate)}
    return alerts, Profiles(rates, 1024.0)


@pytest.mark.parametrize("name", ALLOCATORS)
def test_all_grouping_settles_where_threads_keep_up(name: str) -> None:
    alerts, profiles = all_grouped(100.0)
    answer = registry.allocator(Choice(name), GOALS).allocate(alerts, profiles, 100.0)
    assert isinstance(answer, Allocation)
    entry = answer.operators[2]
    # Every thread gets 50/s of the 'all' stream and serves 100/s: n·100 ≥ 100 + n·50.
    assert entry.threads in (2, 3)
    assert entry.arrival_rate == pytest.approx(100 + 50 * entry.threads)


@pytest.mark.parametrize("name", ALLOCATORS)
def test_all_grouping_that_no_thread_keeps_up_with_is_refused(name: str) -> None:
    alerts, profiles = all_grouped(40.0)
    answer = registry.allocator(Choice(name), GOALS).allocate(alerts, profiles, 100.0)
    assert isinstance(answer, Refusal)
    assert answer.operator == "a"


@pytest.mark.parametrize("name", ALLOCATORS)
def test_global_grouping_past_one_thread_is_refused(name: str) -> None:
    of = Topology(
        "top",
        (Operator("in", "source"), Operator("a")),
        (Stream("in", "a", grouping=Grouping("global")),),
    )
    profiles = Profiles({"in": ServiceRate(1e6), "a": ServiceRate(10.0, cpu=0.1)}, 1024.0)
    answer = registry.allocator(Choice(name), GOALS).allocate(of, profiles, 11.0)
    assert isinstance(answer, Refusal)
    assert "one thread of 'a' handles at most 10.0" in answer.reason


def test_an_unknown_allocator_is_named_with_its_nearest() -> None:
    with pytest.raises(registry.SlotwiseError, match="did you mean 'mba'"):
        registry.allocator(Choice("mbaa"), GOALS)


def test_an_unknown_option_is_named() -> None:
    with pytest.raises(registry.SlotwiseError, match="has no option 'speed': it has processors"):
        registry.allocator(Choice("drs", {"speed": 1}), GOALS)
