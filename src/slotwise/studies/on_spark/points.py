"""Paper 1's points on Spark: one plan foreseen and measured; their tables, charts and accuracy."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from slotwise.model import Observation, Plan, Prediction
from slotwise.studies.accuracy import mean_error, r_squared
from slotwise.studies.cases import PAIRS
from slotwise.studies.on_spark.climbing import Climb, Step
from slotwise.studies.study import Cell, Chart, Line, Table

RATES = "Planned, predicted, simulated and measured rate"
RATE_ACCURACY = "Accuracy of the rate, against the highest stable rate on Spark"
LATENCIES = "Latency at about 50, 70 and 90 % of the highest stable rate"
LATENCY_ACCURACY = "Accuracy of the latency, against Spark"
USE_ACCURACY = "Accuracy of CPU and memory per slot, against Spark"
WEIGHTS = "Gain of routing weights on Spark"
PARTS = (0.5, 0.7, 0.9)
USE_PART = 0.7
"""CPU per slot is compared at the step nearest to this part of the highest stable rate."""


@dataclass(frozen=True)
class At:
    """A plan at one rate: measured, predicted and simulated."""

    part: float
    """About this part of the highest stable rate."""
    measured: Step
    predicted: Prediction
    simulated: Observation


@dataclass(frozen=True)
class Point:
    """One pair on one DAG."""

    dag: str
    pair: str
    plan: Plan
    simulated_rate: float
    measured: Climb
    at: tuple[At, ...]
    """By rising part; see PARTS."""
    weighted: Climb | None = None
    """The same plan routed by weights; None: not measured."""

    @property
    def rates(self) -> dict[str, float]:
        """The ways of foreseeing the rate."""
        assert self.plan.predicted is not None
        return {
            "planned": self.plan.rate,
            "predicted": self.plan.predicted.capacity,
            "simulated": self.simulated_rate,
        }


Rows = list[tuple[Cell, ...]]


def rate_table(points: Sequence[Point]) -> Table:
    columns = ("DAG", "pair", "planned/s", "predicted/s", "simulated/s", "measured/s", "bottleneck")
    rows: Rows = [
        (p.dag, p.pair, *p.rates.values(), p.measured.peak, p.measured.steps[-1].bottleneck)
        for p in points
    ]
    return Table(RATES, columns, tuple(rows))


def rate_accuracy_table(points: Sequence[Point]) -> Table:
    """Over all DAGs, and DAG by DAG, as the paper does."""
    sets = {"all DAGs": list(points)}
    sets |= {dag: [p for p in points if p.dag == dag] for dag in dict.fromkeys(dags(points))}
    rows: Rows = []
    for name, chosen in sets.items():
        seen = [point.measured.peak for point in chosen]
        for way in chosen[0].rates:
            rows.append((name, way, *_accuracy([point.rates[way] for point in chosen], seen)))
    return Table(RATE_ACCURACY, ("points", "way", "R²", "mean error %"), tuple(rows))


def latency_table(points: Sequence[Point]) -> Table:
    figures = ("mean ms", "p99 ms")
    ways = ("predicted", "simulated", "measured")
    columns = ("DAG", "pair", "rate/s", *(f"{way} {figure}" for figure in figures for way in ways))
    rows: Rows = []
    for point in points:
        for at in point.at:
            rows.append(
                (
                    *(point.dag, point.pair, at.measured.rate),
                    *(each.latency_ms for each in (at.predicted, at.simulated, at.measured)),
                    *(each.latency_p99_ms for each in (at.predicted, at.simulated, at.measured)),
                )
            )
    return Table(LATENCIES, columns, tuple(rows))


def latency_accuracy_table(points: Sequence[Point]) -> Table:
    rows: Rows = []
    for figure, field in (("mean", "latency_ms"), ("p99", "latency_p99_ms")):
        for way in ("predicted", "simulated"):
            foreseen, seen = _latencies(points, way, field)
            rows.append((figure, way, len(seen), *_accuracy(foreseen, seen)))
    columns = ("latency", "way", "points", "R²", "mean error %")
    return Table(LATENCY_ACCURACY, columns, tuple(rows))


def use_accuracy_table(points: Sequence[Point]) -> Table:
    """CPU in parts of the quota, memory in MB above nothing: errors in percent of a slot."""
    rows: Rows = []
    for resource, (foreseen, seen) in (("CPU", cpu(points)), ("memory", memory(points))):
        error = float(np.mean(np.abs(np.subtract(foreseen, seen)))) if seen else None
        rows.append((resource, len(seen), r_squared(foreseen, seen) if seen else None, error))
    return Table(USE_ACCURACY, ("resource", "slots", "R²", "mean error, % of a slot"), tuple(rows))


def weights_table(points: Sequence[Point]) -> Table:
    rows: Rows = [
        (p.dag, p.pair, p.measured.peak, p.weighted.peak, gain_percent(p))
        for p in points
        if p.weighted is not None
    ]
    return Table(WEIGHTS, ("DAG", "pair", "shuffle/s", "weighted/s", "gain %"), tuple(rows))


def gain_percent(point: Point) -> float:
    """Infinite where nothing came out without weights."""
    assert point.weighted is not None
    if point.measured.peak == 0:
        return math.inf
    return 100 * (point.weighted.peak / point.measured.peak - 1)


def charts(points: Sequence[Point]) -> tuple[Chart, ...]:
    return (
        *(_rate_chart(points, way) for way in points[0].rates),
        _scatter("cpu", "CPU per slot", "%", cpu, points),
        _scatter("memory", "memory per slot", "%", memory, points),
        _latency_chart(points, "mean", "latency_ms"),
        _latency_chart(points, "p99", "latency_p99_ms"),
    )


def _latency_chart(points: Sequence[Point], name: str, field: str) -> Chart:
    def pick(some: Sequence[Point]) -> tuple[list[float], list[float]]:
        return _latencies(some, "predicted", field)

    return _scatter(f"latency-{name}", f"{name} latency", "ms", pick, points)


def _rate_chart(points: Sequence[Point], way: str) -> Chart:
    def pick(some: Sequence[Point]) -> tuple[list[float], list[float]]:
        return [p.rates[way] for p in some], [p.measured.peak for p in some]

    return _scatter(f"rate-{way}", "rate", "tuples/s", pick, points, way)


def _scatter(
    name: str,
    what: str,
    unit: str,
    pick: Callable[[Sequence[Point]], tuple[list[float], list[float]]],
    points: Sequence[Point],
    way: str = "predicted",
) -> Chart:
    lines = []
    for pair in ("+".join(pair) for pair in PAIRS):
        foreseen, seen = pick([point for point in points if point.pair == pair])
        if seen:
            lines.append(Line(pair, tuple(seen), tuple(foreseen)))
    return Chart(
        name,
        f"{way.capitalize()} against measured {what}",
        f"measured {what}, {unit}",
        f"{way} {what}, {unit}",
        tuple(lines),
        "points",
        diagonal=True,
    )


def dags(points: Sequence[Point]) -> list[str]:
    return [point.dag for point in points]


def cpu(points: Sequence[Point]) -> tuple[list[float], list[float]]:
    """(predicted, measured) of every slot that reported, in percent of its quota."""
    foreseen, seen = [], []
    for point in points:
        at = min(point.at, key=lambda each: abs(each.part - USE_PART))
        for slot, used in zip(at.predicted.slots, at.measured.slot_cpu, strict=True):
            if used is not None and slot.cpu is not None:
                foreseen.append(100 * slot.cpu)
                seen.append(100 * used)
    return foreseen, seen


def memory(points: Sequence[Point]) -> tuple[list[float], list[float]]:
    """(predicted, measured) of every slot with a thread, in percent of its memory: live heap."""
    foreseen, seen = [], []
    for point in points:
        whole_mb = 1024 * point.plan.cluster.slot_memory_gb
        used = set(point.plan.placement.slots.tolist())
        for number, slot in enumerate(point.at[-1].predicted.slots):
            if number in used and slot.mem is not None:
                foreseen.append(100 * slot.mem)
                seen.append(100 * point.measured.slot_memory_mb[number] / whole_mb)
    return foreseen, seen


def _latencies(points: Sequence[Point], way: str, field: str) -> tuple[list[float], list[float]]:
    """(foreseen, measured) where both are known and finite, and the plan was foreseen to keep up:
    what overload takes depends on how long it lasts.
    """
    pairs = [
        (getattr(getattr(at, way), field), getattr(at.measured, field))
        for point in points
        for at in point.at
        if getattr(at, way).stable is not False
    ]
    known = [(f, s) for f, s in pairs if f is not None and s is not None and np.isfinite(f)]
    return [f for f, _ in known], [s for _, s in known]


def _accuracy(foreseen: Sequence[float], seen: Sequence[float]) -> tuple[Cell, Cell]:
    """R², where there are points enough, and the mean error where anything came out."""
    pairs = [(f, s) for f, s in zip(foreseen, seen, strict=True) if s > 0]
    if not pairs:
        return None, None
    r2 = r_squared(foreseen, seen) if len(seen) > 2 else None
    return r2, mean_error([f for f, _ in pairs], [s for _, s in pairs])
