"""The picture of a run over time."""

from __future__ import annotations

from dataclasses import replace

import pytest

import slotwise
from slotwise.model import Observation
from slotwise.report.timeline import Mark, Span, timeline

pytest.importorskip("matplotlib")


@pytest.fixture(scope="module")
def seen() -> Observation:
    plan = slotwise.plan("linear", rate=50, allocator="lsa", placer="round-robin")
    assert plan.predicted is not None
    return plan.predicted


def run_of(seen: Observation, latencies: list[float | None]) -> list[Observation]:
    return [
        replace(seen, start_s=n, end_s=n + 1, latency_p50_ms=p99, latency_p99_ms=p99)
        for n, p99 in enumerate(latencies)
    ]


def test_the_same_run_gives_the_same_png(seen: Observation) -> None:
    points = run_of(seen, [20.0, 2000.0, None, 30.0])
    spans = [Span("as planned", 0, 2), Span("later", 2, 4)]
    pictures = {timeline("a run", points, spans, [Mark("changed", 2)], 1000) for _ in range(2)}
    assert len(pictures) == 1
    assert pictures.pop().startswith(b"\x89PNG")
    assert timeline("a run", points, spans, (), 1000) not in pictures


@pytest.mark.parametrize("latencies", [[None], [None, None], [0.5, 0.7], [1e7]])
def test_any_latency_can_be_drawn(seen: Observation, latencies: list[float | None]) -> None:
    assert timeline("a run", run_of(seen, latencies), [])
