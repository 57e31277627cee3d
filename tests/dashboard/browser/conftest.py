"""One Chromium for all tests of the page. Nothing on a page may fail, and nothing may be asked of
another address.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, ConsoleMessage, Page, Request

from slotwise.dashboard.access import Access
from slotwise.dashboard.serving import Address, serving
from slotwise.dashboard.serving import Page as Served
from tests.dashboard.live import LiveRun, live_run
from tests.dashboard.scripted import ORIGIN, chromium

HERE = (ORIGIN, "http://127.0.0.1:", "file://", "data:", "blob:")
REFUSED = re.compile("with a status of (401|422)|ERR_CONNECTION_REFUSED")
Open = Callable[..., Page]


# Not for longer: while Playwright is there, no other test can have an event loop.
@pytest.fixture(scope="package")
def browser() -> Iterator[Browser]:
    with chromium() as made:
        yield made


@pytest.fixture
def opened(browser: Browser) -> Iterator[Open]:
    """A new page: `opened(width=…, color_scheme=…)`."""
    wrong: list[str] = []
    contexts = []

    def console(message: ConsoleMessage) -> None:
        # What a server refuses is an error on the console, too; so is that it has ended.
        if message.type in ("error", "warning") and not REFUSED.search(message.text):
            wrong.append(message.text)

    def asked(request: Request) -> None:
        if not request.url.startswith(HERE):
            wrong.append(f"the page asked for {request.url}")

    def new(width: int = 1400, height: int = 1000, **options: Any) -> Page:
        context = browser.new_context(viewport={"width": width, "height": height}, **options)
        contexts.append(context)
        page = context.new_page()
        page.on("console", console)
        page.on("pageerror", lambda error: wrong.append(str(error)))
        page.on("request", asked)
        return page

    yield new
    for context in contexts:
        context.close()
    assert wrong == []


@pytest.fixture
def live(tmp_path: Path) -> Iterator[LiveRun]:
    """A simulated run that is overloaded from 10 s on, under a controller."""
    with live_run(tmp_path, controller="threshold:seconds=5", factor=2.0) as run:
        yield run


@pytest.fixture
def served(live: LiveRun) -> Iterator[Served]:
    with serving(live.path, Address(port=0), Access.to("127.0.0.1")) as page:
        yield page
