"""`slotwise run`: a plan on Spark, watched, against its prediction and its goals."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

from cyclopts import Parameter

from slotwise.cli import DONE, INTERRUPTED
from slotwise.cli.adapting import adapting
from slotwise.cli.output import note, note_verdicts, show
from slotwise.cli.parameters import (
    Apply,
    ControlFile,
    Controller,
    Decisions,
    Duration,
    EventLog,
    Json,
    Period,
    Rate,
    Scale,
    SparkConf,
    SparkUi,
    Spec,
)
from slotwise.cli.showing import HOST, PORT, Host, Page, Port, Report, RunsFile, Showing
from slotwise.json_data import json_data, json_text

if TYPE_CHECKING:
    from slotwise.adaptation_following import Following
    from slotwise.cli.watching import Tell
    from slotwise.model import Observation, Plan
    from slotwise.runs import Head, Recorder
    from slotwise.spark.cluster import Site
    from slotwise.spark.query.outline import Outline
    from slotwise.spark.run import Options, Run
    from slotwise.spark.run_summary import RunSummary

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
            help="Run on this master: spark://HOST:PORT, yarn or k8s://https://HOST:PORT. "
            "Default: a cluster on this machine."
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
    spark_conf: SparkConf = (),
    event_log: EventLog = None,
    spark_ui: SparkUi = False,
    explain: Annotated[
        bool,
        Parameter(
            negative=(),
            show_default=False,
            help="Print levels, partitions and SQL, and run nothing.",
        ),
    ] = False,
    controller: Controller = None,
    apply: Apply = None,
    period: Period = None,
    decisions: Decisions = None,
    control: ControlFile = None,
    page: Page = False,
    host: Host = HOST,
    port: Port = PORT,
    report: Report = None,
    runs: RunsFile = None,
    json: Json = False,
) -> int:
    """Start, watch and stop one plan, and show what it did."""
    from slotwise import schedules
    from slotwise.control_file import control_of
    from slotwise.spark.cluster import Site
    from slotwise.spark.cluster.conf import watched
    from slotwise.spark.failures import silence_pyspark
    from slotwise.spark.query.outline import outline
    from slotwise.spark.run import Options
    from slotwise.spark.run_summary import last_plan

    follows = adapting(controller, apply, period, decisions, control)
    showing = Showing(page, host, port, report, runs)
    showing.check()
    scheduled = schedules.schedule(schedule) if schedule else None
    chosen = {**dict(spark_conf), **watched(event_log, spark_ui)}
    site = Site(master, slot_memory_mb, cores_per_slot, chosen)
    planned = _plan(spec, plan, rate, placer, scale, site)
    made = planned if follows is None else last_plan(checkpoint, planned, note)
    found = outline(made)
    silence_pyspark()
    if explain:
        from slotwise.spark.query.explain import explain as explained

        print(explained(found))
        return DONE
    with _folder(checkpoint) as where:
        offered = rate if plan else None  # otherwise it is the plan's
        options = Options(
            where,
            rate=offered,
            schedule=scheduled,
            work=work,
            batch_seconds=batch,
            output=output,
            planned=planned,
        )
        if follows is not None and follows.control is None:
            follows = dataclasses.replace(follows, control=control_of(where))
        head = _head(found, options, follows)
        with showing.recording(head) as recorder:
            if follows is not None and recorder is not None:
                follows = dataclasses.replace(follows, each_step=recorder.stepped)
            summary = _run(found, options, site, duration, warm_up, follows, recorder)
    return _report(summary, json)


def planned(spec: str, file: Path | None, master: str) -> Plan:
    """What `run` would run on a master."""
    from slotwise.spark.cluster import Site

    return _plan(spec, file, None, None, None, Site(master))


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
        fits = "the largest part that fits this machine; --scale 1 runs all of it"
        note(str(made) if scale is not None else f"{made} ({fits})")
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
    follows: Following | None,
    recorder: Recorder | None,
) -> RunSummary:
    from slotwise.cli.watching import recorded, watched
    from slotwise.spark.run_summary import summarized
    from slotwise.spark.start_up import Timeline

    times = Timeline(report=note)

    @contextmanager
    def watching(running: Run) -> Iterator[Tell]:
        note(f"start-up: {times.seconds:.1f} s{_faster()}")
        with watched(running) as tell:
            if recorder is not None:
                recorded(running, recorder)
            yield tell

    return summarized(
        found,
        options,
        site,
        duration,
        min(warm_up, duration / 2),
        timeline=times,
        watching=watching,
        following=follows,
    )


def _head(found: Outline, options: Options, follows: Following | None) -> Head:
    from slotwise.runs import Head

    rate = options.given(found.plan).rate
    assert rate is not None
    return Head.of(found.plan, "measured", rate, follows)


def _faster() -> str:
    from slotwise.spark.cluster import class_archive

    return "" if class_archive.options() else " (run 'slotwise prepare' once to make it shorter)"


def _report(summary: RunSummary, json: bool) -> int:
    if json:
        print(json_text(summary_data(summary)), end="")
    else:
        _show(summary)
    told = 0 if summary.adapted is None else summary.adapted[0].told
    for sentence in summary.events[told:]:
        note(sentence)
    if summary.adapted is None:
        status = note_verdicts(summary.verdicts, summary.seen)
    else:
        from slotwise.cli.adapting import note_violations

        status = note_violations(summary.adapted[1])
    return INTERRUPTED if summary.interrupted else status


def _show(summary: RunSummary) -> None:
    from slotwise.model import counted
    from slotwise.report.observation import observation_report

    plan = summary.plan
    if summary.seen is not None and plan.predicted is not None:
        show(observation_report(plan, plan.predicted, summary.seen))
    threads = counted(summary.threads, "thread")
    print(f"\n{summary.in_place:,} of {threads} where planned")
    if summary.adapted is not None:
        from slotwise.cli.adapting import headline
        from slotwise.report.adaptation import adaptation_report

        loop, account = summary.adapted
        print()
        show(adaptation_report(headline(loop, account), account))


def summary_data(summary: RunSummary) -> dict[str, Any]:
    """The summary for JSON; what is unknown or has no finite value is left out or null."""
    from slotwise.cli.adapting import adaptation_data
    from slotwise.spec.observation_json import observation_data, verdicts_data

    predicted, seen = summary.plan.predicted, summary.seen
    made = {
        "topology": summary.plan.pipeline.topology.name,
        "goals": verdicts_data(summary.verdicts),
        "predicted": None if predicted is None else observation_data(predicted),
        "measured": None if seen is None else observation_data(seen),
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
    if summary.adapted is not None:
        made["adaptation"] = adaptation_data(*summary.adapted)
    return made


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
