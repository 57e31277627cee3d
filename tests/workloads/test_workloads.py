from __future__ import annotations

import pytest

from slotwise import workloads
from slotwise.allocators.drs import Drs
from slotwise.model import Allocation, FixedLoad, Topology
from slotwise.planner import plan_with
from slotwise.rates import arrival_rates
from slotwise.spec import dump, load, loads
from slotwise.spec.plan_json import plan_from_json, plan_to_json

MULTIPLES = {
    "linear": {
        "azure-blob": 1,
        "azure-table": 1,
        "pi": 1,
        "parse-xml": 1,
        "batch-file-write": 1,
    },
    "diamond": {
        "azure-blob": 1,
        "azure-table": 1,
        "pi": 4,
        "parse-xml": 1,
        "batch-file-write": 1,
    },
    "star": {
        "azure-blob": 1,
        "azure-table": 2,
        "pi": 1,
        "parse-xml": 2,
        "batch-file-write": 2,
    },
}


def rates(topology: Topology, rate: float = 1.0) -> dict[str, float]:
    return dict(zip(topology.index, arrival_rates(topology, rate).operators.tolist(), strict=True))


def test_the_bundled_examples() -> None:
    assert workloads.names() == (
        "chain",
        "diamond",
        "linear",
        "loop",
        "star",
        "starter",
        "word-count",
    )


@pytest.mark.parametrize("name", workloads.names())
def test_an_example_loads_and_round_trips(name: str) -> None:
    pipeline = load(name)
    assert loads(dump(pipeline)) == pipeline
    assert name == "starter" or pipeline.topology.name == name


def test_what_is_not_bundled_cannot_be_read() -> None:
    with pytest.raises(KeyError):
        workloads.read("../model/plan")


@pytest.mark.parametrize("name", MULTIPLES)
def test_paper_1s_rates_are_these_multiples_of_the_input(name: str) -> None:
    found = rates(load(name).topology)
    assert {operator: found[operator] for operator in MULTIPLES[name]} == MULTIPLES[name]


@pytest.mark.parametrize(("name", "longest"), [("diamond", 4), ("star", 5), ("linear", 7)])
def test_paper_1s_longest_paths(name: str, longest: int) -> None:
    """Section 8.5: critical paths of 4, 5 and 7 operators, source and sink included."""
    topology = load(name).topology
    depth: dict[int, int] = {}
    for position in topology.order:
        senders = (topology.edges[stream][0] for stream in topology.inputs[position])
        depth[position] = 1 + max((depth[sender] for sender in senders), default=0)
    assert max(depth.values()) == longest


def test_paper_1s_three_share_their_tables_and_machines() -> None:
    linear, diamond, star = (load(name) for name in MULTIPLES)
    assert linear.profiles == diamond.profiles == star.profiles
    assert linear.catalog == diamond.catalog == star.catalog
    assert [vm.slots for vm in linear.catalog] == [1, 2, 4]
    assert linear.slot_memory_gb == 3.5
    bundles = {
        name: linear.profiles.table(name).best.threads
        for name, profile in linear.profiles.by_operator.items()
        if not isinstance(profile, FixedLoad)
    }
    assert bundles == {
        "azure-blob": 50,
        "azure-table": 60,
        "pi": 2,
        "parse-xml": 1,
        "batch-file-write": 1,
    }


def test_the_chain_alternates_its_groupings_and_has_paper_2s_cluster() -> None:
    chain = load("chain")
    kinds = [stream.grouping.kind for stream in chain.topology.streams]
    assert kinds == ["shuffle", "fields", "shuffle", "fields", "shuffle"]
    assert chain.cluster is not None
    assert [node.slots for node in chain.cluster.nodes] == [5] * 8
    assert len(set(chain.cluster.node_rack.tolist())) == 2
    assert chain.topology.workers == 8


def test_the_loop_brings_tuples_back() -> None:
    topology = load("loop").topology
    found = arrival_rates(topology, 320.0, [1, 1, 6, 13, 3]).operators
    assert found[topology.index["generator"]] == 640.0
    assert found[topology.index["detector"]] == pytest.approx(3 * 640 / (1 - 13 * 0.005))


def test_drs_divides_22_processors_of_the_loop_as_in_paper_5() -> None:
    loop = load("loop")
    for drs in (Drs(processors=22), Drs(latency_ms=loop.goals.latency_ms)):
        allocation = drs.allocate(loop.topology, loop.profiles, 320.0)
        assert isinstance(allocation, Allocation)
        assert allocation.threads.tolist()[2:] == [6, 13, 3]


@pytest.mark.parametrize("name", ["chain", "loop", "starter", "word-count"])
def test_what_has_goals_plans_and_meets_them(name: str) -> None:
    pipeline = load(name)
    assert pipeline.goals.rate is not None
    plan = plan_with(pipeline, pipeline.goals.rate, pipeline.scheduler)
    assert plan.missed_goals() == ()
    assert plan_from_json(plan_to_json(plan)) == plan


@pytest.mark.parametrize(
    ("name", "slots"),
    [("linear", (4, 7, 15)), ("diamond", (5, 10, 20)), ("star", (5, 10, 20))],
)
def test_paper_1s_slots_at_50_100_and_200(name: str, slots: tuple[int, ...]) -> None:
    pipeline = load(name)
    plans = [plan_with(pipeline, rate, pipeline.scheduler) for rate in (50.0, 100.0, 200.0)]
    assert tuple(plan.slots - plan.extra_slots for plan in plans) == slots
    assert all(plan_from_json(plan_to_json(plan)) == plan for plan in plans)
