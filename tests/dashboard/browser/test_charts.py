"""The charts over time, as ECharts has them: marks, steps, and goals by name."""

from __future__ import annotations

from typing import Any

import pytest
from playwright.sync_api import Page, expect

from tests.dashboard.browser.conftest import Open
from tests.dashboard.browser.test_page import shown
from tests.dashboard.scripted import example, going_on

pytestmark = pytest.mark.browser

CHARTS = 6
OPTIONS = """[...document.querySelectorAll(".chart")].map((each) =>
  echarts.getInstanceByDom(each).getOption())"""


def options(page: Page) -> list[dict[str, Any]]:
    """What each chart was given to draw."""
    expect(page.locator(".chart canvas")).to_have_count(CHARTS)
    found: list[dict[str, Any]] = page.evaluate(OPTIONS)
    return found


def series(chart: dict[str, Any], name: str) -> dict[str, Any]:
    found: dict[str, Any] = next(each for each in chart["series"] if each.get("name") == name)
    return found


def test_all_that_happened_is_marked_on_every_chart(opened: Open) -> None:
    document, history = example()
    document = going_on(document)
    begin, end = history["at_s"][0] - history["width_s"][0], history["at_s"][-1]
    happened = [(begin, "event"), (2.0, "decision"), (78.0, "restart"), (end, "fault")]
    outside = [(begin - 1, "fault"), (end + 1, "decision")]
    document["marks"] = [
        {"number": number, "at_s": at_s, "kind": kind, "text": "it happened"}
        for number, (at_s, kind) in enumerate([*happened, *outside], 1)
    ]
    page = shown(opened(height=2400), document, history)
    for chart in options(page):
        lines = chart["series"][0]["markLine"]["data"]
        seen = [(line["xAxis"], line["label"]["formatter"]) for line in lines]
        assert seen == [(at_s, kind[0].upper()) for at_s, kind in happened]
    legend = page.get_by_role("region", name="Over time").get_by_role("list", name="Legend")
    for _, kind in happened:
        expect(legend).to_contain_text(kind)


def test_what_is_constant_between_plans_is_drawn_in_steps(opened: Open) -> None:
    document, history = example()
    page = shown(opened(height=2400), going_on(document), history)
    rates, backlog, latency, _, traffic, slots = options(page)
    for chart, name in (
        (rates, "capacity, predicted"),
        (latency, "p99, predicted"),
        (traffic, "predicted"),
        (slots, "slots"),
    ):
        assert series(chart, name)["step"] == "end"
    for chart, name in ((rates, "offered"), (backlog, "inputs due, not taken in")):
        assert not series(chart, name).get("step")


def test_a_goal_is_named_on_its_line(opened: Open) -> None:
    document, history = example()
    page = shown(opened(height=2400), going_on(document), history)
    rates, _, latency, *_ = options(page)
    for chart, name, value in (
        (rates, "goal", document["run"]["goals"]["rate"]),
        (latency, "p99 goal", document["run"]["goals"]["latency_p99_ms"]),
    ):
        line = series(chart, name)
        assert [point[1] for point in line["data"]] == [value, value]
        assert line["markLine"]["data"][0]["label"]["formatter"] == name
