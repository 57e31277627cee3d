"""One point of a run's history: the figures of a moment, and how several become one."""

from __future__ import annotations

import math
import sqlite3
from array import array
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from slotwise.model import Observation, Plan

MEANS = ("offered_rate", "taken_in_rate", "throughput", "inter_node_traffic", "cost_per_hour")
HIGHEST = ("backlog", "waiting", "latency_ms", "p50", "p95", "p99", "slots")
"""A short peak must not vanish in a mean."""
FIGURES = (*MEANS, *HIGHEST)
COLUMNS = ("at_s", "width_s", "plan", *FIGURES, "slot_cpu")
"""Of the table of points, beside its run."""


@dataclass(frozen=True)
class Point:
    at_s: float
    """When its window ended, in seconds of the run's clock."""
    width_s: float
    plan: int
    """The number of the plan in effect."""
    offered_rate: float | None
    taken_in_rate: float | None
    """Input tuples/s that the sources have emitted."""
    throughput: float | None
    backlog: float | None
    """Input tuples that are due and not taken in."""
    waiting: float | None
    """Tuples in front of all operators behind the sources."""
    latency_ms: float | None
    p50: float | None
    p95: float | None
    p99: float | None
    inter_node_traffic: float | None
    cost_per_hour: float | None
    slots: int
    """That hold threads."""
    slot_cpu: bytes
    """Per slot of the plan's cluster; see `packed`."""

    @classmethod
    def of(cls, seen: Observation, at_s: float, number: int, plan: Plan) -> Point:
        """`number` is that of the plan in effect."""
        begun_s = seen.start_s if seen.start_s is not None else at_s
        return cls(
            at_s=at_s,
            width_s=max(0.0, at_s - begun_s),
            plan=number,
            offered_rate=_finite(seen.offered_rate),
            taken_in_rate=_finite(taken_in_rate(seen, plan)),
            throughput=_finite(seen.throughput),
            backlog=_finite(seen.backlog),
            waiting=_finite(waiting(seen, plan)),
            latency_ms=_finite(seen.latency_ms),
            p50=_finite(seen.latency_p50_ms),
            p95=_finite(seen.latency_p95_ms),
            p99=_finite(seen.latency_p99_ms),
            inter_node_traffic=_finite(seen.inter_node_traffic),
            cost_per_hour=_finite(seen.cost_per_hour),
            slots=plan.slots,
            slot_cpu=packed([load.cpu for load in seen.slots]),
        )

    def row(self) -> tuple[float | int | bytes | None, ...]:
        return tuple(getattr(self, name) for name in COLUMNS)


def taken_in_rate(seen: Observation, plan: Plan) -> float | None:
    """As an input rate: each source emits its share of it. None: not known of all sources."""
    shares = {source.name: source.share for source in plan.pipeline.topology.sources}
    rates = [load.arrival_rate for load in seen.operators if load.operator in shares]
    return sum(rates) / sum(shares.values()) if len(rates) == len(shares) else None


def waiting(seen: Observation, plan: Plan) -> float | None:
    """None: not known of any operator."""
    sources = {source.name for source in plan.pipeline.topology.sources}
    queues = [load.queue for load in seen.operators if load.operator not in sources]
    known = [queue for queue in queues if queue is not None]
    return sum(known) if known else None


def packed(values: Sequence[float | None]) -> bytes:
    """Numbers as 4 bytes each; NaN for what is not known."""
    return array("f", (math.nan if value is None else value for value in values)).tobytes()


def unpacked(content: bytes | None) -> list[float | None]:
    """With 4 digits after the point, as many as a part of a CPU needs."""
    values = array("f")
    values.frombytes(content or b"")
    return [None if math.isnan(value) else round(value, 4) for value in values]


def merged(
    connection: sqlite3.Connection,
    run: int,
    span_s: tuple[float, float],
    width_s: float,
    with_slots: bool = True,
) -> Iterator[tuple[float | int | bytes | None, ...]]:
    """The points after the first moment until the second, those of a plan that end within the same
    `width_s` seconds as one: rows in the order of COLUMNS.
    """
    connection.create_aggregate("mean_of_packed", 1, _Mean)  # type: ignore[arg-type]
    slot_cpu = "mean_of_packed(slot_cpu)" if with_slots else "NULL"
    figures = [f"avg({name})" for name in MEANS] + [f"max({name})" for name in HIGHEST]
    yield from map(
        tuple,
        connection.execute(
            f"SELECT max(at_s), max(at_s) - min(at_s - width_s), plan, {', '.join(figures)}, "
            f"{slot_cpu} FROM points WHERE run = ? AND at_s > ? AND at_s <= ? "
            "GROUP BY CAST(at_s / ? AS INTEGER), plan ORDER BY max(at_s)",
            (run, *span_s, width_s),
        ),
    )


class _Mean:
    """An aggregate for SQLite: the mean of each packed number, over those that are known."""

    def __init__(self) -> None:
        self.sums: list[float] = []
        self.counts: list[int] = []

    def step(self, content: bytes | None) -> None:
        values = array("f")
        values.frombytes(content or b"")
        grown = len(values) - len(self.sums)
        if grown > 0:
            self.sums += [0.0] * grown
            self.counts += [0] * grown
        for position, value in enumerate(values):
            if value == value:  # not NaN
                self.sums[position] += value
                self.counts[position] += 1

    def finalize(self) -> bytes:
        both = zip(self.sums, self.counts, strict=True)
        return packed([total / count if count else None for total, count in both])


def _finite(value: float | None) -> float | None:
    return None if value is None or not math.isfinite(value) else float(value)
