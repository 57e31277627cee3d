"""The same tandem in SimPy and ciw: our mean lies within their confidence intervals."""

from __future__ import annotations

import random
import statistics

import ciw
import pytest
import simpy
from scipy.stats import t

from slotwise.simulation import Routing, simulate
from tests.builders import topology
from tests.simulation.builders import plan

RATE, STAGES = 1.5, ((1.0, 2), (2.0, 1))
"""Input tuples/s; service rate and servers of each stage."""
REPLICATIONS, TUPLES = 12, 2_500


@pytest.fixture(scope="module")
def ours_s() -> float:
    given = plan(topology("a>b", "b>c"), {"b": 1.0, "c": 2.0}, {"b": 2, "c": 1})
    found = simulate(given, RATE, routing=Routing(queue="shared"), tuples=1_000_000)
    return found.sojourn_ms / 1000


def simpy_mean_s(seed: int) -> float:
    drawn, environment = random.Random(seed), simpy.Environment()
    stages = [(rate, simpy.Resource(environment, servers)) for rate, servers in STAGES]
    sojourns = []

    def tuple_() -> object:
        arrived = environment.now
        for rate, servers in stages:
            with servers.request() as place:
                yield place
                yield environment.timeout(drawn.expovariate(rate))
        sojourns.append(environment.now - arrived)

    def source() -> object:
        for _ in range(TUPLES):
            yield environment.timeout(drawn.expovariate(RATE))
            environment.process(tuple_())

    environment.process(source())
    environment.run()
    return statistics.fmean(sojourns[TUPLES // 10 :])


def ciw_mean_s(seed: int) -> float:
    ciw.seed(seed)
    network = ciw.create_network(
        arrival_distributions=[ciw.dists.Exponential(RATE), None],
        service_distributions=[ciw.dists.Exponential(rate) for rate, _ in STAGES],
        number_of_servers=[servers for _, servers in STAGES],
        routing=[[0.0, 1.0], [0.0, 0.0]],
    )
    simulation = ciw.Simulation(network)
    simulation.simulate_until_max_customers(TUPLES, method="Finish")
    left: dict[int, float] = {}
    came: dict[int, float] = {}
    for record in simulation.get_all_records():
        number = record.id_number
        came[number] = min(came.get(number, record.arrival_date), record.arrival_date)
        left[number] = max(left.get(number, 0.0), record.exit_date)
    done = sorted(number for number in came if number > TUPLES // 10)
    return statistics.fmean(left[number] - came[number] for number in done)


@pytest.mark.parametrize("mean_s", [simpy_mean_s, ciw_mean_s])
def test_our_mean_is_within_their_confidence_interval(mean_s: object, ours_s: float) -> None:
    means = [mean_s(seed) for seed in range(REPLICATIONS)]
    margin = t.ppf(0.995, REPLICATIONS - 1) * statistics.stdev(means) / REPLICATIONS**0.5
    assert abs(statistics.fmean(means) - ours_s) < margin
    assert margin < 0.15 * ours_s, "an interval that excludes something"
