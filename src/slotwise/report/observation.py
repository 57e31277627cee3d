"""What a plan does, for the terminal: the prediction beside what was simulated or measured."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from slotwise.model import Observation, OperatorLoad, Plan, Prediction, SlotLoad, counted
from slotwise.report.figures import figure, percent, rate
from slotwise.report.goals import verdict_text
from slotwise.report.tables import table

MOST_OPERATORS = 100
MOST_SLOTS = 40
"""More rows than this are not listed; `--json` has them all."""
FULL = 0.98
"""A thread busier than this is shown in red."""


def observation_report(plan: Plan, predicted: Observation, seen: Observation) -> RenderableType:
    """Everything `simulate` and `run` print. Names are taken literally, never as markup."""
    parts: list[RenderableType] = [_headline(plan, seen), ""]
    parts += [side_by_side([(each.origin, each) for each in (predicted, seen)])]
    parts += ["", _operators(plan, predicted, seen)]
    if len(seen.operators) > MOST_OPERATORS:
        left = len(seen.operators) - MOST_OPERATORS
        parts.append(Text(f"… and {left:,} more operators: --json lists them all", "dim"))
    parts += ["", _places(plan, predicted, seen)]
    parts += ["", _links(seen)] if seen.links else []
    parts += [Text(f"\n{remark}", "yellow") for remark in seen.remarks]
    verdicts = plan.judged(seen)
    parts += ["", *map(verdict_text, verdicts)] if verdicts else []
    return Group(*parts)


def side_by_side(columns: Sequence[tuple[str, Observation]]) -> Table:
    """Several observations in one table, whatever their origin; rows that nobody knows are left
    out.
    """
    made = table("", *(f">{name.capitalize()}" for name, _ in columns))
    seen = [observation for _, observation in columns]
    for name, cell in _ROWS.items():
        cells = [cell(each) for each in seen]
        if any(text != "–" for text in cells):
            made.add_row(Text(name), *map(Text, cells))
    return made


def _sojourn(seen: Observation) -> str:
    margin = f" ± {figure(seen.sojourn_margin_ms)}" if seen.sojourn_margin_ms else ""
    return figure(seen.sojourn_ms, "∞") + margin


def _shared_queue(seen: Observation) -> str:
    return figure(seen.shared_queue_sojourn_ms, "∞") if isinstance(seen, Prediction) else "–"


_ROWS: dict[str, Callable[[Observation], str]] = {
    "Throughput /s": lambda seen: figure(seen.throughput),
    "Capacity /s": lambda seen: figure(seen.capacity),
    "Backlog, tuples": lambda seen: figure(seen.backlog),
    "Bottleneck": lambda seen: seen.bottleneck or "–",
    "Latency at sinks, mean ms": lambda seen: figure(seen.latency_ms, "∞"),
    "  p50": lambda seen: figure(seen.latency_p50_ms),
    "  p95": lambda seen: figure(seen.latency_p95_ms),
    "  p99": lambda seen: figure(seen.latency_p99_ms),
    "  grows, ms/s": lambda seen: figure(seen.latency_slope),
    "Sojourn ms": _sojourn,
    "  in the network": lambda seen: figure(seen.network_ms),
    "  if threads shared a queue": _shared_queue,
    "Between slots /s": lambda seen: figure(seen.inter_slot_traffic),
    "Between nodes /s": lambda seen: figure(seen.inter_node_traffic),
    "Stable": lambda seen: {True: "yes", False: "no", None: "–"}[seen.stable],
}


_STABLE = {
    True: ("stable", "green"),
    False: ("unstable", "red"),
    None: ("not settled", "yellow"),
}


def _headline(plan: Plan, seen: Observation) -> Text:
    return Text.assemble(
        (plan.pipeline.topology.name, "bold"),
        f" at {rate(round(seen.offered_rate, 6))} tuples/s, by {plan.allocation.algorithm} + "
        f"{plan.placement.algorithm}\n{counted(plan.slots, 'slot')} on "
        f"{counted(plan.machines, 'machine')}: ",
        _STABLE[seen.stable],
    )


def _operators(plan: Plan, predicted: Observation, seen: Observation) -> Table:
    """Times in ms; where two figures stand together, predicted first."""
    made = table(
        "Operator",
        ">Threads",
        ">Arriving /s",
        ">Busy",
        ">Waiting ms",
        ">Service ms",
        ">Queue",
        gap=1,
    )
    foretold = {load.operator: load for load in predicted.operators}
    for entry, load in list(zip(plan.allocation, seen.operators, strict=True))[:MOST_OPERATORS]:
        before = foretold[load.operator]
        busy = Text(f"{percent(before.utilisation)} | {percent(load.utilisation)}")
        busy.stylize("red" if load.utilisation > FULL else "")
        made.add_row(
            Text(load.operator),
            f"{entry.threads:,}",
            f"{figure(before.arrival_rate)} | {figure(load.arrival_rate)}",
            busy,
            f"{_wait(before, load)} | {figure(load.waiting_ms)}",
            f"{figure(before.service_ms, '∞')} | {figure(load.service_ms)}",
            figure(load.queue),
        )
        if troubles := ", ".join(_troubles(load)):
            made.add_row(Text(f"  {troubles}", "yellow"))
    made.caption = Text(f"predicted | {seen.origin}", "dim")
    made.caption_justify = "left"
    return made


def _wait(before: OperatorLoad, load: OperatorLoad) -> str:
    """Predicted; with the way to the operator where that is part of what was seen."""
    if before.waiting_ms is None or load.network_ms is not None:
        return figure(before.waiting_ms, "∞")
    return figure(before.waiting_ms + (before.network_ms or 0.0), "∞")


def _troubles(load: OperatorLoad) -> Iterator[str]:
    for count, what in ((load.lost, "lost"), (load.resent, "sent again"), (load.failed, "failed")):
        if count:
            yield f"{count:,} {what}"


def _places(plan: Plan, predicted: Observation, seen: Observation) -> Table:
    """Slots with their threads, or nodes where there are many slots."""
    if len(seen.slots) <= MOST_SLOTS:
        contents = [
            ", ".join(f"{operator}×{count}" for operator, count in inside) or "empty"
            for inside in plan.threads_in_slots()
        ]
        return _loads("Slot", predicted.slots, seen.slots, contents)
    return _loads("Node", predicted.nodes, seen.nodes, [])


def _links(seen: Observation) -> Table:
    """How busy each node's links are, and its receive buffer: the mean, and the most it held."""
    made = table("<Node's links", ">Out", ">In", ">In its buffer", ">Lost", ">Sent again")
    for link in seen.links[:MOST_OPERATORS]:
        made.add_row(
            Text(link.node),
            percent(link.out_utilisation),
            percent(link.in_utilisation),
            f"{figure(link.held)}, most {link.most_held:,}",
            f"{link.lost:,}",
            f"{link.resent:,}",
        )
    return made


def _loads(
    what: str, predicted: Sequence[SlotLoad], seen: Sequence[SlotLoad], contents: Sequence[str]
) -> Table:
    made = table(f"<{what}", ">CPU", ">Memory", *(["Threads"] if contents else []))
    pairs = list(zip(predicted, seen, strict=True))
    for position, (before, load) in enumerate(pairs[:MOST_OPERATORS]):
        made.add_row(
            Text(load.name),
            f"{percent(before.cpu)} | {percent(load.cpu)}",
            f"{percent(before.mem)} | {percent(load.mem)}",
            *([Text(contents[position])] if contents else []),
        )
    return made
