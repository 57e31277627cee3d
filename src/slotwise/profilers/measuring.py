"""One trial on the bench: a query warms up until its rate is steady, and is then measured."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from slotwise.model import Observation, OperatorLoad
from slotwise.profilers.bench import TESTED, Bench
from slotwise.profilers.case import NEXT_HOP, REPLAY, Case
from slotwise.profilers.trial import Distance, Trial
from slotwise.spark.metering.meters import ExecutorMeter
from slotwise.spark.run import Run
from slotwise.spark.supervise import supervise
from slotwise.spark.waiting import await_tuples

FLOOD_RATE = 1e6
"""Tuples/s that no operator on records of JSON keeps up with: the source is pushed back."""
STEADY_SPREAD = 0.03
"""A rate that varies by less than this from second to second is steady."""
STEADY_SECONDS = 4
QUOTA_HOLDS_S = 1.5
"""Once the quota holds again, until what was sent without it has been handled."""
LONGEST_S = 20.0
"""A trial that is to handle some tuples at least is measured no longer than this."""


@dataclass(frozen=True)
class Times:
    """How long a trial takes."""

    most_warm_up_s: float = 10.0
    """The warm-up ends earlier if the rate is steady."""
    measured_s: float = 4.0


USUAL_TIMES = Times()


def trial(
    bench: Bench,
    case: Case,
    threads: int,
    rate: float | None,
    times: Times = USUAL_TIMES,
    *,
    source: Distance = "cluster",
    next_hop: Distance = "cluster",
    memory: bool = False,
    fewest: int = 0,
    flood_rate: float = FLOOD_RATE,
) -> Trial:
    """The case at `rate` tuples/s; None: with more than it can take, `flood_rate`. It is measured
    for longer, up to LONGEST_S, where it would handle fewer than `fewest` tuples. No quota holds
    until it is warm: Java's compiler would take all of a small one for half a minute.

    Raises SlotwiseError if the query fails, for example on a record.
    """
    offered = flood_rate if rate is None else rate
    with bench.running(case, threads, offered, source=source, next_hop=next_hop) as run:
        with bench.without_quota():
            await_tuples(run)
            warm_up(run, case.name, times.most_warm_up_s)
        advance(run, QUOTA_HOLDS_S)
        seconds = _long_enough(run, case.name, times.measured_s, fewest)
        return measured(bench, case, run, rate, seconds, source, next_hop, memory)


def _long_enough(run: Run, operator: str, seconds: float, fewest: int) -> float:
    """For `fewest` tuples at the rate of the warm-up."""
    handled = sum(rates := rates_by_second(run, operator)) if fewest else 0.0
    if not handled:
        return seconds
    return max(seconds, min(fewest * len(rates) / handled, LONGEST_S))


def warm_up(run: Run, operator: str, most_s: float) -> None:
    """Until the operator's rate is steady, or as long as `most_s`."""
    run.watch.forget()
    for _ in range(round(most_s)):
        advance(run, 1.0)
        rates = rates_by_second(run, operator)[-STEADY_SECONDS:]
        if len(rates) == STEADY_SECONDS and spread(rates) < STEADY_SPREAD:
            return


def measured(
    bench: Bench,
    case: Case,
    run: Run,
    offered_rate: float | None,
    seconds: float,
    source: Distance = "cluster",
    next_hop: Distance = "cluster",
    memory: bool = False,
) -> Trial:
    """What the running case does from now on."""
    run.watch.forget()
    before = bench.executor()
    advance(run, seconds)
    seen, after = run.observe(seconds + 2), bench.executor()
    cores = _cores(before, after)
    own = load_of(seen, case.name)
    places = {REPLAY: source, NEXT_HOP: next_hop}
    beside = sum(load.cpu or 0.0 for load in seen.operators if places.get(load.operator) == "slot")
    return Trial(
        operator=case.name,
        threads=run.plan.threads[case.name],
        offered_rate=offered_rate,
        rate=own.arrival_rate,
        emitted_rate=own.emitted_rate or 0.0,
        cpu_cores=max(cores - beside - bench.idle.cpu_cores, 0.0),
        memory_mb=_memory_mb(bench) if memory else None,
        service_ms=own.service_ms,
        service_scv=own.service_scv,
        latency_ms=seen.latency_ms,
        latency_slope=seen.latency_slope,
        stable=offered_rate is not None and seen.stable is True,
        spread=spread(rates_by_second(run, case.name)),
        seconds=after.time - before.time,
        source=source,
        next_hop=next_hop,
    )


def _memory_mb(bench: Bench) -> float:
    """Of the slot under test, above idle."""
    return max(bench.live_memory_mb()[TESTED] - bench.idle.memory_mb, 0.0)


def cpu_cores(bench: Bench, case: Case, rate: float, times: Times, *, meters: bool) -> float:
    """Cores of the slot under test with one thread at `rate` tuples/s, above idle.

    Without meters nothing else is known of a query, not even when its first tuple came: it warms up
    for the whole time.
    """
    with bench.running(case, 1, rate, meters=meters) as run:
        advance(run, times.most_warm_up_s)
        before = bench.executor()
        advance(run, times.measured_s)
        return _cores(before, bench.executor()) - bench.idle.cpu_cores


def _cores(before: ExecutorMeter, after: ExecutorMeter) -> float:
    return (after.cpu_seconds - before.cpu_seconds) / max(after.time - before.time, 1e-9)


def advance(run: Run, seconds: float) -> None:
    """A trial that fails is over: it is not started again."""
    supervise(run, seconds, tries=0)


def load_of(seen: Observation, operator: str) -> OperatorLoad:
    return next(load for load in seen.operators if load.operator == operator)


def rates_by_second(run: Run, operator: str) -> Sequence[float]:
    """Tuples/s that it handled, since the watch was last told to forget."""
    seen = run.observation()
    if seen is None or seen.series is None:
        return ()
    return seen.series.handled_rate[operator]


def spread(rates: Sequence[float]) -> float:
    """Relative standard deviation; infinite if nothing was handled."""
    if len(rates) < 2 or sum(rates) == 0:
        return float("inf") if sum(rates) == 0 else 0.0
    return float(np.std(rates, ddof=1) / np.mean(rates))
