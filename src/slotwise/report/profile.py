"""Measured profiles and the platform's costs for the terminal."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from slotwise.model import Hop, Measurement, Platform
from slotwise.profilers.trial import Peak, Profiled
from slotwise.report.figures import figure, percent
from slotwise.report.pages import shown
from slotwise.report.tables import table

PEAK = "← peak"
DISTANCES = {
    "in_slot": "within a slot",
    "in_node": "between slots of a node",
    "between_nodes": "between nodes",
}


HOP_FIGURES = ("Tuple µs", "Per KB µs", "Buffer µs", "Delay ms")
"""CPU of both ends together."""


def hop_figures(hop: Hop) -> tuple[float, ...]:
    """In the order of HOP_FIGURES."""
    return (
        hop.send_us + hop.receive_us,
        hop.per_kb_us,
        hop.send_buffer_us + hop.receive_buffer_us,
        hop.delay_ms,
    )


def profiles_report(
    profiled: Sequence[Profiled], platform: Platform | None = None
) -> RenderableType:
    """All that `slotwise profile` prints. Names are taken literally, never as markup."""
    parts: list[RenderableType] = []
    if any(each.profile.table for each in profiled):
        parts += [_thread_counts(profiled), ""]
    parts += [_services(profiled), "", _costs(profiled)] if profiled else []
    if platform is not None:
        parts += [*([""] if parts else []), platform_report(platform)]
    measured = [each.profile.measurement for each in profiled]
    if platform is not None:
        measured.append(platform.measurement)
    parts += [Text(f"\n{line}", "dim") for line in dict.fromkeys(map(_how, filter(None, measured)))]
    remarks = [(each.operator, remark) for each in profiled for remark in each.remarks]
    parts += [Text(f"\n{operator}: {remark}", "yellow") for operator, remark in remarks]
    return Group(*parts)


def platform_report(platform: Platform) -> RenderableType:
    """Hops by distance; then what a slot, sources, sinks and meters take."""
    hops = table("Hop", *(f">{name}" for name in HOP_FIGURES))
    for distance, hop in zip(DISTANCES.values(), platform.hops, strict=True):
        hops.add_row(distance, *map(figure, hop_figures(hop)))
    others = table("The engine itself", "")
    others.add_row("A slot without tuples", _idle(platform))
    busy = platform.thread_cpu - platform.polling_cpu
    others.add_row("A busy thread", f"{shown(busy)} cores beside its tuples")
    others.add_row("Source", f"{figure(platform.source_us)} µs of CPU per tuple")
    others.add_row("Sink", f"{figure(platform.sink_us)} µs of CPU per tuple")
    others.add_row("Meters", f"{figure(platform.meter_us)} µs of CPU per tuple")
    others.add_row("Send buffers", _buffers(platform))
    return Group(hops, "", others)


def selectivities_report(selectivities: Mapping[tuple[str, str], float]) -> RenderableType:
    """Per stream, tuples sent for each that its sender handled."""
    made = table("<From", "<To", ">Selectivity")
    for (source, target), selectivity in selectivities.items():
        made.add_row(Text(source), Text(target), shown(selectivity))
    return made


def _thread_counts(profiled: Sequence[Profiled]) -> Table:
    made = table(
        "<Operator", ">Threads", ">Rate/s", ">CPU", ">Memory", ">Busy", ">Latency\nms", "", gap=1
    )
    for each in profiled:
        peaks = {peak.threads: peak for peak in each.peaks}
        best = each.profile.table.best if each.profile.table else None
        for position, row in enumerate(each.profile.table.rows if each.profile.table else ()):
            made.add_row(
                Text("" if position else each.operator),
                f"{row.threads:,}",
                figure(row.rate),
                percent(row.cpu),
                percent(row.mem),
                *_peak_figures(peaks.get(row.threads)),
                PEAK if row == best else "",
                style="bold" if row == best else None,
            )
    return made


def _peak_figures(peak: Peak | None) -> tuple[str, str]:
    """Of the trial at the highest stable rate: how busy its threads were, and the latency."""
    if peak is None:
        return "–", "–"
    trial = peak.confirmed
    busy = None if trial.service_ms is None else trial.rate * trial.service_ms / 1000
    return percent(None if busy is None else busy / trial.threads), figure(trial.latency_ms)


def _services(profiled: Sequence[Profiled]) -> Table:
    """One thread's work; SCV: squared coefficient of variation."""
    made = table(
        "<Operator",
        ">Service ms",
        ">Rate/s\nper thread",
        ">CPU",
        ">SCV of\nservice",
        ">of\narrivals",
        ">Selec-\ntivity",
    )
    for each in profiled:
        if service := each.profile.service:
            made.add_row(
                Text(each.operator),
                shown(1000 / service.rate),
                figure(service.rate),
                percent(service.cpu),
                figure(service.service_scv),
                figure(service.arrival_scv),
                shown(each.selectivity),
            )
    return made


def _costs(profiled: Sequence[Profiled]) -> Table:
    """Paper 3's costs per tuple."""
    made = table("<Operator", ">c_p\nCPU points", ">c_t\nCPU points", ">m_pt\nMB", ">t_soj\nms")
    for each in profiled:
        if costs := each.profile.costs:
            figures = costs.cpu_points, costs.transfer_points, costs.memory_mb, costs.sojourn_ms
            made.add_row(Text(each.operator), *map(shown, figures))
    return made


def _idle(platform: Platform) -> str:
    return (
        f"{shown(platform.slot_cpu)} cores, each thread {shown(platform.thread_cpu)}, "
        f"{figure(platform.slot_memory_mb)} MB"
    )


def _buffers(platform: Platform) -> str:
    size = f"{platform.buffer_bytes:,.0f} bytes" if platform.buffer_bytes else "of any size"
    return f"{size}, sent after {figure(platform.flush_ms)} ms"


def _how(measured: Measurement) -> str:
    quota = "without a CPU quota" if measured.cores is None else f"{measured.cores:g} cores"
    memory = "" if measured.memory_mb is None else f", {measured.memory_mb:,.0f} MB"
    source = "in experiments" if measured.source == "experiment" else "in a run"
    return (
        f"Measured {source} on {measured.cpu}, Spark {measured.spark}, Java {measured.java}; "
        f"slots {quota}{memory}"
    )
