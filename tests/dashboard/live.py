"""A run that goes on for as long as a test wants: simulated, recorded as one on a cluster is."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import slotwise
from slotwise.adaptation import Adaptation, Applying, Rules, Step
from slotwise.adaptation_following import Following
from slotwise.clock import await_condition
from slotwise.model import Plan, Schedule
from slotwise.runs import Head, Recorder, Runs
from slotwise.simulation import Arrivals, Options, SimulatedDeployment

SPEC = Path(__file__).parents[2] / "examples" / "orders.yaml"
PERIOD_S = 5.0
WAIT_S = 60.0
"""For what another thread or process does."""


@dataclass
class LiveRun:
    id: int
    path: Path
    """The file of runs."""
    control: Path
    loop: Adaptation
    recorder: Recorder
    steps: Iterator[Step]
    seen_s: float = 0.0

    def period(self) -> None:
        """Let one period pass."""
        step = next(self.steps)
        if step.seen is not None:
            self.seen_s = step.at_s

    def written(self) -> None:
        """Wait until the recorder has written down the last period that was observed."""
        assert await_condition(self._is_written, WAIT_S, poll_s=0.01)

    def _is_written(self) -> bool:
        with Runs.opened(self.path) as runs:
            seen = runs.seen(self.id)
        return seen is not None and seen.at_s >= self.seen_s


def orders() -> Plan:
    return slotwise.plan(SPEC)


@contextmanager
def live_run(
    folder: Path,
    plan: Plan | None = None,
    controller: str = "static",
    factor: float = 1.0,
    apply: Applying = "all",
) -> Iterator[LiveRun]:
    """The demo's pipeline under a controller, its rate times `factor` from 10 s on; the test says
    when a period passes.
    """
    made = plan or orders()
    arrivals = Arrivals(schedule=Schedule.step(at_s=10, factor=factor))
    deployment = SimulatedDeployment.for_periods(made, PERIOD_S, options=Options(arrivals=arrivals))
    control, path = folder / "control.json", folder / "runs.db"
    rules = Rules(period_s=PERIOD_S, warm_up_s=PERIOD_S, apply=apply)
    follows = Following.by(controller, rules, control=control)
    loop = follows.loop(deployment)
    with Recorder.started(path, Head.of(made, "simulated", made.rate, follows)) as recorder:
        loop.each_step = recorder.stepped
        yield LiveRun(recorder.id, path, control, loop, recorder, loop.steps(1e9))


@contextmanager
def paced(run: LiveRun, each_s: float = 0.5) -> Iterator[None]:
    """Periods pass by themselves, one each so many seconds of real time."""
    over = threading.Event()

    def go_on() -> None:
        while not over.wait(each_s):
            run.period()

    thread = threading.Thread(target=go_on)
    thread.start()
    try:
        yield
    finally:
        over.set()
        thread.join()
