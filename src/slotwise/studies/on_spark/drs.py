"""Paper 5 on Spark: estimated against measured sojourn times of divisions of 22 processors.

Video logo detection (VLD) with operators that wait: each tuple takes an exponential time, which a
hash of its number gives, so that it is the same in every division. All threads share few slots, and
waiting takes no CPU: what is measured is queueing, and what Spark's hops add to it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace

from slotwise.model import (
    Cluster,
    FixedLoad,
    Logic,
    NetworkDelays,
    Node,
    Operator,
    Pipeline,
    Plan,
    Profile,
    ServiceRate,
)
from slotwise.spark.stage import Stage, stage
from slotwise.studies import accuracy
from slotwise.studies.divisions import Application, Division, division_name
from slotwise.studies.drs import logo_detection
from slotwise.studies.estimates import Estimate, estimated
from slotwise.studies.given import rate_of, sojourn_ms
from slotwise.studies.on_spark.holding import Held, held
from slotwise.studies.on_spark.lab import Lab, Row, Trial
from slotwise.studies.paper import paper
from slotwise.studies.study import Cell, Chart, Comparison, Effort, Line, Study, Table

SCALE = 20.0
"""Rates are so much higher than in the simulated study and service times shorter: a window holds
more tuples, and Jackson's figures scale exactly."""
FAR_APART: tuple[Division, ...] = ((7, 13, 2), (13, 8, 1), (7, 14, 1))
"""Divisions that are worse than the paper's six, to see more than their small differences."""
WITHOUT_WORK = "hops only"
THREADS_PER_SLOT = 32
DIVISIONS = "Divisions of 22 processors on Spark: mean sojourn time"
TAILS = "Divisions of 22 processors on Spark: latency of 99 %"
ACCURACY = "Accuracy of the sojourn time, against the measured one"
WAYS = {
    "estimated by DRS": "one queue, no network",
    "estimated, hops added": "one queue",
    "predicted": "a queue per thread",
    "simulated": "a queue per thread",
}


@dataclass(frozen=True)
class Point:
    """One division: foreseen and measured."""

    estimate: Estimate
    plan: Plan
    measured: Held

    @property
    def division(self) -> Division:
        return self.estimate.division

    @property
    def sojourn_ms(self) -> float:
        """As measured."""
        assert self.measured.sojourn_ms is not None
        return self.measured.sojourn_ms

    @property
    def foreseen_ms(self) -> dict[str, float]:
        """By the keys of WAYS."""
        assert self.plan.predicted is not None
        estimate = self.estimate
        figures = (
            *(estimate.estimated_ms, estimate.with_network_ms),
            *(self.plan.predicted.sojourn_ms, sojourn_ms(estimate.own_queues)),
        )
        return dict(zip(WAYS, figures, strict=True))


def study(lab: Lab) -> Study:
    app = waiting(logo_detection())
    six = lab.effort.pick(app.six(), app.six()[:3])
    others = lab.effort.pick(FAR_APART, ())
    pick = lab.effort.pick
    trials = [
        _trial(WITHOUT_WORK, without_work(app).plan(six[0]), pick(20.0, 6.0)),
        *(_trial(division_name(each), app.plan(each), pick(40.0, 6.0)) for each in six),
        *(_trial(division_name(each), app.plan(each), 30.0) for each in others),
    ]
    rows = lab.measured(trials, lambda: _cluster(app))
    no_work, *measured = (Held.of(rows[trial.name]) for trial in trials)
    hop_ms = hop_delay_ms(app, no_work)
    known = with_hops(app, hop_ms)
    points = [
        Point(estimated(known, division, lab.effort), known.plan(division), seen)
        for division, seen in lab.effort.each(
            list(zip((*six, *others), measured, strict=True)), "estimates"
        )
    ]
    return told(points[: len(six)], points, hop_ms, lab.effort)


def _trial(name: str, plan: Plan, seconds: float) -> Trial:
    """Its name says how long: a longer window is another trial."""

    def measure(on: Stage, plan: Plan) -> Row:
        return held(on, plan, warm_up_s=seconds / 10, measured_s=seconds).row()

    return Trial(f"{name}, {seconds:g} s", plan, measure)


@contextmanager
def _cluster(app: Application) -> Iterator[Stage]:
    """Without quotas, and after a first query, in which Java compiles."""
    cluster = app.pipeline.cluster
    assert cluster is not None
    with stage(cluster, threads_per_slot=THREADS_PER_SLOT) as on:
        held(on, app.plan(app.six()[0]), warm_up_s=2.0, measured_s=3.0)
        yield on


# -- the application ------------------------------------------------------------------------------


def waiting(app: Application) -> Application:
    """With operators that wait, SCALE times as fast, on two nodes with a slot each."""
    pipeline = app.pipeline
    profiles = {name: _scaled(profile) for name, profile in pipeline.profiles.by_operator.items()}
    topology = pipeline.topology
    operators = tuple(
        _waiting(operator, profiles[operator.name]) for operator in topology.operators
    )
    memory_gb = pipeline.slot_memory_gb
    return replace(
        app,
        pipeline=replace(
            pipeline,
            topology=replace(topology, operators=operators),
            profiles=replace(pipeline.profiles, by_operator=profiles),
            cluster=Cluster(tuple(Node(f"node-{n}", 1, memory_gb) for n in (1, 2)), memory_gb),
            network=NetworkDelays(0.0, 0.0, 0.0, 0.0),
            goals=replace(pipeline.goals, rate=SCALE * rate_of(pipeline)),
        ),
    )


def _scaled(profile: Profile) -> Profile:
    if isinstance(profile, ServiceRate):
        return replace(profile, rate=SCALE * profile.rate, cpu=0.0)
    assert isinstance(profile, FixedLoad)
    return replace(profile, cpu=0.0)


def _waiting(operator: Operator, profile: Profile) -> Operator:
    if not isinstance(profile, ServiceRate):
        return replace(operator, logic=Logic(options=(("arrivals", "poisson"), ("payload", "id"))))
    uniform = f"(pmod(xxhash64('{operator.name}', id), 1000000) + 0.5D) / 1e6D"
    micros = f"CAST(-ln({uniform}) * {1e6 / profile.rate}D AS BIGINT)"
    return replace(operator, logic=Logic(expr=f"IF(wait_us({micros}) >= 0, value, NULL)"))


def without_work(app: Application) -> Application:
    """The same with operators that pass tuples on."""
    topology = app.pipeline.topology
    operators = tuple(
        operator if operator.kind == "source" else replace(operator, logic=Logic(expr="value"))
        for operator in topology.operators
    )
    return _with(app, topology=replace(topology, operators=operators))


def with_hops(app: Application, hop_ms: float) -> Application:
    """With a network whose hops take so long, however far they go."""
    return _with(app, network=NetworkDelays(hop_ms, hop_ms, hop_ms, hop_ms))


def _with(app: Application, **changes: object) -> Application:
    pipeline: Pipeline = replace(app.pipeline, **changes)  # type: ignore[arg-type]
    return replace(app, pipeline=pipeline)


def hop_delay_ms(app: Application, seen: Held) -> float:
    """Of each of the chain's hops, measured without work."""
    assert seen.latency_ms is not None
    return seen.latency_ms / len(app.pipeline.topology.streams)


# -- what came out --------------------------------------------------------------------------------


def told(six: Sequence[Point], all_points: Sequence[Point], hop_ms: float, effort: Effort) -> Study:
    accuracies = accuracy_table({"the six": six, "all": all_points})
    return Study(
        name="drs",
        title="DRS on Spark: estimated against measured sojourn times of divisions of processors",
        citation=paper("drs").citation,
        quick=effort.quick,
        seed=effort.seed,
        assumptions=_ASSUMPTIONS,
        comparisons=_comparisons(six),
        tables=(divisions_table(all_points), tails_table(all_points), accuracies),
        charts=(_bars(six), _scatter(all_points)),
        remarks=remarks(six, all_points, hop_ms),
        on_spark=True,
    )


_ASSUMPTIONS = (
    "VLD's own operators are Python code, which Spark runs in micro-batches, where the latency is "
    "that of the batch. Here operators wait for an exponential service time, in real-time mode.",
    f"Rates are {SCALE:g} times those of the simulated study and service times as much shorter. "
    "Queueing scales exactly; Spark's hops do not, so their share is larger.",
    "Arrivals are Poisson processes, one for each of the two spouts. Tuples and their service "
    "times are the same in all divisions.",
    "FPD has a loop, which Spark runs only by way of a topic: VLD alone is measured.",
    "All threads share two slots without CPU quotas on one machine: waiting takes no CPU. A hop "
    "is taken to last as long as the mean of all hops.",
)


def divisions_table(points: Sequence[Point]) -> Table:
    columns = ("division", *(f"{way} ms" for way in WAYS), "measured ms", "± ms", "stable")
    rows: list[tuple[Cell, ...]] = []
    for each in points:
        margin_ms, stable = each.measured.sojourn_margin_ms, each.measured.stable
        foreseen = each.foreseen_ms.values()
        seen = (each.sojourn_ms, margin_ms, "yes" if stable else "no")
        rows.append((division_name(each.division), *foreseen, *seen))
    return Table(DIVISIONS, columns, tuple(rows))


def tails_table(points: Sequence[Point]) -> Table:
    rows: list[tuple[Cell, ...]] = []
    for each in points:
        assert each.plan.predicted is not None
        seen = each.estimate.own_queues, each.measured
        rows.append(
            (
                *(division_name(each.division), each.plan.predicted.latency_p99_ms),
                *(one.latency_p99_ms for one in seen),
            )
        )
    columns = ("division", "predicted p99 ms", "simulated p99 ms", "measured p99 ms")
    return Table(TAILS, columns, tuple(rows))


def accuracy_table(sets: Mapping[str, Sequence[Point]]) -> Table:
    rows = []
    for name, points in sets.items():
        seen = [each.sojourn_ms for each in points]
        for way, queues in WAYS.items():
            foreseen = [each.foreseen_ms[way] for each in points]
            figures = (
                accuracy.rank_correlation(foreseen, seen),
                accuracy.r_squared(foreseen, seen),
                accuracy.mean_error(foreseen, seen),
            )
            rows.append((name, way, queues, *figures))
    columns = ("divisions", "way", "model", "rank correlation", "R²", "mean error %")
    return Table(ACCURACY, columns, tuple(rows))


def _bars(points: Sequence[Point]) -> Chart:
    x = tuple(division_name(each.division) for each in points)
    ways = [Line(way, x, tuple(each.foreseen_ms[way] for each in points)) for way in WAYS]
    return Chart(
        "divisions",
        "VLD on Spark: sojourn time of six divisions",
        "processors",
        "ms",
        (*ways, Line("measured", x, tuple(each.sojourn_ms for each in points))),
        "bars",
    )


def _scatter(points: Sequence[Point]) -> Chart:
    x = tuple(each.sojourn_ms for each in points)
    return Chart(
        "scatter",
        "VLD on Spark: foreseen against measured sojourn time",
        "measured ms",
        "foreseen ms",
        tuple(Line(way, x, tuple(each.foreseen_ms[way] for each in points)) for way in WAYS),
        "points",
        diagonal=True,
    )


def best(points: Sequence[Point]) -> Division:
    return min(points, key=lambda each: each.sojourn_ms).division


def _comparisons(six: Sequence[Point]) -> tuple[Comparison, ...]:
    cited, seen = paper("drs"), [each.sojourn_ms for each in six]
    operators = ("extractor", "matcher", "aggregator")
    rows = [
        cited.against(f"vld-{operator}", threads, _BEST)
        for operator, threads in zip(operators, best(six), strict=True)
    ]
    estimates = [each.foreseen_ms["estimated by DRS"] for each in six]
    order = accuracy.rank_correlation(estimates, seen)
    return (*rows, cited.against("vld-order", order, _ORDER))


_BEST = "Two divisions are closer than a window of this length can distinguish: see the margins."
_ORDER = (
    "Spark's threads have a queue each, while the estimate has one for all threads of an operator: "
    "see the accuracy of both. Where divisions are closer than the margins, their order is chance."
)


def remarks(six: Sequence[Point], points: Sequence[Point], hop_ms: float) -> tuple[str, ...]:
    table = accuracy_table({"the six": six, "all": points})
    found = {(row[0], row[1]): row[3:] for row in table.rows}
    margins = [each.measured.sojourn_margin_ms for each in six]
    known = [margin for margin in margins if margin is not None]
    seen = [each.sojourn_ms for each in six]
    factors = [each.sojourn_ms / each.foreseen_ms["estimated by DRS"] for each in points]
    within = (
        f"a window's margin is ± {sum(known) / len(known):.1f} ms in the mean"
        if known
        else "windows are too short for margins"
    )
    predicted, drs = (found["all", way] for way in ("predicted", "estimated by DRS"))
    unstable = [division_name(each.division) for each in points if not each.measured.stable]
    return (
        f"The best of the six is {division_name(best(six))} as measured, and "
        f"{division_name(_least(six, 'estimated by DRS'))} by DRS's estimate. They lie between "
        f"{min(seen):.1f} and {max(seen):.1f} ms, and {within}.",
        f"Rank correlation with the measured order of the six: DRS's estimate "
        f"{_text(found['the six', 'estimated by DRS'][0])}, our prediction "
        f"{_text(found['the six', 'predicted'][0])}, the simulation "
        f"{_text(found['the six', 'simulated'][0])}; of all {len(points)} divisions "
        f"{_text(drs[0])}, {_text(predicted[0])} and {_text(found['all', 'simulated'][0])}.",
        f"Measured sojourn times are {min(factors):.2f} to {max(factors):.2f} times DRS's "
        "estimate: a tuple waits for its own thread while another is idle. The prediction, with a "
        f"queue per thread, is {_text(predicted[2])} % off in the mean, the simulation "
        f"{_text(found['all', 'simulated'][2])} %, DRS's estimate {_text(drs[2])} %.",
        f"A hop of Spark's shuffle takes {hop_ms:.1f} ms, measured without work; it adds the same "
        "to every division.",
        "Every division keeps pace with its spouts."
        if not unstable
        else f"Not stable in their windows: {', '.join(unstable)}.",
    )


def _least(points: Sequence[Point], way: str) -> Division:
    return min(points, key=lambda each: each.foreseen_ms[way]).division


def _text(value: object) -> str:
    assert isinstance(value, float)
    return f"{value:.2f}" if abs(value) <= 1 else f"{value:.1f}"
