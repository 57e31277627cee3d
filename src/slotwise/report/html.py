"""A Plan, an Observation and a run in HTML, for notebooks: no scripts, no outside files."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape
from typing import TYPE_CHECKING

from slotwise.model import counted
from slotwise.model.goals import missed
from slotwise.report.figures import figure, percent
from slotwise.report.lines_over_time import over_time_html
from slotwise.report.pictures import dataflow_svg, seen_in_slots, slots_html

if TYPE_CHECKING:
    from slotwise.model.goals import Verdict
    from slotwise.model.observation import Observation, SlotLoad
    from slotwise.model.plan import Plan

MOST_NODES = 50
"""More rows than this help nobody in a notebook."""

_STYLE = (
    "<style>"
    ".slotwise{font:13px/1.5 system-ui,sans-serif;max-width:60em}"
    ".slotwise table{border-collapse:collapse;margin:.6em 0}"
    ".slotwise th{font-weight:600;border-bottom:1px solid currentColor}"
    ".slotwise th,.slotwise td{padding:.15em .8em;text-align:right;vertical-align:top}"
    ".slotwise th:first-child,.slotwise td:first-child,"
    ".slotwise th:last-child,.slotwise td:last-child{text-align:left}"
    ".slotwise p{margin:.2em 0}"
    ".slotwise .missed{background:#fde7df;color:#8a1c10;padding:0 .5em;width:fit-content}"
    ".slotwise details{opacity:.75}"
    "</style>"
)


def plan_html(plan: Plan) -> str:
    """Summary, operators, nodes and reasons; every name is escaped."""
    return "".join(
        (
            f'<div class="slotwise">{_STYLE}',
            f"<p><b>{escape(plan.pipeline.topology.name)}</b> at {plan.rate:,g} tuples/s by "
            f"{escape(plan.allocation.algorithm)} and {escape(plan.placement.algorithm)}: "
            f"{counted(plan.slots, 'slot')} ({plan.extra_slots} extra) on "
            f"{counted(plan.machines, 'machine')} "
            f"for {plan.cost_per_hour:,.2f} per hour</p>",
            _prediction(plan),
            *(f'<p class="missed">✗ {escape(goal.reason)}</p>' for goal in missed(plan.judged())),
            *_pictures(plan),
            _operators(plan),
            _nodes(plan),
            _reasons(plan),
            "</div>",
        )
    )


def observation_html(seen: Observation, planned: Sequence[SlotLoad] = ()) -> str:
    """What was seen, with the dataflow and the slots, beside what was planned of them; every name
    is escaped.
    """
    threads: dict[str, int] = {}
    for load in seen.threads:
        threads[load.operator] = threads.get(load.operator, 0) + 1
    latencies = ", ".join(
        f"{name} {figure(value, '∞')} ms"
        for name, value in (
            ("p50", seen.latency_p50_ms),
            ("p95", seen.latency_p95_ms),
            ("p99", seen.latency_p99_ms),
        )
        if value is not None
    )
    window = ""
    if seen.end_s is not None:
        window = f" in seconds {seen.start_s or 0:,.0f} to {seen.end_s:,.0f}"
    return "".join(
        (
            f'<div class="slotwise">{_STYLE}',
            f"<p><b>{escape(seen.origin)}</b>{window}: {figure(seen.throughput)} of "
            f"{figure(seen.offered_rate)} tuples/s; latency {escape(seen.latency_text)}"
            f"{f' ({latencies})' if latencies else ''}</p>",
            f'<p class="missed">unstable: {escape(str(seen.bottleneck))} is the bottleneck</p>'
            if seen.stable is False
            else "",
            dataflow_svg(seen, threads),
            slots_html(seen.slots, seen_in_slots(seen), planned),
            *(f"<p>{escape(remark)}</p>" for remark in seen.remarks),
            "</div>",
        )
    )


def summary_html(
    plan: Plan,
    seen: Observation | None,
    verdicts: Sequence[Verdict],
    events: Sequence[str],
    windows: Sequence[Observation] = (),
) -> str:
    """What a run has shown, over its time (`windows`, one after the other) and as a whole; its
    goals and events.
    """
    planned = plan.predicted.slots if plan.predicted else ()
    return "".join(
        (
            f'<div class="slotwise">{_STYLE}',
            f"<p><b>{escape(plan.pipeline.topology.name)}</b> as it ran</p>",
            over_time_html(windows, plan.pipeline.goals),
            "" if seen is None else observation_html(seen, planned),
            *map(_verdict, verdicts),
            *(f"<p>{escape(event)}</p>" for event in events),
            "</div>",
        )
    )


def _verdict(verdict: Verdict) -> str:
    mark = {"met": "✓", "missed": "✗"}.get(verdict.outcome, "?")
    kind = ' class="missed"' if verdict.outcome == "missed" else ""
    return f"<p{kind}>{mark} {escape(verdict.reason)}</p>"


def _pictures(plan: Plan) -> tuple[str, ...]:
    """Of what is predicted."""
    if plan.predicted is None:
        return ()
    loads = plan.predicted.slots
    inside = zip(loads, plan.threads_in_slots(), strict=True)
    contents = {load.name: dict(threads) for load, threads in inside}
    return dataflow_svg(plan.predicted, plan.threads), slots_html(loads, contents)


def _prediction(plan: Plan) -> str:
    predicted = plan.predicted
    if predicted is None:
        return ""
    return (
        f"<p>predicted capacity: {predicted.capacity:,.1f}/s as grouped, "
        f"{predicted.proportional_capacity:,.1f}/s with routing weights; "
        f"latency {escape(predicted.latency_text)}; "
        f"bottleneck {escape(predicted.bottleneck)}</p>"
    )


def _operators(plan: Plan) -> str:
    loads = plan.predicted.operators if plan.predicted else ()
    busy = {load.operator: load.utilisation for load in loads}
    rows = (
        (
            entry.operator,
            f"{entry.threads:,}",
            f"{entry.arrival_rate:,.1f}",
            percent(busy.get(entry.operator)),
            entry.reason,
        )
        for entry in plan.allocation
    )
    return _table(("Operator", "Threads", "Arriving/s", "Busy", "Why so many"), rows)


def _nodes(plan: Plan) -> str:
    loads = {load.name: load for load in plan.predicted.nodes} if plan.predicted else {}
    contents = plan.threads_in_slots()
    rows = []
    for position, node in enumerate(plan.cluster.nodes[:MOST_NODES]):
        first = int(plan.cluster.first_slot[position])
        load = loads.get(node.name)
        slots = (
            ", ".join(f"{name}×{threads}" for name, threads in slot) or "empty"
            for slot in contents[first : first + node.slots]
        )
        rows.append(
            (
                node.name,
                node.type or "",
                percent(load.cpu) if load else "–",
                percent(load.mem) if load else "–",
                " | ".join(slots),
            )
        )
    left = len(plan.cluster.nodes) - len(rows)
    more = f"<p>… and {left:,} more nodes</p>" if left else ""
    return _table(("Node", "Type", "CPU", "Memory", "Threads, slot by slot"), rows) + more


def _reasons(plan: Plan) -> str:
    if not plan.reasons:
        return ""
    lines = "".join(f"<p>{escape(reason)}</p>" for reason in plan.reasons)
    return f"<details><summary>Reasons</summary>{lines}</details>"


def _table(head: Iterable[str], rows: Iterable[Iterable[str]]) -> str:
    def row(cells: Iterable[str], tag: str) -> str:
        return "<tr>" + "".join(f"<{tag}>{escape(cell)}</{tag}>" for cell in cells) + "</tr>"

    body = "".join(row(cells, "td") for cells in rows)
    return f"<table><thead>{row(head, 'th')}</thead><tbody>{body}</tbody></table>"
