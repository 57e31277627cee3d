"""The loop on timelines: a scripted deployment, and controllers that follow a script."""

from __future__ import annotations

import json
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest

from slotwise.adaptation import Adaptation, Rules, Step
from slotwise.adaptation_journal import journaled, set_aside
from slotwise.adaptation_summary import Account, Summary
from slotwise.controllers.base import Situation
from slotwise.model import Change, Decision, Gain, ModelError, Observation, Plan, SlotwiseError
from slotwise.recording import read_recording
from slotwise.replay import situations
from slotwise.report.adaptation import step_lines
from slotwise.spec.plan_json import plan_to_json
from tests.controllers.timelines import Scripted, ScriptedDeployment, plan_at, seen

SMALL, LARGE = plan_at(150.0), plan_at(350.0)
MOVED = replace(SMALL, placement=replace(SMALL.placement, slots=SMALL.placement.slots[::-1].copy()))


def toggling(situation: Situation) -> Plan:
    return LARGE if situation.plan is SMALL else SMALL


def run(
    deployment: ScriptedDeployment,
    controller: Scripted,
    seconds: float,
    control: Path | None = None,
    **rules: Any,
) -> list[Step]:
    loop = Adaptation(
        deployment,
        controller,
        deployment.plan.pipeline.goals,
        Rules(**rules),
        control,
        stopwatch=lambda: 0.0,
    )
    return list(loop.steps(seconds))


def outcomes(steps: list[Step]) -> list[str]:
    return [step.outcome for step in steps]


def test_each_period_is_observed_and_decided_once() -> None:
    controller = Scripted()
    steps = run(ScriptedDeployment(SMALL), controller, 35.0)
    assert [(step.since_s, step.at_s) for step in steps] == [(0, 10), (10, 20), (20, 30), (30, 35)]
    assert outcomes(steps) == ["kept"] * 4
    assert [len(asked.observations) for asked in controller.asked] == [1, 2, 3, 4]
    assert controller.asked[-1].rates == ((10, 150), (20, 150), (30, 150), (35, 150))


def test_after_a_change_nothing_is_decided_before_a_whole_period_past_the_warm_up() -> None:
    """A change at 10 s, a pause of 2 s: the period to 22 s is warm-up, that to 32 s is not."""
    deployment = ScriptedDeployment(SMALL)
    controller = Scripted(lambda situation: LARGE)
    steps = run(deployment, controller, 40.0)
    assert outcomes(steps) == ["applied", "warming up", "kept", "kept"]
    assert steps[0].change == Change(12.0, "restart", 2.0)
    assert (steps[1].since_s, steps[1].at_s) == (10.0, 22.0)  # the pause is in it
    first = controller.asked[1]
    assert first.plan is LARGE
    assert [each.start_s for each in first.observations] == [22.0]
    assert first.changed_s == 12.0
    assert first.pause_s(SMALL) == 2.0  # as measured, not as usual


def test_a_warm_up_that_is_longer_than_a_period() -> None:
    steps = run(ScriptedDeployment(SMALL), Scripted(lambda s: LARGE), 62.0, warm_up_s=30.0)
    assert outcomes(steps) == ["applied", *["warming up"] * 3, "kept", "kept"]


def test_changes_per_hour_are_bounded() -> None:
    deployment = ScriptedDeployment(SMALL)
    steps = run(deployment, Scripted(toggling), 7200.0, changes_per_hour=5)
    times_s = [at_s for at_s, _ in deployment.applied]
    assert len(times_s) == 10
    assert all(later - first > 3600 for first, later in zip(times_s, times_s[5:], strict=False))
    notes = {step.note for step in steps if step.outcome == "recommended"}
    assert notes == {"5 changes within the last hour, as many as allowed"}


@pytest.mark.parametrize(
    ("apply", "wanted", "expected"),
    [
        ("never", LARGE, "recommended"),
        ("never", MOVED, "recommended"),
        ("placement", LARGE, "recommended"),
        ("placement", MOVED, "applied"),
        ("all", LARGE, "applied"),
    ],
)
def test_only_what_is_allowed_is_applied(apply: str, wanted: Plan, expected: str) -> None:
    deployment = ScriptedDeployment(SMALL)
    (step,) = run(deployment, Scripted(lambda s: wanted), 10.0, apply=apply)
    assert step.outcome == expected
    assert bool(deployment.applied) == (expected == "applied")


def test_what_is_refused_leaves_the_last_good_plan_in_effect() -> None:
    deployment = ScriptedDeployment(SMALL, refusals=["no executor came up"])
    steps = run(deployment, Scripted(lambda s: LARGE), 40.0, back_off_s=0.0)
    assert outcomes(steps) == ["refused", "warming up", "applied", "warming up"]
    assert steps[0].note == "no executor came up"
    assert steps[1].plan is SMALL


def test_after_refusals_the_next_change_waits_twice_as_long_each_time() -> None:
    """One at 10 s, the next ones 60, 120 and 240 s after the one before; then it works, and the
    first refusal of a later change counts as the first.
    """
    deployment = ScriptedDeployment(SMALL, refusals=["no executor came up"] * 3)
    controller = Scripted(toggling)
    steps = run(deployment, controller, 600.0, changes_per_hour=100)
    refused_s = [step.at_s for step in steps if step.outcome == "refused"]
    assert refused_s == [10.0, 70.0, 190.0]
    assert deployment.applied[0][0] == 190.0 + 240.0 + deployment.pause_s
    waiting = next(step for step in steps if step.outcome == "recommended")
    assert waiting.note == "the last change was refused: the next one is tried in 40 s"
    assert controller.asked[-1].refused == tuple(refused_s)
    deployment.refusals.append("no executor came up")
    again = run(deployment, controller, 100.0)
    assert [step.outcome for step in again].count("refused") == 1
    assert "applied" in outcomes(again)


def test_refused_changes_count_among_those_of_the_hour() -> None:
    deployment = ScriptedDeployment(SMALL, refusals=["no executor came up"] * 1000)
    steps = run(deployment, Scripted(toggling), 7200.0, changes_per_hour=5, back_off_s=0.0)
    refused_s = [step.at_s for step in steps if step.outcome == "refused"]
    assert len(refused_s) == 10
    assert all(
        later - first >= 3600 for first, later in zip(refused_s, refused_s[5:], strict=False)
    )


def test_what_fails_with_the_new_plan_in_effect_is_applied_with_a_note() -> None:
    class Silent(ScriptedDeployment):
        def apply(self, plan: Plan) -> Change:
            self.plan = plan
            raise SlotwiseError("the query has delivered no tuple for 60 s")

    steps = run(Silent(SMALL), Scripted(lambda s: LARGE), 40.0)
    assert outcomes(steps) == ["applied", "warming up", "kept", "kept"]
    assert steps[0].note == "the query has delivered no tuple for 60 s"
    assert steps[0].change is None
    assert Summary.of(steps, SMALL.pipeline.goals).changes == 1


def test_what_is_in_effect_after_an_error_counts_as_a_change() -> None:
    class Silent(ScriptedDeployment):
        def apply(self, plan: Plan) -> Change:
            self.plan = plan
            raise SlotwiseError("the query has delivered no tuple for 60 s")

    controller = Scripted(toggling)
    steps = run(Silent(SMALL), controller, 600.0, changes_per_hour=2)
    assert outcomes(steps).count("applied") == 2
    assert controller.asked[1].changes == (Change(10.0, "restart", 3.0),)  # as expected
    assert controller.asked[1].slots_before == (SMALL.slots,)


def test_nothing_is_decided_on_silence_or_on_old_figures() -> None:
    def see(plan: Plan, now_s: float) -> Observation | None:
        if now_s == 10:
            return None
        return seen(plan, end_s=20.0 if now_s in (20, 30) else now_s)

    controller = Scripted()
    steps = run(ScriptedDeployment(SMALL, see), controller, 40.0)
    assert outcomes(steps) == ["not observed", "kept", "not observed", "kept"]
    assert steps[0].note == "the run has measured nothing yet"
    assert steps[2].note == "the last measurement is from second 20: too old"
    assert len(controller.asked) == 2


@pytest.mark.parametrize(("late_s", "expected"), [(6.5, "kept"), (7.5, "not observed")])
def test_nothing_is_decided_on_figures_of_the_first_half_of_the_period_only(
    late_s: float, expected: str
) -> None:
    """Reports come each second, and are read each second: 2 s more are usual."""

    def see(plan: Plan, now_s: float) -> Observation:
        return seen(plan, end_s=now_s - late_s)

    *_, step = run(ScriptedDeployment(SMALL, see), Scripted(), 20.0)
    assert step.outcome == expected
    assert step.note == (
        "" if expected == "kept" else "the last measurement is from second 12: too old"
    )


def test_after_a_failure_nothing_is_decided_before_the_warm_up_and_the_journal_says_so(
    tmp_path: Path,
) -> None:
    """It fails at 12 s and goes on at 15 s, under the same plan."""

    class Failing(ScriptedDeployment):
        def advance(self, seconds: float) -> None:
            super().advance(seconds)
            if self.clock_s == 20.0:
                self.resumed_s = 15.0
                self.events.append("the query failed and resumed 3 s later")

    controller, path = Scripted(), tmp_path / "decisions.jsonl"
    loop = Adaptation(Failing(SMALL), controller, SMALL.pipeline.goals)
    steps = list(journaled(loop, 50.0, path))
    assert outcomes(steps) == ["kept", "warming up", "warming up", "kept", "kept"]
    assert [step.resumed for step in steps] == [False, True, False, False, False]
    # What was seen before the failure is not decided upon after it.
    assert [[o.end_s for o in asked.observations] for asked in controller.asked] == [
        [10.0],
        [40.0],
        [40.0, 50.0],
    ]
    again = [each.observations for each, _ in situations(read_recording(path))]
    assert again == [asked.observations for asked in controller.asked]
    assert [step.events for step in steps[:3]] == [
        (),
        ("the query failed and resumed 3 s later",),
        (),
    ]
    assert step_lines(steps[1], steps[0]) == ["0:00:20 the query failed and resumed 3 s later"]
    lines = (tmp_path / "decisions.jsonl").read_text().splitlines()
    assert sum("resumed 3 s later" in line for line in lines) == 1


def test_an_earlier_journal_gets_another_name(tmp_path: Path) -> None:
    path = tmp_path / "decisions.jsonl"
    assert set_aside(path) is None
    for number in (1, 2):
        path.write_text(f"run {number}")
        assert set_aside(path) == tmp_path / f"decisions-{number}.jsonl"
        assert not path.exists()
    assert (tmp_path / "decisions-1.jsonl").read_text() == "run 1"


def test_a_controller_that_finds_no_plan_keeps_the_one_in_effect() -> None:
    def refuse(situation: Situation) -> Plan:
        raise SlotwiseError("16 machines are not enough")

    (step,) = run(ScriptedDeployment(SMALL), Scripted(refuse), 10.0)
    assert step.outcome == "kept"
    assert step.decision == Decision.keep("no plan was found: 16 machines are not enough")


class TestAPerson:
    """Writes the control file between two periods."""

    def test_holds_and_forbids_changes(self, tmp_path: Path) -> None:
        control = tmp_path / "control.json"
        for content, wanted, note in (
            ('{"hold": true}', LARGE, "changes are on hold by the control file"),
            ('{"forbid": ["re-plan"]}', LARGE, "the control file forbids to re-plan"),
        ):
            control.write_text(content)
            (step,) = run(ScriptedDeployment(SMALL), Scripted(lambda s, p=wanted: p), 10.0, control)
            assert (step.outcome, step.note) == ("recommended", note)
        (step,) = run(ScriptedDeployment(SMALL), Scripted(lambda s: MOVED), 10.0, control)
        assert step.outcome == "applied"

    def test_forces_a_plan_once(self, tmp_path: Path) -> None:
        control = tmp_path / "control.json"
        (tmp_path / "plan.json").write_text(plan_to_json(LARGE))
        control.write_text('{"hold": true, "force": {"id": 1, "plan": "plan.json"}}')
        deployment = ScriptedDeployment(SMALL)
        steps = run(deployment, Scripted(), 40.0, control, apply="never")
        assert outcomes(steps) == ["applied", "warming up", "kept", "kept"]
        assert steps[0].forced
        assert deployment.plan.threads == LARGE.threads

    def test_is_not_asked_twice_for_what_was_forced_in_a_run_before(self, tmp_path: Path) -> None:
        control, told = tmp_path / "control.json", list[str]()
        (tmp_path / "plan.json").write_text(plan_to_json(LARGE))
        control.write_text('{"force": {"id": 1, "plan": "plan.json"}}')
        for known, expected in ((set[str](), "applied"), ({"1"}, "kept")):
            deployment = ScriptedDeployment(SMALL)
            loop = Adaptation(deployment, Scripted(), SMALL.pipeline.goals, control=control)
            loop.forced, loop.each_forced = known, told.append
            assert [step.outcome for step in loop.steps(10.0)] == [expected]
        assert told == ["1"]

    def test_is_not_asked_again_where_the_program_is_killed_in_what_was_forced(
        self, tmp_path: Path
    ) -> None:
        control, told = tmp_path / "control.json", list[str]()
        (tmp_path / "plan.json").write_text(plan_to_json(LARGE))
        control.write_text('{"force": {"id": 1, "plan": "plan.json"}}')

        class Killed(ScriptedDeployment):
            def apply(self, plan: Plan) -> Change:
                raise KeyboardInterrupt

        loop = Adaptation(Killed(SMALL), Scripted(), SMALL.pipeline.goals, control=control)
        loop.each_forced = told.append
        path = tmp_path / "decisions.jsonl"
        with pytest.raises(KeyboardInterrupt):
            list(journaled(loop, 10.0, path))
        assert told == ["1"]
        found = read_recording(path)
        assert found.steps == ()
        assert found.unfinished is not None
        assert (found.unfinished.at_s, found.unfinished.forced) == (10.0, True)
        assert found.unfinished.decision.plan == LARGE

    def test_cannot_force_what_is_no_longer_recommended(self, tmp_path: Path) -> None:
        control = tmp_path / "control.json"

        def want(situation: Situation) -> Plan | None:
            if situation.now_s < 20:
                return LARGE
            control.write_text('{"force": {"id": 1, "plan": "recommended"}}')
            return None

        steps = run(ScriptedDeployment(SMALL), Scripted(want), 30.0, control, apply="never")
        assert outcomes(steps) == ["recommended", "kept", "refused"]
        assert "nothing is recommended now" in steps[2].note

    def test_forces_what_was_recommended_before_no_plan_was_found(self, tmp_path: Path) -> None:
        control = tmp_path / "control.json"

        def want(situation: Situation) -> Plan:
            if situation.now_s < 20:
                return LARGE
            control.write_text('{"force": {"id": 1, "plan": "recommended"}}')
            raise SlotwiseError("16 machines are not enough")

        steps = run(ScriptedDeployment(SMALL), Scripted(want), 30.0, control, apply="never")
        assert outcomes(steps) == ["recommended", "kept", "applied"]

    def test_forces_what_was_recommended(self, tmp_path: Path) -> None:
        control = tmp_path / "control.json"

        def want(situation: Situation) -> Plan:
            control.write_text('{"force": {"id": "now", "plan": "recommended"}}')
            return LARGE

        deployment = ScriptedDeployment(SMALL)
        steps = run(deployment, Scripted(want), 20.0, control, apply="never")
        assert outcomes(steps) == ["recommended", "applied"]
        assert deployment.plan is LARGE

    @pytest.mark.parametrize(
        ("content", "problem"),
        [
            ("{", "Expecting property name"),
            ("[]", "expected an object"),
            ('{"holt": true}', "unknown key 'holt': did you mean 'hold'"),
            ('{"hold": 1}', "invalid value '1' for hold"),
            ('{"forbid": "re-plan"}', "expected a list of re-place, re-plan"),
            ('{"force": "plan.json"}', "invalid value for force"),
        ],
    )
    def test_is_not_overlooked_when_the_file_is_wrong(
        self, tmp_path: Path, content: str, problem: str
    ) -> None:
        control = tmp_path / "control.json"
        control.write_text(content)
        (step,) = run(ScriptedDeployment(SMALL), Scripted(lambda s: LARGE), 10.0, control)
        assert step.outcome == "recommended"
        assert problem in step.note
        assert "on hold" in step.note

    def test_reads_why_a_forced_plan_was_refused(self, tmp_path: Path) -> None:
        control = tmp_path / "control.json"
        control.write_text('{"force": {"id": 1, "plan": "missing.json"}}')
        steps = run(ScriptedDeployment(SMALL), Scripted(), 20.0, control)
        assert outcomes(steps) == ["refused", "kept"]
        assert "missing.json" in steps[0].note


def test_the_journal_has_a_line_per_period_with_all_that_matters(tmp_path: Path) -> None:
    path = tmp_path / "decisions.jsonl"
    loop = Adaptation(ScriptedDeployment(SMALL), Scripted(lambda s: LARGE), SMALL.pipeline.goals)
    steps = list(journaled(loop, 30.0, path))
    head, *rest = [json.loads(line) for line in path.read_text().splitlines()]
    kinds = [line["record"] for line in rest]
    assert kinds == ["plan", "plan", "change", "step", "step", "step"]
    assert (head["record"], head["version"], head["topology"]) == ("run", 1, "test")
    plans = {line["number"]: line["plan"] for line in rest if line["record"] == "plan"}
    lines = [line for line in rest if line["record"] == "step"]
    assert [line["plan"] for line in lines] == [1, 2, 2]
    assert [line["outcome"] for line in lines] == outcomes(steps)
    first = lines[0]
    begun = rest[2]
    assert (begun["at_s"], begun["plan"], begun["decision"]) == (10.0, 1, first["decision"])
    assert first["decision"]["kind"] == "re-plan"
    assert first["decision"]["expected"]["pause_s"] == 3.0
    assert first["change"] == {"at_s": 12.0, "how": "restart", "pause_s": 2.0}
    assert plans[first["decision"]["plan"]]["threads"] == LARGE.threads
    assert first["decision"]["changes"][0] == "work: 2 → 4 threads"
    assert first["observation"]["offered_rate"] == 150.0
    assert first["goals"][1]["goal"] == "latency_p99_ms"
    assert "decision" not in lines[1]


def test_a_journal_that_cannot_be_written_is_an_error(tmp_path: Path) -> None:
    loop = Adaptation(ScriptedDeployment(SMALL), Scripted(), SMALL.pipeline.goals)
    with pytest.raises(SlotwiseError, match="the decisions cannot be written"):
        list(journaled(loop, 10.0, tmp_path / "missing" / "decisions.jsonl"))


def test_a_summary_adds_up_periods_by_their_length() -> None:
    """22 s over the goal of 100 ms, the pause of the change included."""

    def see(plan: Plan, now_s: float) -> Observation:
        return seen(plan, end_s=now_s, latency_p99_ms=150.0 if now_s <= 22 else 50.0)

    steps = run(ScriptedDeployment(SMALL, see), Scripted(lambda s: LARGE), 42.0)
    summary = Summary.of(steps, SMALL.pipeline.goals)
    assert summary.seconds == 42.0
    assert summary.violation_s == 22.0
    assert summary.changes == 1
    assert summary.pause_s == 2.0
    assert summary.worst_p99_ms == 150.0
    assert summary.slot_hours == pytest.approx((10 * SMALL.slots + 32 * LARGE.slots) / 3600)
    assert summary.cost == pytest.approx(
        (10 * SMALL.cost_per_hour + 32 * LARGE.cost_per_hour) / 3600
    )


def test_each_change_stands_beside_what_was_expected_of_it() -> None:
    """The figure is the mean of the first six periods after the warm-up, before the next change."""

    def see(plan: Plan, now_s: float) -> Observation:
        return seen(plan, end_s=now_s, latency_p99_ms=now_s)

    def want(situation: Situation) -> Plan | None:
        return {10.0: LARGE, 142.0: SMALL}.get(situation.now_s)

    @dataclass
    class Hopeful(Scripted):
        def decide(self, situation: Situation) -> Decision:
            gain = Gain("latency_p99_ms", 150.0, 60.0)
            return replace(super().decide(situation), gain=gain)

    steps = run(ScriptedDeployment(SMALL, see), Hopeful(want), 154.0)
    account = Account(SMALL.pipeline.goals)
    for step in steps:
        account.add(step)
    first, second = account.changes
    assert (first.at_s, first.kind, first.forced) == (10.0, "re-plan", False)
    assert (first.expected_pause_s, first.pause_s) == (3.0, 2.0)
    assert (first.expected_in_effect_s, first.in_effect_s) == (3.0, 2.0)
    assert (first.cost_per_hour_before, first.cost_per_hour) == (1.0, 2.0)
    assert first.changes[0] == "work: 2 → 4 threads"
    # Warm-up until 22 s; the periods that end at 32, 42, … 82 s.
    assert first.seen == pytest.approx(sum(range(32, 92, 10)) / 6)
    assert second.at_s == 142.0
    assert second.seen is None  # only its warm-up was observed
    late_s = 154.0 - 102.0  # over the goal of 100 ms and its tolerance
    assert account.summary.missed_s == {"latency_p99_ms": late_s}


@pytest.mark.parametrize(
    "rules",
    [
        {"period_s": 0.0},
        {"apply": "some"},
        {"warm_up_s": -1.0},
        {"changes_per_hour": -1},
        {"back_off_s": -1.0},
    ],
)
def test_rules_that_cannot_work_are_refused(rules: dict[str, Any]) -> None:
    with pytest.raises(ModelError):
        Rules(**rules)
