"""Pictures for notebooks, as SVG and HTML without scripts: the dataflow, the slots, and lines over
time. They can be read on a light and on a dark ground.

Every name is escaped, and nothing comes from an outside address.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from html import escape

from slotwise.model import Observation, SlotLoad, StreamLoad
from slotwise.report.figures import figure, percent

MOST_OPERATORS = 60
MOST_SLOTS = 400
"""More than this is not drawn."""
WIDTH, HEIGHT, GAP_X, GAP_Y = 150, 60, 70, 18
THINNEST, WIDEST = 1.2, 8.2
"""Of streams, by their rate."""
ARROW = 9
"""Length of an arrow's head."""
IDLE, INK, HELD = "#eef1f4", "#18222d", "#d0562c"
LEVELS = ((0.5, "#b2d5ee"), (0.8, "#74b0dd"), (1.0, "#f2bd4b"), (float("inf"), "#e57a4a"))
"""How busy, up to what, and its colour: those of the page in its light theme, since boxes are light
on a dark ground, too.
"""


def shade(part: float | None) -> str:
    """The colour for how busy something is.

    >>> shade(0.1), shade(1.2), shade(None)
    ('#b2d5ee', '#e57a4a', '#eef1f4')
    """
    if part is None:
        return IDLE
    return next((colour for below, colour in LEVELS if round(part, 2) < below), LEVELS[-1][1])


def dataflow_svg(seen: Observation, threads: Mapping[str, int]) -> str:
    """Operators from sources to sinks, filled by how busy they are; streams as wide as their rate,
    and dashed where tuples wait for an operator that cannot keep up.
    """
    if not 0 < len(seen.operators) <= MOST_OPERATORS:
        return ""
    places = _places([load.operator for load in seen.operators], seen.streams)
    width = max(x for x, _ in places.values()) + WIDTH + 4
    height = max(y for _, y in places.values()) + HEIGHT + 4
    boxes = "".join(
        _box(
            places[load.operator],
            load.operator,
            load.utilisation,
            threads.get(load.operator),
            load.operator == seen.bottleneck,
        )
        for load in seen.operators
    )
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" role="img" aria-label="dataflow" '
        f'viewBox="-2 -2 {width} {height}" width="{width}" style="max-width:100%" '
        f'font-family="system-ui,sans-serif" font-size="12">'
        f"{_streams(places, seen.streams, _held(seen))}{boxes}</svg>"
    )


def _held(seen: Observation) -> frozenset[str]:
    """Operators with a thread that is asked for more than it can do: tuples wait for them."""
    operators = {load.operator for load in seen.operators if _is_over(load.utilisation)}
    return frozenset(
        operators | {load.operator for load in seen.threads if _is_over(load.utilisation)}
    )


def _is_over(part: float | None) -> bool:
    return shade(part) == LEVELS[-1][1]


def _places(operators: Sequence[str], streams: Sequence[StreamLoad]) -> dict[str, tuple[int, int]]:
    """Left to right by how far an operator is from the sources; those of a loop are alike."""
    import rustworkx

    graph: rustworkx.PyDiGraph[str, None] = rustworkx.PyDiGraph()
    graph.add_nodes_from(list(operators))
    position = {name: number for number, name in enumerate(operators)}
    edges = [(position[each.source], position[each.target]) for each in streams]
    graph.add_edges_from_no_data(edges)
    loops = rustworkx.strongly_connected_components(graph)
    member = {node: number for number, nodes in enumerate(loops) for node in nodes}
    condensed: rustworkx.PyDiGraph[int, None] = rustworkx.PyDiGraph()
    condensed.add_nodes_from(list(range(len(loops))))
    between = {(member[a], member[b]) for a, b in edges if member[a] != member[b]}
    condensed.add_edges_from_no_data(sorted(between))
    found = {}
    for column, generation in enumerate(rustworkx.topological_generations(condensed)):
        names = sorted(node for group in generation for node in loops[group])
        for row, node in enumerate(names):
            found[operators[node]] = (column * (WIDTH + GAP_X), row * (HEIGHT + GAP_Y))
    return found


def _streams(
    places: Mapping[str, tuple[int, int]], streams: Sequence[StreamLoad], held: frozenset[str]
) -> str:
    highest = max((each.rate or 0.0 for each in streams), default=0.0)
    return "".join(
        _arrow(each, places, (each.rate or 0.0) / highest if highest else 0.0, each.target in held)
        for each in streams
    )


def _arrow(
    stream: StreamLoad, places: Mapping[str, tuple[int, int]], part: float, held: bool
) -> str:
    (x1, y1), (x2, y2) = places[stream.source], places[stream.target]
    wide = THINNEST + (WIDEST - THINNEST) * part**0.5
    start, tip = (x1 + WIDTH, y1 + HEIGHT / 2), (x2, y2 + HEIGHT / 2)
    end = tip[0] - ARROW
    bend = max(GAP_X / 2, abs(end - start[0]) / 2)
    colour = HELD if held else "currentColor"
    dashes = ' stroke-dasharray="7 5"' if held else ""
    half = max(4.0, wide / 2 + 2)
    waits = ", waiting" if held else ""
    name = escape(f"{stream.source} → {stream.target}: {figure(stream.rate)}/s{waits}")
    return (
        f'<g opacity="{1 if held else 0.7}"><title>{name}</title>'
        f'<path d="M{start[0]} {start[1]}C{start[0] + bend} {start[1]} {end - bend} {tip[1]} '
        f'{end} {tip[1]}" fill="none" stroke="{colour}" stroke-width="{wide:.1f}"{dashes}/>'
        f'<polygon points="{end},{tip[1] - half:.1f} {tip[0]},{tip[1]} '
        f'{end},{tip[1] + half:.1f}" fill="{colour}"/></g>'
    )


def _box(
    place: tuple[int, int], name: str, busy: float | None, threads: int | None, bottleneck: bool
) -> str:
    x, y = place
    shown = name if len(name) <= 20 else f"{name[:19]}…"
    count = "" if threads is None else f"{threads:,} × "
    lines = [(shown, ' font-weight="600"'), (f"{count}{percent(busy)} busy", "")]
    if bottleneck:
        lines.append(("bottleneck", ' font-style="italic"'))
    top = y + HEIGHT / 2 + 4 - 8 * (len(lines) - 1)
    texts = "".join(
        f'<text x="{x + WIDTH / 2}" y="{top + 16 * row}" text-anchor="middle" '
        f'fill="{INK}"{style}>{escape(text)}</text>'
        for row, (text, style) in enumerate(lines)
    )
    area = f'x="{x}" y="{y}" height="{HEIGHT}" rx="6"'
    return (
        f"<g><title>{escape(name)}</title>"
        f'<rect {area} width="{WIDTH}" fill="{IDLE}"/>'
        f'<rect {area} width="{WIDTH * _filled(busy):.0f}" fill="{shade(busy)}"/>'
        f'<rect {area} width="{WIDTH}" fill="none" stroke="{INK if bottleneck else "#566372"}" '
        f'stroke-width="{3 if bottleneck else 1}"/>{texts}</g>'
    )


def _filled(part: float | None) -> float:
    return 0.0 if part is None else min(1.0, max(0.0, part))


Contents = Mapping[str, Mapping[str, int]]
"""By slot, how many threads of which operators are in it."""


def seen_in_slots(seen: Observation) -> Contents:
    found: dict[str, Counter[str]] = {}
    for load in seen.threads:
        found.setdefault(load.slot, Counter())[load.operator] += 1
    return found


def slots_html(
    slots: Sequence[SlotLoad], contents: Contents, planned: Sequence[SlotLoad] = ()
) -> str:
    """Each slot with its threads and a bar for its CPU, with a line where it was `planned`; without
    contents, nothing is known of threads.
    """
    if not 0 < len(slots) <= MOST_SLOTS:
        return ""
    wanted = {slot.name: slot.cpu for slot in planned}
    cells = "".join(_slot(slot, contents, wanted.get(slot.name)) for slot in slots)
    return f'<div style="display:flex;flex-wrap:wrap;gap:.4em;margin:.4em 0">{cells}</div>'


def _slot(slot: SlotLoad, contents: Contents, planned: float | None) -> str:
    held = contents.get(slot.name, {})
    named = ", ".join(f"{escape(name)}×{count}" for name, count in held.items())
    if not named and contents:
        named = "empty"
    border = "solid" if held or not contents else "dashed"
    said = f", planned {percent(planned)}" if planned is not None else ""
    return (
        f'<div style="border:1px {border} #7d8894;border-radius:6px;padding:.3em .5em;'
        f'min-width:9em;background:#fff;color:{INK}">'
        f"<b>{escape(slot.name)}</b> {percent(slot.cpu)}{said}{_bar(slot.cpu, planned)}{named}"
        "</div>"
    )


def _bar(part: float | None, planned: float | None) -> str:
    used = (
        f'<div style="width:{_filled(part):.0%};height:100%;background:{shade(part)}"></div>'
        if part is not None
        else ""
    )
    tick = (
        f'<div style="position:absolute;left:{_filled(planned):.0%};top:-3px;bottom:-3px;'
        f'width:2px;margin-left:-1px;background:{INK}"></div>'
        if planned is not None
        else ""
    )
    return (
        f'<div style="position:relative;height:7px;margin:4px 0;background:{IDLE};'
        f'outline:1px solid #7d8894">{used}{tick}</div>'
    )
