"""Routing weights: the best rate at any magnitude, and no silent failure of the solver."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from ortools.linear_solver import pywraplp

import slotwise
from slotwise.model import FixedLoad, Pipeline, Placement, Profiles, ServiceRate, SlotwiseError
from slotwise.prediction.groups import groups_of
from slotwise.prediction.rate import sustained_rate
from slotwise.rates import arrival_rates
from slotwise.weights import proportional_shares
from tests.builders import cluster, topology

CASES = Path(__file__).parent / "cases"


def best_rate(factor: float, source_cpu: float = 0.0) -> float:
    """`a` has threads in slots 0 and 1 and shares slot 0 with `b`, of which `factor` tuples arrive
    for each of `a`. Served as often less, they take the same CPU.
    """
    of = topology("in>a", f"a>b:{factor}")
    profiles = {
        "in": FixedLoad(1, source_cpu),
        "a": ServiceRate(60.0, 0.9),
        "b": ServiceRate(200.0 * factor),
    }
    pipeline = Pipeline(of, Profiles(profiles, 3584.0), cluster=cluster(1))
    placement = Placement("by hand", (1, 2, 1), np.array([1, 0, 1, 0]))
    assert pipeline.cluster is not None
    groups = groups_of(pipeline, pipeline.cluster, placement)
    unit = arrival_rates(of, 1.0)
    shares = proportional_shares(groups, of, unit, pipeline.cluster)
    return sustained_rate(groups, shares, unit, pipeline.cluster).rate


@pytest.mark.parametrize("exponent", range(-12, 10, 3))
def test_a_slot_is_relieved_whatever_the_magnitude_of_the_rates(exponent: int) -> None:
    # At R: slot 0 has 0.9·x/60 + R/200 ≤ 1 with x = R - 60 in it.
    assert best_rate(10.0**exponent) == pytest.approx(1.9 / (0.9 / 60 + 1 / 200))


def test_a_slot_that_its_fixed_load_overfills_gets_no_tuples() -> None:
    # Slot 1 is short of CPU without any: all of R goes to slot 0, 0.9·R/60 + R/200 ≤ 1.
    assert best_rate(1e-9, source_cpu=1.0) == pytest.approx(1 / (0.9 / 60 + 1 / 200))


def test_operators_that_get_ever_fewer_tuples(capfd: pytest.CaptureFixture[str]) -> None:
    """45 in a row, each with half of the tuples of the one before."""
    predicted = slotwise.plan(CASES / "glop45.yaml", allocator="mba", placer="sam").predicted
    assert predicted is not None
    assert predicted.proportional_capacity == pytest.approx(130.9, abs=0.05)
    assert capfd.readouterr() == ("", "")


def test_a_solver_that_fails_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pywraplp.Solver, "Solve", lambda self: pywraplp.Solver.ABNORMAL)
    with pytest.raises(SlotwiseError, match=r"no routing weights: .* \(GLOP, status 4\)"):
        best_rate(1.0)
