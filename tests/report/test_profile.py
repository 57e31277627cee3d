"""Measured profiles for people: tables, pictures, a page."""

from __future__ import annotations

import io
import re
from dataclasses import replace

import pytest
from rich.console import Console, RenderableType

from slotwise.model import Hop, Platform, ThreadRow, ThreadTable
from slotwise.report.profile import platform_report, profiles_report, selectivities_report
from slotwise.report.profile_figures import charts, figures
from tests.profilers.made import MEASURED, PROFILED, ROWS

PLATFORM = Platform(
    slot_cpu=0.0123,
    slot_memory_mb=80.0,
    in_slot=Hop(1.5, 2.5, 0.5, 3.25, 60.0, 80.0),
    between_nodes=Hop(send_us=40.0),
    source_us=6.0,
    sink_us=7.0,
    meter_us=0.75,
    flush_ms=5.0,
    buffer_bytes=32768.0,
    measurement=MEASURED,
)
FROM_RUN = replace(
    PROFILED,
    profile=replace(PROFILED.profile, table=None, measurement=replace(MEASURED, source="run")),
    peaks=(),
    selectivity=None,
)


def lines(report: RenderableType) -> list[str]:
    """What 80 columns show, blanks made one."""
    console = Console(width=80, record=True, file=io.StringIO())
    console.print(report)
    return [" ".join(line.split()) for line in console.export_text().splitlines()]


def test_the_peak_is_marked() -> None:
    shown = lines(profiles_report([PROFILED]))
    assert "pi 1 100.0 51% 12% 40% 9.50" in shown
    assert "2 180.0 93% 13% 36% 9.50 ← peak" in shown
    assert sum("← peak" in line for line in shown) == 1


def test_service_costs_and_where_they_come_from() -> None:
    shown = lines(profiles_report([PROFILED]))
    assert "pi 8 125.0 50% 0.04 0.90 2" in shown
    assert "pi 0.25 0.02 0.001 8" in shown
    text = " ".join(shown)
    assert "Measured in experiments on Some CPU, Spark 4.3.0, Java 17.0.1; slots 0.5 cores" in text
    assert "pi: the slot was full with 2 threads" in text


def test_profiles_of_a_run_have_no_thread_counts() -> None:
    shown = lines(profiles_report([FROM_RUN]))
    assert not any("Threads" in line for line in shown)
    assert "pi 8 125.0 50% 0.04 0.90 –" in shown
    assert any("Measured in a run on" in line for line in shown)


def test_names_are_no_markup() -> None:
    named = replace(PROFILED, operator="[red]x")
    assert any(line.startswith("[red]x 1 100.0") for line in lines(profiles_report([named])))
    assert "[b] [i] 0.5" in lines(selectivities_report({("[b]", "[i]"): 0.5}))


def test_the_platform() -> None:
    shown = lines(platform_report(PLATFORM))
    assert "within a slot 4.00 0.50 140.0 3.25" in shown
    assert "between nodes 40.0 0 0 0" in shown
    assert "A slot without tuples 0.0123 cores, each thread 0, 80.0 MB" in shown
    assert "A busy thread 0 cores beside its tuples" in shown
    assert "Source 6.00 µs of CPU per tuple" in shown
    assert "Sink 7.00 µs of CPU per tuple" in shown
    assert "Meters 0.75 µs of CPU per tuple" in shown
    assert "Send buffers 32,768 bytes, sent after 5.00 ms" in shown
    assert lines(profiles_report([], PLATFORM))[: len(shown)] == shown


def test_charts_hold_the_measured_rows() -> None:
    rate, use = charts("pi", ThreadTable(ROWS))
    assert rate.lines[0].x == (1.0, 2.0, 4.0)
    assert rate.lines[0].y == (100.0, 180.0, 175.0)
    assert (rate.lines[1].name, rate.lines[1].y) == ("the peak: 2 threads", (180.0,))
    assert [line.y for line in use.lines] == [(51.0, 93.0, 100.0), (12.5, 13.0, 15.0)]


def test_files() -> None:
    pytest.importorskip("matplotlib")
    strange = replace(
        PROFILED,
        operator="../<pi>",
        profile=replace(PROFILED.profile, table=ThreadTable((ThreadRow(1, 5.0, 0.1, 0.1),))),
    )
    made = figures([PROFILED, strange, FROM_RUN], PLATFORM)
    assert list(made) == ["pi.png", "-pi-.png", "profiles.html"]
    assert all(made[name].startswith(b"\x89PNG") for name in list(made)[:2])
    page = made["profiles.html"].decode()
    assert page.count("data:image/png;base64,") == 2
    assert not re.search(r'(src|href)="(?!data:)|<script|<pi>', page)
    assert "<td>pi</td><td>2</td><td>180</td><td>0.93</td><td>0.13</td>" in page
    assert "<td>within a slot</td><td>4</td>" in page
    assert "the slot was full with 2 threads" in page
