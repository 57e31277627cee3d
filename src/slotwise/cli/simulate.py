"""`slotwise simulate`: what would this plan do? One plan, or a grid of them."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from cyclopts import CycloptsError, Group, Parameter, Token

from slotwise.cli import DONE, ERROR, GOAL_MISSED
from slotwise.cli.output import json_text, note, show, write_file
from slotwise.cli.parameters import Json, Rate

if TYPE_CHECKING:
    from slotwise.model import Choice, Observation, Plan
    from slotwise.simulation import Options

_PLANNING = Group("Planning", sort_key=1)
_SIMULATION = Group("Simulation", sort_key=2)
_SWEEP = Group("Many at once", sort_key=3)
_FOR_SWEEPS = ("sweep", "master", "journal", "csv")
_FOR_BOTH = ("json", "output")
_UNITS_S = {"ms": 0.001, "s": 1.0, "min": 60.0, "h": 3600.0}


def _read_duration(_: Any, tokens: Sequence[Token]) -> float:
    text = tokens[0].value
    found = re.fullmatch(r"([0-9.eE+-]+) *(ms|s|min|h)?", text)
    try:
        seconds = float(found[1]) * _UNITS_S[found[2] or "s"] if found else math.nan
    except ValueError:
        seconds = math.nan
    if not (math.isfinite(seconds) and seconds > 0):
        raise ValueError(f"'{text}' is no duration: write 500ms, 60s, 5min or 1h.")
    return seconds


def _read_whole(least: int) -> Callable[[Any, Sequence[Token]], int]:
    def read(_: Any, tokens: Sequence[Token]) -> int:
        text = tokens[0].value.replace("_", "").replace(",", "")
        if not re.fullmatch("[0-9]{1,18}", text) or int(text) < least:
            raise ValueError(f"'{tokens[0].value}' does not do: write a whole number, {least} up.")
        return int(text)

    return read


Source = Annotated[
    str | None,
    Parameter(help="A spec file, a bundled example, or a plan that 'plan --output' wrote (.json)."),
]
Algorithm = Annotated[str | None, Parameter(group=_PLANNING, help="Default: the spec's.")]


def _option(text: str) -> Parameter:
    return Parameter(group=_SIMULATION, show_default=False, help=text)


def simulate(
    spec: Source = None,
    /,
    *,
    rate: Annotated[
        Rate,
        Parameter(group=_PLANNING, help="Input tuples/s. A plan's JSON is simulated at this rate."),
    ] = None,
    allocator: Algorithm = None,
    provisioner: Algorithm = None,
    placer: Algorithm = None,
    arrivals: Annotated[
        str | None, _option("poisson (default), constant, uniform, or trace:file=FILE.")
    ] = None,
    schedule: Annotated[
        str | None,
        _option("How the rate changes: step:at_s=60,factor=2, or ramp, sine, burst."),
    ] = None,
    service: Annotated[
        str | None,
        _option(
            "profile (default), deterministic, exponential, gamma:scv=2, lognormal:scv=2, "
            "samples:file=FILE."
        ),
    ] = None,
    keys: Annotated[
        str | None, _option("What fields grouping sees: uniform, zipf:exponent=1, recorded:file=.")
    ] = None,
    buffers: Annotated[
        str | None, _option("unbounded (default), block:capacity=100, lose:capacity=100.")
    ] = None,
    routing: Annotated[
        str | None, _option("shuffle=random, selectivity=random, queue=shared; comma between.")
    ] = None,
    network: Annotated[
        str | None, _option("bandwidth_mb_per_s=100, send_ms=0.1, …; comma between.")
    ] = None,
    tuples: Annotated[
        int | None,
        Parameter(converter=_read_whole(1), group=_SIMULATION, help="Input tuples: 100000."),
    ] = None,
    duration: Annotated[
        float | None,
        Parameter(converter=_read_duration, group=_SIMULATION, help="In place of tuples: 60s."),
    ] = None,
    seed: Annotated[
        int,
        Parameter(
            converter=_read_whole(0),
            group=_SIMULATION,
            show_default=False,
            help="Same seed, same numbers. Default: 0.",
        ),
    ] = 0,
    json: Json = False,
    output: Annotated[
        Path | None, Parameter(help="Write the JSON to this file as well; of a sweep, CSV if .csv.")
    ] = None,
    sweep: Annotated[
        Path | None, Parameter(group=_SWEEP, help="Simulate the grid in this file.")
    ] = None,
    master: Annotated[
        str | None,
        Parameter(group=_SWEEP, help="Run on Spark: local[4], spark://HOST:7077. Default: here."),
    ] = None,
    journal: Annotated[
        Path | None,
        Parameter(group=_SWEEP, help="Finished points, to go on from. Default: SWEEP.journal."),
    ] = None,
    csv: Annotated[
        bool, Parameter(negative=(), group=_SWEEP, show_default=False, help="Print CSV.")
    ] = False,
) -> int:
    """Simulate one plan, or a sweep, and show what came out."""
    _check_together({name for name, value in locals().items() if value not in (None, False)})
    if sweep is not None:
        from slotwise.cli.sweep import run_sweep

        return run_sweep(sweep, master, journal, "json" if json else "csv" if csv else None, output)
    if spec is None:
        raise _usage("Name a spec, an example or a plan to simulate, or give --sweep.")
    if tuples is not None and duration is not None:
        raise _usage("--tuples and --duration both say how long: give one of them.")
    choices = (arrivals, schedule, service, keys, buffers, routing, network)
    made, judged = _plan(spec, rate, (allocator, provisioner, placer))
    options = replace(_options(*choices), tuples=tuples, duration_s=duration, seed=seed)
    return _simulate(made, judged, rate, options, json, output)


def _check_together(given: set[str]) -> None:
    """A sweep's file says what to simulate; a single simulation has nothing to spread out."""
    wrong = given - {*_FOR_SWEEPS, *_FOR_BOTH} if "sweep" in given else given & {*_FOR_SWEEPS}
    for name in sorted(wrong):
        shown = "SPEC" if name == "spec" else f"--{name}"
        if "sweep" in given:
            raise _usage(f"{shown} does not go with --sweep: write it into the sweep file.")
        raise _usage(f"{shown} is for a sweep: give --sweep FILE as well.")


def _usage(problem: str) -> CycloptsError:
    return CycloptsError(msg=problem, command_chain=("simulate",))


def _plan(
    source: str, rate: float | None, algorithms: tuple[str | None, str | None, str | None]
) -> tuple[Plan, Plan]:
    """The plan, and the same with the goals it is judged by."""
    import slotwise
    from slotwise.cli.plan import asking_for, without_rate_goal
    from slotwise.model import SlotwiseError
    from slotwise.spec.files import read_text
    from slotwise.spec.plan_json import plan_from_json

    if source.endswith(".json"):
        if any(algorithms):
            raise _usage("A plan's JSON is planned already: leave the algorithms out.")
        try:
            made = plan_from_json(read_text(source, "plan"))
        except SlotwiseError as error:
            raise error if source in str(error) else SlotwiseError(f"{source}: {error}") from None
    else:
        pipeline = asking_for(slotwise.load(source), rate)
        allocator, provisioner, placer = algorithms
        made = slotwise.plan(
            pipeline, rate, allocator=allocator, provisioner=provisioner, placer=placer
        )
    return made, made if rate is None else without_rate_goal(made)


def _options(
    arrivals: str | None,
    schedule: str | None,
    service: str | None,
    keys: str | None,
    buffers: str | None,
    routing: str | None,
    network: str | None,
) -> Options:
    from slotwise import registry
    from slotwise.simulation import Options, choices

    def chosen(text: str | None, default: str) -> Choice:
        return registry.choice(text or default)

    here = Path()
    return Options(
        arrivals=choices.arrivals(
            chosen(arrivals, "poisson"),
            here,
            choices.schedule(registry.choice(schedule), here) if schedule else None,
        ),
        service=choices.service_times(chosen(service, "profile"), here),
        keys=choices.keys(chosen(keys, "uniform"), here),
        buffers=choices.buffers(chosen(buffers, "unbounded"), here),
        routing=choices.routing(registry.choice(f"routing:{routing or ''}").options, here),
        network=choices.network(registry.choice(f"network:{network or ''}").options, here),
    )


def _simulate(
    plan: Plan, judged: Plan, rate: float | None, options: Options, json: bool, output: Path | None
) -> int:
    import slotwise
    from slotwise.simulation.observe import observed
    from slotwise.simulation.run import run

    seen = observed(run(plan, rate, options))
    predicted = slotwise.predict(plan, rate)
    missed = judged.missed_goals(seen)
    text = json_text(_told(plan, predicted, seen, missed)) if json or output else ""
    if output:
        write_file(output, text)
        note(f"wrote {output}")
    if json:
        print(text, end="")
    else:
        from slotwise.report.observation import observation_report

        show(observation_report(plan, predicted, seen))
    for sentence in missed:
        note(f"goal missed: {sentence}")
    if missed:
        return GOAL_MISSED
    if not seen.stable:
        note(f"slotwise: unstable at {seen.input_rate:,g}/s: {seen.bottleneck} is the bottleneck")
        return ERROR
    return DONE


def _told(
    plan: Plan, predicted: Observation, seen: Observation, missed: tuple[str, ...]
) -> dict[str, Any]:
    from slotwise.spec.observation_json import observation_data

    return {
        "slotwise": _version(),
        "topology": plan.pipeline.topology.name,
        "allocator": plan.allocation.algorithm,
        "placer": plan.placement.algorithm,
        "planned_rate": plan.rate,
        "slots": plan.slots,
        "machines": plan.machines,
        "cost_per_hour": plan.cost_per_hour,
        "missed_goals": list(missed),
        "predicted": observation_data(predicted),
        seen.origin: observation_data(seen),
    }


def _version() -> str:
    from slotwise import __version__

    return __version__
