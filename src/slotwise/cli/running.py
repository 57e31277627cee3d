"""`slotwise run`: a plan on Spark, watched, against its prediction and its goals."""

from __future__ import annotations

import dataclasses
import signal
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

from cyclopts import Parameter

from slotwise.cli import DONE, INTERRUPTED
from slotwise.cli.output import console, note, note_verdicts, show
from slotwise.cli.parameters import Duration, Json, Rate, Scale, Spec
from slotwise.json_data import json_data, json_text

if TYPE_CHECKING:
    from slotwise.model import Measurement, Observation, Plan, Verdict
    from slotwise.spark.cluster import Site
    from slotwise.spark.query.outline import Outline
    from slotwise.spark.run import Options, Run
    from slotwise.spark.start_up import Timeline

LINE_SECONDS = 10.0


Folder = Annotated[Path | None, Parameter(show_default=False)]


def run(
    spec: Spec,
    /,
    *,
    plan: Annotated[
        Path | None, Parameter(help="Run this plan, written by 'slotwise plan --output'.")
    ] = None,
    duration: Annotated[
        Duration, Parameter(name="--for", help="How long to run: 60s, 5m, 1h.")
    ] = 60.0,
    rate: Rate = None,
    scale: Annotated[
        Scale,
        Parameter(
            help="Run this part of the rate and of a fixed cluster's nodes, such as 1/16. "
            "Default: auto, what this machine can hold; all of it with --rate, --plan or --master."
        ),
    ] = None,
    schedule: Annotated[
        str | None,
        Parameter(
            help="How the rate changes: step:at=60s,factor=2, ramp, sine, burst or constant. "
            "Default: the spec's."
        ),
    ] = None,
    placer: Annotated[
        str | None, Parameter(help="The placer. Default: the spec's, or auto.")
    ] = None,
    master: Annotated[
        str | None,
        Parameter(
            help="Run on this master, spark://HOST:PORT. Default: a cluster on this machine."
        ),
    ] = None,
    checkpoint: Annotated[
        Folder, Parameter(help="Continue from this checkpoint directory, and keep it.")
    ] = None,
    output: Annotated[
        Folder, Parameter(help="Write the query's results to this directory, as JSON lines.")
    ] = None,
    work: Annotated[
        Literal["wait", "burn", "none"],
        Parameter(help="How operators without logic spend their service time."),
    ] = "wait",
    batch: Annotated[
        Duration, Parameter(help="The interval between commits in real-time mode.")
    ] = 30.0,
    warm_up: Annotated[
        Duration, Parameter(help="Time at the start that the summary does not include.")
    ] = 10.0,
    slot_memory_mb: Annotated[int, Parameter(help="Memory of each executor, in MB.")] = 512,
    cores_per_slot: Annotated[
        float | None,
        Parameter(help="CPU quota of each slot, in cores times the node's speed. Default: none."),
    ] = None,
    explain: Annotated[
        bool,
        Parameter(
            negative=(),
            show_default=False,
            help="Print levels, partitions and SQL, and run nothing.",
        ),
    ] = False,
    json: Json = False,
) -> int:
    """Start, watch and stop one plan, and show what it did."""
    from slotwise import schedules
    from slotwise.spark.cluster import Site
    from slotwise.spark.failures import silence_pyspark
    from slotwise.spark.query.outline import outline
    from slotwise.spark.run import Options

    follows = schedules.schedule(schedule) if schedule else None
    site = Site(master, slot_memory_mb, cores_per_slot)
    made = _plan(spec, plan, rate, placer, scale, site)
    found = outline(made)
    silence_pyspark()
    if explain:
        from slotwise.spark.query.explain import explain as explained

        print(explained(found))
        return DONE
    with _folder(checkpoint) as where:
        offered = rate if plan else None  # otherwise it is the plan's
        options = Options(
            where, rate=offered, schedule=follows, work=work, batch_seconds=batch, output=output
        )
        summary = _run(found, options, site, duration, warm_up)
    return _report(made, summary, json)


@dataclasses.dataclass(frozen=True)
class Summary:
    """What a run has shown."""

    seen: Observation
    start_up: tuple[tuple[str, float], ...]
    events: tuple[str, ...]
    in_place: int
    threads: int
    verdicts: tuple[Verdict, ...]
    measurement: Measurement
    """When and on what; profiles made from the run carry it."""
    batches: Mapping[int, Observation] = dataclasses.field(default_factory=dict)
    interrupted: bool = False
    """By Ctrl-C, before its time."""


def _plan(
    spec: str,
    file: Path | None,
    rate: float | None,
    placer: str | None,
    scale: float | None,
    site: Site,
) -> Plan:
    """The spec planned, for what this machine can hold, or the plan in a file, for what the spec
    says now.
    """
    import slotwise
    from slotwise.model import SlotwiseError
    from slotwise.spec.plan_json import read_plan

    if file is None:
        return _scaled_plan(spec, rate, placer, scale, site)
    if scale is not None:
        raise SlotwiseError(f"--scale does not apply to a plan: remove it, or --plan {file}")
    pipeline, made = slotwise.load(spec), read_plan(file)
    if made.pipeline.topology != pipeline.topology:
        raise SlotwiseError(f"{file} is a plan for another topology than {spec}: plan it again")
    made = dataclasses.replace(made, pipeline=pipeline)
    # The spec's profiles and network may have changed since: its prediction is made now.
    return dataclasses.replace(made, predicted=slotwise.predict(made, rate))


def _scaled_plan(
    spec: str, rate: float | None, placer: str | None, scale: float | None, site: Site
) -> Plan:
    import slotwise
    from slotwise.spark.scaling import plan_for

    made = plan_for(
        slotwise.load(spec), rate, scale, site, lambda part: slotwise.plan(part, placer=placer)
    )
    if made.factor < 1:
        note(str(made))
    return made.plan


@contextmanager
def _folder(checkpoint: Path | None) -> Iterator[Path]:
    if checkpoint is not None:
        yield checkpoint
        return
    from slotwise.spark.cluster.folders import passing_folder

    with passing_folder() as folder:
        yield folder / "checkpoint"


def _run(
    found: Outline,
    options: Options,
    site: Site,
    duration: float,
    warm_up: float,
) -> Summary:
    from slotwise.spark.start_up import Timeline, launched
    from slotwise.spark.supervise import supervise

    times = Timeline(report=note)
    with launched(found, options, site=site, timeline=times) as running:
        note(f"start-up: {times.seconds:.1f} s{_faster()}")
        warm_up = min(warm_up, duration / 2)
        with _live() as each_tick, _ended_by_ctrl_c() as is_over:
            supervise(running, warm_up, each_tick, is_over=is_over)
            if is_over():
                running.events.append("ended during the warm-up: the summary covers the warm-up")
            else:
                running.watch.forget()
                supervise(running, duration - warm_up, each_tick, is_over=is_over)
            return _summary(running, times, site, interrupted=is_over())


def _faster() -> str:
    from slotwise.spark.cluster import class_archive

    return "" if class_archive.options() else " (run 'slotwise prepare' once to make it shorter)"


@contextmanager
def _ended_by_ctrl_c() -> Iterator[Callable[[], bool]]:
    """Whether Ctrl-C was pressed: the run ends in order, and its summary is shown."""
    pressed = False

    def note_it(*_: object) -> None:
        nonlocal pressed
        if pressed:
            raise KeyboardInterrupt
        pressed = True
        note("stopping the run; press Ctrl-C again to exit immediately")

    before = signal.signal(signal.SIGINT, note_it)
    try:
        yield lambda: pressed
    finally:
        signal.signal(signal.SIGINT, before)


def _summary(running: Run, times: Timeline, site: Site, *, interrupted: bool) -> Summary:
    from slotwise.machine import measured_now
    from slotwise.model import SlotwiseError

    seen = running.observation()
    if seen is None and interrupted:
        raise KeyboardInterrupt
    if seen is None:
        raise SlotwiseError("the run was too short to measure anything: use a longer --for")
    fall_backs = running.whereabouts().fall_backs
    events = [*running.events, *dict.fromkeys(fall_back.reason for fall_back in fall_backs)]
    return Summary(
        seen,
        tuple(times.steps),
        tuple(events),
        *running.threads_in_place(),
        running.plan.judged(seen),
        measured_now(site.cores_per_slot, site.slot_memory_mb, "run", here=site.master is None),
        running.watch.batches,
        interrupted,
    )


@contextmanager
def _live() -> Iterator[Any]:
    """A table that changes each second on a terminal, else a line now and then."""
    if not sys.stderr.isatty():
        yield _lines()
        return
    from rich.live import Live

    from slotwise.report.observation import observation_report

    with Live(console=console(stderr=True), transient=True, auto_refresh=False) as live:

        def each_tick(running: Run) -> None:
            seen, predicted = running.observation(last_s=5), running.plan.predicted
            if seen is not None and predicted is not None:
                live.update(observation_report(running.plan, predicted, seen), refresh=True)

        yield each_tick


def _lines() -> Callable[[Run], None]:
    """One line each ten seconds."""
    from slotwise.report.figures import figure

    printed_s: float | None = None

    def each_tick(running: Run) -> None:
        nonlocal printed_s
        if printed_s is None:
            printed_s = running.now_s()
        if running.now_s() < printed_s + LINE_SECONDS:
            return
        if seen := running.observation(last_s=LINE_SECONDS):
            printed_s = running.now_s()
            latencies = ", ".join(
                f"{name} {figure(getattr(seen, f'latency_{name}_ms'))}"
                for name in ("p50", "p95", "p99")
            )
            note(
                f"{figure(seen.throughput)} tuples/s, latency ms: {latencies}, "
                f"busiest operator: {seen.bottleneck}"
            )

    return each_tick


def _report(plan: Plan, summary: Summary, json: bool) -> int:
    if json:
        print(json_text(summary_data(plan, summary)), end="")
    else:
        from slotwise.model import counted
        from slotwise.report.observation import observation_report

        assert plan.predicted is not None
        show(observation_report(plan, plan.predicted, summary.seen))
        threads = counted(summary.threads, "thread")
        print(f"\n{summary.in_place:,} of {threads} where planned")
    for sentence in summary.events:
        note(sentence)
    status = note_verdicts(summary.verdicts, summary.seen)
    return INTERRUPTED if summary.interrupted else status


def summary_data(plan: Plan, summary: Summary) -> dict[str, Any]:
    """The summary for JSON; what is unknown or has no finite value is left out or null."""
    from slotwise.spec.observation_json import observation_data, verdicts_data

    assert plan.predicted is not None
    return {
        "topology": plan.pipeline.topology.name,
        "goals": verdicts_data(summary.verdicts),
        "predicted": observation_data(plan.predicted),
        "measured": observation_data(summary.seen),
        "batches": [
            {"batch": batch, **_batch_data(seen)} for batch, seen in sorted(summary.batches.items())
        ],
        "threads_in_place": summary.in_place,
        "threads": summary.threads,
        "start_up_seconds": dict(summary.start_up),
        "events": list(summary.events),
        "measurement": json_data(summary.measurement),
        "interrupted": summary.interrupted,
    }


def _batch_data(seen: Observation) -> dict[str, Any]:
    return {
        name: getattr(seen, name)
        for name in (
            "start_s",
            "end_s",
            "throughput",
            "latency_ms",
            "latency_p50_ms",
            "latency_p95_ms",
            "latency_p99_ms",
            "sojourn_ms",
        )
    }
