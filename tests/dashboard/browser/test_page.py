"""What the page shows of a run, and to whom."""

from __future__ import annotations

import copy
import os
import sys
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Locator, Page, Route, expect

from slotwise.dashboard.one_file import one_file
from tests.dashboard.browser.conftest import Open
from tests.dashboard.scripted import ORIGIN, compared, example, going_on, serve

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
    page.get_by_text("Operators and streams as tables").click()
    rows = (
        page.get_by_role("region", name="Operators", exact=True)
        .locator("tbody tr")
        .evaluate_all(
            "(rows) => rows.map((row) => [row.querySelector('button'), row.cells[1]]"
            ".map((each) => each.textContent))"
        )
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


def assert_accessible(page: Page, axe: Path) -> None:
    """By axe; and nothing is wider than the screen."""
    page.add_script_tag(content=axe.read_text(encoding="utf-8"))
    found = page.evaluate("axe.run()")
    assert [
        f"{each['id']}: {node['html'][:200]}"
        for each in found["violations"]
        for node in each["nodes"]
    ] == []
    width = page.viewport_size["width"] if page.viewport_size else 0
    assert page.evaluate("document.documentElement.scrollWidth") <= width


@pytest.mark.parametrize("trusted", [False, True])
@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [1400, 360])
def test_it_is_accessible(opened: Open, axe: Path, scheme: Any, width: int, trusted: bool) -> None:
    document, history = example()
    document = recommending(going_on(document))
    page = shown(opened(width=width, color_scheme=scheme), document, history, trusted)
    page.get_by_text("Operators and streams as tables").click()
    page.locator(".slot h4 button").first.click()
    assert_accessible(page, axe)


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [1400, 360])
def test_an_answer_to_a_what_if_is_accessible(
    opened: Open, axe: Path, scheme: Any, width: int
) -> None:
    document, history = example()
    page = opened(width=width, color_scheme=scheme)
    shown(page, document, history, trusted=True)
    asked(page, answer(document))
    assert_accessible(page, axe)


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [1400, 360])
def test_a_comparison_is_accessible(
    opened: Open, axe: Path, tmp_path: Path, scheme: Any, width: int
) -> None:
    file = tmp_path / "compared.html"
    file.write_text(one_file(compared()), encoding="utf-8")
    page = opened(width=width, color_scheme=scheme)
    page.goto(file.as_uri())
    expect(page.locator(".scatter canvas")).to_be_visible()
    assert_accessible(page, axe)


def answer(document: dict[str, Any]) -> dict[str, Any]:
    """A what-if for less, of which some figures differ by next to nothing."""
    running = document["plans"][str(document["plan"])]
    seen = document["observation"]
    predicted = {**running["predicted"], "latency_p99_ms": 1000.0, "capacity": 105.6}
    simulated = {**seen, "latency_p99_ms": seen["latency_p99_ms"] * 1.01, "latency_p50_ms": 1.0}
    verdict = {"goal": "latency_p99_ms", "wanted": 2000.0, "seen": 1500.0, "outcome": "met"}
    return {
        "id": "1",
        "plan": {**running, "rate": 40.0, "predicted": predicted, "simulated": simulated},
        "changes": ["compare 3 → 2 threads"],
        "kind": "re-plan",
        "verdicts": [{**verdict, "reason": "1,500.0 ms is within the goal of 2,000.0 ms"}],
        "seconds": 0.5,
    }


def asked(page: Page, answered: dict[str, Any]) -> Locator:
    """The answer on the page."""
    page.route("**/what-if", lambda route: route.fulfill(json=answered))
    page.locator(".what-if form").get_by_role("button", name="Plan").click()
    region = page.get_by_role("region", name="Answer")
    expect(region).to_be_visible()
    return region


def test_a_run_that_is_over_answers_a_what_if_and_applies_none(opened: Open) -> None:
    document, history = example()
    document["choices"]["can_apply"] = True
    page = shown(opened(), document, history, trusted=True)
    expect(page.locator(".badge")).to_have_text("recorded")
    region = asked(page, answer(document))
    expect(region.get_by_role("columnheader", name="As it ran")).to_be_visible()
    expect(region.get_by_role("button", name="Apply")).to_have_count(0)


def test_a_what_if_marks_what_differs_and_not_noise(opened: Open) -> None:
    document, history = example()
    document["choices"]["can_apply"] = True
    region = asked(shown(opened(), going_on(document), history, True), answer(document))
    names = region.locator("tr.differs th").all_inner_texts()
    expect(region.get_by_role("button", name="Apply this plan")).to_be_visible()
    assert [name.removeprefix("≠ ") for name in names] == [
        "Planned for",
        "Capacity, predicted",
        "p99 latency, predicted",
        "p50 latency",
    ]
    expect(region).to_contain_text("p99 latency 1.5\u00a0s, goal 2\u00a0s: met")


def test_threads_show_their_figures_when_tapped_or_by_keyboard(opened: Open) -> None:
    document, history = example()
    first = document["observation"]["threads"][0]
    page = shown(opened(width=360, height=700, has_touch=True), going_on(document), history)
    slot = page.locator(f"[data-slot='{first['slot']}']")
    slot.locator(".thread").first.tap()
    details = page.get_by_role("region", name="Slots: threads of")
    row = details.locator("tr[aria-current]")
    expect(row).to_contain_text(f"{first['operator']} {first['thread']}")
    expect(row).to_contain_text(f"{first['arrival_rate']}/s")
    expect(row).to_be_in_viewport()
    other = next(
        each for each in document["observation"]["threads"] if each["slot"] != first["slot"]
    )
    page.locator(f"[data-slot='{other['slot']}']").get_by_role("button").focus()
    page.keyboard.press("Enter")
    expect(details.locator("h3")).to_have_text(other["slot"])
    expect(details).to_contain_text(f"{other['operator']} {other['thread']}")


def test_meters_are_coloured_from_80_percent_on(opened: Open) -> None:
    document, history = copy.deepcopy(example())
    for slot, cpu in zip(document["observation"]["slots"], (0.79, 0.8, 1.2), strict=False):
        slot.update(cpu=cpu, mem=0.1)
    page = shown(opened(), going_on(document), history)
    kinds = [
        page.locator(f"[data-slot='{slot['name']}'] .used").first.get_attribute("class")
        for slot in document["observation"]["slots"][:3]
    ]
    assert [str(kind).split() for kind in kinds] == [["used"], ["used", "high"], ["used", "over"]]


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
    page.route("**/history?*", lambda route: waiting.append(route))
    page.goto(ORIGIN)
    expect(page.locator(".thread[data-thread]").first).to_be_visible()
    expect(page.locator(".chart")).to_have_count(0)
    waiting[0].fulfill(json=history)
    expect(page.locator(".chart").first).to_be_visible()
