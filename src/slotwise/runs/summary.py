"""A run in a few figures, from its points."""

from __future__ import annotations

from dataclasses import dataclass

from slotwise.runs.reading import Runs


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
    row = runs.connection.execute(
        "SELECT max(at_s) AS seconds, avg(offered_rate) AS offered_rate, "
        "avg(throughput) AS throughput, avg(p50) AS p50, avg(p99) AS p99, "
        "max(p99) AS worst_p99, avg(slots) AS slots, avg(cost_per_hour) AS cost_per_hour, "
        "avg(inter_node_traffic) AS inter_node_traffic FROM points WHERE run = ?",
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
