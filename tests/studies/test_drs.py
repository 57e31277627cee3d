from __future__ import annotations

from slotwise.studies.drs import MACHINES, NETWORK, SERVICE
from slotwise.studies.estimates import SIX
from slotwise.studies.rebalancing import CHANGE_MINUTE
from slotwise.studies.study import Table
from tests.studies.quick import quick


def numbers(table: Table, name: str) -> list[float]:
    return table.column(name)  # type: ignore[return-value]


def test_the_recommended_division_is_the_best_in_simulation() -> None:
    rows = quick("drs").table(SIX).rows
    for application, recommended in (("VLD", "10:11:1"), ("FPD", "6:13:3")):
        mine = {row[1]: row[5] for row in rows if row[0] == application}
        assert len(mine) == 6
        assert min(mine, key=lambda division: mine[division]) == recommended  # type: ignore[arg-type, return-value]


def test_one_queue_gives_what_the_model_says() -> None:
    for row in quick("drs").table(SIX).rows:
        if row[0] == "VLD":
            assert abs(row[3] / row[5] - 1) < 0.05  # type: ignore[operator]


def test_the_networks_share_falls_with_the_length_of_the_computation() -> None:
    table = quick("drs").table(NETWORK)
    ratios = numbers(table, "simulated/estimated")
    assert ratios == sorted(ratios, reverse=True)
    assert ratios[0] > 2
    for corrected in numbers(table, "simulated/estimated, network added"):
        assert abs(corrected - 1) < 0.03


def test_allen_cunneen_is_closer_than_erlang_where_service_is_not_exponential() -> None:
    table = quick("drs").table(SERVICE)
    for erlang, allen in zip(
        numbers(table, "Erlang error %"), numbers(table, "Allen-Cunneen error %"), strict=True
    ):
        assert abs(allen) < abs(erlang)


def test_machines_are_added_for_a_tight_bound_and_removed_for_a_loose_one() -> None:
    table = quick("drs").table(MACHINES)
    assert table.column("processors before") == [17, 22]
    assert table.column("processors after") == [22, 17]


def test_re_balancing_brings_the_latency_down() -> None:
    chart = next(c for c in quick("drs").charts if c.name == "rebalance-vld")
    line = next(line for line in chart.lines if line.name == "8:12:2")
    before = [y for y in line.y[:CHANGE_MINUTE] if y is not None]
    after = [y for y in line.y[CHANGE_MINUTE + 2 :] if y is not None]
    assert sum(after) / len(after) < sum(before) / len(before)
