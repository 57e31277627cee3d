from __future__ import annotations

import re

import pytest

import slotwise
from slotwise import workloads
from slotwise.allocators.drs import Drs
from slotwise.model import Allocation, FixedLoad, SlotwiseError, Topology
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
        "finance",
        "fpd",
        "grid",
        "linear",
        "loop",
        "random",
        "soccer",
        "star",
        "starter",
        "tapering",
        "traffic",
        "twitter-sentiment",
        "vld",
        "word-count",
    )


@pytest.mark.parametrize("name", workloads.names())
def test_an_example_plans_at_its_own_rate(name: str) -> None:
    plan = slotwise.plan(name, allocator="mba", placer="sam")
    assert plan.rate == load(name).goals.rate
    assert plan_from_json(plan_to_json(plan)) == plan


@pytest.mark.parametrize("name", [name for name in workloads.names() if name != "starter"])
def test_every_stream_of_the_papers_says_its_grouping(name: str) -> None:
    lines = workloads.read(name).splitlines()
    streams = [line for line in lines if line.startswith("    - {from: ")]
    assert len(streams) == len(load(name).topology.streams)
    assert all("grouping: " in line for line in streams)


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


def with_a_topic(spec: str) -> str:
    """The spec of `loop`, changed as its comments say."""
    lines = spec.splitlines()
    to, back, operator, profile, package = (
        line.removeprefix("#     ") for line in lines[1:30] if line.startswith(GIVEN)
    )
    changed = []
    for line in lines:
        if line.startswith("    - ") and "loop: true" in line:
            changed += [f"    {to}", f"    {back}"]
        else:
            changed.append(line)
        if line == "  operators:":
            changed.append(f"    {operator}")
        if line == "profiles:":
            changed.append(f"  {profile}")
    return "\n".join([*changed, package, ""])


GIVEN = ("#     - ", "#     changes: ", "#     packages: ")


def test_spark_takes_the_loop_with_the_topic_that_its_comments_give() -> None:
    pytest.importorskip("pyspark")
    from slotwise.spark.query.outline import outline

    spec = workloads.read("loop")
    with pytest.raises(SlotwiseError, match="in its place, the streams detector → TOPIC"):
        outline(slotwise.plan(loads(spec)))
    made = slotwise.plan(loads(with_a_topic(spec)))
    assert made.pipeline.packages
    assert made.threads["changes"] == 1
    assert outline(made).layout.level[made.pipeline.topology.index["changes"]] == 0


def test_drs_divides_22_processors_of_the_loop_as_in_paper_5() -> None:
    loop = load("loop")
    for drs in (Drs(processors=22), Drs(**loop.scheduler.allocator.options)):
        allocation = drs.allocate(loop.topology, loop.profiles, 320.0, loop.goals)
        assert isinstance(allocation, Allocation)
        assert allocation.threads.tolist()[2:] == [6, 13, 3]


def test_drs_divides_processors_of_vld_as_in_paper_5() -> None:
    vld = load("vld")
    for processors, division in ((22, [10, 11, 1]), (17, [8, 8, 1])):
        drs = Drs(processors=processors)
        allocation = drs.allocate(vld.topology, vld.profiles, 26.0, vld.goals)
        assert isinstance(allocation, Allocation)
        assert allocation.threads.tolist()[1:] == division


@pytest.mark.parametrize("name", workloads.names())
def test_the_default_plan_meets_the_goals(name: str) -> None:
    assert {verdict.outcome for verdict in slotwise.plan(name).judged()} == {"met"}


@pytest.mark.parametrize(
    ("name", "slots"),
    [("linear", (4, 7, 15)), ("diamond", (5, 10, 20)), ("star", (5, 10, 20))],
)
def test_paper_1s_slots_at_50_100_and_200(name: str, slots: tuple[int, ...]) -> None:
    plans = [slotwise.plan(name, rate, allocator="mba", placer="sam") for rate in (50, 100, 200)]
    assert tuple(plan.slots - plan.extra_slots for plan in plans) == slots
    assert all(plan_from_json(plan_to_json(plan)) == plan for plan in plans)


@pytest.mark.parametrize(("name", "tasks", "at_sink"), [("traffic", 11, 4), ("grid", 15, 4)])
def test_paper_1s_applications_have_their_authors_structure(
    name: str, tasks: int, at_sink: int
) -> None:
    topology = load(name).topology
    assert len(topology.operators) == tasks + 2
    assert rates(topology)["sink"] == at_sink


@pytest.mark.parametrize("name", ["traffic", "grid"])
def test_every_round_of_five_tasks_has_each_once(name: str) -> None:
    """The paper assigned the five measured tasks to the vertices again and again."""
    kinds = [kind_of(operator.name) for operator in load(name).topology.operators[1:-1]]
    for start in range(0, len(kinds) - 4, 5):
        assert sorted(kinds[start : start + 5]) == sorted(MULTIPLES["linear"])


@pytest.mark.parametrize("name", ["traffic", "finance", "grid"])
def test_tasks_of_one_kind_have_the_table_of_the_micro_dags(name: str) -> None:
    pipeline, linear = load(name), load("linear")
    for operator, profile in pipeline.profiles.by_operator.items():
        assert profile == linear.profiles[kind_of(operator)]
    assert pipeline.catalog == linear.catalog


def test_finance_has_the_largest_input_of_a_pi_task() -> None:
    """Section 8.4: a higher rate arrives at the Pi task than in the other two."""
    largest = {
        name: max(
            rate for operator, rate in rates(load(name).topology).items() if "pi-" in operator
        )
        for name in ("traffic", "finance", "grid")
    }
    assert largest == {"traffic": 1, "finance": 2, "grid": 1}


def kind_of(operator: str) -> str:
    """azure-blob-2 -> azure-blob."""
    return re.sub(r"-\d+$", "", operator)
