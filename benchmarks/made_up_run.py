"""A run of 1,000 threads in 200 slots as the page gets it: made up, for `benchmarks.page`."""

from __future__ import annotations

import math
from typing import Any

OPERATORS, THREADS, NODES, SLOTS = 20, 50, 50, 4
POINTS = 600
DAY_S = 86_400


def news(at_s: int) -> dict[str, Any]:
    """The data of an event."""
    seen = observation(at_s)
    cpu = {load["name"]: load["cpu"] for load in seen["slots"]}
    point = {"at_s": at_s, "width_s": 1, "offered_rate": 5000, "taken_in_rate": 4995, "p50": 10}
    data = {"plan": 1, "observation": seen, "verdicts": [], "places": [], "step": None}
    return data | {"control": None, "point": point | {"slot_cpu": cpu}}


def names() -> list[str]:
    return [f"operator-{number}" for number in range(OPERATORS)]


def document() -> dict[str, Any]:
    run = {"id": "1", "topology": "large", "origin": "measured", "controller": None, "why": ""}
    run |= {"started": "2026-11-18T00:00:00Z", "ended": None, "state": "running"}
    run |= {"goals": {"rate": 4500, "latency_p99_ms": 100}, "rate": 5000, "rules": None}
    marks = [
        {"number": number, "at_s": number * 1700, "kind": kind, "text": "a change"}
        for number, kind in enumerate(("decision", "restart", "fault") * 16)
    ]
    return {
        "version": 1,
        "kind": "run",
        "run": run,
        "plans": {"1": plan()},
        "plan": 1,
        "observation": observation(DAY_S),
        "verdicts": [],
        "places": [],
        "decisions": [],
        "step": None,
        "marks": marks,
        "control": None,
        "choices": None,
    }


def plan() -> dict[str, Any]:
    """The keys of docs/reference/plan-json.md that the page reads."""
    placement = [
        {
            "operator": name,
            "thread": thread,
            "node": f"node-{place // SLOTS}",
            "slot": place % SLOTS,
        }
        for number, name in enumerate(names())
        for thread in range(THREADS)
        for place in [(number * THREADS + thread) % (NODES * SLOTS)]
    ]
    nodes = [{"name": f"node-{number}", "type": "d3", "slots": SLOTS} for number in range(NODES)]
    streams = [
        {"from": sender, "to": receiver}
        for sender, receiver in zip(names(), names()[1:], strict=False)
    ]
    operators: dict[str, dict[str, str]] = {name: {} for name in names()}
    return {
        "rate": 5000,
        "allocator": "mba",
        "placer": "sam",
        "slots": NODES * SLOTS,
        "threads": dict.fromkeys(names(), THREADS),
        "nodes": nodes,
        "cost_per_hour": 20.0,
        "predicted": observation(0) | {"origin": "predicted", "threads": []},
        "reasons": [],
        "placement": placement,
        "pipeline": {"topology": {"operators": operators, "streams": streams}},
    }


def observation(at_s: int) -> dict[str, Any]:
    """Figures that differ from second to second."""

    def part(number: int) -> float:
        return 0.55 + 0.5 * math.sin(number * 1.7 + at_s * 0.9)

    slots = [f"node-{number // SLOTS}/{number % SLOTS}" for number in range(NODES * SLOTS)]
    return {
        "origin": "measured",
        "start_s": at_s - 1,
        "end_s": at_s,
        "offered_rate": 5000.0,
        "throughput": 4990.0 + part(1),
        "backlog": 10.0 * part(2),
        "busiest": 1.0,
        "bottleneck": "operator-3",
        "latency_p99_ms": 80 * part(3),
        "operators": [
            {"operator": name, "arrival_rate": 5000 * part(n), "utilisation": part(n)}
            for n, name in enumerate(names())
        ],
        "streams": [
            {"source": sender, "target": receiver, "rate": 5000 * part(n)}
            for n, (sender, receiver) in enumerate(zip(names(), names()[1:], strict=False))
        ],
        "threads": [
            {"operator": name, "thread": n, "utilisation": part(n * 7 + k), "arrival_rate": 100.0}
            for k, name in enumerate(names())
            for n in range(THREADS)
        ],
        "slots": [
            {"name": name, "cpu": part(n), "mem": part(n + 5)} for n, name in enumerate(slots)
        ],
        "nodes": [{"name": f"node-{n}", "cpu": part(n), "mem": part(n + 3)} for n in range(NODES)],
    }


def history() -> dict[str, Any]:
    times = [(number + 1) * DAY_S / POINTS for number in range(POINTS)]

    def column(most: float, phase: float) -> list[float]:
        return [most * (0.6 + 0.3 * math.sin(at / 3000 + phase)) for at in times]

    cpu = {
        f"node-{number // SLOTS}/{number % SLOTS}": column(1, number)
        for number in range(NODES * SLOTS)
    }
    return {
        "at_s": times,
        "width_s": [DAY_S / POINTS] * POINTS,
        "plan": [1] * POINTS,
        "offered_rate": column(6000, 0),
        "taken_in_rate": column(6000, 0.05),
        "throughput": column(6000, 0.1),
        "backlog": column(1000, 1),
        "waiting": column(300, 1.5),
        "latency_ms": column(20, 2),
        "p50": column(15, 2),
        "p95": column(50, 2),
        "p99": column(90, 2),
        "inter_node_traffic": column(8000, 3),
        "cost_per_hour": [20.0] * POINTS,
        "slots": [200] * POINTS,
        "slot_cpu": cpu,
    }
