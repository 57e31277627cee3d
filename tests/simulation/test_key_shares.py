"""The parts that threads get in the mean are those that a run deals out tuple by tuple."""

from __future__ import annotations

import numpy as np
import pytest

from slotwise.model import Grouping, Operator, Plan, Stream, Topology
from slotwise.prediction.groups import thread_keys
from slotwise.rates import arrival_rates
from slotwise.simulation import Keys, simulate
from slotwise.simulation.key_shares import key_shares
from tests.simulation.builders import plan

FIELDS = Grouping("fields", ("key",))
WEIGHTS = (0.5, 0.3, 0.2)


def diamond() -> Plan:
    """Keys written by unevenly fed threads meet keys from the source; then they go on."""
    names = ("weighted", "one", "keyed", "mixed", "last")
    made = Topology(
        "t",
        (Operator("source", "source"), *(Operator(name) for name in names)),
        (
            Stream("source", "weighted", grouping=Grouping("weighted")),
            Stream("source", "one", grouping=Grouping("global")),
            Stream("source", "keyed", grouping=FIELDS),
            Stream("weighted", "mixed", 2.0, FIELDS),
            Stream("one", "mixed", 1.0, FIELDS),
            Stream("keyed", "mixed", 1.0, Grouping("shuffle")),
            Stream("mixed", "last", 1.0, FIELDS),
        ),
    )
    threads = {"source": 2, "weighted": 3, "one": 2, "keyed": 3, "mixed": 5, "last": 4}
    return plan(made, {}, threads, weights={"weighted": WEIGHTS})


def received(given: Plan, keys: Keys, operator: str) -> list[float]:
    found = simulate(given, 100.0, keys=keys, tuples=40_000, warm_up=0.0)
    rates = np.array([load.arrival_rate for load in found.threads if load.operator == operator])
    return list(rates / rates.sum())


@pytest.mark.parametrize(
    "keys",
    [
        Keys(),
        Keys("zipf", 20, 1.2),
        Keys("recorded", recorded=(0.0, 3.0, 1.0)),
        Keys(forwarded=0.5),
        Keys("zipf", 20, 1.2, forwarded=0.3),
        Keys(forwarded=0.0),
    ],
)
@pytest.mark.parametrize("operator", ["keyed", "last"])
def test_threads_get_the_parts_that_a_run_deals_out(operator: str, keys: Keys) -> None:
    given = diamond()
    topology, first = given.pipeline.topology, given.allocation.first_thread
    rates = arrival_rates(topology, 100.0, given.placement.threads)
    position = topology.index[operator]
    shares = key_shares(given, rates, keys)[first[position] : first[position + 1]]
    assert shares.sum() == pytest.approx(1.0)
    assert list(shares) == pytest.approx(received(given, keys, operator), abs=0.01)


def test_with_the_usual_keys_they_are_those_of_a_prediction() -> None:
    given = diamond()
    rates = arrival_rates(given.pipeline.topology, 100.0, given.placement.threads)
    usual = thread_keys(given.pipeline.topology, given.placement) / Keys().number
    assert key_shares(given, rates, Keys()).tolist() == usual.tolist()
