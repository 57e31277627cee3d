from __future__ import annotations

from slotwise.studies.convergence import ROUNDS
from slotwise.studies.p_deployer import MACHINES, TWITTER
from tests.studies.quick import quick


def test_p_deployer_needs_no_more_machines_than_metis() -> None:
    for row in quick("p-deployer").table(MACHINES).rows:
        assert row[2] <= row[3], row  # type: ignore[operator]


def test_the_target_is_met_within_a_few_rounds() -> None:
    rounds = quick("p-deployer").table(MACHINES).column("rounds")
    assert max(rounds) <= 7  # type: ignore[type-var, operator]


def test_profiles_that_are_too_low_are_corrected_round_by_round() -> None:
    table = quick("p-deployer").table(ROUNDS)
    rows = [row for row in table.rows if row[0] == "diamond"]
    reached, machines = [row[4] for row in rows], [row[5] for row in rows]
    assert 1 < len(rows) <= 7
    assert reached[0] < 80  # type: ignore[operator]
    assert reached[-1] > 98  # type: ignore[operator]
    assert machines[-1] > machines[0]  # type: ignore[operator]


def test_packing_time_comes_from_the_clock() -> None:
    assert quick("p-deployer").table(TWITTER).column("packing s") == [0.001 / 5]
