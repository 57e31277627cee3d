"""What a plan must keep at the rates to come."""

from __future__ import annotations

from dataclasses import replace

from slotwise.model import USUAL_HEADROOM, Goals

LATENCIES = ("latency_ms", "latency_p50_ms", "latency_p95_ms", "latency_p99_ms", "sojourn_ms")
NAMES = dict(zip(LATENCIES, ("mean latency", "p50", "p95", "p99", "sojourn time"), strict=True))
SPARE, SPARE_AT_FIRST = 0.03, 0.08
"""A thread with less time to spare is a queue without end, whatever its latency in a short run. A
new plan has more of it, because what is measured of the operators may be off by some percent."""


def must_hold(goals: Goals) -> Goals:
    """The latencies and the headroom that are given; where neither is, the usual headroom. The rate
    is the one that comes, not the one of the goal; a budget bounds plans, it is not kept by them.
    """
    headroom = goals.headroom
    if headroom is None and all(getattr(goals, name) is None for name in LATENCIES):
        headroom = USUAL_HEADROOM
    return replace(goals, rate=None, headroom=headroom, machines=None, cost_per_hour=None)


def most_busy(goals: Goals, spare: float = SPARE) -> float:
    """How busy threads and slots may be, for goals that must hold."""
    return 1 - (spare if goals.headroom is None else goals.headroom)
