"""Figures of measured profiles as in paper 1 (Figure 3): rate, CPU and memory against threads."""

from __future__ import annotations

import re
from collections.abc import Sequence
from html import escape

from slotwise.model import Platform, ThreadTable, counted
from slotwise.profilers.trial import Profiled
from slotwise.report.charts import Cell, Chart, Line, Table, picture
from slotwise.report.pages import list_html, page, pictures_html, section
from slotwise.report.profile import DISTANCES, HOP_FIGURES, hop_figures

PAGE = "profiles.html"


def figures(profiled: Sequence[Profiled], platform: Platform | None = None) -> dict[str, bytes]:
    """File name -> content: a PNG for each operator that has a thread table, and one HTML page
    with all of them and the tables. Needs matplotlib.
    """
    pictures = {
        each.operator: picture(*charts(each.operator, each.profile.table))
        for each in profiled
        if each.profile.table is not None
    }
    names = file_names(list(pictures))
    found = {f"{names[operator]}.png": image for operator, image in pictures.items()}
    return found | {PAGE: _page(profiled, pictures, platform).encode()}


def file_names(operators: Sequence[str]) -> dict[str, str]:
    """A file name for each: what is not safe in one is a dash; equal ones are numbered.

    >>> file_names(["pi", "a b", "a/b"])
    {'pi': 'pi', 'a b': 'a-b', 'a/b': 'a-b-2'}
    """
    found: dict[str, str] = {}
    for operator in operators:
        plain = name = re.sub(r"[^\w-]+", "-", operator)[:80]
        number = 1
        while name in found.values():
            number += 1
            name = f"{plain}-{number}"
        found[operator] = name
    return found


def charts(operator: str, measured: ThreadTable) -> tuple[Chart, Chart]:
    """The peak stable rate, and what it takes of the slot, against the number of threads."""
    threads = tuple(float(row.threads) for row in measured.rows)
    best = measured.best
    rates = Line("peak stable rate", threads, tuple(row.rate for row in measured.rows))
    peak = Line(
        f"the peak: {counted(best.threads, 'thread')}", (float(best.threads),), (best.rate,)
    )
    cpu = Line("CPU", threads, tuple(100 * row.cpu for row in measured.rows))
    memory = Line("memory", threads, tuple(100 * row.mem for row in measured.rows))
    axis = "threads in one slot"
    return (
        Chart("rate", f"{operator}: rate", axis, "tuples/s", (rates, peak), whole_x=True),
        Chart("use", f"{operator}: use of the slot", axis, "%", (cpu, memory), whole_x=True),
    )


def _page(
    profiled: Sequence[Profiled], pictures: dict[str, bytes], platform: Platform | None
) -> str:
    tables = [
        Table("Peak stable rates", ("operator", *_ROW), tuple(_table_rows(profiled))),
        Table("One thread", ("operator", *_SERVICE), tuple(_form_rows(profiled, "service"))),
        Table("Per tuple", ("operator", *_COSTS), tuple(_form_rows(profiled, "costs"))),
        *([] if platform is None else _platform_tables(platform)),
    ]
    remarks = [f"{each.operator}: {remark}" for each in profiled for remark in each.remarks]
    measured = {each.profile.measurement for each in profiled} - {None}
    how = {f"Spark {each.spark}, Java {each.java}, {each.cpu}" for each in measured if each}
    return page(
        "Measured profiles",
        f"<p>{escape('; '.join(sorted(how)))}</p>",
        pictures_html(pictures.items()),
        *(section(table) for table in tables if table.rows),
        f"<h2>Remarks</h2>{list_html(remarks)}" if remarks else "",
    )


_ROW = {"threads": "threads", "tuples/s": "rate", "CPU of a slot": "cpu", "memory of a slot": "mem"}
_SERVICE = {
    "tuples/s": "rate",
    "CPU of a slot": "cpu",
    "SCV of service": "service_scv",
    "SCV of arrivals": "arrival_scv",
}
_COSTS = {
    "c_p, CPU points": "cpu_points",
    "c_t, CPU points": "transfer_points",
    "m_pt, MB": "memory_mb",
    "t_soj, ms": "sojourn_ms",
}


def _table_rows(profiled: Sequence[Profiled]) -> list[tuple[Cell, ...]]:
    return [
        (each.operator, *(getattr(row, name) for name in _ROW.values()))
        for each in profiled
        for row in (each.profile.table.rows if each.profile.table else ())
    ]


def _form_rows(profiled: Sequence[Profiled], form: str) -> list[tuple[Cell, ...]]:
    columns = _SERVICE if form == "service" else _COSTS
    return [
        (each.operator, *(getattr(values, name) for name in columns.values()))
        for each in profiled
        if (values := getattr(each.profile, form)) is not None
    ]


def _platform_tables(platform: Platform) -> list[Table]:
    hops: tuple[tuple[Cell, ...], ...] = tuple(
        (text, *hop_figures(hop))
        for text, hop in zip(DISTANCES.values(), platform.hops, strict=True)
    )
    others: tuple[tuple[Cell, ...], ...] = (
        ("a slot without threads, cores", platform.slot_cpu),
        ("a thread without tuples, cores", platform.thread_cpu),
        ("of that only while it waits, cores", platform.polling_cpu),
        ("a slot without tuples, MB", platform.slot_memory_mb),
        ("source, µs of CPU per tuple", platform.source_us),
        ("sink, µs of CPU per tuple", platform.sink_us),
        ("meters, µs of CPU per tuple", platform.meter_us),
    )
    columns = ("hop", *HOP_FIGURES)
    return [Table("Hops", columns, hops), Table("The engine itself", ("what", "figure"), others)]
