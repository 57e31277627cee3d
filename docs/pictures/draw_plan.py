"""Draws a plan as SVG: `python docs/pictures/draw_plan.py > docs/pictures/plan.svg`.

Nodes are frames, slots are columns in them, and each slot is filled with its operators by the CPU
they are predicted to use. All figures come from the plan made here.
"""

from __future__ import annotations

import sys
from html import escape

import slotwise
from slotwise.model import Plan
from slotwise.prediction.groups import groups_of
from slotwise.rates import arrival_rates

COLOURS = ("#4477aa", "#ee6677", "#228833", "#ccbb44", "#66ccee", "#aa3377", "#888888")
SLOT_WIDTH, SLOT_HEIGHT, GAP, MARGIN, TOP = 104, 210, 10, 16, 92


def draw(plan: Plan) -> str:
    parts = [_title(plan), *_legend(plan)]
    left = MARGIN
    for position, node in enumerate(plan.cluster.nodes):
        width = node.slots * (SLOT_WIDTH + GAP) + GAP
        parts.append(_box(left, TOP, width, SLOT_HEIGHT + 64, "#ffffff", "#444444"))
        parts.append(_text(left + 10, TOP + 20, f"{node.name} ({node.type})", bold=True))
        for index in range(node.slots):
            slot = int(plan.cluster.first_slot[position]) + index
            parts += _slot(plan, slot, left + GAP + index * (SLOT_WIDTH + GAP), TOP + 32)
        left += width + MARGIN
    height = TOP + SLOT_HEIGHT + 64 + MARGIN
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {left} {height}" '
        f'width="{left}" height="{height}" font-family="sans-serif" font-size="12">'
        f'<rect width="100%" height="100%" fill="#fafafa"/>{"".join(parts)}</svg>\n'
    )


def _title(plan: Plan) -> str:
    predicted = plan.predicted
    assert predicted is not None
    text = (
        f"{plan.pipeline.topology.name} at {plan.rate:g} tuples/s: {plan.slots} slots on "
        f"{plan.machines} machines; predicted {predicted.shuffle_capacity:.0f}/s with shuffle "
        f"grouping, {predicted.proportional_capacity:.0f}/s with the plan's weights"
    )
    return _text(MARGIN, 26, text, size=14, bold=True)


def _legend(plan: Plan) -> list[str]:
    parts, left = [], MARGIN
    for position, (name, threads) in enumerate(plan.threads.items()):
        label = f"{name} × {threads}"
        parts.append(_box(left, 48, 14, 14, COLOURS[position], "none"))
        parts.append(_text(left + 20, 60, label))
        left += 34 + 7 * len(label)
    return parts


def _slot(plan: Plan, slot: int, left: float, top: float) -> list[str]:
    groups = groups_of(plan.pipeline, plan.cluster, plan.placement)
    arriving = arrival_rates(plan.pipeline.topology, plan.rate, plan.placement.threads).operators
    even = groups.even_shares()
    parts = [_box(left, top, SLOT_WIDTH, SLOT_HEIGHT, "#eeeeee", "#bbbbbb")]
    bottom = top + SLOT_HEIGHT
    used = 0.0
    for group in (groups.slot == slot).nonzero()[0]:
        operator = int(groups.operator[group])
        busy = 1.0 if groups.fixed[group] else arriving[operator] * even[group] / groups.peak[group]
        cpu = min(1.0, busy) * float(groups.cpu[group])
        used += cpu
        height = max(2.0, cpu * SLOT_HEIGHT)
        bottom -= height
        parts.append(_box(left, bottom, SLOT_WIDTH, height, COLOURS[operator], "#ffffff"))
        if height > 16:
            label = f"× {groups.threads[group]}"
            middle = bottom + height / 2 + 4
            parts.append(_text(left + SLOT_WIDTH / 2, middle, label, "#ffffff", anchor="middle"))
    label = f"slot {slot - int(plan.cluster.first_slot[plan.cluster.slot_node[slot]])}: "
    label += f"{used:.0%} CPU" if used else "free"
    parts.append(
        _text(left + SLOT_WIDTH / 2, top + SLOT_HEIGHT + 20, label, "#444444", anchor="middle")
    )
    return parts


def _box(left: float, top: float, width: float, height: float, fill: str, line: str) -> str:
    return (
        f'<rect x="{left:g}" y="{top:.1f}" width="{width:g}" height="{height:.1f}" '
        f'fill="{fill}" stroke="{line}" rx="2"/>'
    )


def _text(
    left: float,
    base: float,
    text: str,
    colour: str = "#222222",
    *,
    size: int = 12,
    bold: bool = False,
    anchor: str = "start",
) -> str:
    weight = ' font-weight="bold"' if bold else ""
    return (
        f'<text x="{left:g}" y="{base:.1f}" fill="{colour}" font-size="{size}"{weight} '
        f'text-anchor="{anchor}">{escape(text)}</text>'
    )


if __name__ == "__main__":
    sys.stdout.write(draw(slotwise.plan("linear", 100, allocator="mba", placer="sam")))
