"""Writes the files that the page is developed against: the demo's pipeline, its rate doubled after
a minute, under threshold.

    python tests/dashboard/make_example.py
"""

from __future__ import annotations

import json
import tempfile
from pathlib import Path

import slotwise
from slotwise import registry
from slotwise.adaptation import Adaptation, Rules
from slotwise.adaptation_journal import Head as JournalHead
from slotwise.dashboard.document import history_data, run_document
from slotwise.json_data import json_data
from slotwise.model import Schedule
from slotwise.runs import Head, Recorder, Runs
from slotwise.simulation import Arrivals, Options, SimulatedDeployment

HERE = Path(__file__).parent
SPEC = HERE.parents[1] / "examples" / "orders.yaml"


def record(path: Path, control: Path | None = None) -> None:
    plan = slotwise.plan(SPEC)
    doubled = Options(arrivals=Arrivals(schedule=Schedule.step(at_s=60, factor=2)))
    deployment = SimulatedDeployment.for_periods(plan, 5.0, options=doubled)
    controller = registry.controller(registry.choice("threshold:seconds=15"))
    loop = Adaptation(deployment, controller, plan.pipeline.goals, Rules(period_s=5.0), control)
    head = Head(
        plan,
        "simulated",
        loop.goals,
        plan.rate,
        JournalHead.of(loop).controller,
        loop.rules,
        control,
    )
    with Recorder.started(path, head) as recorder:
        loop.each_step = recorder.stepped
        for _ in loop.steps(300):
            pass


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "runs.db"
        record(path)
        with Runs.opened(path) as runs:
            found = {
                "example.json": json_data(run_document(runs, "last")),
                "example_history.json": history_data(runs, "last"),
            }
    for name, data in found.items():
        data.get("run", {}).update(started="2026-11-19T02:00:00Z", ended="2026-11-19T02:05:00Z")
        text = json.dumps(data, indent=1, ensure_ascii=False, allow_nan=False)
        (HERE / name).write_text(text + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
