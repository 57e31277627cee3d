"""`slotwise replay`: a recorded run decided again by another controller."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from cyclopts import Parameter

from slotwise.cli import DONE
from slotwise.cli.output import note, show, with_progress
from slotwise.cli.parameters import Json
from slotwise.json_data import json_text

if TYPE_CHECKING:
    from slotwise.model import Decision
    from slotwise.recording import Recording
    from slotwise.replay import Redecided

Run = Annotated[
    Path, Parameter(help="A file written by 'run --decisions' or 'simulate --decisions'.")
]
Other = Annotated[
    str | None,
    Parameter(help="The controller that decides again. Default: the one of the run."),
]


def replay(run: Run, /, *, controller: Other = None, json: Json = False) -> int:
    """Decide again, and show where the decisions differ."""
    from slotwise import registry
    from slotwise.recording import read_recording
    from slotwise.replay import differences
    from slotwise.replay import replay as redecide

    chosen = None if controller is None else registry.controller(registry.choice(controller))
    recording = read_recording(run)
    name = controller or recording.head.controller
    chosen = chosen or registry.controller(registry.choice(name))
    made = list(with_progress(redecide(recording, chosen), "deciding", len(recording.steps)))
    if json:
        print(json_text(_as_data(recording, name, made)), end="")
    else:
        from slotwise.report.replay import replay_report

        found = list(differences(made))
        show(replay_report(recording.head.controller, name, len(made), found))
    _note_gaps(run, recording)
    return DONE


def _note_gaps(run: Path, recording: Recording) -> None:
    if recording.without_traffic:
        from slotwise.model import counted

        note(
            f"traffic between threads was too large to record in "
            f"{counted(recording.without_traffic, 'period')}: controllers that need it, such as "
            "'traffic', keep the plan there"
        )
    if recording.unfinished is not None:
        begun = recording.unfinished
        note(
            f"{run}: the program ended during the change of second {begun.at_s:.0f} "
            f"({begun.decision.reason}): it is not in the comparison"
        )
    if recording.is_cut:
        note(f"{run}: the last line is not complete and is not used")


def _as_data(recording: Recording, name: str, made: list[Redecided]) -> dict[str, Any]:
    from slotwise import __version__

    differing = [each for each in made if not each.is_same]
    return {
        "slotwise": __version__,
        "topology": recording.head.topology,
        "recorded_controller": recording.head.controller,
        "controller": name,
        "decisions": len(made),
        "differing": len(differing),
        "without_traffic": recording.without_traffic,
        "differences": [
            {
                "at_s": each.at_s,
                "recorded": _decision_data(each.recorded),
                "decision": _decision_data(each.decision),
            }
            for each in differing
        ],
    }


def _decision_data(decision: Decision) -> dict[str, Any]:
    plan = decision.plan
    data = {"kind": decision.kind, "reason": decision.reason}
    if plan is None:
        return data
    return {**data, "threads": plan.threads, "machines": plan.machines, "gain": decision.gain}
