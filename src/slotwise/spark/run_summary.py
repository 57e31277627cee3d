"""A whole run: from its start-up to its end, perhaps under a controller, and what it has shown."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager, ExitStack, nullcontext
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from slotwise.machine import measured_now
from slotwise.model import Measurement, Observation, Plan, Schedule, SlotwiseError, Verdict
from slotwise.spark import checkpoints
from slotwise.spark.cluster import Site
from slotwise.spark.cluster.folders import passing_folder
from slotwise.spark.query.outline import Outline, outline
from slotwise.spark.query.synthetic import Work
from slotwise.spark.run import Options, Run
from slotwise.spark.start_up import WARM_UP_S, Timeline, launched
from slotwise.spark.supervise import supervise

if TYPE_CHECKING:
    from slotwise.adaptation import Adaptation, Applying, Step
    from slotwise.adaptation_following import Following
    from slotwise.adaptation_summary import Account

Tell = Callable[[str], None]
"""Shows a line."""
Watching = Callable[[Run], AbstractContextManager[Tell]]
"""Shows a run while it goes on."""


@dataclass(frozen=True)
class RunSummary:
    """What a run has shown."""

    plan: Plan
    """The last one."""
    seen: Observation | None
    """Since the warm-up, or since the last change; None: nothing."""
    start_up: tuple[tuple[str, float], ...]
    """Its steps, and how many seconds each took."""
    events: tuple[str, ...]
    """What happened, one sentence each."""
    in_place: int
    """Threads that were where the plan has them, of `threads`."""
    threads: int
    verdicts: tuple[Verdict, ...]
    """On the plan's goals."""
    measurement: Measurement
    """When and on what; profiles made from the run carry it."""
    batches: Mapping[int, Observation] = field(default_factory=dict)
    interrupted: bool = False
    """By Ctrl-C, before its time."""
    adapted: tuple[Adaptation, Account] | None = None
    """How a controller has changed the plan, and what came of it."""

    def _repr_html_(self) -> str:
        """Notebooks show this."""
        from slotwise.report.html import summary_html

        windows = [self.batches[number] for number in sorted(self.batches)]
        return summary_html(self.plan, self.seen, self.verdicts, self.events, windows)


def run(
    plan: Plan,
    seconds: float = 60.0,
    *,
    bound: Mapping[str, Callable[..., Any]] | None = None,
    rate: float | None = None,
    schedule: Schedule | None = None,
    controller: str | None = None,
    apply: Applying = "all",
    period_s: float = 10.0,
    decisions: Path | None = None,
    control: Path | None = None,
    master: str | None = None,
    checkpoint: Path | None = None,
    output: Path | None = None,
    work: Work = "wait",
    batch_seconds: float = 30.0,
    warm_up_s: float = WARM_UP_S,
    slot_memory_mb: int = 512,
    cores_per_slot: float | None = None,
    conf: Mapping[str, str] | None = None,
    tell: Tell = lambda line: None,
) -> RunSummary:
    """The plan, run for so long, its warm-up included, which takes half of that at most.

    The options are those of `slotwise run`, `conf` that of `--spark-conf`; `bound` has functions
    for operators, and `tell` is called with a line for what is new.
    """
    from slotwise.adaptation import Rules
    from slotwise.adaptation_following import Following

    site = Site(master, slot_memory_mb, cores_per_slot, conf or {})
    follows = None
    if controller is not None:
        rules = Rules(period_s=period_s, apply=apply)
        follows = Following.by(controller, rules, decisions, control)
    made = plan if follows is None else last_plan(checkpoint, plan, tell)
    with ExitStack() as stack:
        kept = checkpoint or stack.enter_context(passing_folder()) / "checkpoint"
        options = Options(
            kept,
            rate=rate,
            schedule=schedule,
            work=work,
            batch_seconds=batch_seconds,
            output=output,
            planned=plan,
        )
        return summarized(
            outline(made, bound),
            options,
            site,
            seconds,
            min(warm_up_s, seconds / 2),
            timeline=Timeline(report=tell),
            watching=lambda running: nullcontext(tell),
            following=follows,
        )


def measured(plan: Plan, seconds: float, rate: float | None = None) -> Observation:
    """What the plan does in `seconds` on an embedded cluster, after a warm-up.

    Events of the run, such as what came due during the start-up and was not worked off, are in the
    remarks.
    """
    with passing_folder() as folder:
        options = Options(folder / "checkpoint", rate=rate)
        summary = summarized(
            outline(plan),
            options,
            Site(),
            WARM_UP_S + seconds,
            WARM_UP_S,
            timeline=Timeline(),
            watching=lambda running: nullcontext(lambda line: None),
        )
    assert summary.seen is not None
    return replace(summary.seen, remarks=(*summary.seen.remarks, *summary.events))


def summarized(
    of: Outline,
    options: Options,
    site: Site,
    seconds: float,
    warm_up_s: float,
    *,
    timeline: Timeline,
    watching: Watching,
    following: Following | None = None,
) -> RunSummary:
    """The run, for so long, its warm-up included, and what it has shown since that.

    Raises SlotwiseError where nothing was measured, and KeyboardInterrupt where it was ended before
    that.
    """
    adapted = None
    if following is not None:
        with timeline.step("controller"):
            following.rehearse(of.plan)
    with (
        launched(of, options, site=site, timeline=timeline, grows=following is not None) as running,
        watching(running) as tell,
    ):
        supervise(running, warm_up_s)
        if running.is_over():
            running.events.append("ended during the warm-up: the summary covers the warm-up")
        else:
            running.watch.forget()
            if following is None:
                supervise(running, seconds - warm_up_s)
            else:
                adapted = _adapted(running, following, seconds - warm_up_s, tell)
        return _summary(running, timeline, site, adapted)


def last_plan(checkpoint: Path | None, planned: Plan, tell: Tell) -> Plan:
    """A run under a controller goes on with the plan that was last in effect in its checkpoint."""
    last = None if checkpoint is None else checkpoints.in_effect(checkpoint, planned)
    if last is None:
        return planned
    if changes := last.changes_from(planned):
        tell(f"the run goes on with the last plan of its checkpoint: {'; '.join(changes)}")
    return last


def _adapted(
    running: Run, following: Following, seconds: float, tell: Tell
) -> tuple[Adaptation, Account]:
    from slotwise.adaptation_following import follow
    from slotwise.adaptation_journal import set_aside
    from slotwise.report.adaptation import step_lines

    def each(step: Step, before: Step | None) -> None:
        for line in step_lines(step, before):
            tell(line)

    if following.control is not None:
        tell(f"control file: {following.control}")
    decisions = following.decisions
    if decisions is not None and (earlier := set_aside(decisions)) is not None:
        tell(f"decisions of the run before: {earlier}")
    loop, checkpoint = following.loop(running), running.options.checkpoint
    loop.forced |= checkpoints.forced(checkpoint)
    loop.each_forced = lambda id: checkpoints.add_forced(checkpoint, id)
    return loop, follow(loop, seconds, decisions, each, running.is_over)


def _summary(
    running: Run, times: Timeline, site: Site, adapted: tuple[Adaptation, Account] | None
) -> RunSummary:
    seen, interrupted = running.observation(), running.is_over()
    if seen is None and adapted is None:
        if interrupted:
            raise KeyboardInterrupt
        raise SlotwiseError("the run was too short to measure anything: let it go on for longer")
    fall_backs = running.whereabouts().fall_backs
    events = [*running.events, *dict.fromkeys(fall_back.reason for fall_back in fall_backs)]
    return RunSummary(
        running.plan,
        seen,
        tuple(times.steps),
        tuple(events),
        *running.threads_in_place(),
        () if seen is None else running.plan.judged(seen),
        measured_now(site.cores_per_slot, site.slot_memory_mb, "run", here=site.master is None),
        running.watch.batches,
        interrupted,
        adapted,
    )
