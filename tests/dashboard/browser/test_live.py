"""A run that goes on: what appears on its page, and what a person changes from there."""

from __future__ import annotations

import json
import re
import urllib.error
import urllib.request
from urllib.parse import urlsplit

import pytest
from playwright.sync_api import Page, expect

from slotwise.clock import await_condition
from slotwise.dashboard.serving import Page as Served
from tests.dashboard.browser.conftest import Open
from tests.dashboard.browser.test_page import planned, threads
from tests.dashboard.live import LiveRun

pytestmark = pytest.mark.browser
LOOKED_AT = """(yes) => {
  Object.defineProperty(document, "hidden", { value: !yes, configurable: true });
  document.dispatchEvent(new Event("visibilitychange"));
}"""


def followed(page: Page, url: str) -> Page:
    page.goto(url)
    expect(page.locator(".badge")).to_have_text("live", timeout=60_000)
    return page


def count(live: LiveRun) -> int:
    return sum(live.loop.deployment.plan.threads.values())


def current(page: Page) -> dict[tuple[str, int], str]:
    document = page.evaluate("fetch('api/runs/last').then((answer) => answer.json())")
    return planned(document["plans"][str(document["plan"])])


def test_a_decision_appears_and_threads_are_where_it_puts_them(
    opened: Open, live: LiveRun, served: Served
) -> None:
    live.period()
    page = followed(opened(), served.url)
    assert "token" not in page.url
    before = threads(page)
    assert before == current(page)
    decisions = page.locator(".decision")
    expect(decisions).to_have_count(0)
    for _ in range(20):
        live.period()
        if count(live) > len(before):
            break
    expect(decisions.first).to_contain_text("applied")
    expect(decisions.first).to_contain_text("→")
    live.period()
    expect(page.locator(".thread[data-thread]")).to_have_count(count(live))
    assert threads(page) == current(page)


def test_a_page_that_nobody_looks_at_follows_nothing_and_then_catches_up(
    opened: Open, live: LiveRun, served: Served
) -> None:
    live.period()
    page = followed(opened(height=2400), served.url)
    page.evaluate(LOOKED_AT, False)
    for _ in range(4):
        live.period()
    rate = page.get_by_role("img", name="Input rate until")
    expect(rate).to_have_accessible_name(re.compile("until 0:05:"))
    with page.expect_response("**/history?*"):
        page.evaluate(LOOKED_AT, True)
    expect(rate).to_have_accessible_name(re.compile("until 0:2"))


def test_hold_and_forbid(opened: Open, live: LiveRun, served: Served) -> None:
    live.period()
    page = followed(opened(), served.url)
    page.get_by_role("button", name="Hold changes").click()
    expect(page.get_by_role("button", name="Changes are held")).to_have_attribute(
        "aria-pressed", "true"
    )
    assert json.loads(live.control.read_text(encoding="utf-8"))["hold"] is True
    page.get_by_label("other threads or machines").check()
    assert await_condition(lambda: "re-plan" in live.control.read_text(encoding="utf-8"), 10)
    for _ in range(6):
        live.period()
    recommended = page.locator(".decision.recommended").first
    expect(recommended.get_by_role("button", name="Hold")).to_be_disabled()
    expect(recommended.get_by_role("button", name="Forbid other threads")).to_be_disabled()
    page.get_by_label("other threads or machines").uncheck()
    page.get_by_role("button", name="Changes are held").click()
    recommended.get_by_role("button", name="Hold").click()
    expect(page.get_by_role("button", name="Changes are held")).to_be_visible()
    page.get_by_role("button", name="Changes are held").click()
    recommended.get_by_role("button", name="Apply").click()
    expect(page.get_by_text("Asked for")).to_be_visible()
    live.period()
    live.period()
    expect(page.locator(".decision.applied").first).to_contain_text("by a person")


def test_what_if_is_answered_and_applied(opened: Open, live: LiveRun, served: Served) -> None:
    live.period()
    page = followed(opened(), served.url)
    before = threads(page)
    form = page.locator(".what-if form")
    form.get_by_label("Rate").fill("82")
    form.get_by_label("Allocator").select_option("mba")
    form.get_by_label("Placer").select_option("sam")
    form.get_by_role("button", name="Plan").click()
    answer = page.get_by_role("region", name="Answer")
    expect(answer).to_be_visible(timeout=30_000)
    differs = answer.locator("tr.differs")
    expect(differs.filter(has_text="Planned for")).to_contain_text("82")
    expect(answer.locator("tr", has_text="simulated").locator("td").last).to_have_text("simulated")
    expect(answer.locator("tr", has_text="p99 latency").last).to_contain_text(" s")
    live.period()
    expect(form.get_by_label("Rate")).to_have_value("82")
    answer.get_by_role("button", name="Apply this plan").click()
    expect(answer.get_by_text("at its next period")).to_be_visible()
    live.period()
    live.period()
    expect(page.locator(".decision.applied").first).to_contain_text("by a person")
    assert await_condition(lambda: threads(page) != before, 10)
    assert threads(page) == current(page)


def test_a_what_if_without_a_plan_says_why(opened: Open, live: LiveRun, served: Served) -> None:
    live.period()
    page = followed(opened(), served.url)
    form = page.locator(".what-if form")
    form.get_by_label("Rate").fill("1000000")
    form.get_by_label("Machines").fill("1")
    with page.expect_response("**/what-if", timeout=30_000):
        form.get_by_role("button", name="Plan").click()
    expect(page.locator(".what-if .problem").first).to_be_visible()


def test_without_the_right_token_nothing_changes(
    opened: Open, live: LiveRun, served: Served
) -> None:
    live.period()
    page = followed(opened(), served.url.partition("#")[0])
    expect(page.get_by_role("button", name="Hold changes")).to_have_count(0)
    decisions = page.get_by_role("region", name="Decisions")
    decisions.get_by_label("Token").fill("a wrong one")
    decisions.get_by_role("button", name="Unlock").click()
    expect(decisions.get_by_role("alert")).to_contain_text("not the token")
    request = urllib.request.Request(
        f"http://127.0.0.1:{urlsplit(served.url).port}/api/runs/1/control",
        data=b'{"hold": true}',
        headers={"Content-Type": "application/json", "Authorization": "Bearer a wrong one"},
    )
    with pytest.raises(urllib.error.HTTPError, match="401"):
        urllib.request.urlopen(request)
    assert not live.control.exists()
    decisions.get_by_label("Token").fill(served.token)
    decisions.get_by_role("button", name="Unlock").click()
    expect(page.get_by_role("button", name="Hold changes")).to_be_visible()
