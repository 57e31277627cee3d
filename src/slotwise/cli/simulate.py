"""`slotwise simulate`: what would this plan do? One plan, or a grid of them."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Annotated, Any

from cyclopts import CycloptsError, Group, Parameter

from slotwise.cli.adapting import adapting
from slotwise.cli.output import deliver, note_verdicts
from slotwise.cli.parameters import (
    Apply,
    ControlFile,
    Controller,
    Decisions,
    Duration,
    Json,
    Period,
    Rate,
    integer_from,
)
from slotwise.cli.showing import (
    CONTROL,
    HOST,
    PORT,
    Host,
    Page,
    Port,
    Report,
    RunsFile,
    Showing,
    write_plan_report,
)
from slotwise.json_data import json_text

if TYPE_CHECKING:
    from slotwise.adaptation_following import Following
    from slotwise.model import Choice, Observation, Plan, Verdict
    from slotwise.simulation import Options

_PLANNING = Group("Planning", sort_key=1)
_SIMULATION = Group("Simulation", sort_key=2)
_SWEEP = Group("Sweeps", sort_key=3)
_FOR_SWEEPS = ("sweep", "master", "journal", "csv")
_FOR_BOTH = ("json", "output")
_USUAL = {"host": HOST, "port": PORT}
"""Options that have a value where they are not given."""

Source = Annotated[
    str | None,
    Parameter(help="A spec file, a bundled example, or a plan written by 'plan --output' (.json)."),
]
Allocator = Annotated[
    str | None,
    Parameter(group=_PLANNING, help="The allocator. Default: the spec's, or auto."),
]
Provisioner = Annotated[
    str | None,
    Parameter(group=_PLANNING, help="The provisioner. Default: the spec's, or auto."),
]
Placer = Annotated[
    str | None,
    Parameter(group=_PLANNING, help="The placer. Default: the spec's, or auto."),
]


def _option(text: str) -> Parameter:
    return Parameter(group=_SIMULATION, show_default=False, help=text)


def simulate(
    spec: Source = None,
    /,
    *,
    rate: Annotated[
        Rate,
        Parameter(
            group=_PLANNING,
            help="Input rate in tuples/s. Default: the spec's goals.rate, or the plan's rate.",
        ),
    ] = None,
    allocator: Allocator = None,
    provisioner: Provisioner = None,
    placer: Placer = None,
    arrivals: Annotated[
        str | None, _option("Arrivals: poisson (default), constant, uniform, or trace:file=FILE.")
    ] = None,
    schedule: Annotated[
        str | None,
        _option(
            "How the rate changes: step:at=60s,factor=2, ramp, sine, burst or constant. "
            "Default: the spec's."
        ),
    ] = None,
    service: Annotated[
        str | None,
        _option(
            "Service times: profile (default), deterministic, exponential, gamma:scv=2, "
            "lognormal:scv=2, samples:file=FILE."
        ),
    ] = None,
    keys: Annotated[
        str | None,
        _option("Keys of fields grouping: uniform, zipf:exponent=1, recorded:file=FILE."),
    ] = None,
    buffers: Annotated[
        str | None,
        _option("Buffers: unbounded (default), block:capacity=100, lose:node_capacity=100."),
    ] = None,
    routing: Annotated[
        str | None, _option("Routing: shuffle=random, selectivity=random, queue=shared.")
    ] = None,
    network: Annotated[
        str | None, _option("Network: bandwidth_mb_per_s=100, send_ms=0.1, and others.")
    ] = None,
    tuples: Annotated[
        int | None,
        Parameter(
            converter=integer_from(1),
            group=_SIMULATION,
            help="Number of input tuples. Default: 100000.",
        ),
    ] = None,
    duration: Annotated[
        Duration | None,
        Parameter(
            name=("--duration", "--for"),
            group=_SIMULATION,
            help="Simulated time, instead of --tuples: 60s, 5m, 24h.",
        ),
    ] = None,
    seed: Annotated[
        int,
        Parameter(
            converter=integer_from(0),
            group=_SIMULATION,
            show_default=False,
            help="Seed of all random numbers. Default: 0.",
        ),
    ] = 0,
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
    output: Annotated[
        Path | None,
        Parameter(
            help="Also write the result to this file, as JSON (or CSV for a sweep, if .csv)."
        ),
    ] = None,
    sweep: Annotated[
        Path | None, Parameter(group=_SWEEP, help="Simulate all points of the grid in this file.")
    ] = None,
    master: Annotated[
        str | None,
        Parameter(group=_SWEEP, help="Run the points on Spark: local[4], spark://HOST:7077."),
    ] = None,
    journal: Annotated[
        Path | None,
        Parameter(
            group=_SWEEP, help="The file that keeps finished points. Default: SWEEP.journal."
        ),
    ] = None,
    csv: Annotated[
        bool,
        Parameter(
            negative=(), group=_SWEEP, show_default=False, help="Print CSV instead of a table."
        ),
    ] = False,
) -> int:
    """Simulate one plan, a plan under a controller, or a sweep, and show the result."""
    given = {name: value for name, value in locals().items() if value not in (None, False)}
    given = {name: value for name, value in given.items() if _USUAL.get(name) != value}
    _check_together(set(given))
    if sweep is not None:
        from slotwise.cli.sweep import run_sweep

        return run_sweep(sweep, master, journal, "json" if json else "csv" if csv else None, output)
    if spec is None:
        raise _usage("nothing to simulate: expected a spec, an example, a plan, or --sweep FILE")
    if tuples is not None and duration is not None:
        raise _usage("--tuples cannot be used with --duration: remove one of them")
    follows = adapting(controller, apply, period, decisions, control)
    showing = Showing(page, host, port, report, runs)
    if follows is None and (page or runs):
        option = "--page" if page else "--runs"
        raise _usage(f"{option} is for a simulation under a controller: add --controller")
    showing.check()
    if follows is not None and duration is None:
        raise _usage("a run under a controller requires the simulated time, such as --for 1h")
    options = _options(arrivals, schedule, service, keys, buffers, routing, network)
    options = replace(options, seed=seed)
    made = _plan(spec, rate, (allocator, provisioner, placer))
    if follows is not None and duration is not None:
        return _adapt(made, rate, options, duration, follows, showing, json, output)
    options = replace(options, tuples=tuples, duration_s=duration)
    return _simulate(made, rate, options, report, json, output)


def _check_together(given: set[str]) -> None:
    """A sweep's file says what to simulate; a single simulation has nothing to spread out."""
    wrong = given - {*_FOR_SWEEPS, *_FOR_BOTH} if "sweep" in given else given & {*_FOR_SWEEPS}
    for name in sorted(wrong):
        shown = "SPEC" if name == "spec" else f"--{name}"
        if "sweep" in given:
            raise _usage(f"{shown} cannot be used with --sweep: set it in the sweep file")
        raise _usage(f"{shown} requires --sweep FILE")


def _usage(problem: str) -> CycloptsError:
    return CycloptsError(msg=problem, command_chain=("simulate",))


def _plan(
    source: str, rate: float | None, algorithms: tuple[str | None, str | None, str | None]
) -> Plan:
    import slotwise
    from slotwise.spec.plan_json import read_plan

    if source.endswith(".json"):
        if any(algorithms):
            raise _usage(
                "a plan's algorithms are fixed: remove --allocator, --provisioner and --placer"
            )
        return read_plan(source)
    allocator, provisioner, placer = algorithms
    return slotwise.plan(source, rate, allocator=allocator, provisioner=provisioner, placer=placer)


def _options(
    arrivals: str | None,
    schedule: str | None,
    service: str | None,
    keys: str | None,
    buffers: str | None,
    routing: str | None,
    network: str | None,
) -> Options:
    from slotwise import registry, schedules
    from slotwise.simulation import Options, choices

    def chosen(text: str | None, default: str) -> Choice:
        return registry.choice(text or default)

    here = Path()
    return Options(
        arrivals=choices.arrivals(
            chosen(arrivals, "poisson"),
            here,
            schedules.schedule(schedule) if schedule else None,
        ),
        service=choices.service_times(chosen(service, "profile"), here),
        keys=choices.keys(chosen(keys, "uniform"), here),
        buffers=choices.buffers(chosen(buffers, "unbounded"), here),
        routing=choices.routing(registry.choice(f"routing:{routing or ''}").options),
        network=choices.network(registry.choice(f"network:{network or ''}").options),
    )


def _simulate(
    plan: Plan,
    rate: float | None,
    options: Options,
    report: Path | None,
    json: bool,
    output: Path | None,
) -> int:
    import slotwise
    from slotwise.report.observation import observation_report
    from slotwise.simulation.observe import observed
    from slotwise.simulation.run import run

    seen = observed(run(plan, rate, options))
    predicted = slotwise.predict(plan, rate)
    verdicts = plan.judged(seen)
    deliver(
        lambda: json_text(_as_data(plan, predicted, seen, verdicts)),
        lambda: observation_report(plan, predicted, seen),
        json=json,
        output=output,
    )
    if report is not None:
        write_plan_report(plan, seen, report)
    return note_verdicts(verdicts, seen)


def _adapt(
    plan: Plan,
    rate: float | None,
    options: Options,
    seconds: float,
    follows: Following,
    showing: Showing,
    json: bool,
    output: Path | None,
) -> int:
    from slotwise.cli.adapting import follow, report_adaptation
    from slotwise.runs import Head
    from slotwise.simulation import SimulatedDeployment

    deployment = SimulatedDeployment.for_periods(plan, follows.rules.period_s, rate, options)
    with ExitStack() as stack:
        if showing.page and follows.control is None:
            folder = stack.enter_context(TemporaryDirectory(prefix="slotwise-control-"))
            follows = replace(follows, control=Path(folder) / CONTROL)
        loop = follows.loop(deployment)
        head = Head.of(plan, "simulated", plan.rate if rate is None else rate, follows)
        recorder = stack.enter_context(showing.recording(head))
        if recorder is not None:
            loop.each_step = recorder.stepped
        account = follow(loop, seconds, follows.decisions)
    return report_adaptation(loop, account, json=json, output=output)


def _as_data(
    plan: Plan, predicted: Observation, seen: Observation, verdicts: Sequence[Verdict]
) -> dict[str, Any]:
    from slotwise.spec.observation_json import observation_data, verdicts_data

    return {
        "slotwise": _version(),
        "topology": plan.pipeline.topology.name,
        "allocator": plan.allocation.algorithm,
        "placer": plan.placement.algorithm,
        "planned_rate": plan.rate,
        "slots": plan.slots,
        "machines": plan.machines,
        "cost_per_hour": plan.cost_per_hour,
        "goals": verdicts_data(verdicts),
        "predicted": observation_data(predicted),
        seen.origin: observation_data(seen),
    }


def _version() -> str:
    from slotwise import __version__

    return __version__
