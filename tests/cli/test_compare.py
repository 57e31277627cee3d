from __future__ import annotations

import csv
import io
import json

import pytest

from slotwise.cli.parameters import split_algorithms

from .conftest import Run

TWO_BY_TWO = ("compare", "linear", "--rates", "50,100", "--allocators", "mba,drs")
PAIRS = (*TWO_BY_TWO, "--placers", "sam,round-robin")


def test_a_table_per_rate_that_fits_80_columns(run: Run) -> None:
    ran = run(*PAIRS)
    assert (ran.status, ran.err) == (0, "")
    assert ran.out.startswith("50 tuples/s\n")
    assert "\n100 tuples/s\n" in ran.out
    assert ran.out.count("refused drs + sam, round-robin") == 2
    assert "needs a latency bound" in ran.out
    assert max(map(len, ran.out.splitlines())) <= 80


def test_json_has_a_row_per_pair_and_null_for_no_bound(run: Run) -> None:
    rows = json.loads(run(*PAIRS, "--json").out)
    assert [(row["rate"], row["allocator"], row["placer"]) for row in rows] == [
        (rate, allocator, placer)
        for rate in (50, 100)
        for allocator in ("mba", "drs")
        for placer in ("sam", "round-robin")
    ]
    assert rows[4]["slots"] == 7
    assert rows[4]["latency_ms"] is None
    assert rows[6]["slots"] is None
    assert rows[6]["refused"].startswith("drs: ")


def test_csv_has_the_same_rows(run: Run) -> None:
    rows = list(csv.DictReader(io.StringIO(run(*PAIRS, "--csv").out)))
    told = json.loads(run(*PAIRS, "--json").out)
    assert [row["slots"] for row in rows] == [str(row["slots"] or "") for row in told]
    assert list(rows[0]) == list(told[0])


def test_options_tell_rows_apart(run: Run) -> None:
    placers = "topology:alpha=0.2,beta=0.5,sam"
    ran = run("compare", "linear", "--rates", "50", "--allocators", "mba", "--placers", placers,
              "--json")  # fmt: skip
    found = [row["placer"] for row in json.loads(ran.out)]
    assert found == ["topology:alpha=0.2,beta=0.5", "sam"]


def test_auto_may_be_listed(run: Run) -> None:
    ran = run("compare", "starter", "--allocators", "mba", "--placers", "auto", "--json")
    (row,) = json.loads(ran.out)
    assert (row["placer"], row["rate"], row["refused"]) == ("auto", 5000, None)


def test_no_plan_at_all_is_an_error_after_the_table(run: Run) -> None:
    ran = run("compare", "linear", "--rates", "50", "--allocators", "drs", "--placers", "sam")
    assert ran.status == 1
    assert "refused drs + sam" in ran.out
    assert ran.err == "slotwise: no pair has a plan\n"


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("sam", ["sam"]),
        ("sam, auto", ["sam", "auto"]),
        ("a:x=1,y=2,b,c:z=3", ["a:x=1,y=2", "b", "c:z=3"]),
        ("a:x=1,b:y=2", ["a:x=1", "b:y=2"]),
    ],
)
def test_commas_part_algorithms_and_their_options(text: str, names: list[str]) -> None:
    assert split_algorithms(text) == names
