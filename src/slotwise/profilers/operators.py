"""All thread counts of an operator, and the profile that they make (paper 1, Algorithm 1)."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from slotwise.machine import measured_now
from slotwise.model import (
    Measurement,
    Operator,
    ProfileForms,
    SlotwiseError,
    ThreadRow,
    ThreadTable,
    counted,
)
from slotwise.profilers.bench import Bench
from slotwise.profilers.case import Captured, Case
from slotwise.profilers.costs import service_rate, task_costs
from slotwise.profilers.measuring import Times, trial
from slotwise.profilers.peaks import (
    FindPeak,
    is_full,
    no_longer_grows,
    saturation,
    thread_counts,
)
from slotwise.profilers.trial import Distance, Peak, Profiled, Trial

PLACES: tuple[tuple[Distance, Distance], ...] = (
    ("cluster", "slot"),
    ("cluster", "node"),
    ("slot", "slot"),
)
"""Where the input comes from and the output goes to, beside both being on another node."""
COSTS_PART = 0.6
"""Costs are measured at this part of one thread's peak."""
COSTS_TIMES = Times(most_warm_up_s=2.0, measured_s=4.0)
LEAST_CPU = 0.02
"""Cores by which an idle slot varies from one trial to the next."""
FEWEST_RECORDS = 50
"""An input of fewer is not taken for that of production without a remark."""
IDLE_GENERATOR = 0.8
"""An operator whose threads are busy for less of the time, in a slot with CPU to spare, was not
given all that it could take."""


@dataclass(frozen=True)
class Procedure:
    """How operators are measured."""

    find_peak: FindPeak = saturation
    most_threads: int = 64
    most_end_threads: int | None = None
    """Of sources and sinks; None: as of other operators."""
    with_costs: bool = True
    counts: tuple[int, ...] | None = None
    """Thread counts that are tried, rising; None: those of `thread_counts`."""
    until_full: bool = False
    """Where threads fill the slot, more are not tried: the last row holds for them."""

    def counts_of(self, operator: Operator) -> list[int]:
        """The thread counts that are tried of it, until its rate no longer grows."""
        most = self.most_of(operator)
        if self.counts is None:
            return list(thread_counts(most))
        return [count for count in self.counts if count <= most]

    def most_of(self, operator: Operator) -> int:
        """The most threads of it that are tried; an aggregate has no more than key groups."""
        most = self.most_threads
        if operator.kind != "operator" and self.most_end_threads is not None:
            most = self.most_end_threads
        return min(most, operator.logic.key_groups) if operator.logic.is_keyed else most


def profiled(
    bench: Bench,
    case: Case,
    procedure: Procedure,
    known: Mapping[int, Peak],
    known_costs: Sequence[Trial] = (),
    *,
    kept: Callable[[Peak | Sequence[Trial]], None] = lambda finished: None,
    progress: Callable[[str], None] = lambda sentence: None,
) -> Profiled:
    """The operator's profile. What is `known` from before is not measured again; `kept` is called
    with what is, as soon as it is finished.

    Raises SlotwiseError if the operator cannot be measured with one thread; if it fails with more
    threads, the profile ends before, and says so.
    """
    peaks: list[Peak] = []
    remarks: list[str] = []
    for threads in procedure.counts_of(case.operator):
        try:
            peak = known.get(threads) or procedure.find_peak(
                bench, case, threads, _most(peaks, threads)
            )
        except SlotwiseError as error:
            if not peaks:
                raise
            remarks.append(f"with {counted(threads, 'thread')}: {error}")
            break
        if threads not in known:
            kept(peak)
        peaks.append(peak)
        progress(
            f"{case.name}: {counted(threads, 'thread')}, {peak.confirmed.rate:,.1f} tuples/s, "
            f"{peak.confirmed.cpu_cores:.2f} cores"
        )
        if no_longer_grows(peaks) or (procedure.until_full and is_full(bench, peak)):
            break
    costs = list(known_costs)
    if procedure.with_costs and case.input is not None and not costs:
        costs = _costs_trials(bench, case, peaks[0])
        kept(costs)
        progress(f"{case.name}: costs with its neighbours near and far")
    return _profile(bench, case, peaks, costs, [*remarks, *_remarks(bench, case, peaks)])


def _most(peaks: Sequence[Peak], threads: int) -> float | None:
    """What so many threads can do at the most: as much each as the last fewer did."""
    if not peaks:
        return None
    return threads / peaks[-1].threads * peaks[-1].confirmed.rate


def _costs_trials(bench: Bench, case: Case, one_thread: Peak) -> list[Trial]:
    """One thread, its neighbours nearer: one in the slot takes CPU, so not at the peak."""
    rate = COSTS_PART * one_thread.confirmed.rate
    return [
        trial(bench, case, 1, rate, COSTS_TIMES, source=source, next_hop=next_hop)
        for source, next_hop in PLACES
        if case.emits or next_hop == "slot"
    ]


def _profile(
    bench: Bench, case: Case, peaks: Sequence[Peak], costs: Sequence[Trial], remarks: Sequence[str]
) -> Profiled:
    cores, memory_mb = bench.cores or 1.0, float(bench.slot_memory_mb)
    one_thread = peaks[0].confirmed
    confirmed = [peak.confirmed for peak in peaks]
    scv = case.input.arrival_scv if case.input is not None else None
    handled = sum(each.rate for each in confirmed)
    return Profiled(
        case.name,
        ProfileForms(
            table=ThreadTable(_rows(peaks, cores, memory_mb)),
            costs=task_costs([*confirmed, *costs], cores),
            service=service_rate(one_thread, memory_mb, cores, scv),
            measurement=measurement(bench, [*(t for peak in peaks for t in peak.tried), *costs]),
        ),
        tuple(peaks),
        tuple(costs),
        sum(each.emitted_rate for each in confirmed) / handled if case.emits else None,
        (*remarks, *(peak.remark for peak in peaks if peak.remark)),
    )


def _rows(peaks: Sequence[Peak], cores: float, slot_memory_mb: float) -> tuple[ThreadRow, ...]:
    """A stable operator handles what it is offered; what a window of a few seconds counts of a slow
    one is rougher. CPU that an idle slot may vary by says nothing: there a tuple is taken to cost
    what it costs with more threads.
    """
    trials = [peak.confirmed for peak in peaks]
    clear = [seen.cpu_cores / seen.rate for seen in trials if seen.cpu_cores >= LEAST_CPU]
    least = min(clear, default=0.0)
    return tuple(
        ThreadRow(
            seen.threads,
            rate := seen.rate if seen.offered_rate is None else seen.offered_rate,
            (seen.cpu_cores if seen.cpu_cores >= LEAST_CPU else max(seen.cpu_cores, least * rate))
            / cores,
            seen.memory_part(slot_memory_mb),
        )
        for seen in trials
    )


def measurement(bench: Bench, trials: Sequence[Trial]) -> Measurement:
    """Of these trials, today, on this machine."""
    spreads = [each.spread for each in trials if each.offered_rate is not None]
    return measured_now(
        bench.cores,
        float(bench.slot_memory_mb),
        "experiment",
        trials=len(trials),
        spread=float(np.mean(spreads)) if spreads else None,
    )


def _remarks(bench: Bench, case: Case, peaks: Sequence[Peak]) -> list[str]:
    found = [] if case.input is None else _of_input(case.input)
    if bench.cores is None:
        found.append("measured without a CPU quota: figures are of the whole machine's cores")
    best = max((peak.confirmed for peak in peaks), key=lambda seen: seen.rate)
    busy = best.rate * (best.service_ms or 0.0) / 1000 / best.threads
    if busy < IDLE_GENERATOR and best.cpu_cores < IDLE_GENERATOR * (bench.cores or 1.0):
        found.append(
            f"its threads were busy {busy:.0%} of the time: the generator gave no more than "
            f"{best.rate:,.0f} tuples/s, and the operator may be faster"
        )
    return found


def _of_input(used: Captured) -> list[str]:
    if used.records >= FEWEST_RECORDS:
        return []
    return [
        f"its input is {counted(used.records, 'record')}, all that arrived while input was "
        "captured: others may take another time"
    ]
