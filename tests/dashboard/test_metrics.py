"""What Prometheus reads, and that the dashboard of Grafana uses nothing else."""

from __future__ import annotations

import json
import re
from pathlib import Path

from prometheus_client.parser import text_string_to_metric_families

from slotwise.dashboard.application import GRAFANA
from slotwise.dashboard.metrics import metrics, names

from .live import LiveRun, live_run, orders

DOCS = Path(__file__).parents[2] / "docs" / "reference" / "page.md"


def samples(run: LiveRun) -> dict[tuple[str, ...], float]:
    """By name and the values of labels, but for the run's own."""
    found = {}
    for family in text_string_to_metric_families(metrics(run.path, None).decode()):
        for sample in family.samples:
            labels = {k: v for k, v in sample.labels.items() if k not in ("run", "topology")}
            found[(sample.name, *labels.values())] = sample.value
    return found


def test_the_state_of_a_run_is_there(tmp_path: Path) -> None:
    with live_run(tmp_path, orders(), "threshold:seconds=10", factor=2) as run:
        run.control.write_text('{"hold": true}')
        for _ in range(8):
            run.period()
        run.written()
        found = samples(run)
        assert found["slotwise_running",] == 1
        assert found["slotwise_offered_rate",] == 82
        assert found["slotwise_threads", "compare", "applied"] == 1
        assert found["slotwise_threads", "compare", "recommended"] > 1
        assert found["slotwise_slots", "recommended"] > found["slotwise_slots", "applied"] == 3
        assert found["slotwise_changes_held",] == 1
        assert found["slotwise_goal", "latency_p99_ms"] == 2000
        assert found["slotwise_goal_met", "latency_p99_ms"] == 0
        assert found["slotwise_latency_seconds", "0.99"] > 2
        assert found["slotwise_decisions_total", "recommended"] == 1
        assert found["slotwise_slot_cpu_ratio", "small-1/0"] > 0
        assert found["slotwise_operator_busy_ratio", "compare"] > 0.9
    assert samples(run) == {}


def test_the_dashboard_of_grafana_uses_metrics_that_exist() -> None:
    content = GRAFANA.read_text(encoding="utf-8")
    dashboard = json.loads(content)
    used = set(re.findall(r"slotwise_\w+", content))
    exposed = names()
    assert used <= exposed
    assert exposed <= used, "each is worth a look"
    assert len({panel["id"] for panel in dashboard["panels"]}) == len(dashboard["panels"])


def test_every_metric_is_documented() -> None:
    described = set(re.findall(r"`(slotwise_\w+)`", DOCS.read_text(encoding="utf-8")))
    assert described == names()
