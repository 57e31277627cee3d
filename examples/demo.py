"""`make demo`: a pipeline with real work on a Spark cluster of this machine, with a CPU quota per
slot, in one run:

1. Spark places the threads as it would without a plan, anew for each batch.
2. They run as planned.
3. The input rate doubles, and a controller changes the plan until p99 is under its goal again.

What happens is measured, and told as it came out: Spark's own placement may hold, too.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np

import slotwise
from slotwise.adaptation import Adaptation, Rules, Step, adapted
from slotwise.cli import DONE, ERROR, INTERRUPTED
from slotwise.cli.output import note, show, write_file
from slotwise.cli.watching import Tell, watched
from slotwise.confirmation import confirmed
from slotwise.controllers.base import Controller
from slotwise.controllers.look_ahead import LookAhead
from slotwise.model import Goals, Observation, Plan, Schedule, SlotwiseError, missed
from slotwise.report.adaptation import step_lines
from slotwise.report.figures import figure
from slotwise.report.phases import Phase, phases_table
from slotwise.report.timeline import Mark, Span, timeline
from slotwise.simulation import Arrivals, SimulatedDeployment
from slotwise.simulation import Options as SimulationOptions
from slotwise.spark.changing import leave_to_spark
from slotwise.spark.cluster import Site
from slotwise.spark.cluster.folders import passing_folder
from slotwise.spark.failures import silence_pyspark
from slotwise.spark.query.outline import outline
from slotwise.spark.run import Options, Run
from slotwise.spark.start_up import Timeline, launched
from slotwise.spark.waiting import await_pace

SPEC = Path(__file__).parent / "orders.yaml"
PICTURE = Path("demo.png")
CORES_PER_SLOT = 0.25


@dataclass(frozen=True)
class Times:
    """In seconds."""

    batch: float = 6.0
    by_spark: float = 12.0
    """Two batches, and so two placements."""
    doubled: float = 65.0
    """When the rate doubles, after the start of the query."""
    recovery: float = 125.0
    """The longest wait for p99 to be under its goal again."""
    after: float = 10.0
    period: float = 5.0
    """Between two decisions of the controller."""
    warm_up: float = 10.0
    """After a change; see `Rules.warm_up_s`."""
    point: float = 2.0
    """The part of the run that each point of the picture shows."""


@dataclass
class Demo:
    """The story, told on a run; what is kept of it becomes the table and the picture."""

    run: Run
    """At work as planned."""
    tell: Tell
    times: Times = field(default_factory=Times)
    controller: Controller = field(default_factory=LookAhead)
    phases: list[Phase] = field(default_factory=list)
    spans: list[Span] = field(default_factory=list)
    marks: list[Mark] = field(default_factory=list)
    points: list[Observation] = field(default_factory=list)
    changed: Step | None = None
    """The last one with a change."""
    recovered_s: float | None = None
    """After the rate doubled p99 was under its goal again; None: not within `Times.recovery`."""

    def go(self) -> None:
        plan = self.run.plan
        self.warm_up(plan)
        self.run.each_report = self.recording(self.run.each_report)
        self.by_spark()
        loop = self.as_planned(plan)
        self.at_twice_the_rate(loop)

    def warm_up(self, plan: Plan) -> None:
        """What Java compiles first must not decide which placement is better."""
        self.tell("warm-up: every slot runs every operator for a batch, without CPU quotas")
        with self.run.without_quota():
            for shift in range(1, plan.cluster.slots):
                self.run.apply(shifted(plan, shift))
            leave_to_spark(self.run)
            await_pace(self.run)  # as before the plan: what is left over counts against neither

    def by_spark(self) -> None:
        self.tell(f"Spark places the threads, for {self.times.by_spark:g} s")
        self.run.watch.forget()
        began_s = self.run.now_s()
        self.run.advance(self.times.by_spark)
        self.end("placed by Spark", began_s)

    def as_planned(self, plan: Plan) -> Adaptation:
        """The controller watches from here on."""
        run = self.run
        self.tell("back to the plan; what is left to do is worked off without CPU quotas")
        with run.without_quota():
            run.apply(plan)
            await_pace(run)
        run.watch.forget()
        began_s = run.now_s()
        seconds = max(self.times.doubled - began_s, 2 * self.times.period)
        self.tell(f"as planned, for {seconds:.0f} s")
        loop = Adaptation(run, self.controller, plan.pipeline.goals, rules_of(self.times))
        loop.told = len(run.events)  # what happened until now is not the controller's
        for _ in self.followed(loop, seconds):
            pass
        self.end("as planned", began_s)
        return loop

    def at_twice_the_rate(self, loop: Adaptation) -> None:
        """Until p99 is under its goal in two periods after a change, and for a while after that."""
        self.tell("the rate doubles")
        doubled_s = began_s = self.run.now_s()
        changed, in_time = False, 0
        for step in self.followed(loop, self.times.recovery):
            if step.seen is not None:
                in_time = in_time + 1 if is_in_time(step.seen, loop.goals) else 0
            if step.change is not None:
                if not changed:
                    self.end("rate doubled", began_s, step.seen, step.plan)
                changed, began_s, in_time = True, self.run.now_s(), 0
            if changed and in_time == 2:
                self.recovered_s = step.since_s - doubled_s
                self.spans.append(Span("backlog\nworked off", began_s, step.since_s))
                began_s = step.since_s
                break
        for _ in self.followed(loop, self.times.after):
            pass
        self.end("plan changed" if changed else "rate doubled", began_s)

    def followed(self, loop: Adaptation, seconds: float) -> Iterator[Step]:
        """Periods under the controller; what it changes is told and marked."""
        for step in loop.steps(seconds):
            for line in step_lines(step, None):
                self.tell(line)
            if step.change is not None:
                self.changed = step
                self.marks.append(Mark("change decided", step.at_s))
            yield step
            if self.run.is_over():
                raise SlotwiseError("the demo was ended")

    def end(
        self, name: str, began_s: float, seen: Observation | None = None, plan: Plan | None = None
    ) -> None:
        """A phase that began then; of what was `seen`, or else of all of it."""
        if self.run.observation() is None:  # a change has just been made
            self.run.advance(self.times.period)
        now_s = self.run.now_s()
        seen = seen or self.run.observe(now_s - began_s)
        placed = as_seen(plan or self.run.plan, seen)
        self.phases.append(Phase(name, placed, foretold(placed, seen.offered_rate), seen))
        self.spans.append(Span(name.replace(" ", "\n", 1), began_s, now_s))

    def recording(self, shown: Callable[[Run], None]) -> Callable[[Run], None]:
        """Keeps a point for the picture whenever the meters were read."""

        def report(run: Run) -> None:
            shown(run)
            if (seen := run.observation(self.times.point)) is not None:
                self.points.append(seen)

        return report


def rules_of(times: Times) -> Rules:
    """One change: a second one would wait until the backlog of the first is worked off."""
    return Rules(period_s=times.period, warm_up_s=times.warm_up, changes_per_hour=1)


def rehearsed(plan: Plan, times: Times) -> str:
    """What the controller does in a simulation of the same story, in one sentence.

    The simulator is then compiled, too: a first decision would take a minute.
    """
    doubled_s = 30.0
    options = SimulationOptions(arrivals=Arrivals(schedule=Schedule.step(doubled_s, 2)))
    simulated = SimulatedDeployment.for_periods(plan, times.period, options=options)
    goals = plan.pipeline.goals
    steps = list(adapted(simulated, LookAhead(), doubled_s + times.recovery, rules_of(times)))
    late = [step.at_s for step in steps if step.seen and not is_in_time(step.seen, goals)]
    after_s = max(late, default=doubled_s) - doubled_s
    slots = f"{simulated.plan.slots} slots"
    return f"simulated: p99 is under its goal {after_s:.0f} s after the rate doubled, with {slots}"


def is_in_time(seen: Observation, goals: Goals) -> bool:
    """Whether p99 is under its goal."""
    return not any(verdict.goal == "latency_p99_ms" for verdict in missed(goals.judge(seen)))


def shifted(plan: Plan, slots: int) -> Plan:
    """With every thread so many slots further."""
    moved = (plan.placement.slots + slots) % plan.cluster.slots
    return replace(plan, placement=replace(plan.placement, slots=moved))


def as_seen(plan: Plan, seen: Observation) -> Plan:
    """With every thread in the slot where it was seen last."""
    slot = {str(plan.cluster.slot(number)): number for number in range(plan.cluster.slots)}
    slots = np.array([slot[load.slot] for load in seen.threads])
    return replace(plan, placement=replace(plan.placement, slots=slots))


def foretold(plan: Plan, rate: float) -> Observation:
    """As plans are judged: latencies are simulated, unless they have no bound."""
    predicted = slotwise.predict(plan, rate)
    simulated = confirmed(replace(plan, rate=rate)).simulated
    if simulated is None or predicted.fully_busy:
        return predicted
    return replace(
        predicted,
        latency_p50_ms=simulated.latency_p50_ms,
        latency_p99_ms=simulated.latency_p99_ms,
    )


def conclusion(demo: Demo) -> Iterator[str]:
    """A sentence per part of the story, whatever came of it."""
    for phase in demo.phases:
        verdict = "misses" if phase.missed else "holds"
        p99 = figure(phase.seen.latency_p99_ms)
        yield f"{phase.name}: {verdict} the goals, p99 {p99} ms"
    if demo.changed is not None:
        yield cost(demo.changed)
    if demo.recovered_s is None:
        yield f"p99 did not come back under its goal within {demo.times.recovery:g} s"
    else:
        yield f"p99 was back under its goal {demo.recovered_s:.0f} s after the rate doubled"


def cost(step: Step) -> str:
    """What the change took, beside what was expected of it, in one sentence."""
    assert step.decision is not None
    assert step.decision.plan is not None
    assert step.change is not None
    expected, was = figure(step.decision.pause_s), figure(step.change.pause_s)
    before, after = step.plan, step.decision.plan
    return (
        f"the change took {step.change.at_s - step.at_s:.0f} s, with a pause of {was} s "
        f"(expected: {expected} s), and costs {figure(before.cost_per_hour)} → "
        f"{figure(after.cost_per_hour)} per hour"
    )


def told(plan: Plan, times: Times) -> Demo:
    with passing_folder() as folder:
        options = Options(
            folder / "checkpoint",
            schedule=Schedule.step(times.doubled, 2),
            batch_seconds=times.batch,
        )
        site, steps = Site(cores_per_slot=CORES_PER_SLOT), Timeline(report=note)
        with (
            launched(outline(plan), options, site=site, timeline=steps, grows=True) as run,
            watched(run) as tell,
        ):
            demo = Demo(run, tell, times)
            try:
                demo.go()
            except SlotwiseError:
                if not run.is_over():
                    raise
                raise KeyboardInterrupt from None
            return demo


def main() -> int:
    began = time.monotonic()
    silence_pyspark()
    try:
        plan, times = slotwise.plan(SPEC), Times()
        goal_ms = plan.pipeline.goals.latency_p99_ms
        print(f"{plan}; each slot has {CORES_PER_SLOT:g} cores")
        print(f"goal: 99 % of the tuples reach a sink within {figure(goal_ms)} ms", flush=True)
        expected = rehearsed(plan, times)
        note(expected)
        demo = told(plan, times)
    except KeyboardInterrupt:
        return INTERRUPTED
    except SlotwiseError as error:
        note(f"slotwise: {error}")
        return ERROR
    title = f"{plan.pipeline.topology.name}, {CORES_PER_SLOT:g} cores per slot"
    write_file(PICTURE, timeline(title, demo.points, demo.spans, demo.marks, goal_ms))
    print()
    show(phases_table(demo.phases))
    print("\n".join(["", *conclusion(demo), expected]))
    print(f"picture: {PICTURE.resolve()}; {time.monotonic() - began:.0f} s")
    return DONE


if __name__ == "__main__":
    sys.exit(main())
