"""What is predicted is what happens: latency with a queue per thread, and with one per operator."""

from __future__ import annotations

import pytest

import slotwise
from slotwise.simulation import Keys, Routing, simulate

MANY_KEYS = Keys(number=100_000)  # so that hashing spreads them evenly


@pytest.mark.parametrize(
    ("example", "rate"), [("chain", 1000.0), ("chain", 600.0), ("starter", None)]
)
def test_queues_per_thread_are_foreseen(example: str, rate: float | None) -> None:
    plan = slotwise.plan(example, rate, allocator="lsa" if example == "chain" else None)
    assert plan.predicted is not None
    seen = simulate(plan, tuples=400_000, keys=MANY_KEYS, seed=3)
    assert seen.latency_ms == pytest.approx(plan.predicted.thread_queues_ms, rel=0.15)


def test_a_queue_per_operator_is_foreseen() -> None:
    plan = slotwise.plan("chain")
    assert plan.predicted is not None
    seen = simulate(plan, tuples=400_000, keys=MANY_KEYS, routing=Routing(queue="shared"), seed=3)
    assert seen.latency_ms == pytest.approx(plan.predicted.latency_ms, rel=0.05)
