"""Pictures for notebooks, as SVG and HTML without scripts: the dataflow, and the slots.

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
WIDTH, HEIGHT, GAP_X, GAP_Y = 130, 44, 60, 18
THINNEST, WIDEST = 1.0, 9.0
"""Of streams, by their rate."""
_SHADES = ("#eef3f8", "#c6dbef", "#9ecae1", "#fdd49e", "#fdae61", "#d94801")
"""From idle to full: told apart by lightness as well as by hue."""
_STEPS = (0.2, 0.4, 0.6, 0.8, 0.98)


def shade(part: float | None) -> str:
    """The colour for how busy something is.

    >>> shade(0.1), shade(1.2), shade(None)
    ('#eef3f8', '#d94801', 'none')
    """
    if part is None:
        return "none"
    return _SHADES[sum(part >= step for step in _STEPS)]


def dataflow_svg(seen: Observation, threads: Mapping[str, int]) -> str:
    """Operators from sources to sinks, coloured by how busy they are; streams as wide as their
    rate.
    """
    if not 0 < len(seen.operators) <= MOST_OPERATORS:
        return ""
    places = _places([load.operator for load in seen.operators], seen.streams)
    width = max(x for x, _ in places.values()) + WIDTH + 2
    height = max(y for _, y in places.values()) + HEIGHT + 2
    boxes = "".join(
        _box(places[load.operator], load.operator, load.utilisation, threads.get(load.operator))
        for load in seen.operators
    )
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" role="img" aria-label="dataflow" '
        f'viewBox="-1 -1 {width} {height}" width="{width}" style="max-width:100%" '
        f'font-family="system-ui,sans-serif" font-size="12">'
        f"{_streams(places, seen.streams)}{boxes}</svg>"
    )


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


def _streams(places: Mapping[str, tuple[int, int]], streams: Sequence[StreamLoad]) -> str:
    highest = max((each.rate or 0.0 for each in streams), default=0.0)
    lines = []
    for each in streams:
        (x1, y1), (x2, y2) = places[each.source], places[each.target]
        part = (each.rate or 0.0) / highest if highest else 0.0
        wide = THINNEST + (WIDEST - THINNEST) * part
        start, end = (x1 + WIDTH, y1 + HEIGHT / 2), (x2, y2 + HEIGHT / 2)
        bend = max(GAP_X / 2, abs(end[0] - start[0]) / 2)
        name = escape(f"{each.source} → {each.target}: {figure(each.rate)}/s")
        lines.append(
            f'<path d="M{start[0]} {start[1]}C{start[0] + bend} {start[1]} {end[0] - bend} '
            f'{end[1]} {end[0]} {end[1]}" fill="none" stroke="#8a8a8a" stroke-opacity=".6" '
            f'stroke-width="{wide:.1f}"><title>{name}</title></path>'
        )
    return "".join(lines)


def _box(place: tuple[int, int], name: str, busy: float | None, threads: int | None) -> str:
    x, y = place
    shown = name if len(name) <= 18 else f"{name[:17]}…"
    count = "" if threads is None else f"{threads:,} × "
    dark = busy is not None and busy >= _STEPS[-1]
    text = "#fff" if dark else "#222"
    return (
        f'<g><title>{escape(name)}</title><rect x="{x}" y="{y}" width="{WIDTH}" '
        f'height="{HEIGHT}" rx="6" fill="{shade(busy)}" stroke="#555"/>'
        f'<text x="{x + WIDTH / 2}" y="{y + 18}" text-anchor="middle" fill="{text}" '
        f'font-weight="600">{escape(shown)}</text>'
        f'<text x="{x + WIDTH / 2}" y="{y + 35}" text-anchor="middle" fill="{text}">'
        f"{count}{percent(busy)} busy</text></g>"
    )


Contents = Mapping[str, Mapping[str, int]]
"""By slot, how many threads of which operators are in it."""


def seen_in_slots(seen: Observation) -> Contents:
    found: dict[str, Counter[str]] = {}
    for load in seen.threads:
        found.setdefault(load.slot, Counter())[load.operator] += 1
    return found


def slots_html(slots: Sequence[SlotLoad], contents: Contents) -> str:
    """Each slot with its threads, coloured by its CPU; without contents, nothing is known of
    threads.
    """
    if not 0 < len(slots) <= MOST_SLOTS:
        return ""
    cells = []
    for slot in slots:
        held = contents.get(slot.name, {})
        named = ", ".join(f"{escape(name)}×{count}" for name, count in held.items())
        if not named and contents:
            named = "empty"
        dark = slot.cpu is not None and slot.cpu >= _STEPS[-1]
        cells.append(
            f'<div style="border:1px solid #888;border-radius:6px;padding:.3em .5em;min-width:7em;'
            f'background:{shade(slot.cpu)};color:{"#fff" if dark else "#222"}">'
            f"<b>{escape(slot.name)}</b> {percent(slot.cpu)}<br/>{named}</div>"
        )
    return f'<div style="display:flex;flex-wrap:wrap;gap:.4em;margin:.4em 0">{"".join(cells)}</div>'
