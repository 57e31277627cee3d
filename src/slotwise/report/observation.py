"""What a plan does, for the terminal: the prediction and what was seen, side by side."""

from __future__ import annotations

from collections.abc import Iterator

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from slotwise.model import Observation, OperatorLoad, Plan, Prediction
from slotwise.report.figures import counted, figure, percent, rate
from slotwise.report.tables import table

MOST_OPERATORS = 100
"""More operators than this are not listed; `--json` has them all."""


def observation_report(plan: Plan, predicted: Observation, seen: Observation) -> RenderableType:
    """Everything `slotwise simulate` prints. Names are taken literally, never as markup."""
    parts: list[RenderableType] = [_headline(plan, seen), ""]
    parts += [_figures(predicted, seen), "", _operators(predicted, seen)]
    if len(seen.operators) > MOST_OPERATORS:
        left = len(seen.operators) - MOST_OPERATORS
        parts.append(Text(f"… and {left:,} more operators: --json lists them all", "dim"))
    parts += ["", _nodes(predicted, seen)]
    for remark in seen.remarks:
        parts.append(Text(f"\n{remark}", "yellow"))
    return Group(*parts)


def _headline(plan: Plan, seen: Observation) -> Text:
    return Text.assemble(
        (plan.pipeline.topology.name, "bold"),
        f" at {rate(seen.input_rate)} tuples/s, by {plan.allocation.algorithm} + "
        f"{plan.placement.algorithm}\n{counted(plan.slots, 'slot')} on "
        f"{counted(plan.machines, 'machine')}: ",
        Text("stable", "green") if seen.stable else Text("unstable", "red"),
    )


def _figures(predicted: Observation, seen: Observation) -> Table:
    made = table("", ">Predicted", f">{seen.origin.capitalize()}")
    for name, one, other in _rows(predicted, seen):
        made.add_row(name, one, other)
    return made


def _rows(predicted: Observation, seen: Observation) -> Iterator[tuple[str, str, str]]:
    yield "Rate sustained /s", figure(predicted.rate), figure(seen.rate)
    yield "Bottleneck", predicted.bottleneck or "–", seen.bottleneck or "–"
    margin = f" ± {figure(seen.latency_margin_ms)}" if seen.latency_margin_ms else ""
    yield "Latency ms", figure(predicted.latency_ms, "∞"), figure(seen.latency_ms) + margin
    if isinstance(predicted, Prediction):
        yield "  with a queue per thread", figure(predicted.thread_queues_ms, "∞"), ""
    yield "  of it network", figure(predicted.network_ms), figure(seen.network_ms)
    if seen.sink_latency_ms is not None:
        yield "At sinks, mean ms", "–", figure(seen.sink_latency_ms)
    quantiles = dict(seen.latency_quantiles)
    for part in (0.5, 0.95, 0.99):
        if part in quantiles:
            yield f"  p{100 * part:g}", "–", figure(quantiles[part])
    if seen.latency_slope is not None:
        yield "Latency grows ms/s", "–", figure(seen.latency_slope)
    for name, field in (("slots", "inter_slot_traffic"), ("nodes", "inter_node_traffic")):
        one, other = getattr(predicted, field), getattr(seen, field)
        yield f"Between {name} /s", figure(one), figure(other)


def _operators(predicted: Observation, seen: Observation) -> Table:
    """Times in ms; where two figures stand together, predicted first."""
    made = table(
        "Operator",
        ">Arriving\n/s",
        ">Busy",
        ">Waiting ms",
        ">Service ms",
        ">Network\nms",
        ">Queue",
        gap=1,
    )
    foretold = {load.operator: load for load in predicted.operators}
    for load in seen.operators[:MOST_OPERATORS]:
        before = foretold.get(load.operator)
        made.add_row(
            Text(load.operator),
            figure(load.arrival_rate),
            f"{_busy(before)} | {_busy(load)}",
            f"{figure(before.waiting_ms, '∞') if before else '–'} | {figure(load.waiting_ms)}",
            f"{figure(before.service_ms, '∞') if before else '–'} | {figure(load.service_ms)}",
            figure(load.network_ms),
            "–" if load.queue is None else figure(load.queue),
        )
        if load.lost or load.resent:
            made.add_row(Text(f"  {load.lost:,} lost, {load.resent:,} sent again", "yellow"))
    made.caption = Text("predicted | simulated", "dim")
    made.caption_justify = "left"
    return made


def _busy(load: OperatorLoad | None) -> str:
    return "–" if load is None else percent(load.utilisation)


def _nodes(predicted: Observation, seen: Observation) -> Table:
    made = table("Node", ">CPU", ">Memory")
    pairs = list(zip(predicted.nodes, seen.nodes, strict=True))
    for before, load in pairs[:MOST_OPERATORS]:
        made.add_row(
            Text(load.name),
            f"{percent(before.cpu)} | {percent(load.cpu)}",
            f"{percent(before.mem)} | {percent(load.mem)}",
        )
    return made
