"""The page in Chromium without a server: its files, a run and its events come from the test."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from playwright.sync_api import Browser, Page, Route, sync_playwright

from slotwise.dashboard.one_file import PAGE

CHROMIUM = "/usr/bin/chromium"
ORIGIN = "http://page.invalid/"
KINDS = {"html": "text/html", "js": "text/javascript", "css": "text/css"}
HERE = Path(__file__).parent

EVENTS = """
window.EventSource = class extends EventTarget {
  constructor() { super(); window.events = this; setTimeout(() => this.onopen?.()); }
  close() {}
};
// Answers, when all that the event changes is drawn, with how many ms that has taken.
window.tell = (name, data) => new Promise((done) => {
  requestAnimationFrame(() => {
    const started = performance.now();
    const after = new MessageChannel();
    after.port1.onmessage = () => done(performance.now() - started);
    after.port2.postMessage(null);
  });
  window.events.dispatchEvent(new MessageEvent(name, { data: JSON.stringify(data) }));
});
"""


@contextmanager
def chromium() -> Iterator[Browser]:
    """Debian's; Playwright brings none."""
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        yield browser
        browser.close()


def serve(
    page: Page,
    document: dict[str, Any],
    history: dict[str, Any] | None,
    trusted: bool = False,
) -> None:
    """Answer what the page asks for, as a server of one run that goes on would; `trusted`: the page
    may change it.
    """
    answers: dict[str, Any] = {"api/runs": [document["run"]], "api/access": {"token": trusted}}
    answers[f"api/runs/{document['run']['id']}"] = document
    answers[f"api/runs/{document['run']['id']}/history"] = history

    def answer(route: Route) -> None:
        path = route.request.url.removeprefix(ORIGIN).partition("?")[0] or "index.html"
        if path in answers:
            route.fulfill(json=answers[path])
        else:
            kind = KINDS[path.rpartition(".")[2]]
            route.fulfill(body=(PAGE / path).read_text(encoding="utf-8"), content_type=kind)

    page.route("**/*", answer)
    page.add_init_script(EVENTS)


def example() -> tuple[dict[str, Any], dict[str, Any]]:
    """A run's document and its history."""
    return _read("example.json"), _read("example_history.json")


def going_on(document: dict[str, Any]) -> dict[str, Any]:
    """The same run before its end."""
    run = {**document["run"], "state": "running", "ended": None}
    return {**document, "run": run, "cursor": "1"}


def compared() -> dict[str, Any]:
    """A comparison at two rates: of each, two candidates with the same plan, one that costs more
    and is faster, one that misses a goal, and one without a plan.
    """
    rows = []
    for rate, cost in ((30.0, 0.1), (41.0, 0.2)):
        rows += [
            _candidate("lsa", rate, cost, 100.0, pareto=True),
            _candidate("mba", rate, cost, 100.0, pareto=True),
            _candidate("drs", rate, 2 * cost, 80.0, pareto=True),
            _candidate("percentile", rate, 3 * cost, 300.0, missed_goals="p99 latency"),
            _candidate("auto", rate, refused="too few machines"),
        ]
    goals = {"rate": 41.0, "latency_p99_ms": 200.0}
    candidates = {"kind": "comparison", "topology": "orders", "candidates": rows}
    return {"version": 1, "goals": goals, **candidates}


def _candidate(
    allocator: str,
    rate: float,
    cost: float | None = None,
    latency_p99_ms: float | None = None,
    **others: Any,
) -> dict[str, Any]:
    return {
        "allocator": allocator,
        "placer": "sam",
        "rate": rate,
        "slots": 3,
        "machines": 1,
        "cost_per_hour": cost,
        "latency_ms": 10.0,
        "latency_p99_ms": latency_p99_ms,
        "missed_goals": None,
        "refused": None,
        "pareto": False,
        **others,
    }


def _read(name: str) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((HERE / name).read_text(encoding="utf-8"))
    return found
