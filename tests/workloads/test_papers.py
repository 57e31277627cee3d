"""The workloads of the studies, bundled or built by functions, are what the papers describe."""

from __future__ import annotations

import pytest

from slotwise.model import Pipeline, TaskCosts
from slotwise.rates import arrival_rates
from slotwise.spec import load
from slotwise.workloads import adaptive, drs, p_deployer, pipeline


def rates(made: Pipeline) -> dict[str, float]:
    values = arrival_rates(made.topology, 1.0).operators.tolist()
    return dict(zip(made.topology.index, values, strict=True))


def depth(made: Pipeline) -> int:
    topology = made.topology
    found = dict.fromkeys(range(len(topology.operators)), 1)
    for position in topology.order:
        for stream in topology.inputs[position]:
            found[position] = max(found[position], found[topology.edges[stream][0]] + 1)
    return max(found.values())


def test_five_stages_five_times_replicated_are_thirty_executors() -> None:
    made = adaptive.chain(5)
    assert sum(adaptive.chain_threads(made, 5, 5, 5).values()) == 30
    kinds = [stream.grouping.kind for stream in made.topology.streams]
    assert kinds == ["shuffle", "fields", "shuffle", "fields", "shuffle"]


def test_the_chains_executors_by_kind() -> None:
    """Figure 3: 4 spouts, 3 threads where tuples are shuffled, 2 where they are grouped."""
    threads = adaptive.chain_threads(adaptive.chain(7), 3, 2, 4)
    assert threads["spout"] == 4
    assert threads["simple-1"] == threads["ack"] == 3
    assert threads["stateful-3"] == 2


def test_the_soccer_query_gets_all_sensors() -> None:
    soccer = load("soccer")
    assert soccer.goals.rate == adaptive.SENSORS * 200
    assert set(adaptive.SOCCER_THREADS) == set(soccer.topology.index)
    assert soccer.profiles.fixed("sensor").threads == adaptive.SOCCER_THREADS["sensor"]  # type: ignore[union-attr]


def test_the_chain_runs_on_the_soccer_querys_cluster() -> None:
    soccer, chain = load("soccer"), adaptive.chain(3)
    assert chain.cluster == soccer.cluster
    assert chain.network == soccer.network
    assert chain.topology.workers == soccer.topology.workers == 8


def test_the_last_bolt_of_the_random_topology_gets_every_tuple_twice() -> None:
    case = pipeline.random_topology()
    assert rates(case.pipeline)["bolt-4"] == 2
    assert sum(case.threads.values()) == 30


@pytest.mark.parametrize("threads", [3, 6])
def test_the_spout_has_as_many_threads_as_the_bolts(threads: int) -> None:
    """Section V.E varies them from 3 to 6."""
    case = pipeline.random_topology(threads)
    assert set(case.threads.values()) == {threads}
    assert case.pipeline.profiles.fixed("spout").threads == threads  # type: ignore[union-attr]


def test_all_topologies_of_paper_4_have_the_same_bolts_and_kind_of_node() -> None:
    cases = [make() for make in (pipeline.random_topology, pipeline.linear, pipeline.diamond)]
    tapering = pipeline.tapering().pipeline
    for case in cases:
        assert case.pipeline.profiles["bolt-1"] == tapering.profiles["bolt-4"]
        assert case.pipeline.network == tapering.network
        assert {node.slots for node in case.pipeline.cluster.nodes} == {4}  # type: ignore[union-attr]
    assert [len(case.pipeline.cluster.nodes) for case in cases] == [9, 8, 8]  # type: ignore[union-attr]


def test_the_tapering_chain_loads_every_thread_alike() -> None:
    case = pipeline.tapering()
    per_thread = {name: rate / case.threads[name] for name, rate in rates(case.pipeline).items()}
    assert set(per_thread.values()) == {1 / 16}


def test_twitter_sentiment_is_a_tree_of_eleven_operators_eight_deep() -> None:
    made = load("twitter-sentiment")
    assert len(made.topology.operators) == 11
    assert len(made.topology.streams) == 10
    assert depth(made) == 8


@pytest.mark.parametrize("bound", p_deployer.TYPES)
def test_each_type_of_operator_is_bound_by_what_it_is_named_after(bound: str) -> None:
    costs = p_deployer.profile_of(bound)
    assert isinstance(costs, TaskCosts)
    assert min(costs.bounds, key=lambda name: costs.bounds[name]) == bound


def test_paper_3s_topologies_share_machines_and_goals() -> None:
    twitter = load("twitter-sentiment")
    for made in (p_deployer.linear(), p_deployer.diamond(), p_deployer.star()):
        assert made.catalog == twitter.catalog
        assert made.goals == twitter.goals


def test_two_spouts_share_the_stars_input() -> None:
    assert rates(p_deployer.star())["hub"] == 1


def test_video_logo_detection_with_other_service_times() -> None:
    made = drs.video_logo_detection(service_scv=4.0)
    assert made.profiles.service("matcher").service_scv == 4.0
    assert drs.video_logo_detection() == load("vld")


def test_the_synthetic_chain_computes_as_long_as_it_is_told() -> None:
    made = drs.synthetic_chain(30.0, drs.NetworkDelays())
    services = [made.profiles.service(name).rate for name in ("first", "second", "third")]
    assert sum(1000 / rate for rate in services) == pytest.approx(30.0)
