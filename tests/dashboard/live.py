"""A run that goes on for as long as a test wants: simulated, recorded as one on a cluster is."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import slotwise
from slotwise.adaptation import Adaptation, Applying, Rules
from slotwise.adaptation_following import Following
from slotwise.model import Plan, Schedule
from slotwise.runs import Head, Recorder
from slotwise.simulation import Arrivals, Options, SimulatedDeployment

SPEC = Path(__file__).parents[2] / "examples" / "orders.yaml"
PERIOD_S = 5.0


@dataclass
class LiveRun:
    """`period` lets one period of the run pass."""

    id: int
    path: Path
    """The file of runs."""
    control: Path
    loop: Adaptation
    recorder: Recorder
    period: Callable[[], None]


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
        steps = loop.steps(1e9)

        def period() -> None:
            next(steps)

        yield LiveRun(recorder.id, path, control, loop, recorder, period)


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
