"""What a new plan asks of a running query, without Spark."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

pytest.importorskip("pyspark")

from slotwise.model import Cluster, Grouping, Logic, Node, Plan, SlotwiseError
from slotwise.model.decision import needs_restart
from slotwise.spark import checkpoints
from slotwise.spark import supervise as supervision
from slotwise.spark.cluster import pinning
from slotwise.spark.cluster.machines import Wait
from tests.clocks import SettableClock
from tests.spark.plans import plan, topology
from tests.spark.scripted import MeteredRun, ScriptedMeters, ScriptedRun

PLAIN = topology("s>a", "a>k")
SHUFFLED = topology("s>a", "a>k", groupings={"s>a": Grouping("shuffle")})
WEIGHTED = topology("s>a", "a>k", groupings={"s>a": Grouping("weighted")})
LOCAL = topology("s>a", "a>k", groupings={"s>a": Grouping("local-or-shuffle")})


def test_new_places_wait_for_the_next_batch() -> None:
    of = plan(PLAIN, 2)
    moved = replace(of, placement=replace(of.placement, slots=np.zeros(6, dtype=np.int64)))
    assert not needs_restart(of, moved)


def test_other_threads_of_an_aggregate_wait_for_the_next_batch() -> None:
    count = Logic(aggregate=(("by", "value"), ("n", "count(*)")))
    by_value = {"s>c": Grouping("fields", ("value",))}
    of = topology("s>c", "c>k", logic={"c": count}, groupings=by_value)
    assert not needs_restart(plan(of, {"c": 2}), plan(of, {"c": 5}))
    assert needs_restart(plan(of, {"c": 2}), plan(of, {"c": 2, "k": 2}))


@pytest.mark.parametrize(
    ("current", "new"),
    [
        (plan(PLAIN, {"a": 2}), plan(PLAIN, {"a": 3})),
        (
            plan(WEIGHTED, {"a": 2}, weights={"a": (0.5, 0.5)}),
            plan(WEIGHTED, {"a": 2}, weights={"a": (0.4, 0.6)}),
        ),
        (plan(LOCAL, 2), plan(LOCAL, 2)),
    ],
    ids=["threads", "weights", "local routes"],
)
def test_another_query_needs_a_restart(current: object, new: object) -> None:
    assert needs_restart(current, new)  # type: ignore[arg-type]


def test_weights_matter_only_where_tuples_are_routed_by_them() -> None:
    both = (0.5, 0.5), (0.4, 0.6)
    even, uneven = (plan(SHUFFLED, {"a": 2}, weights={"a": weights}) for weights in both)
    assert not needs_restart(even, uneven)
    even, uneven = (plan(PLAIN, {"a": 2}, weights={"a": weights}) for weights in both)
    assert needs_restart(even, uneven)
    assert not needs_restart(uneven, uneven)


def test_another_topology_is_refused() -> None:
    run = ScriptedRun(SettableClock(), plan(PLAIN))
    with pytest.raises(SlotwiseError, match="cannot change its topology: start another run"):
        run.apply(plan(topology("s>b", "b>k")))


def test_nothing_measured_yet() -> None:
    run = ScriptedRun(SettableClock())
    run.measures = False
    with pytest.raises(SlotwiseError, match="the run of 'test' has measured nothing yet"):
        run.observe(10)
    run.measures, run.median_ms = True, 5.0
    assert run.observe(10).latency_p50_ms == 5.0


TWO = topology("s>a", "s>b", "a>k", "b>k")


@pytest.fixture
def clock() -> SettableClock:
    return SettableClock(now_s=1000.0)


@pytest.fixture
def metered(monkeypatch: pytest.MonkeyPatch, clock: SettableClock, tmp_path: Path) -> MeteredRun:
    """Threads s, a, b, k; partition 1 of level 1 is b's."""
    seen = ScriptedMeters(monkeypatch, clock)
    seen.rates = {(0, 0): 100, (1, 0): 100, (1, 1): 100, (2, 0): 200}
    run = MeteredRun(clock, seen, plan(TWO))
    run.options = replace(run.options, checkpoint=tmp_path)
    script_places(monkeypatch, run)
    return run


def script_places(monkeypatch: pytest.MonkeyPatch, run: MeteredRun) -> None:
    """Threads are where they were last placed."""
    placed: list[Any] = [run.outline.layout.slots(run.plan.placement)]

    def where(*_: object) -> pinning.Whereabouts:
        return pinning.Whereabouts(
            tuple(
                pinning.TaskPlace(run.batch, level, partition, slot, slot, "a", "host")
                for level, slots in enumerate(placed[-1])
                for partition, slot in enumerate(slots)
            ),
            (),
        )

    monkeypatch.setattr(pinning, "check", lambda *_: None)
    monkeypatch.setattr(pinning, "end", lambda *_: None)
    monkeypatch.setattr(pinning, "place", lambda spark, name, levels, hosts: placed.append(levels))
    monkeypatch.setattr(pinning, "where", where)


def test_figures_of_two_plans_never_mix(metered: MeteredRun, clock: SettableClock) -> None:
    """After the restart, partition 1 of level 1 is the second thread of a."""
    metered.advance(20)
    started = {(0, 0): 100, (1, 0): 70, (1, 1): 30, (1, 2): 100, (2, 0): 200}
    clock.at(1025, lambda: setattr(metered.meters, "rates", started))
    change = metered.apply(plan(TWO, {"a": 2}))
    assert change.how == "restart"
    metered.advance(10)
    seen = metered.observe(last_s=60)
    assert seen.start_s is not None
    assert change.at_s - 1 <= seen.start_s < change.at_s + 1
    assert seen.end_s == pytest.approx(metered.now_s(), abs=1)
    assert [load.arrival_rate for load in seen.threads] == pytest.approx([100, 70, 30, 100, 200])
    assert [load.arrival_rate for load in seen.operators] == pytest.approx([100, 100, 100, 200])
    assert metered.observation() == metered.observe(last_s=60)


def test_input_and_work_stay_as_they_were_whatever_a_new_plan_assumes(
    metered: MeteredRun, clock: SettableClock
) -> None:
    first = metered.plan
    metered.advance(20)
    clock.at(1025, lambda: setattr(metered.meters, "rates", MORE))
    new = plan(TWO, {"a": 2}, rate=900.0)
    metered.apply(new)
    assert metered.plan is new
    assert metered.rate == first.rate
    assert metered.options.profiles is first.pipeline.profiles


MORE = {(0, 0): 100, (1, 0): 70, (1, 1): 30, (1, 2): 100, (2, 0): 200}
"""Of a plan with two threads of a."""


@pytest.fixture
def has_room(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(supervision, "slots", lambda _: ("executor", "executor"))


@pytest.mark.usefixtures("has_room")
def test_a_query_that_fails_while_it_goes_over_is_started_as_newly_planned(
    metered: MeteredRun, clock: SettableClock
) -> None:
    metered.advance(20)
    clock.at(1024, metered.fail)
    clock.at(1026, lambda: setattr(metered.meters, "rates", MORE))
    change = metered.apply(plan(TWO, {"a": 2}))
    assert change.how == "restart"
    assert metered.plan.threads["a"] == 2
    assert metered.starts == [2, 2]
    assert "failed (an executor was lost) and resumed" in metered.events[-1]
    metered.advance(5)
    rates = [load.arrival_rate for load in metered.observe(last_s=60).threads]
    assert [rate / rates[0] for rate in rates] == pytest.approx([1, 0.7, 0.3, 1, 2])


@pytest.mark.usefixtures("has_room")
def test_a_query_that_fails_again_goes_back(metered: MeteredRun, clock: SettableClock) -> None:
    metered.advance(20)
    before, rates = metered.plan, metered.meters.rates
    clock.at(1024, metered.fail)
    clock.at(1025, metered.fail)
    clock.at(1027, lambda: setattr(metered.meters, "rates", rates))
    with pytest.raises(SlotwiseError, match="executor was lost; the run went back to its last pl"):
        metered.apply(plan(TWO, {"a": 2}))
    assert metered.plan is before
    assert metered.starts == [2, 2, 1]
    metered.advance(5)
    assert [load.operator for load in metered.observe(60).threads] == ["s", "a", "b", "k"]


def test_a_query_that_hangs_as_newly_planned_goes_back(
    metered: MeteredRun, clock: SettableClock
) -> None:
    metered.advance(20)
    before, rates = metered.plan, metered.meters.rates
    clock.at(1090, lambda: setattr(metered.meters, "rates", rates))
    with pytest.raises(SlotwiseError, match="delivered no tuple for 60 s; the run went back to"):
        metered.apply(plan(TWO, {"a": 2}))
    assert metered.plan is before
    assert metered.starts == [2, 1]
    metered.advance(5)
    assert metered.query.isActive


@pytest.mark.usefixtures("has_room")
def test_a_query_that_fails_then_hangs_as_newly_planned_goes_back(
    metered: MeteredRun, clock: SettableClock
) -> None:
    metered.advance(20)
    before, rates = metered.plan, metered.meters.rates
    clock.at(1024, metered.fail)
    clock.at(1095, lambda: setattr(metered.meters, "rates", rates))
    with pytest.raises(SlotwiseError, match="delivered no tuple for 60 s; the run went back to"):
        metered.apply(plan(TWO, {"a": 2}))
    assert metered.plan is before
    assert metered.starts == [2, 2, 1]


def test_a_checkpoint_knows_the_plan_in_effect(metered: MeteredRun, clock: SettableClock) -> None:
    first, new = metered.plan, plan(TWO, {"a": 2})
    metered.advance(20)
    clock.at(1025, lambda: setattr(metered.meters, "rates", MORE))
    metered.apply(new)
    assert checkpoints.in_effect(metered.options.checkpoint, first) == new


def test_a_query_that_fails_before_it_goes_over_keeps_its_plan(
    metered: MeteredRun, clock: SettableClock
) -> None:
    metered.advance(20)
    before = metered.plan
    clock.at(1021, metered.fail)
    with pytest.raises(SlotwiseError, match="failed: an executor was lost"):
        metered.apply(plan(TWO, {"a": 2}))
    assert metered.plan is before
    assert metered.starts == []


def test_what_spark_refuses_to_start_goes_back(
    metered: MeteredRun, clock: SettableClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    metered.advance(20)
    before, rates = metered.plan, metered.meters.rates
    metered.refusals.append("Spark refuses 'test': no slots")
    clock.at(1025, lambda: setattr(metered.meters, "rates", rates))
    with pytest.raises(SlotwiseError, match="no slots; the run went back to its last plan"):
        metered.apply(plan(TWO, {"a": 2}))
    assert metered.plan is before
    assert metered.starts == [1]


def test_what_has_no_room_is_refused_before_the_query_stops(
    metered: MeteredRun, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: object) -> None:
        raise SlotwiseError("slot 0 would hold 9 threads")

    metered.advance(20)
    monkeypatch.setattr(pinning, "check", refuse)
    with pytest.raises(SlotwiseError, match="would hold 9 threads"):
        metered.apply(plan(TWO, {"a": 2}))
    assert metered.query.isActive
    assert metered.plan.threads["a"] == 1


def test_a_run_that_is_to_end_is_not_changed(metered: MeteredRun, clock: SettableClock) -> None:
    metered.advance(20)
    metered.is_over = lambda: clock.now_s() >= 1021
    with pytest.raises(SlotwiseError, match="the run of 'test' was ended"):
        metered.apply(plan(TWO, {"a": 2}))
    with pytest.raises(SlotwiseError, match="the run of 'test' is ending"):
        metered.apply(plan(TWO, {"a": 2}))
    assert metered.query.isActive


@dataclass
class ScriptedMachines:
    """As Machines; a node takes ten seconds."""

    now_s: Callable[[], float]
    nodes: set[Node]
    log: list[str] = field(default_factory=list)
    refusal: str = ""

    def add(self, cluster: Cluster, wait: Wait) -> tuple[Node, ...]:
        until_s = self.now_s() + 10
        missing = tuple(node for node in cluster.nodes if node not in self.nodes)
        self.nodes |= set(missing)
        if missing and (not wait(lambda: self.now_s() >= until_s, 60) or self.refusal):
            raise SlotwiseError(self.refusal)
        self.log += [f"+{node.name}" for node in missing]
        return missing

    def hosts(self, cluster: Cluster) -> tuple[str, ...]:
        return tuple(cluster.nodes[node].name for node in cluster.slot_node)

    def keep(self, cluster: Cluster) -> tuple[Node, ...]:
        others = sorted(self.nodes - set(cluster.nodes), key=lambda node: node.name)
        self.nodes -= set(others)
        self.log += [f"-{node.name}" for node in others]
        return tuple(others)

    def release_unbound(self) -> None:
        self.log.append("late")

    def revive(self) -> tuple[Node, ...]:
        return ()


@pytest.fixture
def elastic(metered: MeteredRun) -> ScriptedMachines:
    made = ScriptedMachines(metered.now_s, set(metered.plan.cluster.nodes))
    metered.machines = made  # type: ignore[assignment]
    return made


def on_other_nodes(of: Plan) -> Plan:
    """The same threads, on the first node and a new one."""
    nodes = (of.cluster.nodes[0], Node("new", 1, 4.0))
    return replace(of, cluster=replace(of.cluster, nodes=nodes))


def test_machines_are_added_before_the_change_and_given_back_after(
    metered: MeteredRun, elastic: ScriptedMachines
) -> None:
    metered.advance(20)
    ticks = len(metered.ticked)
    change = metered.apply(on_other_nodes(metered.plan))
    assert change.how == "next batch"
    assert elastic.log == ["+new", "-n1"]
    assert metered.events[0].startswith("node 'new' was added in 10.")
    assert metered.events[-1] == "node 'n1' was given back"
    assert change.at_s > 30
    assert len(metered.ticked) - ticks >= 10  # the meters were read meanwhile
    metered.advance(5)
    assert [load.name for load in metered.observe(60).nodes] == ["n0", "new"]


def test_a_machine_that_does_not_come_up_leaves_the_last_plan_and_nothing_else(
    metered: MeteredRun, elastic: ScriptedMachines
) -> None:
    metered.advance(20)
    before = metered.plan
    elastic.refusal = "node 'new' has 0 of 1 executors after 60 s"
    with pytest.raises(SlotwiseError, match="has 0 of 1 executors"):
        metered.apply(on_other_nodes(before))
    assert metered.plan is before
    assert elastic.log == ["-new"]
    metered.advance(5)
    assert metered.query.isActive


def test_a_query_that_fails_while_machines_come_up_gives_them_back(
    metered: MeteredRun, elastic: ScriptedMachines, clock: SettableClock
) -> None:
    metered.advance(20)
    before = metered.plan
    clock.at(1023, metered.fail)
    with pytest.raises(SlotwiseError, match="failed: an executor was lost"):
        metered.apply(on_other_nodes(before))
    assert metered.plan is before
    assert elastic.log == ["-new"]


@pytest.mark.usefixtures("has_room")
def test_machines_are_those_of_the_plan_in_effect_after_a_failure(
    metered: MeteredRun, elastic: ScriptedMachines, clock: SettableClock
) -> None:
    """It fails when it has gone over, and goes on as newly planned."""
    metered.advance(20)
    clock.at(1031.5, metered.fail)
    change = metered.apply(on_other_nodes(metered.plan))
    assert change.how == "restart"
    assert elastic.log == ["+new", "-n1"]


def test_executors_that_come_too_late_are_given_back(
    metered: MeteredRun, elastic: ScriptedMachines, monkeypatch: pytest.MonkeyPatch
) -> None:
    metered.advance(3)
    assert elastic.log == []
    last = metered.watch.history.last
    assert last is not None
    late = replace(last.executors[0], executor="late", slot=-1)
    metered.watch.history.append(replace(last, executors=(*last.executors, late)))
    metered.release_late()
    assert elastic.log == ["late"]


def test_a_window_begins_when_new_places_are_in_effect(
    metered: MeteredRun, monkeypatch: pytest.MonkeyPatch
) -> None:
    of = metered.plan
    moved = replace(of, placement=replace(of.placement, slots=np.zeros(4, dtype=np.int64)))
    metered.advance(20)
    change = metered.apply(moved)
    assert change.how == "next batch"
    metered.advance(10)
    seen = metered.observe(last_s=60)
    assert seen.start_s is not None
    assert seen.start_s >= change.at_s - 1
    assert {load.slot for load in seen.threads} == {"n0/0"}


@pytest.mark.parametrize("late_s", [0.02, 40.0], ids=["in pace", "with a backlog"])
def test_the_pause_of_a_move_is_what_tuples_are_later_than_before_it(
    metered: MeteredRun, clock: SettableClock, monkeypatch: pytest.MonkeyPatch, late_s: float
) -> None:
    """The next batch begins at 22 s; in the second after it tuples are 0.8 s later."""
    metered.meters.latency_s = late_s
    metered.advance(20)
    clock.at(1022.5, lambda: setattr(metered.meters, "latency_s", late_s + 0.8))
    clock.at(1023.5, lambda: setattr(metered.meters, "latency_s", late_s))
    of = metered.plan
    moved = replace(of, placement=replace(of.placement, slots=np.zeros(4, dtype=np.int64)))
    change = metered.apply(moved)
    assert change.at_s == pytest.approx(22, abs=1)
    assert change.pause_s == pytest.approx(0.8, abs=2 * 0.004 * late_s + 0.01)


def test_a_window_goes_on_over_a_recovery(
    metered: MeteredRun, clock: SettableClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The plan is the same, and so are its threads."""
    monkeypatch.setattr(supervision, "slots", lambda _: ("executor",))
    clock.at(1010, metered.fail)
    metered.advance(20)
    assert "resumed from its checkpoint" in metered.events[0]
    seen = metered.observe(last_s=60)
    assert (seen.start_s, seen.end_s) == (0, 20)
