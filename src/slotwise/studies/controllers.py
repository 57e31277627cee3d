"""Controllers on days of changing load: who keeps the goals, and what that costs.

Not a paper's evaluation: all controllers of the registry, plans that stay, and a clairvoyant, on
the same days of the same workloads.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from slotwise.studies.contests import contests, lost, verdicts
from slotwise.studies.controller_results import (
    COMPRESSED,
    DRAWN,
    OURS,
    Day,
    Results,
    label,
    strategies,
)
from slotwise.studies.controller_trials import CLAIRVOYANT, PERIOD_S, SAMPLES
from slotwise.studies.controller_workloads import SLOWED, WORKLOADS
from slotwise.studies.load_shapes import shapes
from slotwise.studies.study import Cell, Chart, Effort, Line, Study, Table

ALL, AGAINST = "All days together", "look-ahead against the other controllers"
VIOLATION, SLOT_HOURS = "Seconds in violation of the goals", "Slot-hours"
MATRICES: Mapping[str, str] = {
    VIOLATION: "violation_s",
    SLOT_HOURS: "slot_hours",
    "Cost of the machines": "cost",
    "Changes": "changes",
    "Pause of all changes, s": "pause_s",
    "Worst p99 latency of a period, s": "worst_p99_ms",
}


def study(effort: Effort) -> Study:
    results = Results.of(effort)
    return Study(
        name="controllers",
        title="Controllers on days of changing load",
        citation="The controllers of papers 1, 2, 3 and 5, the Flink autoscaler's rule, thresholds "
        "and Slotwise's own, beside plans that stay and a clairvoyant",
        quick=effort.quick,
        seed=effort.seed,
        assumptions=_assumptions(results),
        comparisons=(),
        tables=(_overall(results), *_against(results), *_matrices(results)),
        charts=(*_scatters(results), *_over_time(results)),
        remarks=tuple(_remarks(results)),
    )


def _overall(results: Results) -> Table:
    columns = (
        "strategy",
        "in violation, %",
        "slot-hours ÷ best",
        "cost ÷ best",
        "changes per day",
        "pause s per day",
    )
    return Table(ALL, columns, tuple(_total(results, name) for name in strategies()))


def _total(results: Results, strategy: str) -> tuple[Cell, ...]:
    violation_s = results.mean(strategy, results.violation)
    return (
        label(strategy),
        None if violation_s is None else 100 * violation_s / results.day_s,
        results.mean(strategy, results.slots),
        results.mean(strategy, lambda day, name: results.relative(day, name, "cost")),
        results.mean(strategy, lambda day, name: results.figure(day, name, "changes")),
        results.mean(strategy, lambda day, name: results.figure(day, name, "pause_s")),
    )


def _matrices(results: Results) -> Iterator[Table]:
    """A row per day, a column per strategy."""
    for title, column in MATRICES.items():
        scale = 1000 if column.endswith("_ms") else 1
        rows = []
        for day in results.days:
            found = [results.figure(day, name, column) for name in strategies()]
            rows.append((*day, *(None if value is None else value / scale for value in found)))
        columns = ("workload", "shape", *map(label, strategies()))
        yield Table(title, columns, tuple(rows))


def _against(results: Results) -> Iterator[Table]:
    rows = [
        (
            each.shape,
            each.violation_s,
            each.slots,
            label(each.least),
            each.least_s,
            ", ".join(map(label, each.dominating)) or "–",
            ", ".join(map(label, each.cheaper)) or "–",
        )
        for each in contests(results)
    ]
    columns = (
        "shape",
        f"{OURS}: s in violation",
        f"{OURS}: slot-hours ÷ best",
        "the least of the others",
        "its s in violation",
        "as little of both, or less",
        "fewer slot-hours, more in violation",
    )
    if rows:
        yield Table(AGAINST, columns, tuple(rows))


def _scatters(results: Results) -> Iterator[Chart]:
    """Time in violation over slot-hours: what is low and left is best."""
    for shape in results.shapes:
        days = [day for day in results.days if day[1] == shape]
        yield Chart(
            f"trade-{_file(shape)}",
            f"{shape.capitalize()}: a point per workload",
            "slot-hours ÷ best",
            "in violation, % of the time",
            tuple(_cloud(results, days, name) for name in strategies() if name != CLAIRVOYANT),
            kind="points",
        )


def _cloud(results: Results, days: Sequence[Day], strategy: str) -> Line:
    found = [(results.slots(day, strategy), results.violation(day, strategy)) for day in days]
    points = [(x, 100 * y / results.day_s) for x, y in found if x is not None and y is not None]
    return Line(label(strategy), tuple(x for x, _ in points), tuple(y for _, y in points))


def _over_time(results: Results) -> Iterator[Chart]:
    """Slots and latency through the day, of one workload."""
    goal_s = WORKLOADS[DRAWN].latency_p99_ms / 1000
    for shape in results.shapes:
        yield Chart(
            f"slots-{_file(shape)}",
            f"{DRAWN}, {shape}: slots in use",
            "hour",
            "slots",
            tuple(_through_the_day(results, shape, "slots", 1.0)),
        )
        yield Chart(
            f"latency-{_file(shape)}",
            f"{DRAWN}, {shape}: p99 latency",
            "hour",
            "s",
            tuple(_through_the_day(results, shape, "p99_ms", 0.001)),
            log_y=True,
            levels=(("goal", goal_s),),
        )


def _through_the_day(results: Results, shape: str, column: str, unit: float) -> Iterator[Line]:
    """Of few strategies, to stay readable."""
    hours = tuple((n + 0.5) * results.day_s / SAMPLES / 3600 for n in range(SAMPLES))
    for name in (CLAIRVOYANT, OURS, "drs", "flink"):
        values = results.rows[DRAWN, shape, name][column] if name in strategies() else None
        if values is not None:
            y = tuple(None if value is None else value * unit for value in values)
            yield Line(label(name), hours, y)


def _file(shape: str) -> str:
    return shape.replace(" ", "-")


def _remarks(results: Results) -> Iterator[str]:
    for shape in results.shapes:
        ranked = sorted(
            (violation_s, slots, name)
            for name in (OURS, *results.rivals)
            if name in strategies()
            and (violation_s := results.mean(name, results.violation, shape)) is not None
            and (slots := results.mean(name, results.slots, shape)) is not None
        )
        first = ", ".join(
            f"{label(name)} {violation_s:,.0f} s at {slots:.2f} times the clairvoyant's slot-hours"
            for violation_s, slots, name in ranked[:3]
        )
        yield f"{shape.capitalize()}: least time in violation, mean of the workloads: {first}."
    yield from verdicts(list(contests(results)), results.day_s)
    yield from lost(results)
    for (workload, shape, name), row in results.rows.items():
        if row["problem"] is not None:
            yield f"{label(name)} on {workload}, {shape}: {row['problem']}"


def _assumptions(results: Results) -> tuple[str, ...]:
    told = [
        f"{name}: {workload.rate:g} tuples/s, p99 latency at most {workload.latency_p99_ms:,.0f} ms"
        for name, workload in WORKLOADS.items()
        if name in results.workloads
    ]
    slowed = [
        f"{name}'s operators take {factor:g} times longer than in its spec, at so many times less "
        "input: plans are as large, and a day has fewer tuples."
        for name, factor in SLOWED.items()
        if name in results.workloads
    ]
    days = shapes(results.day_s, results.seed)
    return (
        f"Base rates and goals: {'; '.join(told)}. The goal is judged in each period of "
        f"{PERIOD_S:g} s.",
        *slowed,
        f"A day of 24 hours is simulated as {results.day_s / 3600:g} hours. Controllers have their "
        f"default options, which are for real days; so flink, whose windows are long, is also run "
        f"with times {COMPRESSED:g} times shorter.",
        *(f"{days[name].name.capitalize()}: {days[name].what}." for name in results.shapes),
        "All machines can be added and given back at once; VLD's five machines are a type on "
        "offer. A change pauses all threads for 0.5 s if it moves them and 3 s if it changes their "
        "number, as measured on Spark. At most 12 changes are made per hour.",
        "Every day begins with the plan that `slotwise plan` gives for its first rate. Static "
        "plans are those for the mean and the highest demand. The clairvoyant has the plan for "
        "each period's highest demand, without pauses, and exchanges a machine that is slow. "
        "It is the best that figures are divided by. As `slotwise plan` does, it leaves a fifth of "
        "every slot free; controllers may leave less where the goal holds, and so use fewer slots.",
        "Controllers do not know the machines' speed: a slowed-down machine keeps its name and its "
        "place in the plans.",
    )
