"""A Plan for the terminal: what it costs, who runs where, what it will do, and why."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from itertools import groupby

from rich.console import Group, RenderableType
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from slotwise.model import Goals, Plan, Prediction
from slotwise.report.figures import counted, figure, percent, rate
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
        told = ("–", "–", "–")
        if load is not None and figure(load.capacity) != "–":
            latency = figure(load.waiting_ms + load.service_ms, "unbounded")
            told = (figure(load.capacity), percent(load.utilisation), latency)
        made.add_row(Text(entry.operator), f"{entry.threads:,}", figure(entry.arrival_rate), *told)
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
    own = f"{figure(predicted.rate)}/s as the streams are grouped"
    weighted = f"{figure(predicted.proportional_rate)}/s with the plan's routing weights"
    made.add_row("Predicted rate", f"{own}, {weighted}")
    if predicted.rate < plan.rate * (1 - 1e-9):
        made.add_row("", Text(f"below the planned {rate(plan.rate)}/s as grouped", "yellow"))
    made.add_row("Bottleneck", Text(predicted.bottleneck))
    network = f" ({figure(predicted.network_ms)} ms of it in the network)"
    bounded = not predicted.fully_busy
    made.add_row("Latency", Text(predicted.latency_told + (network if bounded else "")))
    if bounded:
        made.add_row("", f"{figure(predicted.thread_queues_ms)} ms if every thread has its queue")
    made.add_row("Between nodes", f"{figure(predicted.inter_node_traffic)} tuples/s")
    for number, goal in enumerate(_goals(plan.pipeline.goals, plan.missed_goals())):
        made.add_row("" if number else "Goals", goal)
    return made


def _goals(goals: Goals, missed: tuple[str, ...]) -> Iterator[Text]:
    """Every goal as met, or the sentence that says by how much it was missed."""
    asked = {"rate": goals.rate, "latency": goals.latency_ms, "machines": goals.machines}
    units = {"rate": "tuples/s", "latency": "ms", "machines": "at most"}
    for name, value in asked.items():
        sentence = next((text for text in missed if text.startswith(f"predicted {name}")), None)
        if sentence is not None:
            yield Text(f"✗ {sentence}", "red")
        elif value is not None:
            yield Text(f"✓ {name}: {rate(value)} {units[name]}", "green")


def _reasons(reasons: tuple[str, ...]) -> Iterator[RenderableType]:
    return (Padding(Text(reason, "dim"), (0, 0, 0, 2)) for reason in reasons)
