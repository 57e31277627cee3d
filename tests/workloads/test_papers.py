"""The workloads built by functions are what the papers describe."""

from __future__ import annotations

import pytest

from slotwise.model import Pipeline
from slotwise.rates import arrival_rates
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
    assert adaptive.SOCCER_RATE == 6400
    assert set(adaptive.SOCCER_THREADS) == set(adaptive.soccer().topology.index)


def test_the_last_bolt_of_the_random_topology_gets_every_tuple_twice() -> None:
    case = pipeline.random_topology()
    assert rates(case.pipeline)["bolt-4"] == 2
    assert sum(case.threads.values()) == 30


def test_the_tapering_chain_loads_every_thread_alike() -> None:
    case = pipeline.tapering()
    per_thread = {name: rate / case.threads[name] for name, rate in rates(case.pipeline).items()}
    assert set(per_thread.values()) == {1 / 16}


def test_twitter_sentiment_is_a_tree_of_eleven_operators_eight_deep() -> None:
    made = p_deployer.twitter_sentiment()
    assert len(made.topology.operators) == 11
    assert len(made.topology.streams) == 10
    assert depth(made) == 8


@pytest.mark.parametrize(
    ("costs", "bound"),
    [
        (p_deployer.CPU_BOUND, "cpu"),
        (p_deployer.IO_BOUND, "io"),
        (p_deployer.SOJOURN_BOUND, "sojourn"),
        (p_deployer.MEMORY_BOUND, "memory"),
    ],
)
def test_each_type_of_operator_is_bound_by_what_it_is_named_after(
    costs: p_deployer.TaskCosts, bound: str
) -> None:
    assert min(costs.bounds, key=lambda name: costs.bounds[name]) == bound


def test_two_spouts_share_the_stars_input() -> None:
    assert rates(p_deployer.star())["hub"] == 1


def test_the_synthetic_chain_computes_as_long_as_it_is_told() -> None:
    made = drs.synthetic_chain(30.0, drs.NetworkDelays())
    services = [made.profiles.service(name).rate for name in ("first", "second", "third")]
    assert sum(1000 / rate for rate in services) == pytest.approx(30.0)
