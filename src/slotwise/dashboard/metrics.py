"""The state of runs for Prometheus; docs/reference/page.md has the names."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily
from prometheus_client.exposition import generate_latest
from prometheus_client.metrics_core import Metric
from prometheus_client.registry import Collector, CollectorRegistry

from slotwise.dashboard.document import control_of, places
from slotwise.model import SlotwiseError
from slotwise.runs.reading import KeptRun, Runs, Seen

RUN = ("run", "topology")
_RUN_GAUGES = {
    "running": "1 while the run goes on.",
    "clock_seconds": "Seconds of the run's clock, of its newest observation.",
    "offered_rate": "Input tuples per second that the sources are asked for.",
    "throughput": "Input tuples per second that the whole pipeline finishes.",
    "backlog_tuples": "Input tuples that are due and not yet taken in.",
    "latency_mean_seconds": "Mean latency at sinks.",
    "busiest_ratio": "Utilisation of the busiest thread or link.",
    "stable": "1 if no thread is asked for more than it can do, else 0.",
    "inter_node_traffic": "Tuples per second that leave their node.",
    "changes_held": "1 while changes are on hold by the control file.",
    "threads_elsewhere": "Threads that run in another slot than planned.",
}
_LABELLED_GAUGES = {
    "latency_seconds": ("Latency at sinks that this part of all tuples were within.", "quantile"),
    "goal": ("What the goal asks for.", "goal"),
    "goal_met": ("1 if the goal is met, 0 if it is missed; left out if not tested.", "goal"),
    "slots": ("Slots that hold threads.", "plan"),
    "machines": ("Machines.", "plan"),
    "cost_per_hour": ("What the machines cost.", "plan"),
    "operator_busy_ratio": ("Mean utilisation of an operator's threads.", "operator"),
    "operator_arrival_rate": ("Tuples per second that an operator takes in.", "operator"),
    "slot_cpu_ratio": ("Part of a slot's CPU in use.", "slot"),
    "slot_memory_ratio": ("Part of a slot's memory in use.", "slot"),
}
QUANTILES = {"0.5": "latency_p50_ms", "0.95": "latency_p95_ms", "0.99": "latency_p99_ms"}


def metrics(path: Path, only: Sequence[int] | None) -> bytes:
    """In Prometheus' text format: of the runs that go on, among `only` if that is given."""
    registry = CollectorRegistry(auto_describe=False)
    registry.register(_State(path, only))
    return generate_latest(registry)


def names() -> frozenset[str]:
    """Of all metrics."""
    families = _families().values()
    return frozenset(
        f"{family.name}_total" if family.type == "counter" else family.name for family in families
    )


class _State(Collector):
    def __init__(self, path: Path, only: Sequence[int] | None) -> None:
        self.path, self.only = path, only

    def collect(self) -> Iterator[Metric]:
        families = _families()
        with Runs.opened(self.path) as runs:
            for run in runs.all():
                if run.state != "running" or (self.only is not None and run.id not in self.only):
                    continue
                try:
                    _fill(families, runs, run)
                except SlotwiseError:  # removed meanwhile
                    continue
        yield from families.values()


def _families() -> dict[str, Any]:
    found: dict[str, Any] = {
        name: GaugeMetricFamily(f"slotwise_{name}", text, labels=RUN)
        for name, text in _RUN_GAUGES.items()
    }
    for name, (text, label) in _LABELLED_GAUGES.items():
        found[name] = GaugeMetricFamily(f"slotwise_{name}", text, labels=(*RUN, label))
    found["threads"] = GaugeMetricFamily(
        "slotwise_threads",
        "Threads of an operator: of the plan that is applied, and of the one recommended.",
        labels=(*RUN, "operator", "plan"),
    )
    found["decisions"] = CounterMetricFamily(
        "slotwise_decisions", "Decisions to change the plan.", labels=(*RUN, "outcome")
    )
    return found


def _fill(families: Mapping[str, Any], runs: Runs, run: KeptRun) -> None:
    """Raises SlotwiseError."""

    def set(name: str, value: float | None, *labels: str) -> None:
        if value is not None:
            families[name].add_metric((str(run.id), run.topology, *labels), value)

    plan, seen, control = runs.plan(run.id, run.plan), runs.seen(run.id), control_of(run)
    set("running", 1)
    if seen is not None:
        _fill_seen(set, seen)
        set("threads_elsewhere", len(places(plan, seen.observation)))
    _fill_plan(set, plan, "applied")
    if control is not None:
        set("changes_held", float(control.hold))
        if control.recommended is not None:
            _fill_plan(set, runs.plan(run.id, control.recommended), "recommended")
    outcomes = runs.outcomes(run.id)
    for outcome in ("applied", "recommended", "refused"):
        set("decisions", outcomes.get(outcome, 0), outcome)


def _fill_seen(set: Any, newest: Seen) -> None:
    set("clock_seconds", newest.at_s)
    for verdict in newest.verdicts:
        set("goal", verdict["wanted"], verdict["goal"])
        if verdict["outcome"] != "not tested":
            set("goal_met", float(verdict["outcome"] == "met"), verdict["goal"])
    seen = newest.observation
    set("offered_rate", seen.get("offered_rate"))
    set("throughput", seen.get("throughput"))
    set("backlog_tuples", seen.get("backlog"))
    set("latency_mean_seconds", _seconds(seen.get("latency_ms")))
    set("busiest_ratio", seen.get("busiest"))
    set("stable", None if seen.get("stable") is None else float(seen["stable"]))
    set("inter_node_traffic", seen.get("inter_node_traffic"))
    for quantile, key in QUANTILES.items():
        set("latency_seconds", _seconds(seen.get(key)), quantile)
    for load in seen.get("operators", ()):
        set("operator_busy_ratio", load["utilisation"], load["operator"])
        set("operator_arrival_rate", load["arrival_rate"], load["operator"])
    for load in seen.get("slots", ()):
        set("slot_cpu_ratio", load["cpu"], load["name"])
        set("slot_memory_ratio", load["mem"], load["name"])


def _fill_plan(set: Any, plan: Mapping[str, Any], kind: str) -> None:
    for operator, threads in plan["threads"].items():
        set("threads", threads, operator, kind)
    set("slots", plan["slots"], kind)
    set("machines", len(plan["nodes"]), kind)
    set("cost_per_hour", plan["cost_per_hour"], kind)


def _seconds(milliseconds: float | None) -> float | None:
    return None if milliseconds is None else milliseconds / 1000
