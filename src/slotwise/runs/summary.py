"""A run in a few figures, from its points."""

from __future__ import annotations

from dataclasses import dataclass

from slotwise.runs.reading import Runs

_MEANS = (
    "offered_rate",
    "throughput",
    "p50",
    "p99",
    "slots",
    "cost_per_hour",
    "inter_node_traffic",
)
_WITH_SECONDS = (
    "SELECT *, min(width_s, at_s - lag(at_s, 1, at_s - width_s) OVER (ORDER BY at_s)) AS seconds "
    "FROM points WHERE run = ?"
)
"""Windows overlap, and old points are few: each stands for the time since the one before it, if
that is all in its window."""
_MEAN = "sum({0} * seconds) / nullif(sum(iif({0} IS NULL, 0, seconds)), 0)"


@dataclass(frozen=True)
class RunSummary:
    """Means over the run's seconds; latencies are those of its worst point, too."""

    id: str
    topology: str
    origin: str
    controller: str | None
    state: str
    seconds: float
    offered_rate: float | None
    throughput: float | None
    backlog: float | None
    """At the end."""
    p50: float | None
    p99: float | None
    worst_p99: float | None
    slots: float | None
    cost_per_hour: float | None
    inter_node_traffic: float | None
    changes: int
    """Decisions that were applied."""


def summary_of(runs: Runs, name: str | int) -> RunSummary:
    """Raises SlotwiseError."""
    run = runs.run(name)
    means = ", ".join(f"{_MEAN.format(name)} AS {name}" for name in _MEANS)
    row = runs.connection.execute(
        f"SELECT max(at_s) AS seconds, max(p99) AS worst_p99, {means} FROM ({_WITH_SECONDS})",
        (run.id,),
    ).fetchone()
    last = runs.connection.execute(
        "SELECT backlog FROM points WHERE run = ? ORDER BY at_s DESC LIMIT 1", (run.id,)
    ).fetchone()
    applied = [each for each in runs.decisions(run.id) if each["outcome"] == "applied"]
    return RunSummary(
        id=str(run.id),
        topology=run.topology,
        origin=run.origin,
        controller=run.controller,
        state=run.state,
        backlog=None if last is None else last[0],
        changes=len(applied),
        **dict(row) | {"seconds": row["seconds"] or 0.0},
    )
