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
USE = "CPU and memory per slot at about 70 % of the highest stable rate"
USE_ACCURACY = "Accuracy of CPU and memory per slot, against Spark"
WEIGHTS = "Gain of routing weights on Spark"
PARTS = (0.5, 0.7, 0.9)
WAYS = ("planned", "predicted", "simulated")
"""Of foreseeing what slots use."""
USE_PART = 0.7
"""CPU per slot is compared at the step nearest to this part of the highest stable rate."""


@dataclass(frozen=True)
class At:
    """A plan at one rate: measured, predicted and simulated."""

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
    """By rising rate; see PARTS."""
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

    @property
    def for_use(self) -> At:
        """Where CPU per slot is compared."""
        wanted = USE_PART * self.measured.peak
        return min(self.at, key=lambda each: abs(each.measured.rate - wanted))


Rows = list[tuple[Cell, ...]]
Pairs = tuple[list[float], list[float]]
"""Foreseen and measured figures."""


def rate_table(points: Sequence[Point]) -> Table:
    columns = ("DAG", "pair", "planned/s", "predicted/s", "simulated/s", "measured/s", "bottleneck")
    rows: Rows = [
        (p.dag, p.pair, *p.rates.values(), _peak(p.measured), p.measured.steps[-1].bottleneck)
        for p in points
    ]
    return Table(RATES, columns, tuple(rows))


def _peak(seen: Climb) -> Cell:
    return seen.peak if seen.is_over else f"≥ {seen.peak:.4g}"


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
    """Over all slots; errors in percent of a slot."""
    rows: Rows = []
    for resource, of in (("CPU", cpu), ("memory", memory)):
        for way in WAYS:
            foreseen, seen = of(points, way)
            error = float(np.mean(np.abs(np.subtract(foreseen, seen)))) if seen else None
            r2 = r_squared(foreseen, seen) if seen else None
            rows.append((resource, way, len(seen), r2, error))
    return Table(
        USE_ACCURACY, ("resource", "way", "slots", "R²", "mean error, % of a slot"), tuple(rows)
    )


def use_table(points: Sequence[Point]) -> Table:
    """Of each slot, at the rate at which its CPU is compared, in percent of a slot."""
    rows: Rows = []
    for point in points:
        at = point.for_use
        threads = np.bincount(point.plan.placement.slots, minlength=point.plan.cluster.slots)
        for slot, name in enumerate(point.plan.cluster.slot_names):
            if threads[slot] == 0:
                continue
            foreseen = [_use_of(point, slot, way) for way in WAYS]
            cpu, mem = zip(*foreseen, strict=True)
            seen = _percent(at.measured.slot_cpu[slot]), _measured_memory(point, slot)
            name_of = (point.dag, point.pair, name, int(threads[slot]), at.measured.rate)
            rows.append((*name_of, *cpu, seen[0], *mem, seen[1]))
    figures = [f"{way} {what} %" for what in ("CPU", "memory") for way in (*WAYS, "measured")]
    return Table(USE, ("DAG", "pair", "slot", "threads", "rate/s", *figures), tuple(rows))


def weights_table(points: Sequence[Point]) -> Table:
    rows: Rows = [
        (p.dag, p.pair, _peak(p.measured), _peak(p.weighted), gain_percent(p))
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
    def pick(some: Sequence[Point]) -> Pairs:
        return _latencies(some, "predicted", field)

    return _scatter(f"latency-{name}", f"{name} latency", "ms", pick, points)


def _rate_chart(points: Sequence[Point], way: str) -> Chart:
    def pick(some: Sequence[Point]) -> Pairs:
        return [p.rates[way] for p in some], [p.measured.peak for p in some]

    return _scatter(f"rate-{way}", "rate", "tuples/s", pick, points, way)


def _scatter(
    name: str,
    what: str,
    unit: str,
    pick: Callable[[Sequence[Point]], Pairs],
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


def cpu(points: Sequence[Point], way: str = "predicted") -> Pairs:
    """(foreseen, measured) of every slot that reported, in percent of its quota."""
    pairs = [
        (_use_of(point, slot, way)[0], _percent(used))
        for point in points
        for slot, used in enumerate(point.for_use.measured.slot_cpu)
    ]
    return _known(pairs)


def memory(points: Sequence[Point], way: str = "predicted") -> Pairs:
    """(foreseen, measured) of every slot with a thread, in percent of its memory: live heap."""
    pairs = [
        (_use_of(point, slot, way)[1], _measured_memory(point, slot))
        for point in points
        for slot in sorted(set(point.plan.placement.slots.tolist()))
    ]
    return _known(pairs)


def _use_of(point: Point, slot: int, way: str) -> tuple[float | None, float | None]:
    """CPU and memory of a slot, in percent of it: memory as at the highest rate that was looked at,
    after which it was measured.
    """
    if way == "planned":
        return _planned_use(point, slot)
    at, last = (getattr(each, way).slots[slot] for each in (point.for_use, point.at[-1]))
    return _percent(at.cpu), _percent(last.mem)


def _planned_use(point: Point, slot: int) -> tuple[float, float]:
    """What the allocator charges the threads of a slot; CPU in proportion to the rate."""
    plan, rate = point.plan, point.for_use.measured.rate
    here = plan.placement.slots == slot
    used = plan.allocation.thread_cpu[here].sum() * rate / plan.rate / plan.cluster.slot_cpu[slot]
    kept = plan.allocation.thread_mem[here].sum() / plan.cluster.slot_memory[slot]
    return 100 * float(used), 100 * float(kept)


def _measured_memory(point: Point, slot: int) -> float:
    return 100 * point.measured.slot_memory_mb[slot] / (1024 * point.plan.cluster.slot_memory_gb)


def _percent(part: float | None) -> float | None:
    return None if part is None else 100 * part


def _known(pairs: Sequence[tuple[float | None, float | None]]) -> Pairs:
    known = [(f, s) for f, s in pairs if f is not None and s is not None]
    return [f for f, _ in known], [s for _, s in known]


def _latencies(points: Sequence[Point], way: str, field: str) -> Pairs:
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
