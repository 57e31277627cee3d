"""The dataflow as it is drawn, and what is pointed at or tapped in it. Cytoscape keeps its graph at
its element.
"""

from __future__ import annotations

import copy
from typing import Any

import pytest
from playwright.sync_api import Page, expect

from tests.dashboard.browser.conftest import Open
from tests.dashboard.browser.test_page import shown
from tests.dashboard.scripted import example, going_on

pytestmark = pytest.mark.browser

GRAPH = "document.querySelector('.dataflow')._cyreg.cy"
POSITION = f"""(id) => {{
  const find = () => {{
    const box = document.querySelector(".dataflow").getBoundingClientRect();
    const element = {GRAPH}.getElementById(id);
    const at = element.isNode() ? element.renderedPosition() : element.renderedMidpoint();
    return [box.left + at.x, box.top + at.y];
  }};
  scrollBy(0, find()[1] - innerHeight / 3);
  return find();
}}"""
ELEMENTS = f"""() => Object.fromEntries({GRAPH}.elements().map((each) => [each.id(), {{
  ...each.data(),
  dashed: each.style("line-style") === "dashed",
  stroke: each.isEdge() ? each.numericStyle("width") : null,
}}]))"""


def drawn(page: Page) -> dict[str, dict[str, Any]]:
    """By id, what Cytoscape draws of each operator and stream."""
    expect(page.locator(".dataflow canvas").first).to_be_visible()
    found: dict[str, dict[str, Any]] = page.evaluate(ELEMENTS)
    return found


def stream(source: str, target: str) -> str:
    return f"stream {source}\n{target}"


def position(page: Page, element: str) -> tuple[float, float]:
    """On the screen, after it was scrolled there."""
    expect(page.locator(".dataflow canvas").first).to_be_visible()
    x, y = page.evaluate(POSITION, element)
    return x, y


def load(document: dict[str, Any], operator: str) -> dict[str, Any]:
    loads = document["observation"]["operators"]
    found: dict[str, Any] = next(each for each in loads if each["operator"] == operator)
    return found


def overloaded() -> tuple[dict[str, Any], dict[str, Any]]:
    """A run in which compare has one thread that cannot keep up, sign none that can, and little
    arrives at the sink.
    """
    document, history = copy.deepcopy(example())
    seen = document["observation"]
    load(document, "sign")["utilisation"] = 1.3
    load(document, "compare")["utilisation"] = 0.34
    seen["threads"] = [
        {**each, "utilisation": 1.1 if each["thread"] == 0 else 0.1}
        if each["operator"] == "compare"
        else {**each, "utilisation": load(document, each["operator"])["utilisation"]}
        for each in seen["threads"]
    ]
    seen.update(bottleneck="sign", busiest=1.3, backlog=1234.0)
    for each in seen["streams"]:
        each["rate"] = 5.0 if each["target"] == "sink" else 80.0
    return going_on(document), history


def test_back_pressure_overload_and_width_are_drawn(opened: Open) -> None:
    page = shown(opened(), *overloaded())
    found = drawn(page)
    held = {name for name, each in found.items() if each.get("held")}
    assert held == {stream("parse", "compare"), stream("score", "sign")}
    assert {name for name, each in found.items() if each["dashed"]} == held
    assert "backlog 1,234" in found["operator orders"]["label"]
    assert "bottleneck, overloaded" in found["operator sign"]["label"]
    assert "34\u00a0% busy\none thread 110\u00a0%" in found["operator compare"]["label"]
    assert found["operator sign"]["filled"] == "100% 100%"
    thick = {each["border"] for name, each in found.items() if name.startswith("operator")}
    assert thick == {1, 3}
    wide, thin = found[stream("score", "sign")], found[stream("sign", "sink")]
    assert wide["stroke"] > 2 * thin["stroke"] > 2


def test_a_bottleneck_by_one_thread_says_so(opened: Open) -> None:
    document, history = copy.deepcopy(example())
    load(document, "compare")["utilisation"] = 0.34
    load(document, "sign")["utilisation"] = 0.52
    seen = document["observation"]
    seen.update(bottleneck="compare", busiest=0.59)
    for each in seen["threads"]:
        each["utilisation"] = 0.59 if (each["operator"], each["thread"]) == ("compare", 1) else 0.2
    page = shown(opened(), going_on(document), history)
    found = drawn(page)
    assert "34\u00a0% busy\nbottleneck, one thread 59\u00a0%" in found["operator compare"]["label"]
    assert "thread" not in found["operator sign"]["label"].partition("busy")[2]


def test_labels_stand_beside_their_streams(opened: Open) -> None:
    document, history = example()
    page = shown(opened(), going_on(document), history)
    expect(page.locator(".dataflow canvas").first).to_be_visible()
    gaps = page.evaluate(
        f"""{GRAPH}.edges().map((edge) => {{
          const size = (name) => edge.numericStyle(name);
          return -size("text-margin-y") - (size("width") + size("font-size")) / 2;
        }})"""
    )
    assert gaps
    assert min(gaps) >= 0


@pytest.mark.parametrize("touch", [False, True], ids=["pointed at", "tapped"])
def test_an_operator_and_a_stream_show_predicted_beside_measured(opened: Open, touch: bool) -> None:
    document, history = example()
    page = shown(opened(has_touch=touch), going_on(document), history)
    go = page.touchscreen.tap if touch else page.mouse.move
    title = page.locator(".details h3").first
    for element, words, seen in (
        ("operator parse", "parse: 1 thread", "82/s"),
        (stream("sign", "sink"), "sign → sink", "69.5/s"),
        ("operator score", "score: 3 threads", "82.5/s"),
    ):
        go(*position(page, element))
        expect(title).to_have_text(words)
        details = page.locator(".details").first
        expect(details.locator("dd", has_text=seen).first).to_be_visible()
        expect(details.locator("dd", has_text="82/s predicted").first).to_be_visible()


def test_on_a_narrow_screen_the_answer_to_a_tap_comes_into_view(opened: Open) -> None:
    document, history = example()
    page = shown(opened(width=360, height=500, has_touch=True), going_on(document), history)
    first = position(page, "operator orders")
    title = page.locator(".details h3").first
    expect(title).not_to_be_in_viewport()
    page.touchscreen.tap(*first)
    expect(title).to_have_text("orders: 1 thread")
    expect(title).to_be_in_viewport()


def test_streams_are_reached_by_keyboard(opened: Open) -> None:
    document, history = example()
    page = shown(opened(), going_on(document), history)
    page.locator("details.table summary").focus()
    page.keyboard.press("Enter")
    row = page.get_by_role("region", name="Streams", exact=True).locator("tbody tr").last
    expect(row).to_contain_text("sign → sink")
    expect(row).to_contain_text("69.5/s")
    row.get_by_role("button").focus()
    page.keyboard.press("Enter")
    expect(page.locator(".details h3").first).to_have_text("sign → sink")
