"""Figures at the ends of their range give a plan or one sentence, never a warning."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

import slotwise
from slotwise import registry
from slotwise.model import (
    Allocation,
    Choice,
    Cluster,
    FixedLoad,
    Goals,
    ModelError,
    NetworkDelays,
    Node,
    Operator,
    Pipeline,
    Plan,
    Profile,
    Profiles,
    ServiceRate,
    SlotwiseError,
    Stream,
    TaskCosts,
    ThreadRow,
    ThreadTable,
    Topology,
    VmType,
)
from slotwise.model.limits import LARGEST, SMALLEST
from slotwise.rates import arrival_rates
from slotwise.spec.plan_json import plan_from_json, plan_to_json

CASES = Path(__file__).parent / "cases"
positive = st.sampled_from([SMALLEST, 1e-6, 1, 1e6, LARGEST]) | st.floats(-12, 12).map(
    lambda exponent: 10.0**exponent
)
figures = st.just(0) | positive
mostly_1 = st.just(1) | st.just(1) | positive


@st.composite
def profiles(draw: st.DrawFn, arriving: float) -> Profile:
    """Of any form; a thousandth of the arriving tuples to thirty times as many fill a thread."""
    rate = arriving * 10.0 ** draw(st.floats(-1.5, 3))
    rate = min(max(rate, SMALLEST), LARGEST / 2)
    one, few = draw(figures), draw(st.just(0) | st.just(0.1) | positive)
    match draw(st.integers(0, 3)):
        case 0:
            return ServiceRate(rate, one, few, draw(figures), draw(figures))
        case 1:
            return FixedLoad(draw(st.integers(1, 3)), few, draw(figures))
        case 2:
            rows = ThreadRow(1, rate, one, few), ThreadRow(3, 2 * rate, draw(figures), few)
            return ThreadTable(rows)
    return TaskCosts(min(max(100 / rate, SMALLEST), LARGEST), few, draw(figures), draw(figures))


@st.composite
def extremes(draw: st.DrawFn) -> tuple[Pipeline, float]:
    """A chain with figures of any magnitude, on machines likewise, and a rate."""
    size = draw(st.integers(2, 4))
    operators = (
        Operator("o0", "source", draw(mostly_1)),
        *(Operator(f"o{n}") for n in range(1, size)),
    )
    streams = tuple(Stream(f"o{n}", f"o{n + 1}", draw(mostly_1)) for n in range(size - 1))
    topology, rate = Topology("extreme", operators, streams), draw(positive)
    try:
        arriving = arrival_rates(topology, rate).operators.tolist()
        by_operator = {
            f"o{n}": draw(profiles(arriving_here)) for n, arriving_here in enumerate(arriving)
        }
        machine = st.tuples(st.integers(1, 4), mostly_1, figures, mostly_1)
        machines = draw(st.lists(machine, min_size=1, max_size=3))
        memory_gb = min(memory / slots for slots, memory, *_ in machines)
        catalog, cluster = (), None
        if draw(st.booleans()):
            catalog = tuple(VmType(f"m{n}", *machine) for n, machine in enumerate(machines))
        else:
            nodes = tuple(Node(f"m{n}", *machine) for n, machine in enumerate(machines))
            cluster = Cluster(nodes, memory_gb)
        delays = NetworkDelays(*(draw(figures) for _ in range(4)))
        profiled = Profiles(by_operator, memory_gb * 1024)
        goals = Goals(latency_ms=1e9)
        return Pipeline(topology, profiled, catalog, cluster, goals, delays), rate
    except ModelError:
        # One sentence is a good answer; here the cases are wanted that have none.
        assume(False)
        raise


@pytest.mark.parametrize("placer", registry.PLACERS)
@settings(max_examples=40, deadline=None, suppress_health_check=list(HealthCheck))
@given(case=extremes(), allocator=st.sampled_from(["lsa", "mba", "drs", "p-deployer"]))
def test_extreme_figures(placer: str, case: tuple[Pipeline, float], allocator: str) -> None:
    pipeline, rate = case
    sized = registry.allocator(Choice(allocator)).allocate(
        pipeline.topology, pipeline.profiles, rate, pipeline.goals
    )
    assume(isinstance(sized, Allocation) and max(sized.total_threads, sized.slots) < 300)
    options = {"effort": 0.01} if placer == "exact" else {}
    found = planned(pipeline, rate, allocator, Choice(placer, options))
    if isinstance(found, Plan):
        assert plan_from_json(plan_to_json(found)) == found
    else:
        assert "\n" not in found


def planned(pipeline: Pipeline, rate: float, allocator: str, placer: Choice) -> Plan | str:
    """The plan, or the sentence why there is none."""
    try:
        return slotwise.plan(pipeline, rate, allocator=allocator, placer=placer)
    except SlotwiseError as error:
        return str(error)


@pytest.mark.parametrize(
    ("case", "sentence"),
    [
        ("selectivity-1e-300", "topology.streams.0.selectivity is 1e-300: expected a number from"),
        ("price-1e308-each", "catalog.0.price_per_hour is 1e+308: expected a number from 1e-12 to"),
        ("speed-1e300", "catalog.0.speed is 1e+300: expected a number from 1e-12 to 1e+12"),
    ],
)
def test_a_figure_beyond_its_range_is_named(case: str, sentence: str) -> None:
    with pytest.raises(SlotwiseError) as error:
        slotwise.plan(CASES / f"{case}.yaml")
    assert sentence in str(error.value)


def test_operators_that_get_next_to_nothing_have_a_thread() -> None:
    """A filter that lets one in a billion through is no reason for none."""
    operators = (Operator("in", "source"), Operator("rare"))
    topology = Topology("filter", operators, (Stream("in", "rare", 1e-9),))
    pipeline = Pipeline(
        topology,
        Profiles({"in": FixedLoad(), "rare": ServiceRate(1e6)}, 1024.0),
        catalog=(VmType("m", 2, 2.0),),
    )
    for allocator in ("lsa", "mba", "drs:latency_ms=5", "p-deployer"):
        plan = slotwise.plan(pipeline, 1.0, allocator=allocator, placer="sam")
        assert isinstance(plan, Plan)
        assert plan.threads == {"in": 1, "rare": 1}
