"""What Prometheus reads, and that the dashboard of Grafana uses nothing else."""

from __future__ import annotations

import json
import re
from pathlib import Path

from prometheus_client.parser import text_string_to_metric_families
from prometheus_client.samples import Sample

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


SELECTOR = re.compile(r"(?P<name>slotwise_\w+)\{(?P<labels>[^{}]*)\}")
LABEL = re.compile(r'(?P<label>\w+)(?P<operator>=~|!~|!=|=)"(?P<value>[^"]*)"')


def targets() -> list[tuple[str, str]]:
    """Expression and legend of everything that Grafana is to draw."""
    dashboard = json.loads(GRAFANA.read_text(encoding="utf-8"))
    return [
        (target["expr"], target.get("legendFormat", ""))
        for panel in dashboard["panels"]
        for target in panel.get("targets", ())
    ]


def exposed(run: LiveRun) -> list[Sample]:
    families = text_string_to_metric_families(metrics(run.path, None).decode())
    return [sample for family in families for sample in family.samples]


def test_every_expression_of_grafana_finds_something_in_the_metrics_of_a_run(
    tmp_path: Path,
) -> None:
    with live_run(tmp_path, orders(), "threshold:seconds=10", factor=2) as run:
        run.control.write_text('{"hold": true}')
        for _ in range(8):
            run.period()
        run.written()
        samples = exposed(run)
    for expression, legend in targets():
        found = selected(expression, samples)
        for label in re.findall(r"\{\{(\w+)\}\}", legend):
            assert all(label in sample.labels for sample in found), (expression, legend)


def selected(expression: str, samples: list[Sample]) -> list[Sample]:
    """What the expression, one selector and perhaps a number to divide by, finds."""
    selector = SELECTOR.match(expression)
    assert selector, expression
    assert re.fullmatch(r"( / \d+)?", expression[selector.end() :]), expression
    matchers = [match.groups() for match in LABEL.finditer(selector["labels"])]
    assert (
        ",".join(f'{name}{sign}"{value}"' for name, sign, value in matchers) == selector["labels"]
    )
    found = [sample for sample in samples if sample.name == selector["name"]]
    for name, sign, value in matchers:
        assert all(name in sample.labels for sample in found), expression
        if value == "$run":
            assert sign == "=~", "several runs can be chosen"
        else:
            assert sign == "=", expression
            found = [sample for sample in found if sample.labels[name] == value]
    assert found, expression
    return found


def test_the_dashboard_of_grafana_has_all_metrics() -> None:
    content = GRAFANA.read_text(encoding="utf-8")
    assert set(re.findall(r"slotwise_\w+", content)) == names(), "each is worth a look"
    panels = json.loads(content)["panels"]
    assert len({panel["id"] for panel in panels}) == len(panels)
    chosen = json.loads(content)["templating"]["list"]
    assert {entry["query"]["query"] for entry in chosen if entry["type"] == "query"} == {
        "label_values(slotwise_running, run)"
    }


def test_every_metric_is_documented() -> None:
    described = set(re.findall(r"`(slotwise_\w+)`", DOCS.read_text(encoding="utf-8")))
    assert described == names()
