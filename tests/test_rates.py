"""Arrival rates of DAGs and loops."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given

from slotwise.model import Grouping, ModelError, Operator, Stream, Topology
from slotwise.rates import arrival_rates
from slotwise.testing import strategies
from tests.builders import topology


def by_name(of: Topology, values: np.ndarray) -> dict[str, float]:
    return {operator.name: float(v) for operator, v in zip(of.operators, values, strict=True)}


def test_selectivities_multiply_and_inputs_add_up() -> None:
    diamond = topology("in>a", "in>b:0.5", "a>out:2", "b>out")
    rates = arrival_rates(diamond, 100.0)
    assert by_name(diamond, rates.operators) == {"in": 100, "a": 100, "b": 50, "out": 250}
    assert list(rates.streams) == [100, 50, 200, 50]


def test_every_source_emits_its_share_of_the_input_rate() -> None:
    fan_in = Topology(
        "fan-in",
        (Operator("a", "source"), Operator("b", "source", share=0.25), Operator("c")),
        (Stream("a", "c"), Stream("b", "c")),
    )
    rates = arrival_rates(fan_in, 100.0)
    assert list(rates.operators) == [100, 25, 125]
    assert rates.external == 125


def test_a_loop_adds_a_geometric_series() -> None:
    loop = topology("in>a", "a>b", "b>a:0.5!")
    assert by_name(loop, arrival_rates(loop, 100.0).operators)["a"] == pytest.approx(200)


def test_an_operator_may_feed_itself() -> None:
    loop = topology("in>a", "a>a:0.75!")
    assert by_name(loop, arrival_rates(loop, 100.0).operators)["a"] == pytest.approx(400)


@pytest.mark.parametrize("gain", ["1", "1.5"])
def test_a_loop_that_multiplies_its_tuples_is_refused_by_name(gain: str) -> None:
    with pytest.raises(ModelError, match=f"the loop a → b → a multiplies its tuples by {gain} "):
        arrival_rates(topology("in>a", "a>b", f"b>a:{gain}!"), 100.0)


def test_all_grouping_delivers_to_every_thread() -> None:
    alerts = Topology(
        "alerts",
        (Operator("in", "source"), Operator("a"), Operator("b")),
        (Stream("in", "a", grouping=Grouping("all")), Stream("a", "b")),
    )
    assert list(arrival_rates(alerts, 10.0, [1, 3, 1]).operators) == [10, 30, 30]
    assert list(arrival_rates(alerts, 10.0).operators) == [10, 10, 10]


@pytest.mark.parametrize("rate", [0.0, -1.0, math.nan, math.inf])
def test_a_rate_is_a_positive_number(rate: float) -> None:
    with pytest.raises(ModelError, match="expected a number > 0"):
        arrival_rates(topology("a>b"), rate)


@given(strategies.topologies())
def test_rates_conserve_flow_and_are_linear(of: Topology) -> None:
    rates, double = arrival_rates(of, 10.0), arrival_rates(of, 20.0)
    for position, inputs in enumerate(of.inputs):
        if inputs:
            assert rates.operators[position] == pytest.approx(sum(rates.streams[list(inputs)]))
    assert double.operators == pytest.approx(rates.scaled(2).operators)
