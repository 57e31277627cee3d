"""Recorded runs decided again: every situation as it was, and the differences."""

from __future__ import annotations

from pathlib import Path

from slotwise.adaptation import Adaptation, Rules
from slotwise.adaptation_journal import journaled
from slotwise.controllers.base import Situation
from slotwise.controllers.static import Static
from slotwise.model import Observation, Plan
from slotwise.recording import Recording, read_recording
from slotwise.replay import differences, replay, situations
from slotwise.spec.plan_json import plan_to_json
from tests.controllers.timelines import Scripted, ScriptedDeployment, plan_at, seen

SMALL, LARGE = plan_at(150.0), plan_at(350.0)


def rising(plan: Plan, now_s: float) -> Observation | None:
    """100/s more each minute; in the period that ends at 50 s nothing is measured."""
    return None if now_s == 50 else seen(plan, 100.0 * (1 + now_s // 60), end_s=now_s)


def want(situation: Situation) -> Plan | None:
    """LARGE from 40 s on, SMALL from 150 s on."""
    return SMALL if situation.now_s >= 150 else LARGE if situation.now_s >= 40 else None


def recorded(
    path: Path, controller: Scripted, seconds: float = 240.0, **given: object
) -> Recording:
    deployment = ScriptedDeployment(SMALL, rising, refusals=["no executor came up"])
    loop = Adaptation(
        deployment,
        controller,
        SMALL.pipeline.goals,
        Rules(warm_up_s=20.0, back_off_s=0.0),
        **given,  # type: ignore[arg-type]
    )
    list(journaled(loop, seconds, path))
    return read_recording(path)


def test_every_situation_is_as_the_controller_saw_it(tmp_path: Path) -> None:
    """Over a refusal, a period without figures, two changes and their warm-up."""
    controller = Scripted(want)
    made = recorded(tmp_path / "decisions.jsonl", controller)
    assert {step.outcome for step in made.steps} == {
        "kept",
        "refused",
        "applied",
        "warming up",
        "not observed",
    }
    assert [each for each, _ in situations(made)] == controller.asked


def test_what_a_person_forced_is_not_decided_again(tmp_path: Path) -> None:
    control = tmp_path / "control.json"
    (tmp_path / "plan.json").write_text(plan_to_json(LARGE))
    control.write_text('{"force": {"id": 1, "plan": "plan.json"}}')
    controller = Scripted()
    made = recorded(tmp_path / "decisions.jsonl", controller, control=control)
    assert any(step.forced for step in made.steps)
    again = [(each.now_s, len(each.observations)) for each, _ in situations(made)]
    assert again == [(each.now_s, len(each.observations)) for each in controller.asked]


def test_the_same_controller_decides_the_same(tmp_path: Path) -> None:
    made = recorded(tmp_path / "decisions.jsonl", Scripted(want))
    redecided = list(replay(made, Scripted(want)))
    assert len(redecided) > 5
    assert all(each.is_same for each in redecided)
    assert list(differences(redecided)) == []


def test_differences_of_one_kind_in_a_row_are_one(tmp_path: Path) -> None:
    """A controller that only recommends LARGE from 40 s on, against one that never would."""
    loop = Adaptation(
        ScriptedDeployment(SMALL), Scripted(want), SMALL.pipeline.goals, Rules(apply="never")
    )
    path = tmp_path / "decisions.jsonl"
    list(journaled(loop, 100.0, path))
    (found,) = differences(replay(read_recording(path), Static()))
    assert (found.first.at_s, found.last_s, found.decisions) == (40.0, 100.0, 7)
    assert (found.first.recorded.kind, found.first.decision.kind) == ("re-plan", "keep")
