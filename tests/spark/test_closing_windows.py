"""What real-time mode has not: windows that close, and states of one's own. With micro-batches."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("pyspark")

from pyspark.sql import Row, SparkSession
from pyspark.sql.streaming import StatefulProcessor

from slotwise.model import Grouping, Logic, SlotwiseError, Topology
from slotwise.spark.query.outline import outline
from tests.spark.conftest import MODEL, wait_until
from tests.spark.plans import plan, topology
from tests.spark.running import running, written

RECORDS, RATE = 600, 100
WINDOW = "window(ts, '1 second')"


def windows(lateness: str = "0 seconds", by: str = f"zone, {WINDOW}") -> Topology:
    zones = (("by", by), ("n", "count(*)"), ("lateness", lateness))
    keys = tuple(key.strip() for key in re.split(r",(?![^(]*\))", by))
    return topology(
        *("s>zones", "zones>k"),
        logic={
            "s": Logic(expr="struct(id % 2 AS zone)", options=(("records", str(RECORDS)),)),
            "zones": Logic(aggregate=zones, key_groups=2),
        },
        groupings={"s>zones": Grouping("fields", keys)},
    )


@pytest.mark.cluster
def test_a_window_is_answered_once_when_it_has_closed(spark: SparkSession, tmp_path: Path) -> None:
    """All but the last one, which is open as long as no later tuple comes: those of six seconds are
    in six windows, or in seven.
    """
    made = plan(windows(), {"zones": 2}, on=MODEL, rate=RATE, engine="micro-batch")
    with running(spark, made, tmp_path) as run:
        closed = 2 * (RECORDS // RATE - 1)
        wait_until(lambda: len(written(tmp_path)) >= closed, query=run.query)
        assert run.threads_in_place() == (4, 4)
    rows = written(tmp_path)
    found = Counter((row["zone"], row["window"]["start"]) for row in rows)
    assert set(found.values()) == {1}
    counts = [row["n"] for row in rows]
    assert RECORDS - 2 * RATE <= sum(counts) <= RECORDS
    assert max(counts) == RATE // 2
    assert all(row["id"] % 2 == row["zone"] for row in rows)


class Sessions(StatefulProcessor):
    """How many tuples of its key there were so far; told for every fifth."""

    def init(self, handle: Any) -> None:
        self.count = handle.getValueState("count", "n BIGINT")

    def handleInputRows(self, key: Any, rows: Any, timerValues: Any) -> Iterator[Row]:  # noqa: N802
        before = self.count.get()
        n = before[0] if before else 0
        for row in rows:
            n += 1
            if n % 5 == 0:
                yield Row(user=key[0], n=n, largest=row["id"])
        self.count.update((n,))

    def close(self) -> None:
        pass


def sessions(**logic: Any) -> Topology:
    given: dict[str, Any] = {"stateful": ("user",), "key_groups": 2, **logic}
    return topology(
        *("s>sessions", "sessions>k"),
        logic={
            "s": Logic(expr="struct(id % 4 AS user)", options=(("records", str(RECORDS)),)),
            "sessions": Logic(**given),
        },
        groupings={"s>sessions": Grouping("fields", ("user",))},
    )


@pytest.mark.cluster
def test_a_class_keeps_a_state_for_each_key(spark: SparkSession, tmp_path: Path) -> None:
    """Also after the query was stopped and goes on from its checkpoint."""
    of = sessions(python=f"{__name__}:Sessions", schema="user BIGINT, n BIGINT, largest BIGINT")
    made = plan(of, {"sessions": 2}, on=MODEL, rate=RATE, engine="micro-batch")
    with running(spark, made, tmp_path) as run:
        wait_until(lambda: len(written(tmp_path)) > 20, query=run.query)
        run.query.stop()
        run.restart()
        wait_until(lambda: len(written(tmp_path)) == RECORDS // 5, query=run.query)
        assert run.threads_in_place() == (4, 4)
    found = sorted((row["user"], row["n"]) for row in written(tmp_path))
    assert found == [(user, n) for user in range(4) for n in range(5, RECORDS // 4 + 1, 5)]
    assert all(row["largest"] % 4 == row["user"] for row in written(tmp_path))


@pytest.mark.parametrize("engine", ["auto", "real-time"])
def test_real_time_mode_is_refused_with_what_to_do(engine: Any) -> None:
    cases = {
        "'zones' has windows that close, which real-time mode cannot": windows(),
        "'sessions' is stateful, which real-time mode cannot": sessions(
            python=f"{__name__}:Sessions", schema="n BIGINT"
        ),
    }
    for sentence, of in cases.items():
        with pytest.raises(SlotwiseError, match=f"{sentence}: set engine: micro-batch"):
            outline(plan(of, engine=engine))


@pytest.mark.parametrize(
    ("of", "sentence"),
    [
        (sessions(), "stateful 'sessions' has no python: it needs the class"),
        (sessions(python=f"{__name__}:Sessions"), "stateful 'sessions' has no schema"),
        (sessions(python=f"{__name__}:windows"), "windows is no class of a StatefulProcessor"),
    ],
)
def test_what_a_stateful_operator_needs(of: Topology, sentence: str) -> None:
    with pytest.raises(SlotwiseError, match=re.escape(sentence)):
        outline(plan(of, engine="micro-batch"))


@pytest.mark.cluster
def test_what_is_wrong_with_windows_is_one_sentence(spark: SparkSession, tmp_path: Path) -> None:
    for of, sentence in (
        (windows(by="zone"), "operator 'zones': it has lateness, and none of its keys is a window"),
        (windows(lateness="soon"), "operator 'zones': its lateness is 'soon': "),
    ):
        made = plan(of, on=MODEL, engine="micro-batch")
        with pytest.raises(SlotwiseError, match=sentence), running(spark, made, tmp_path):
            pass
