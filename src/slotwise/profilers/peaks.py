"""Two procedures for the highest stable rate of so many threads, and when more threads are no use.

- `saturation`, the default: offer more than the operator can take, which shows its capacity in
  seconds; then confirm that it is stable just below.
- `staircase`, paper 1's Algorithm 1 as printed: raise the rate step by step until the latency grows
  faster than λ_max.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Protocol

import numpy as np

from slotwise.model import Schedule, SlotwiseError, counted
from slotwise.profilers.bench import Bench
from slotwise.profilers.case import DELAY_S, Case
from slotwise.profilers.measuring import FLOOD_RATE, Times, advance, measured, trial
from slotwise.profilers.trial import Peak, Trial
from slotwise.spark.waiting import await_tuples

CONFIRMED_AT = (0.97, 0.95, 0.92, 0.88, 0.8, 0.7)
"""Parts of the capacity that are tried for stability, one after the other. The first are near each
other: a pause of the machine looks like instability, and then costs little.
"""
FLOOD_TIMES = Times(most_warm_up_s=12.0, measured_s=5.0)
"""Under a quota the rate of single seconds varies by 4 %: that of five by 2 %."""
CONFIRM_TIMES = Times(most_warm_up_s=1.0, measured_s=5.0)
RAISED_TO = (0.92, 0.8, 0.7)
"""Parts of the estimated capacity that are tried where the flood seems to have hidden some."""
OVER = 1.5
"""A flood is so many times what threads can do at the most: a larger one fills their buffers, and a
small heap where they are many."""
MORE = 1.2
"""So many times what was confirmed, at least."""
IN_PACE = 0.9
"""Of what is offered, an operator that keeps pace handles this part at least."""
FULL = 0.95
"""A slot of whose quota this part is in use is full."""
PROBE_RATE, PROBE_TIMES = 5.0, Times(1.0, 3.0)
"""Of the trials before a staircase without a step."""
STEPS = 20
"""So many of its steps make the capacity, as it is estimated."""
GROWTH = 0.03
"""More threads are no use where the last ones brought less than this part more."""
WINDOW = 3
"""So many thread counts are looked at for that, as in paper 1."""


def thread_counts(most: int) -> Iterator[int]:
    """1, 2, 3, 4, 6, 8, 12, 16, …, `most` at the most.

    >>> list(thread_counts(20))
    [1, 2, 3, 4, 6, 8, 12, 16]
    """
    power = 1
    if most >= 1:
        yield 1
    while True:
        power *= 2
        for count in (power, power + power // 2):
            if count > most:
                return
            yield count


def no_longer_grows(peaks: Sequence[Peak]) -> bool:
    """Whether the rate over the last thread counts is flat or falls: the slope of its line of least
    squares, taken over the window, is less than GROWTH of their mean.
    """
    if len(peaks) < WINDOW:
        return False
    threads = np.array([peak.threads for peak in peaks[-WINDOW:]], dtype=np.float64)
    rates = np.array([peak.confirmed.rate for peak in peaks[-WINDOW:]])
    slope = np.polyfit(threads, rates, 1)[0]
    return bool(slope * (threads[-1] - threads[0]) < GROWTH * rates.mean())


def is_full(bench: Bench, peak: Peak) -> bool:
    """Whether the slot had no CPU left for more threads in one of the trials."""
    used = bench.idle.cpu_cores + max(each.cpu_cores for each in peak.tried)
    return bench.cores is not None and used >= FULL * bench.cores


def estimated_capacity(bench: Bench, seen: Trial) -> float:
    """Tuples/s at which the threads of a stable trial would be busy all the time, or its slot full,
    if a tuple took as long and as much CPU as it did; the trial's own rate if tuples are not timed.
    """
    if not seen.service_ms:
        return seen.rate
    by_threads = 1000 * seen.threads / seen.service_ms
    if bench.cores is None or seen.cpu_cores <= 0:
        return by_threads
    left = bench.cores - bench.idle.cpu_cores
    return min(by_threads, seen.rate * left / seen.cpu_cores)


@dataclass(frozen=True)
class Saturation:
    """The default procedure, with times for its trials."""

    flood: Times = FLOOD_TIMES
    confirm: Times = CONFIRM_TIMES
    fewest: int = 0
    """The flood is measured for longer, up to measuring.LONGEST_S, where it would handle fewer
    tuples: service times of a slow operator vary."""

    def __call__(self, bench: Bench, case: Case, threads: int, most: float | None = None) -> Peak:
        """Raises SlotwiseError if the operator is stable at none of the rates that are tried."""
        flood_rate = FLOOD_RATE if most is None else min(OVER * most, FLOOD_RATE)
        flooded = trial(
            bench, case, threads, None, self.flood, fewest=self.fewest, flood_rate=flood_rate
        )
        tried = [flooded]
        for part in CONFIRMED_AT:
            rate = part * flooded.rate
            tried.append(trial(bench, case, threads, rate, self.confirm, memory=True))
            if tried[-1].stable:
                return self._raised(bench, case, tried)
        raise _never_stable(case, threads, tried)

    def _raised(self, bench: Bench, case: Case, tried: list[Trial]) -> Peak:
        """The flood takes CPU itself, for what is held up at many threads: where a small quota went
        to that, the confirmed rate leaves time to spare, and higher ones are tried.
        """
        best = tried[-1]
        capacity = estimated_capacity(bench, best)
        for part in RAISED_TO:
            rate = part * capacity
            if rate < MORE * best.rate:
                break
            tried.append(trial(bench, case, best.threads, rate, self.confirm, memory=True))
            if tried[-1].stable:
                best = tried[-1]
                break
        return Peak(best.threads, best, tuple(tried))


saturation = Saturation()


@dataclass(frozen=True)
class Staircase:
    """Paper 1's Algorithm 1: `step` more tuples/s each time, each for `times`."""

    step: float | None = None
    """Tuples/s; None: a twentieth of the capacity as it is estimated."""
    first: int = 1
    """The number of the first step."""
    steepest: float = 10.0
    """λ_max: growth of the latency, ms per second, above which a rate is not stable."""
    warm_up_s: float = 2.0
    measured_s: float = 6.0
    most_steps: int = 60

    def __call__(self, bench: Bench, case: Case, threads: int, most: float | None = None) -> Peak:
        """Memory is measured once more at the peak: to collect garbage holds up a query.

        Raises SlotwiseError if the operator is not stable at the first step.
        """
        tried = self._climbed(bench, case, threads, self.step or _step(bench, case, threads, most))
        stable = [each for each in tried if self.is_stable(each)]
        if not stable:
            raise _never_stable(case, threads, tried)
        last = trial(bench, case, threads, stable[-1].offered_rate, CONFIRM_TIMES, memory=True)
        confirmed = replace(stable[-1], memory_mb=last.memory_mb)
        return Peak(
            threads,
            confirmed,
            (*stable[:-1], confirmed, *tried[len(stable) :], last),
            self._remark(confirmed) if stable == tried else None,
        )

    def _climbed(self, bench: Bench, case: Case, threads: int, step: float) -> list[Trial]:
        """Up to the first rate that is not stable. All rates are in one query, whose source follows
        the stairs.
        """
        seconds = self.warm_up_s + self.measured_s
        tried: list[Trial] = []
        numbers = range(self.first, self.first + self.most_steps)
        stairs = Schedule.stairs(numbers, seconds)
        with bench.running(case, threads, step, schedule=stairs) as run:
            await_tuples(run)
            for position, number in enumerate(numbers):
                # By the source's clock, so that no window reaches into the next step.
                window_s = DELAY_S + position * seconds + self.warm_up_s
                advance(run, max(window_s - run.now_s(), 0.1))
                tried.append(measured(bench, case, run, number * step, self.measured_s))
                if not self.is_stable(tried[-1]):
                    break
        return tried

    def is_stable(self, seen: Trial) -> bool:
        """Where nothing came out, or too little for a slope: whether the operator kept pace."""
        if seen.latency_slope is None:
            return seen.stable and seen.rate >= IN_PACE * (seen.offered_rate or 0.0)
        return seen.latency_slope <= self.steepest

    def _remark(self, highest: Trial) -> str:
        return (
            f"with {counted(highest.threads, 'thread')}: stable in all "
            f"{counted(self.most_steps, 'step')}, up to {highest.rate:,.1f} tuples/s: it may be "
            "faster; give the staircase a larger step (--rate-step)"
        )


def _step(bench: Bench, case: Case, threads: int, most: float | None) -> float:
    """A twentieth of the capacity, as a trial estimates it that uses a part of what the first
    service times allow, and no more than `most`: the first ones are those of code that Java has yet
    to compile, and say nothing of the slot's quota.
    """
    first = trial(bench, case, threads, PROBE_RATE, PROBE_TIMES)
    if not first.service_ms:
        raise SlotwiseError(
            f"operator '{case.name}' is not timed tuple by tuple: give the staircase a step "
            "(--rate-step)"
        )
    rate = min(threads * 1000 / first.service_ms, most or math.inf) / 2
    seen = trial(bench, case, threads, rate, PROBE_TIMES)
    return min(estimated_capacity(bench, seen), most or math.inf) / STEPS


class FindPeak(Protocol):
    """Called for each thread count. `most` is what so many threads can do at the most, in tuples/s;
    None: nothing is known of that. The confirmed trial has its memory.
    """

    def __call__(
        self, bench: Bench, case: Case, threads: int, most: float | None = None
    ) -> Peak: ...


def _never_stable(case: Case, threads: int, tried: Sequence[Trial]) -> SlotwiseError:
    lowest = min(each.offered_rate for each in tried if each.offered_rate is not None)
    return SlotwiseError(
        f"operator '{case.name}' with {counted(threads, 'thread')} is not stable at any rate that "
        f"was tried, down to {lowest:,.1f} tuples/s: its latency grows without end"
    )
