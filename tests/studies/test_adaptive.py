from __future__ import annotations

from slotwise.studies.adaptive import ALPHA_TITLE, SOCCER_TITLE, STAGES_TITLE
from slotwise.studies.schedulers import CHANGE_AT_S, PAUSE_S
from slotwise.studies.study import Table
from tests.studies.quick import quick


def column(table: Table, name: str) -> list[float]:
    return table.column(name)  # type: ignore[return-value]


def test_online_sends_less_between_nodes_than_offline_and_default() -> None:
    table = quick("adaptive").table(STAGES_TITLE)
    default, offline, online = (
        column(table, f"{who} tuples/s between nodes") for who in ("default", "offline", "online")
    )
    for each in zip(online, offline, default, strict=True):
        assert list(each) == sorted(each)
        assert each[0] < each[2]


def test_online_is_faster_than_default_on_the_chain_and_the_soccer_query() -> None:
    for title in (STAGES_TITLE, SOCCER_TITLE):
        assert min(column(quick("adaptive").table(title), "online below default %")) > 10


def test_whatever_alpha_online_has_less_traffic_and_overloads_no_slot() -> None:
    table = quick("adaptive").table(ALPHA_TITLE)
    traffic = [column(table, f"{who} tuples/s between nodes") for who in ("online", "offline")]
    assert all(online < offline for online, offline in zip(*traffic, strict=True))
    # A slot that is asked for more than its core has a latency of seconds.
    assert min(column(table, "online below default %")) > 10


def test_the_latency_falls_after_the_change_in_mid_run() -> None:
    chart = next(c for c in quick("adaptive").charts if c.name == "time-chain")
    online = next(line for line in chart.lines if line.name == "online")
    at = dict(zip(online.x, online.y, strict=True))
    before, after = at[CHANGE_AT_S - 10.5], at[CHANGE_AT_S + PAUSE_S + 20.5]
    assert after is not None
    assert before is not None
    assert after < before
