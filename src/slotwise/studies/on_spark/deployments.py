"""Paper 3's deployments on Spark: what was found for each topology, and what that says."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from slotwise.model import Pipeline, TaskCosts
from slotwise.model.profile import form_of
from slotwise.studies.convergence import machines_of, p_deployer_plan
from slotwise.studies.on_spark.climbing import Step
from slotwise.studies.on_spark.deploying import (
    BETTER,
    FACTORS,
    HOPELESS,
    LATENCY_MS,
    MOST_MACHINES,
    MOST_ROUNDS,
    Attempt,
    Search,
    holds,
)
from slotwise.studies.p_deployer import MACHINES
from slotwise.studies.paper import paper
from slotwise.studies.study import Cell, Chart, Comparison, Effort, Line, Study, Table

TRIALS = "Plans that were tried on Spark"
COSTS = "Measured costs per tuple"
SCHEDULERS = {"p-deployer": "P-Deployer", "partition": "METIS"}
"""By placer."""
Rows = list[tuple[Cell, ...]]


@dataclass(frozen=True)
class Deployments:
    """One topology. Ways are `predicted`, `simulated` and `measured`."""

    topology: str
    pipeline: Pipeline
    targets: tuple[float, ...]
    """Inputs/s."""
    p_deployer: Mapping[str, Mapping[float, Search]]
    """By way and target."""
    metis: Mapping[str, Search]
    """By way."""
    foreseen: Mapping[str, Sequence[Attempt]]
    """What was measured, first of P-Deployer's plans and then of METIS's, tried in other ways."""

    def machines(self, scheduler: str, way: str, target: float) -> int | None:
        if scheduler == "METIS":
            return self.metis[way].machines[target]
        return self.p_deployer[way][target].machines[target]

    @property
    def attempts(self) -> list[Attempt]:
        """All that were measured, in the order of `foreseen`."""
        by_target = self.p_deployer["measured"].values()
        return [
            *(attempt for each in by_target for attempt in each.attempts),
            *self.metis["measured"].attempts,
        ]

    def rounds(self, target: float) -> tuple[Attempt, ...]:
        return self.p_deployer["measured"][target].attempts

    def first_reached_percent(self, target: float) -> float | None:
        """What the first round brought of the target; None: it needed too many machines."""
        rounds = self.rounds(target)
        step = rounds[0].best(target) if rounds else None
        return None if step is None else 100 * min(1.0, (step.throughput or 0.0) / target)


@dataclass(frozen=True)
class Tried:
    """A plan at one target, measured and foreseen."""

    topology: str
    attempt: Attempt
    target: float
    steps: Mapping[str, Step | None]
    """By way; None: the rate was not tried, since a lower one did not hold."""

    def holds(self, way: str) -> bool:
        step = self.steps[way]
        return step is not None and holds(step)


def tried(found: Sequence[Deployments]) -> Iterator[Tried]:
    for each in found:
        foreseen = zip(*each.foreseen.values(), strict=True)
        for attempt, others in zip(each.attempts, foreseen, strict=True):
            ways = dict(zip(each.foreseen, others, strict=True)) | {"measured": attempt}
            for target in attempt.rates:
                steps = {way: one.best(target) for way, one in ways.items()}
                yield Tried(each.topology, attempt, target, steps)


def told(found: Sequence[Deployments], effort: Effort) -> Study:
    return Study(
        name="p-deployer",
        title="P-Deployer on Spark: machines needed for a target, against METIS",
        citation=paper("p-deployer").citation,
        quick=effort.quick,
        seed=effort.seed,
        assumptions=_ASSUMPTIONS,
        comparisons=_comparisons(found),
        tables=(machines_table(found), trials_table(found), costs_table(found)),
        charts=tuple(_chart(each) for each in found),
        remarks=remarks(found),
        on_spark=True,
    )


_ASSUMPTIONS = (
    "A machine is an executor with a CPU quota of a quarter of a core and 512 MB; all of them are "
    "on one computer.",
    "Word count is the bundled one. Linear has operators of the paper's four types in a row: they "
    "parse JSON, burn 2 ms of CPU, wait for 10 ms, and hold 32 MB.",
    "Costs per tuple are measured with one thread of each operator in such a slot; more threads "
    "are taken to do as many times as much, until the slot is full. Sources and sinks have one "
    "thread, and P-Deployer does not charge them.",
    "Predictions and simulations also have what an idle slot and the shuffle's buffers take, "
    "measured in the same slot. P-Deployer's model has no such costs.",
    f"Targets are {' and '.join(f'{factor:g}' for factor in FACTORS)} times what one machine is "
    "predicted to sustain with one thread of each operator.",
    f"A target holds if, in one of two windows of 5 s, the run is stable, the throughput at least "
    f"98 % of the target and the mean latency at most {LATENCY_MS:g} ms.",
    "The MAPE loop adds what machines took more than the profiles say to the CPU of all operators, "
    "in even shares. Where that gives a plan that is not predicted to sustain "
    f"{100 * (BETTER - 1):.0f} % more than those that failed, it plans for 5 % more. It ends after "
    f"{MOST_ROUNDS} rounds. Where no number of machines is given, up to {MOST_MACHINES} were not "
    "enough.",
    "METIS: as many tasks per operator as machines, five times as many of the one that waits. "
    f"Numbers of machines that are predicted to sustain less than {100 * HOPELESS:.0f} % of a "
    "target are not tried.",
)


def machines_table(found: Sequence[Deployments]) -> Table:
    ways = tuple(found[0].metis)
    columns = (
        *("topology", "target/s", "planned"),
        *(f"{who} {way}" for who in SCHEDULERS.values() for way in ways),
        *("rounds", "first round reached %"),
    )
    rows: Rows = []
    for each in found:
        for target in each.targets:
            planned = machines_of(p_deployer_plan(each.pipeline, target))
            counts = [each.machines(w, way, target) for w in SCHEDULERS.values() for way in ways]
            rounds = len(each.rounds(target)), each.first_reached_percent(target)
            rows.append((each.topology, target, planned, *counts, *rounds))
    return Table(MACHINES, columns, tuple(rows))


def trials_table(found: Sequence[Deployments]) -> Table:
    ways = ("predicted", "simulated", "measured")
    columns = (
        *("topology", "scheduler", "machines", "threads", "target/s"),
        *(f"holds, {way}" for way in ways),
        *(f"{way}/s" for way in ways),
        *(f"{way} mean ms" for way in ways),
        "bottleneck",
    )
    rows: Rows = []
    for each in tried(found):
        plan, steps = each.attempt.plan, [each.steps[way] for way in ways]
        rows.append(
            (
                *(each.topology, SCHEDULERS[plan.placement.algorithm], each.attempt.machines),
                *(plan.allocation.total_threads, each.target),
                *("yes" if each.holds(way) else "no" for way in ways),
                *(None if step is None else step.throughput for step in steps),
                *(None if step is None else step.latency_ms for step in steps),
                None if steps[-1] is None else steps[-1].bottleneck,
            )
        )
    return Table(TRIALS, columns, tuple(rows))


def costs_table(found: Sequence[Deployments]) -> Table:
    rows: Rows = []
    for each in found:
        for operator, profile in each.pipeline.profiles.by_operator.items():
            if (costs := form_of(profile, TaskCosts)) is not None:
                figures = costs.cpu_points, costs.transfer_points, costs.memory_mb, costs.sojourn_ms
                bound = min(costs.bounds, key=lambda name: costs.bounds[name])
                rows.append((each.topology, operator, *figures, costs.thread_rate, bound))
    columns = (
        *("topology", "operator", "c_p points", "c_t points", "m_pt MB", "t_soj ms"),
        *("tuples/s per thread", "bound"),
    )
    return Table(COSTS, columns, tuple(rows))


def _chart(each: Deployments) -> Chart:
    x = tuple(f"{target:g}" for target in each.targets)
    lines = []
    for who in SCHEDULERS.values():
        for way in each.metis:
            counts = [each.machines(who, way, target) for target in each.targets]
            y = tuple(None if count is None else float(count) for count in counts)
            lines.append(Line(f"{who}, {way}", x, y))
    return Chart(
        f"machines-{each.topology}",
        f"{each.topology} on Spark: machines to reach the target",
        "target, tuples/s",
        "machines",
        tuple(lines),
        "bars",
    )


def saved(each: Deployments) -> int | None:
    """Machines that P-Deployer saves at the highest target, at least; None: it finds no plan."""
    target = max(each.targets)
    ours = each.machines("P-Deployer", "measured", target)
    theirs = each.machines("METIS", "measured", target)
    return None if ours is None else (theirs or MOST_MACHINES + 1) - ours


def _comparisons(found: Sequence[Deployments]) -> tuple[Comparison, ...]:
    cited = paper("p-deployer")
    rows = [
        cited.against(f"saved-{each.topology}", machines, _SAVED)
        for each in found
        if (machines := saved(each)) is not None
    ]
    if reached := _first_reached(found):
        rows.append(cited.against("first-round", sum(reached) / len(reached), _FIRST_ROUND))
    return tuple(rows)


_SAVED = (
    "Machines have an eighth of the paper's CPU, and targets are lower. On Spark every pair of "
    "threads that exchange tuples costs buffers, and METIS makes many pairs."
)
_FIRST_ROUND = (
    "Costs per tuple are measured at the highest rate of a thread, where a buffer holds many "
    "tuples; at the rates of a plan it holds few."
)


def _first_reached(found: Sequence[Deployments]) -> list[float]:
    parts = [each.first_reached_percent(target) for each in found for target in each.targets]
    return [part for part in parts if part is not None]


def remarks(found: Sequence[Deployments]) -> tuple[str, ...]:
    pairs = [
        [each.machines(who, "measured", target) for who in SCHEDULERS.values()]
        for each in found
        for target in each.targets
    ]
    most = MOST_MACHINES + 1
    fewer = sum((ours or most) < (theirs or most) for ours, theirs in pairs)
    equal = sum((ours or most) == (theirs or most) for ours, theirs in pairs)
    rounds = [len(each.rounds(target)) for each in found for target in each.targets]
    reached = _first_reached(found)
    checks = list(tried(found))
    agree = {
        way: sum(each.holds(way) == each.holds("measured") for each in checks)
        for way in ("predicted", "simulated")
    }
    return (
        f"Measured, P-Deployer needs fewer machines than METIS at {fewer} of {len(pairs)} targets, "
        f"as many at {equal} and more at {len(pairs) - fewer - equal}.",
        f"The MAPE loop takes at most {max(rounds)} rounds. The first one reaches "
        + (f"{min(reached):.0f} % of the target at least" if reached else "nothing")
        + f", in the paper {paper('p-deployer')['first-round']}.",
        f"Whether a plan holds its target is predicted rightly for {agree['predicted']} of "
        f"{len(checks)} measured plans and targets, and simulated rightly for "
        f"{agree['simulated']}.",
        *_differences(found),
    )


def _differences(found: Sequence[Deployments]) -> Iterator[str]:
    """Where the search in another way ends with other machines."""
    for way in ("predicted", "simulated"):
        counts = [
            (each.machines(who, way, target), each.machines(who, "measured", target))
            for each in found
            for who in SCHEDULERS.values()
            for target in each.targets
        ]
        same = sum(one == other for one, other in counts)
        yield f"The {way} number of machines is the measured one in {same} of {len(counts)} cases."
