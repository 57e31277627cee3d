"""Takes the pictures of the page: `python -m docs.pictures.take_page`.

A pipeline that branches, simulated, its rate doubled after 10 seconds: an operator is overloaded,
and look-ahead recommends another plan; a what-if; and the candidates of a comparison. Needs
Chromium.
"""

from __future__ import annotations

import heapq
import io
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from operator import itemgetter
from pathlib import Path
from typing import Literal, cast

from PIL import Image
from playwright.sync_api import Browser, Page, expect
from tests.dashboard.live import SPEC as ORDERS
from tests.dashboard.live import live_run
from tests.dashboard.scripted import chromium

import slotwise
from slotwise.cli import DONE
from slotwise.cli import run as run_command
from slotwise.dashboard.access import Access
from slotwise.dashboard.serving import Address, serving

HERE = Path(__file__).parent
PERIODS = 14
Scheme = Literal["light", "dark"]
COLOURS = 256
"""Of a picture, which keeps its file small."""
TIMEOUT_MS = 120_000


def main() -> None:
    with tempfile.TemporaryDirectory() as folder, chromium() as browser:
        plan = slotwise.plan(HERE / "payments.yaml")
        made = live_run(Path(folder), plan, "look-ahead", factor=2.0, apply="never")
        with made as run, serving(run.path, Address(port=0), Access.to("127.0.0.1")) as served:
            for _ in range(PERIODS):
                run.period()
            for scheme in ("light", "dark"):
                take_run(browser, served.url, scheme)
        take_comparison(browser, Path(folder) / "compared.html")


def take_run(browser: Browser, url: str, scheme: Scheme) -> None:
    with opened(browser, url, scheme, 1400, 1240) as page:
        keep(page.screenshot(), f"page-{scheme}")
        if scheme == "light":
            take_what_if(page)
            charts = page.get_by_role("region", name="Over time")
            charts.scroll_into_view_if_needed()
            expect(page.locator(".chart canvas")).to_have_count(6, timeout=TIMEOUT_MS)
            settle(page)
            keep(charts.screenshot(), "page-charts")
    if scheme == "dark":
        with opened(browser, url, scheme, 390, 1180) as page:
            page.get_by_role("region", name="Slots").evaluate("(slots) => slots.scrollIntoView()")
            settle(page)
            keep(page.screenshot(), "page-narrow")


def take_what_if(page: Page) -> None:
    form = page.locator(".what-if form")
    form.get_by_label("Rate").fill("160")
    form.get_by_label("Allocator").select_option("auto")
    form.get_by_label("Placer").select_option("auto")
    form.get_by_role("button", name="Plan").click()
    expect(page.get_by_role("region", name="Answer")).to_be_visible()
    page.mouse.move(0, 0)
    keep(page.locator(".what-if").screenshot(), "page-what-if")


def take_comparison(browser: Browser, path: Path) -> None:
    if run_command(["compare", str(ORDERS), "--rates", "30,41", "--report", str(path)]) != DONE:
        raise SystemExit(1)
    with opened(browser, path.as_uri(), "light", 1000, 700) as page:
        expect(page.locator(".scatter canvas")).to_be_visible()
        settle(page)
        keep(page.screenshot(), "page-compare")


@contextmanager
def opened(browser: Browser, url: str, scheme: Scheme, width: int, height: int) -> Iterator[Page]:
    context = browser.new_context(viewport={"width": width, "height": height}, color_scheme=scheme)
    page = context.new_page()
    page.set_default_timeout(TIMEOUT_MS)
    expect.set_options(timeout=TIMEOUT_MS)
    page.goto(url)
    expect(page.locator("main")).to_be_visible()
    settle(page)
    yield page
    context.close()


def settle(page: Page) -> None:
    """Until all is drawn: pictures on a canvas come a frame later."""
    page.wait_for_timeout(1500)


def keep(picture: bytes, name: str) -> None:
    path = HERE / f"{name}.png"
    image = Image.open(io.BytesIO(picture)).convert("RGB")
    few_colours(image).save(path, optimize=True)
    print(f"wrote {path.name}, {path.stat().st_size // 1024} KB", file=sys.stderr)


def few_colours(image: Image.Image) -> Image.Image:
    """With its most frequent colours as they are: those of areas; edges of letters have more."""
    counts = image.getcolors(image.width * image.height)
    assert counts is not None
    frequent = heapq.nlargest(COLOURS, counts, key=itemgetter(0))
    palette = Image.new("P", (1, 1))
    palette.putpalette([part for _, colour in frequent for part in cast(tuple[int, ...], colour)])
    return image.quantize(palette=palette, dither=Image.Dither.NONE)


if __name__ == "__main__":
    main()
