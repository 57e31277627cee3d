from __future__ import annotations

import csv
import io
import json
import os
from dataclasses import replace
from pathlib import Path

import pytest

import slotwise
from slotwise.model import Goals
from slotwise.simulation import ServiceTimes, simulate
from slotwise.spec import dump
from slotwise.spec.observation_json import observation_data

from .conftest import Run

PAIR = ("--allocator", "mba", "--placer", "sam")
LINEAR = ("simulate", "linear", "--rate", "50", "--tuples", "500", *PAIR)


@pytest.fixture
def easy(tmp_path: Path) -> str:
    """word-count at a rate it holds."""
    text = dump(slotwise.load("word-count")).replace("rate: 2000", "rate: 500")
    (tmp_path / "easy.yaml").write_text(text)
    return "easy.yaml"


def test_predicted_and_simulated_side_by_side(run: Run, easy: str) -> None:
    ran = run("simulate", easy, "--tuples", "2000")
    assert (ran.status, ran.err) == (0, "")
    first, second, *_ = ran.out.splitlines()
    assert first.startswith("word-count at 500 tuples/s, by ")
    assert second.endswith("on 1 machine: stable")
    for told in ("Predicted", "Simulated", "Throughput", "p99", "Waiting", "Between nodes"):
        assert told in ran.out
    assert max(map(len, ran.out.splitlines())) <= 80
    assert "inf" not in ran.out
    assert "nan" not in ran.out


def test_json_is_the_observation_and_nothing_else(run: Run, easy: str) -> None:
    ran = run(
        "simulate", easy, "--tuples", "500", "--service", "gamma:scv=2", "--seed", "7", "--json"
    )
    assert (ran.status, ran.err) == (0, "")
    told = json.loads(ran.out)
    plan = slotwise.plan(easy)
    seen = simulate(plan, tuples=500, service=ServiceTimes("gamma", 2), seed=7)
    assert told["simulated"] == json.loads(json.dumps(observation_data(seen), allow_nan=False))
    assert told["predicted"]["origin"] == "predicted"
    assert told["predicted"]["latency_ms"] == slotwise.predict(plan).latency_ms
    assert told["simulated"]["series"]["latency_ms"]
    assert {goal["outcome"] for goal in told["goals"]} == {"met"}


def test_same_seed_same_bytes(run: Run) -> None:
    assert run(*LINEAR, "--json").out == run(*LINEAR, "--json").out
    assert run(*LINEAR, "--json").out != run(*LINEAR, "--json", "--seed", "1").out


def test_a_plan_from_its_file(run: Run, easy: str) -> None:
    run("plan", easy, "--output", "plan.json")
    short = ("--tuples", "300", "--json")
    assert run("simulate", "plan.json", *short).out == run("simulate", easy, *short).out
    faster = json.loads(run("simulate", "plan.json", "--rate", "600", *short).out)
    assert faster["planned_rate"] == 500
    assert faster["simulated"]["offered_rate"] == faster["predicted"]["offered_rate"] == 600


def test_a_goal_that_is_offered_less_is_not_tested(run: Run, easy: str) -> None:
    run("plan", easy, "--output", "plan.json")
    ran = run("simulate", "plan.json", "--rate", "300", "--tuples", "2000")
    assert ran.status == 0
    assert ran.err == (
        "goal not tested: only 300.0/s were offered, less than the goal of 500.0/s\n"
    )


def test_output_is_the_same_json(run: Run, tmp_path: Path) -> None:
    ran = run(*LINEAR, "--json", "--output", "seen.json")
    assert ran.err.startswith("wrote seen.json\n")
    assert (tmp_path / "seen.json").read_text() == ran.out


def test_a_missed_goal_is_99(run: Run, tmp_path: Path) -> None:
    demanding = replace(slotwise.load("linear"), goals=Goals(rate=100, latency_ms=5))
    (tmp_path / "spec.yaml").write_text(dump(demanding))
    pair = ("--allocator", "lsa", "--placer", "sam")
    ran = run("simulate", "spec.yaml", *pair, "--tuples", "2000")
    assert ran.status == 99
    rate, latency = ran.err.splitlines()
    assert rate.startswith("goal missed: simulated capacity ")
    assert rate.endswith("/s is below the goal of 100.0/s (azure-table is the bottleneck)")
    assert latency.startswith("goal missed: simulated mean latency of ")
    assert latency.endswith(" ms is not stable, so it misses the goal of 5.0 ms")


def test_unstable_is_told_with_the_bottleneck(run: Run) -> None:
    """At the rate it is planned for, some threads are asked for a little too much."""
    run("plan", "linear", "--rate", "95", *PAIR, "--output", "plan.json")
    spec = json.loads(Path("plan.json").read_text())
    del spec["pipeline"]["goals"]
    Path("plan.json").write_text(json.dumps(spec))
    ran = run("simulate", "plan.json", "--tuples", "2000")
    assert ran.status == 1
    assert ran.err.startswith("slotwise: unstable at 95/s: ")
    assert "is the bottleneck" in ran.err
    assert ran.out.splitlines()[1].endswith(": unstable")


@pytest.mark.parametrize(
    "options",
    [
        ["--arrivals", "constant:spread=0.2", "--duration", "1m"],
        ["--schedule", "burst:period=10s,length=1s,factor=3"],
        ["--service", "samples:file=recorded.txt", "--keys", "recorded:file=recorded.txt"],
        ["--arrivals", "trace:file=recorded.txt"],
        ["--buffers", "block:capacity=10", "--network", "bandwidth_mb_per_s=100,stepwise=false"],
        ["--buffers", "lose:capacity=1,resend_after_ms=5"],
        ["--buffers", "lose:node_capacity=1", "--network", "bandwidth_mb_per_s=0.1"],
        ["--routing", "shuffle=random,selectivity=random,queue=shared"],
    ],
)
def test_every_option_is_heard(run: Run, options: list[str], tmp_path: Path) -> None:
    (tmp_path / "recorded.txt").write_text("1, 2\n3.5\n\n7 8")
    length = [] if "--duration" in options else ["--tuples", "500"]
    plain = run("simulate", "diamond", "--rate", "20", *length, "--json")
    ran = run("simulate", "diamond", "--rate", "20", *options, *length, "--json")
    assert ran.status in (0, 1, 99)
    assert json.loads(ran.out)["simulated"] != json.loads(plain.out)["simulated"]


def test_links_are_shown_where_they_have_a_bandwidth(run: Run) -> None:
    given = ("simulate", "diamond", "--rate", "60", "--tuples", "500")
    options = ("--network", "bandwidth_mb_per_s=1,tuple_bytes=8192")
    ran = run(*given, *options, "--buffers", "lose:node_capacity=2,resend_after_ms=100")
    assert "Node's links" in ran.out
    assert "Node's links" not in run(*given).out


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        ([], "nothing to simulate: expected a spec, an example, a plan, or --sweep"),
        (["linear", "--rate", "0"], "--rate: invalid value '0'"),
        (["linear", "--rate", "9", "--tuples", "0"], "'0': expected an integer ≥ 1"),
        (["linear", "--rate", "9", "--duration", "5x"], "invalid duration '5x'"),
        (["linear", "--rate", "9", "--duration", "5s", "--tuples", "5"], "remove one of them"),
        (["linear", "--rate", "9", "--seed", "-1"], "'-1': expected an integer ≥ 0"),
        (["linear", "--rate", "9", "--csv"], "--csv requires --sweep"),
        (["linear", "--rate", "9", "--master", "local"], "--master requires --sweep"),
        (["linear", "--sweep", "grid.yaml"], "SPEC cannot be used with --sweep"),
        (["--sweep", "grid.yaml", "--seed", "3"], "--seed cannot be used with --sweep"),
        (["plan.json", "--placer", "sam"], "a plan's algorithms are fixed"),
    ],
)
def test_wrong_usage_is_2(run: Run, arguments: list[str], says: str, tmp_path: Path) -> None:
    ran = run("simulate", *arguments)
    assert (ran.status, ran.out) == (2, "")
    assert says in ran.err
    assert "'slotwise simulate --help'" in ran.err
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["nosuch"], "no such file"),
        (["nosuch.json"], "nosuch.json: the file cannot be read"),
        (["linear", "--rate", "9", "--arrivals", "poison"], "did you mean 'poisson'?"),
        (["linear", "--rate", "9", "--arrivals", "poisson:spred=1"], "did you mean 'spread'?"),
        (
            ["linear", "--rate", "9", "--arrivals", "poisson:spread=x"],
            "invalid value 'x': expected a number",
        ),
        (
            ["linear", "--rate", "9", "--arrivals", "trace"],
            "arrivals 'trace' needs the option 'file'",
        ),
        (["linear", "--rate", "9", "--arrivals", "trace:file=no"], "no: the file cannot be read"),
        (["linear", "--rate", "9", "--service", "gamma:scv=-1"], "scv is -1"),
        (["linear", "--rate", "9", "--service", "gamma:scv=inf"], "expected a finite number"),
        (["linear", "--rate", "9", "--buffers", "block:capacity=1.5"], "expected an integer"),
        (["linear", "--rate", "9", "--buffers", "block:capacity=0"], "expected a number ≥ 1"),
        (["linear", "--rate", "9", "--buffers", "lose"], "'capacity' or 'node_capacity'"),
        (["linear", "--rate", "9", "--buffers", "lose:node_capacity=9"], "bandwidth_mb_per_s"),
        (["linear", "--rate", "9", "--schedule", "step:at=5s"], "needs the option 'factor'"),
        (["linear", "--rate", "9", "--routing", "queue=share"], "expected one of own, shared"),
        (["linear", "--rate", "9", "--routing", "queue"], "invalid option 'queue' in"),
        (["linear", "--rate", "9", "--network", "stepwise=maybe"], "expected true or false"),
        (["--sweep", "nosuch.yaml"], "nosuch.yaml: the file cannot be read"),
    ],
)
def test_an_error_is_1_and_one_sentence(
    run: Run, arguments: list[str], says: str, tmp_path: Path
) -> None:
    ran = run("simulate", *arguments)
    assert (ran.status, ran.out) == (1, "")
    assert says in ran.err
    assert ran.err.count("\n") == 1
    assert list(tmp_path.iterdir()) == []


class TestPlanFiles:
    @pytest.fixture
    def told(self, run: Run, easy: str) -> dict[str, object]:
        made: dict[str, object] = json.loads(run("plan", easy, "--json").out)
        return made

    def refused(self, run: Run, told: object, tmp_path: Path) -> str:
        (tmp_path / "bad.json").write_text(json.dumps(told))
        ran = run("simulate", "bad.json")
        assert (ran.status, ran.out) == (1, "")
        assert ran.err.startswith("slotwise: bad.json: not a plan: ")
        assert ran.err.count("\n") == 1
        return ran.err

    def test_a_plan_that_does_not_fit_its_topology(
        self, run: Run, told: dict[str, object], tmp_path: Path
    ) -> None:
        text = json.dumps(told)
        pipeline = json.dumps(told["pipeline"])
        renamed = text.replace(pipeline, pipeline.replace('"split"', '"other"'))
        self.refused(run, json.loads(renamed), tmp_path)

    @pytest.mark.parametrize("rate", [0, -5, None, "fast"])
    def test_a_rate_that_is_none(
        self, run: Run, told: dict[str, object], rate: object, tmp_path: Path
    ) -> None:
        self.refused(run, told | {"rate": rate}, tmp_path)

    @pytest.mark.parametrize("shares", [[], [0.5, 0.5], [-1.0]])
    def test_weights_for_other_threads(
        self, run: Run, told: dict[str, object], shares: list[float], tmp_path: Path
    ) -> None:
        weights = told["weights"]
        assert isinstance(weights, dict)
        changed = told | {"weights": weights | {"parse": shares}}
        assert "weight of 0 or more for each thread of 'parse'" in self.refused(
            run, changed, tmp_path
        )

    @pytest.mark.parametrize("told_instead", [{}, [], 5, "x"])
    def test_no_plan_at_all(self, run: Run, told_instead: object, tmp_path: Path) -> None:
        self.refused(run, told_instead, tmp_path)


class TestSweep:
    GRID = (
        "spec: linear\nrates: [30, 50, 1.0e+9]\nallocators: [mba]\nplacers: [sam]\nseeds: [0, 1]\n"
        "simulation: {tuples: 300}\n"
    )

    @pytest.fixture
    def grid(self, tmp_path: Path) -> str:
        (tmp_path / "grid.yaml").write_text(self.GRID)
        return "grid.yaml"

    def test_one_table_in_every_form(self, run: Run, grid: str, tmp_path: Path) -> None:
        ran = run("simulate", "--sweep", grid, "--output", "table.csv")
        assert (ran.status, ran.err) == (0, "wrote table.csv\n")
        assert ran.out.splitlines()[3].split()[:4] == ["30", "mba", "sam", "0"]
        assert "refused 1,000,000,000/s, mba + sam: " in ran.out
        told = json.loads(run("simulate", "--sweep", grid, "--json").out)
        assert [(row["rate"], row["seed"]) for row in told] == [
            (rate, seed) for rate in (30, 50, 1e9) for seed in (0, 1)
        ]
        again = run("simulate", "--sweep", grid, "--csv")
        assert again.err == "6 of 6 points are in grid.yaml.journal already\n"
        assert again.out == (tmp_path / "table.csv").read_text()
        rows = list(csv.DictReader(io.StringIO(again.out)))
        assert [float(row["rate"]) for row in rows] == [row["rate"] for row in told]
        assert [row["latency_p99_ms"] for row in rows[:4]] == [
            str(row["latency_p99_ms"]) for row in told[:4]
        ]
        assert sorted(os.listdir(tmp_path)) == ["grid.yaml", "grid.yaml.journal", "table.csv"]

    def test_no_point_has_a_plan(self, run: Run, tmp_path: Path) -> None:
        (tmp_path / "grid.yaml").write_text("spec: linear\nrates: [1.0e+9]\n")
        ran = run("simulate", "--sweep", "grid.yaml", "--journal", "other")
        assert ran.status == 1
        assert ran.err.endswith("none of these points has a plan that can be simulated\n")
        assert (tmp_path / "other").exists()

    def test_a_wrong_file_writes_nothing(self, run: Run, tmp_path: Path) -> None:
        (tmp_path / "grid.yaml").write_text("spec: linear\nplacer: [sam]\n")
        ran = run("simulate", "--sweep", "grid.yaml")
        assert (ran.status, ran.out) == (1, "")
        assert ran.err == (
            "slotwise: grid.yaml:2:1: unknown key 'placer': did you mean 'placers'?\n"
        )
        assert os.listdir(tmp_path) == ["grid.yaml"]

    def test_a_journal_that_cannot_be_written(self, run: Run, grid: str) -> None:
        ran = run("simulate", "--sweep", grid, "--journal", "no/such/folder")
        assert (ran.status, ran.out) == (1, "")
        assert ran.err.startswith(
            "slotwise: no/such/folder: the journal cannot be written (No such"
        )
        assert ran.err.count("\n") == 1
