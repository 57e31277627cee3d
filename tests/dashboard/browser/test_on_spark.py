"""The page of a run on a Spark cluster of this machine."""

from __future__ import annotations

import re
import signal
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Page, expect

from slotwise.clock import await_condition
from tests.dashboard.browser.conftest import Open
from tests.dashboard.browser.test_live import current, followed
from tests.dashboard.browser.test_page import threads
from tests.spark import counting

PAGES = 20
SECONDS = 30

pytestmark = [pytest.mark.browser, pytest.mark.cluster]

SPEC = """
topology:
  name: letters
  operators:
    s: {kind: source}
    up: {expr: "upper(value)"}
    down: {expr: "lower(value)"}
    k: {kind: sink}
  streams: [{from: s, to: up}, {from: up, to: down}, {from: down, to: k}]
profiles:
  s: {fixed: {}}
  up: {service: {rate: 150, cpu: 0.45}}
  down: {service: {rate: 150, cpu: 0.45}}
  k: {fixed: {}}
cluster:
  - {name: left, slots: 1, memory_gb: 1}
  - {name: right, slots: 1, memory_gb: 1}
scheduler: {allocator: p-deployer, placer: sam}
goals: {rate: 200}
"""


@contextmanager
def running(folder: Path) -> Iterator[str]:
    """The address of the run's page."""
    more = ("--controller", "static", "--period", "3s", "--page", "--port", "0")
    started = counting.command(folder, spec=SPEC, more=more)

    def address() -> re.Match[str] | None:
        assert started.poll() is None, counting.told(folder)
        return re.search(r"^page: (http://127\.0\.0\.1:\S+)$", counting.told(folder), re.MULTILINE)

    try:
        assert await_condition(lambda: address() is not None, 60)
        found = address()
        assert found is not None
        yield found[1]
        started.send_signal(signal.SIGINT)
        started.wait(60)
    finally:
        _kill(started)


def _kill(started: subprocess.Popen[str]) -> None:
    started.kill()
    started.communicate()


def asked(page: Page, path: str = "") -> Any:
    """What the server says of the run."""
    return page.evaluate(f"fetch('api/runs/last{path}').then((answer) => answer.json())")


def finished_of_due(page: Page) -> float:
    """The part of the tuples due in the next 30 s that comes out in them."""
    since_s = asked(page)["at_s"]
    until_s = since_s + SECONDS
    assert await_condition(lambda: asked(page)["at_s"] >= until_s, 4 * SECONDS)
    found = asked(page, f"/history?since={since_s}&until={until_s}&slot_cpu=false")
    assert len(found["at_s"]) >= 0.9 * SECONDS
    return float(sum(found["throughput"]) / sum(found["offered_rate"]))


def test_threads_are_where_the_plan_says_and_move_as_a_person_wants_with_twenty_pages_open(
    opened: Open, tmp_path: Path
) -> None:
    with running(tmp_path) as url:
        page = followed(opened(), url)
        measured = page.locator(".details dd").filter(has_text="predicted")
        expect(measured.first).to_be_visible(timeout=120_000)
        before = threads(page)
        assert before == current(page)
        expect(page.locator(".slot")).to_have_count(2)
        pages = [page, *(followed(opened(width=800), url) for _ in range(PAGES - 1))]
        assert finished_of_due(page) >= 0.98
        form = page.locator(".what-if form")
        form.get_by_label("Placer").select_option("round-robin")
        form.get_by_role("button", name="Plan").click()
        answer = page.get_by_role("region", name="Answer")
        answer.get_by_role("button", name="Apply this plan").click(timeout=60_000)
        applied = page.locator(".decision.applied")
        expect(applied).to_contain_text("by a person", timeout=60_000)
        assert await_condition(lambda: threads(page) != before, 30)
        assert threads(page) == current(page)
        assert set(threads(page)) == set(before)
        expect(page.locator(".thread.fell[data-thread]")).to_have_count(0, timeout=30_000)
        assert await_condition(lambda: all(threads(each) == threads(page) for each in pages), 60)
    for each in pages:
        expect(each.locator(".badge")).to_have_text("recorded", timeout=30_000)
