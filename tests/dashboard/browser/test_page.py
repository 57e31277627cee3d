"""What the page shows of a run, and to whom."""

from __future__ import annotations

import copy
import os
import sys
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Page, Route, expect

from tests.dashboard.browser.conftest import Open
from tests.dashboard.scripted import ORIGIN, example, going_on, serve

sys.path.append(str(Path(__file__).parents[3]))
import hatch_npm

pytestmark = pytest.mark.browser

COUNT_MOVES = """
window.moves = 0;
const animate = Element.prototype.animate;
Element.prototype.animate = function (...given) {
  window.moves += 1;
  return animate.apply(this, given);
};
"""


@pytest.fixture(scope="package")
def axe() -> Path:
    """Deque's checks of accessibility, by npm, kept in a folder of the user's cache."""
    kept = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "slotwise-tests"
    return hatch_npm.fetch("tests", kept / "axe") / "axe.js"


def shown(
    page: Page, document: dict[str, Any], history: dict[str, Any] | None, trusted: bool = False
) -> Page:
    serve(page, document, history, trusted)
    page.goto(ORIGIN)
    expect(page.locator("main")).to_be_visible()
    return page


def recommending(document: dict[str, Any]) -> dict[str, Any]:
    """The same run under a controller whose last decision is recommended."""
    last = {**document["decisions"][-1], "outcome": "recommended", "change": None}
    control = {"hold": False, "forbid": [], "pending": None, "problem": ""}
    return {
        **document,
        "decisions": [*document["decisions"][:-1], last],
        "control": {**control, "recommended": last["plan"]},
    }


def threads(page: Page) -> dict[tuple[str, int], str]:
    """The slot of every thread in the slot map."""
    found = page.locator(".thread[data-thread]").evaluate_all(
        "(all) => all.map((each) => [each.dataset.thread, "
        "each.closest('[data-slot]').dataset.slot])"
    )
    return {(name.split("\n")[0], int(name.split("\n")[1])): slot for name, slot in found}


def planned(plan: dict[str, Any]) -> dict[tuple[str, int], str]:
    return {
        (each["operator"], each["thread"]): f"{each['node']}/{each['slot']}"
        for each in plan["placement"]
    }


def test_dataflow_and_slots_agree_with_the_plan(opened: Open) -> None:
    document, history = example()
    page = shown(opened(), going_on(document), history)
    plan = document["plans"][str(document["plan"])]
    assert threads(page) == planned(plan)
    assert page.locator(".slot").count() == sum(node["slots"] for node in plan["nodes"])
    page.get_by_text("Operators as a table").click()
    rows = page.locator("details.table tbody tr").evaluate_all(
        "(rows) => rows.map((row) => [row.querySelector('button'), row.cells[1]]"
        ".map((each) => each.textContent))"
    )
    assert rows == [[name, str(count)] for name, count in plan["threads"].items()]
    bottleneck = document["observation"]["bottleneck"]
    expect(page.locator("details.table")).to_contain_text(f"{bottleneck} (bottleneck)")
    expect(page.locator(".dataflow canvas").first).to_be_visible()


def test_threads_move_when_the_placement_changes(opened: Open) -> None:
    document, history = example()
    page = opened()
    page.add_init_script(COUNT_MOVES)
    shown(page, going_on(document), history)
    other = copy.deepcopy(document["plans"][str(document["plan"])])
    first, *_ = other["placement"]
    first["slot"] = next(s for s in range(other["nodes"][0]["slots"]) if s != first["slot"])
    news = {"plan": 7, "observation": document["observation"], "places": [], "verdicts": []}
    page.evaluate("(plan) => tell('plan', { number: 7, plan })", other)
    page.evaluate("(news) => tell('observation', news)", news)
    assert page.evaluate("window.moves") == 1
    assert threads(page) == planned(other)
    moved = page.locator(".thread[data-moved]")
    assert moved.count() == 1
    page.emulate_media(reduced_motion="reduce")
    page.evaluate("(news) => tell('observation', news)", {**news, "plan": document["plan"]})
    assert page.evaluate("window.moves") == 1
    assert threads(page) == planned(document["plans"][str(document["plan"])])


def test_threads_that_fell_back_and_empty_slots_are_marked(opened: Open) -> None:
    document, history = example()
    document = going_on(document)
    plan = document["plans"][str(document["plan"])]
    node = {**plan["nodes"][0], "name": "spare"}
    plan["nodes"].append(node)
    first = plan["placement"][0]
    slot = f"{first['node']}/{first['slot']}"
    place = {"operator": first["operator"], "thread": 0, "slot": "spare/0", "planned": slot}
    page = shown(opened(), {**document, "places": [place]}, history)
    elsewhere = page.locator("[data-slot='spare/0']")
    expect(elsewhere).to_contain_text("1 planned elsewhere")
    expect(elsewhere.locator(".thread.fell")).to_have_count(1)
    expect(page.locator("[data-slot='spare/1']")).to_contain_text("empty")


def test_what_is_only_predicted_says_so(opened: Open) -> None:
    document, history = example()
    early = {**going_on(document), "observation": None, "decisions": [], "marks": []}
    columns = {name: type(column)() for name, column in history.items()}
    page = shown(opened(), early, columns)
    expect(page.get_by_text("Nothing has been measured")).to_be_visible()
    expect(page.locator(".details h3")).to_contain_text("predicted")
    expect(page.locator(".chart")).to_have_count(0)
    assert threads(page) == planned(document["plans"][str(document["plan"])])


def test_all_that_happened_is_marked_on_the_charts(opened: Open) -> None:
    document, history = example()
    document = going_on(document)
    kinds = ("decision", "restart", "event", "fault")
    document["marks"] = [
        {"number": number, "at_s": 20.0 * number, "kind": kind, "text": "it happened"}
        for number, kind in enumerate(kinds, 1)
    ]
    page = shown(opened(height=2400), document, history)
    expect(page.locator(".chart canvas")).to_have_count(6)
    legend = page.get_by_role("region", name="Over time").get_by_role("list", name="Legend")
    for kind in kinds:
        expect(legend).to_contain_text(kind)


def test_names_are_text(opened: Open) -> None:
    hostile = "<img src=x onerror=window.hacked=1>"
    document, history = example()
    text = copy.deepcopy(going_on(document))
    plan = text["plans"][str(text["plan"])]
    plan["threads"] = {hostile: 1}
    plan["placement"] = [{"operator": hostile, "thread": 0, "node": hostile, "slot": 0}]
    plan["nodes"] = [{"name": hostile, "slots": 1, "type": hostile}]
    plan["pipeline"]["topology"] = {"operators": {hostile: {}}, "streams": []}
    plan["reasons"] = plan["warnings"] = [hostile]
    text["run"]["topology"] = text["observation"]["bottleneck"] = hostile
    text["decisions"] = [{**each, "reason": hostile} for each in text["decisions"]]
    text["marks"] = [{**each, "text": hostile} for each in text["marks"]]
    page = shown(opened(), text, history)
    expect(page.locator("h1")).to_have_text(hostile)
    assert page.locator("img").count() == 0
    chart = page.locator(".chart").first
    chart.scroll_into_view_if_needed()
    chart.hover()
    assert page.evaluate("window.hacked") is None


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [1400, 360])
def test_it_is_accessible(opened: Open, axe: Path, scheme: Any, width: int) -> None:
    document, history = example()
    document = recommending(going_on(document))
    page = shown(opened(width=width, color_scheme=scheme), document, history, scheme == "light")
    page.get_by_text("Operators as a table").click()
    page.add_script_tag(content=axe.read_text(encoding="utf-8"))
    found = page.evaluate("axe.run()")
    assert [
        f"{each['id']}: {node['html'][:200]}"
        for each in found["violations"]
        for node in each["nodes"]
    ] == []
    assert page.evaluate("document.documentElement.scrollWidth") <= width


def test_it_is_light_or_dark_as_wished(opened: Open) -> None:
    document, history = example()
    page = shown(opened(color_scheme="light"), going_on(document), history)
    ground = "getComputedStyle(document.body).backgroundColor"
    light = page.evaluate(ground)
    page.get_by_label("Theme").select_option("dark")
    dark = page.evaluate(ground)
    assert light != dark
    page.reload()
    expect(page.locator("main")).to_be_visible()
    assert page.evaluate(ground) == dark


def test_operators_are_reached_by_keyboard(opened: Open) -> None:
    document, history = example()
    page = shown(opened(), going_on(document), history)
    page.locator("details.table summary").focus()
    page.keyboard.press("Enter")
    name = next(iter(document["plans"][str(document["plan"])]["threads"]))
    for _ in range(3):
        page.keyboard.press("Tab")
        if page.evaluate("document.activeElement.textContent") == name:
            break
    page.keyboard.press("Enter")
    expect(page.locator(".details h3")).to_contain_text(f"{name}:")


def test_the_run_is_shown_before_its_history_is_there(opened: Open) -> None:
    document, history = example()
    page = opened()
    serve(page, going_on(document), history)
    waiting: list[Route] = []
    page.route("**/history?*", waiting.append)
    page.goto(ORIGIN)
    expect(page.locator(".thread[data-thread]").first).to_be_visible()
    expect(page.locator(".chart")).to_have_count(0)
    waiting[0].fulfill(json=history)
    expect(page.locator(".chart").first).to_be_visible()
