from __future__ import annotations

from slotwise.studies.model_driven import ACCURACY, BOUGHT, FIXED, STEP, WEIGHTS
from tests.studies.quick import quick


def slots(pair: str, dag: str = "linear") -> dict[float, int]:
    rows = quick("model-driven").table(BOUGHT).rows
    return {row[2]: row[3] for row in rows if row[:2] == (dag, pair)}  # type: ignore[misc]


def test_lsa_takes_nearly_twice_the_slots_of_mba() -> None:
    """Golden: 7 and 13 against 4 and 7, linear at 50 and 100 tuples/s."""
    assert slots("lsa+r-storm") == {50: 7, 100: 13}
    assert slots("mba+sam") == {50: 4, 100: 7}


def test_the_model_foresees_the_rate_better_than_the_plan() -> None:
    rows = quick("model-driven").table(ACCURACY).rows
    r2 = {way: value for points, way, value, _ in rows if points == "planned for a rate, all DAGs"}
    assert r2["planned"] < r2["predicted, paper's routing"]  # type: ignore[operator]
    assert r2["predicted, paper's routing"] < r2["predicted, shuffle"]  # type: ignore[operator]
    assert r2["predicted, shuffle"] > 0.95  # type: ignore[operator]


def test_mba_uses_the_same_slots_better_than_lsa() -> None:
    rows = quick("model-driven").table(FIXED).rows
    simulated = {(row[0], row[1]): row[-1] for row in rows}
    for dag in ("linear", "diamond"):
        worst = min(simulated[dag, f"mba+{p}"] for p in ("round-robin", "r-storm", "sam"))
        best = max(simulated[dag, f"lsa+{p}"] for p in ("round-robin", "r-storm"))
        assert worst > best  # type: ignore[operator]


def test_weights_gain_where_shuffle_hurts_and_cost_no_more_than_a_step_elsewhere() -> None:
    """A step is what the search for the highest rate can tell apart."""
    rows = quick("model-driven").table(WEIGHTS).rows
    rates = {(row[0], row[1]): (row[2], row[3]) for row in rows}
    shuffled, weighted = rates["linear", "mba+r-storm"]
    assert weighted > 1.2 * shuffled  # type: ignore[operator]
    for shuffled, weighted in rates.values():
        assert weighted >= shuffled - STEP  # type: ignore[operator]
