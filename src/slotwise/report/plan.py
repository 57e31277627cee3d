"""A Plan for the terminal: what it costs, who runs where, what it will do, and why."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from itertools import groupby

from rich.console import Group, RenderableType
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from slotwise.model import Observation, Plan, Prediction, counted
from slotwise.report.figures import figure, percent, rate
from slotwise.report.goals import verdict_text
from slotwise.report.tables import table

MOST_NODES = 40
"""More nodes than this are not listed; `--json` has them all."""


def plan_report(plan: Plan) -> RenderableType:
    """Everything `slotwise plan` prints. Names are taken literally, never as markup."""
    parts: list[RenderableType] = [_headline(plan), "", _operators(plan), "", _nodes(plan)]
    if len(plan.cluster.nodes) > MOST_NODES:
        left = len(plan.cluster.nodes) - MOST_NODES
        parts.append(Text(f"… and {left:,} more nodes: --json lists them all", "dim"))
    if plan.predicted is not None:
        parts += ["", _prediction(plan, plan.predicted)]
    if plan.reasons:
        parts += ["", Text("Why", "bold"), *_reasons(plan.reasons)]
    return Group(*parts)


def _headline(plan: Plan) -> Text:
    extra = f" ({plan.extra_slots} extra)" if plan.extra_slots else ""
    types = Counter(node.type for node in plan.cluster.nodes if node.type)
    bought = ", ".join(f"{count}× {name}" for name, count in types.items())
    cost = f", {plan.cost_per_hour:,.2f} per hour" if plan.cost_per_hour else ""
    return Text.assemble(
        (plan.pipeline.topology.name, "bold"),
        f" at {rate(plan.rate)} tuples/s, by {plan.allocation.algorithm} + "
        f"{plan.placement.algorithm}\n",
        (f"{counted(plan.slots, 'slot')}{extra}", "bold"),
        f" on {counted(plan.machines, 'machine')}{f' ({bought})' if bought else ''}{cost}",
    )


def _operators(plan: Plan) -> Table:
    made = table("Operator", ">Threads", ">Arriving/s", ">Capacity/s", ">Busy", ">Latency ms")
    loads = {load.operator: load for load in plan.predicted.operators} if plan.predicted else {}
    for entry in plan.allocation:
        load = loads.get(entry.operator)
        cells = ("–", "–", "–")
        if load is not None and figure(load.capacity) != "–":
            latency = figure((load.waiting_ms or 0) + (load.service_ms or 0), "unbounded")
            cells = (figure(load.capacity), percent(load.utilisation), latency)
        arriving = load.arrival_rate if load else entry.arrival_rate
        made.add_row(Text(entry.operator), f"{entry.threads:,}", figure(arriving), *cells)
    return made


def _nodes(plan: Plan) -> Table:
    """One row per run of slots that hold the same threads."""
    racks = len({node.rack for node in plan.cluster.nodes}) > 1
    made = table("Node", *(["Rack"] if racks else []), ">CPU", ">Memory", ">Slots", "Threads")
    loads = plan.predicted.nodes if plan.predicted else ()
    contents = plan.threads_in_slots()
    for position, node in enumerate(plan.cluster.nodes[:MOST_NODES]):
        first = int(plan.cluster.first_slot[position])
        used = (percent(loads[position].cpu), percent(loads[position].mem)) if loads else ("", "")
        here: list[RenderableType] = [Text(node.name), *([Text(node.rack)] if racks else []), *used]
        for slots, threads in _runs(contents[first : first + node.slots]):
            made.add_row(*here, slots, threads)
            here = [""] * len(here)
    return made


def _runs(contents: tuple[tuple[tuple[str, int], ...], ...]) -> Iterator[tuple[str, Text]]:
    slot = 0
    for threads, run in groupby(contents):
        last = slot + len(list(run)) - 1
        named = ", ".join(f"{operator}×{count}" for operator, count in threads)
        shown = Text(named) if named else Text("empty", "dim")
        yield f"{slot}" if slot == last else f"{slot}–{last}", shown
        slot = last + 1


def _prediction(plan: Plan, predicted: Prediction) -> Table:
    made = Table.grid(padding=(0, 2, 0, 0))
    made.add_column(style="bold", no_wrap=True)
    made.add_column(overflow="fold")
    own = f"{figure(predicted.capacity)}/s as the streams are grouped"
    weighted = f"{figure(predicted.proportional_capacity)}/s with the plan's routing weights"
    made.add_row("Capacity", f"{own}, {weighted}")
    made.add_row("Bottleneck", Text(predicted.bottleneck))
    bounded = not predicted.fully_busy
    made.add_row("Latency", Text(predicted.latency_text + (", mean at sinks" if bounded else "")))
    if bounded and plan.simulated is not None:
        made.add_row("Simulated", _simulated(plan.simulated))
    if bounded:
        made.add_row(
            "Sojourn",
            f"{figure(predicted.sojourn_ms)} ms for all that an input causes, "
            f"{figure(predicted.network_ms)} ms of it in the network; "
            f"{figure(predicted.shared_queue_sojourn_ms)} ms if threads shared a queue",
        )
    made.add_row("Between nodes", f"{figure(predicted.inter_node_traffic)} tuples/s")
    for number, verdict in enumerate(plan.judged()):
        made.add_row("" if number else "Goals", verdict_text(verdict))
    return made


def _simulated(seen: Observation) -> str:
    """The percentiles at sinks, and the load of the busiest thread."""
    p50, p95, p99 = (
        figure(ms) for ms in (seen.latency_p50_ms, seen.latency_p95_ms, seen.latency_p99_ms)
    )
    return (
        f"mean {figure(seen.latency_ms)} ms, p50 {p50}, p95 {p95}, p99 {p99} ms; "
        f"busiest thread {percent(seen.busiest)} (seed {seen.seed})"
    )


def _reasons(reasons: tuple[str, ...]) -> Iterator[RenderableType]:
    return (Padding(Text(reason, "dim"), (0, 0, 0, 2)) for reason in reasons)
