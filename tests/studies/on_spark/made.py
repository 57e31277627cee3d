"""Steps and climbs in one line, for studies that need no Spark."""

from __future__ import annotations

from slotwise.studies.on_spark.climbing import Climb, Step


def step(rate: float, stable: bool | None = True, latency_ms: float = 10.0) -> Step:
    return Step(
        rate=rate,
        throughput=rate if stable else 0.9 * rate,
        stable=stable,
        busiest=0.5,
        bottleneck="work",
        latency_ms=latency_ms,
        latency_p50_ms=latency_ms,
        latency_p99_ms=3 * latency_ms,
        latency_slope=0.0,
        inter_node_traffic=0.0,
        slot_cpu=(0.5, None),
    )


def climb(*steps: Step, memory_mb: tuple[float, ...] = (100.0, 50.0)) -> Climb:
    return Climb(steps, memory_mb)
