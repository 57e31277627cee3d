"""`slotwise run`: a plan on Spark, watched, against its prediction and its goals."""

from __future__ import annotations

import dataclasses
import math
import re
import signal
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

from cyclopts import Parameter, Token

from slotwise.cli import DONE, GOAL_MISSED, INTERRUPTED
from slotwise.cli.output import console, json_text, note, show
from slotwise.cli.parameters import Json, Rate, Spec

if TYPE_CHECKING:
    from slotwise.model import Goals, Observation, Plan
    from slotwise.spark.launch import Options, Run
    from slotwise.spark.outline import Outline
    from slotwise.spark.session import Site, Timeline

UNITS = {"": 1.0, "s": 1.0, "m": 60.0, "h": 3600.0}
LINE_SECONDS = 10.0
KEPT = 0.97
"""A run's rate may fall this much short of the goal: clocks and batches do not meet exactly."""


def _read_seconds(_: Any, tokens: Sequence[Token]) -> float:
    return seconds_of(tokens[0].value)


def seconds_of(text: str) -> float:
    """
    >>> seconds_of("90"), seconds_of("1.5m")
    (90.0, 90.0)
    """
    found = re.fullmatch(r"(\d+(?:\.\d+)?)([smh]?)", text)
    if found is None or float(found[1]) == 0:
        raise ValueError(f"'{text}' is no time: write for example 60s, 5m or 1h.")
    return float(found[1]) * UNITS[found[2]]


Seconds = Annotated[float, Parameter(converter=_read_seconds)]
Folder = Annotated[Path | None, Parameter(show_default=False)]


def run(
    spec: Spec,
    /,
    *,
    plan: Annotated[Path | None, Parameter(help="A plan from 'slotwise plan --output'.")] = None,
    duration: Annotated[Seconds, Parameter(name="--for", help="How long: 60s, 5m, 1h.")] = 60.0,
    rate: Rate = None,
    placer: Annotated[str | None, Parameter(help="Default: the spec's.")] = None,
    master: Annotated[str | None, Parameter(help="spark://host:port; else a cluster here.")] = None,
    checkpoint: Annotated[Folder, Parameter(help="Go on from here; kept at the end.")] = None,
    output: Annotated[Folder, Parameter(help="Write what comes out here, as JSON lines.")] = None,
    work: Annotated[
        Literal["wait", "burn", "none"],
        Parameter(help="What operators without logic do for their profile's time."),
    ] = "wait",
    batch: Annotated[Seconds, Parameter(help="How often real-time mode commits.")] = 30.0,
    warm_up: Annotated[Seconds, Parameter(help="Left out of the summary.")] = 10.0,
    slot_memory_mb: Annotated[int, Parameter(help="Of each executor.")] = 512,
    cores_per_slot: Annotated[
        float | None, Parameter(help="A CPU quota, times the node's speed; else none.")
    ] = None,
    explain: Annotated[
        bool, Parameter(negative=(), show_default=False, help="Print levels, partitions and SQL.")
    ] = False,
    json: Json = False,
) -> int:
    """Start, watch and stop one plan, and show what it did."""
    from slotwise.spark.failures import silence_pyspark
    from slotwise.spark.launch import Options
    from slotwise.spark.outline import outline
    from slotwise.spark.session import Site

    made = _plan(spec, plan, rate, placer)
    found = outline(made)
    silence_pyspark()
    if explain:
        from slotwise.spark.explain import explain as explained

        print(explained(found))
        return DONE
    with _folder(checkpoint) as where:
        options = Options(where, rate=rate, work=work, batch_seconds=batch, output=output)
        site = Site(master, slot_memory_mb, cores_per_slot)
        summary = _run(found, options, site, duration, warm_up)
    return _tell(made, summary, json)


@dataclasses.dataclass(frozen=True)
class Summary:
    """What a run has shown."""

    seen: Observation
    start_up: tuple[tuple[str, float], ...]
    events: tuple[str, ...]
    in_place: int
    threads: int
    missed: tuple[str, ...]
    batches: Mapping[int, Observation] = dataclasses.field(default_factory=dict)
    interrupted: bool = False
    """By Ctrl-C, before its time."""


def _plan(spec: str, file: Path | None, rate: float | None, placer: str | None) -> Plan:
    import slotwise
    from slotwise.model import SlotwiseError
    from slotwise.spec.plan_json import plan_from_json

    pipeline = slotwise.load(spec)
    if file is None:
        return slotwise.plan(pipeline, rate, placer=placer)
    made = plan_from_json(file.read_text(encoding="utf-8"))
    if made.pipeline.topology != pipeline.topology:
        raise SlotwiseError(f"{file} is no plan of {spec}: its topology differs; plan it again")
    return dataclasses.replace(made, pipeline=pipeline)


@contextmanager
def _folder(checkpoint: Path | None) -> Iterator[Path]:
    if checkpoint is not None:
        yield checkpoint
        return
    from slotwise.spark.folders import passing_folder

    with passing_folder() as folder:
        yield folder / "checkpoint"


def _run(
    found: Outline,
    options: Options,
    site: Site,
    duration: float,
    warm_up: float,
) -> Summary:
    from slotwise.spark.session import Timeline, launched
    from slotwise.spark.supervise import supervise

    times = Timeline(tell=note)
    with launched(found, options, site=site, timeline=times) as running:
        note(f"start-up: {times.seconds:.1f} s{_faster()}")
        warm_up = min(warm_up, duration / 2)
        with _live() as each_tick, _ended_by_ctrl_c() as is_over:
            supervise(running, warm_up, each_tick, is_over=is_over)
            if is_over():
                running.events.append("ended during the warm-up: the summary is of that")
            else:
                running.watch.forget()
                supervise(running, duration - warm_up, each_tick, is_over=is_over)
            return _summary(running, times, interrupted=is_over())


def _faster() -> str:
    from slotwise.spark import archive

    return "" if archive.options() else " ('slotwise prepare', once, makes it shorter)"


@contextmanager
def _ended_by_ctrl_c() -> Iterator[Callable[[], bool]]:
    """Whether Ctrl-C was pressed: the run ends in order, and its summary is told."""
    pressed = False

    def note_it(*_: object) -> None:
        nonlocal pressed
        if pressed:
            raise KeyboardInterrupt
        pressed = True
        note("ending the run; press Ctrl-C again to leave at once")

    before = signal.signal(signal.SIGINT, note_it)
    try:
        yield lambda: pressed
    finally:
        signal.signal(signal.SIGINT, before)


def _summary(running: Run, times: Timeline, *, interrupted: bool) -> Summary:
    from slotwise.model import SlotwiseError

    seen = running.observation()
    if seen is None and interrupted:
        raise KeyboardInterrupt
    if seen is None:
        raise SlotwiseError("the run was too short to measure anything: give it more time (--for)")
    where = running.whereabouts()
    events = [*running.events, *dict.fromkeys(fall_back.reason for fall_back in where.fall_backs)]
    return Summary(
        seen,
        tuple(times.steps),
        tuple(events),
        sum(task.slot == task.planned for task in where.tasks),
        len(where.tasks),
        missed_goals(running.plan.pipeline.goals, running.options.rate, seen),
        running.watch.batches,
        interrupted,
    )


def missed_goals(goals: Goals, rate: float | None, seen: Observation) -> tuple[str, ...]:
    """One sentence for each goal that was not reached; a rate given for the run goes before."""
    missed = []
    wanted = goals.rate if rate is None else rate
    if wanted is not None and seen.rate < KEPT * min(wanted, seen.input_rate):
        missed.append(f"measured rate {seen.rate:,.1f}/s is below {wanted:,.1f}/s")
    if goals.latency_ms is not None and not seen.latency_ms <= goals.latency_ms:
        missed.append(
            f"measured latency {seen.latency_ms:,.1f} ms is above the goal of "
            f"{goals.latency_ms:,.1f} ms"
        )
    if seen.stable is False:
        missed.append(f"the run is not stable: {'; '.join(seen.remarks)}")
    return tuple(missed)


@contextmanager
def _live() -> Iterator[Any]:
    """A table that changes each second on a terminal, else a line now and then."""
    if not sys.stderr.isatty():
        yield _lines()
        return
    from rich.live import Live

    from slotwise.report.running import observation_report

    with Live(console=console(stderr=True), transient=True, auto_refresh=False) as live:

        def each_tick(running: Run) -> None:
            seen = running.observation(last_seconds=5)
            if seen is not None:
                live.update(observation_report(running.plan, seen), refresh=True)

        yield each_tick


def _lines() -> Callable[[Run], None]:
    """One line each ten seconds."""
    told = time.monotonic()

    def each_tick(running: Run) -> None:
        nonlocal told
        if time.monotonic() < told + LINE_SECONDS:
            return
        if seen := running.observation(last_seconds=LINE_SECONDS):
            told = time.monotonic()
            quantiles = ", ".join(f"p{q * 100:.0f} {ms:,.1f}" for q, ms in seen.latency_quantiles)
            note(f"{seen.rate:,.0f} tuples/s, ms: {quantiles}, busiest {seen.bottleneck}")

    return each_tick


def _tell(plan: Plan, summary: Summary, json: bool) -> int:
    if json:
        print(json_text(summary_data(plan, summary)), end="")
    else:
        from slotwise.report.running import observation_report

        show(observation_report(plan, summary.seen))
        print(f"\n{summary.in_place} of {summary.threads} threads where they were planned")
    for sentence in (*summary.seen.remarks, *summary.events):
        note(sentence)
    for sentence in summary.missed:
        note(f"goal missed: {sentence}")
    if summary.interrupted:
        return INTERRUPTED
    return GOAL_MISSED if summary.missed else DONE


def summary_data(plan: Plan, summary: Summary) -> dict[str, Any]:
    """The summary for JSON; what has no finite value is null."""
    seen = {
        field.name: getattr(summary.seen, field.name)
        for field in dataclasses.fields(summary.seen)
        if field.name not in ("thread_traffic", "slot_traffic", "node_traffic")
    }
    predicted = plan.predicted
    data = {
        "topology": plan.pipeline.topology.name,
        "measured": seen,
        "predicted_rate": predicted.rate if predicted else None,
        "predicted_latency_ms": predicted.latency_ms if predicted else None,
        "batches": [
            {
                "batch": batch,
                "rate": batch_seen.rate,
                "latency_ms": batch_seen.latency_ms,
                "sink_latency_ms": batch_seen.sink_latency_ms,
                "latency_quantiles": batch_seen.latency_quantiles,
            }
            for batch, batch_seen in sorted(summary.batches.items())
        ],
        "threads_in_place": summary.in_place,
        "threads": summary.threads,
        "start_up_seconds": dict(summary.start_up),
        "events": summary.events,
        "interrupted": summary.interrupted,
        "missed_goals": summary.missed,
    }
    made: dict[str, Any] = _plain(data)
    return made


def _plain(value: Any) -> Any:
    match value:
        case dict():
            return {str(key): _plain(item) for key, item in value.items()}
        case list() | tuple():
            return [_plain(item) for item in value]
        case float():
            return value if math.isfinite(value) else None
    return _plain(dataclasses.asdict(value)) if dataclasses.is_dataclass(value) else value  # type: ignore[arg-type]
