"""Takes the pictures of the page: `python -m docs.pictures.take_page`.

The demo's pipeline, simulated, its rate doubled after 10 seconds, under look-ahead; and a what-if.
Needs Chromium.
"""

from __future__ import annotations

import io
import sys
import tempfile
from pathlib import Path
from typing import Literal

from PIL import Image
from playwright.sync_api import Browser, expect
from tests.dashboard.live import live_run
from tests.dashboard.scripted import chromium

from slotwise.dashboard.access import Access
from slotwise.dashboard.serving import Address, serving

HERE = Path(__file__).parent
PERIODS = 24
Scheme = Literal["light", "dark"]
SCHEMES: tuple[Scheme, ...] = ("light", "dark")
COLOURS = 128
"""Of a picture, which keeps its file small."""


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        made = live_run(Path(folder), controller="look-ahead", factor=2.0)
        with made as run, serving(run.path, Address(port=0), Access.to("127.0.0.1")) as page:
            for _ in range(PERIODS):
                run.period()
            with chromium() as browser:
                for scheme in SCHEMES:
                    take(browser, page.url, scheme)


def take(browser: Browser, url: str, scheme: Scheme) -> None:
    context = browser.new_context(viewport={"width": 1400, "height": 1260}, color_scheme=scheme)
    page = context.new_page()
    page.set_default_timeout(60_000)
    page.goto(url)
    form = page.locator(".what-if form")
    form.get_by_label("Rate").fill("60")
    form.get_by_role("button", name="Plan").click()
    answer = page.get_by_role("region", name="Answer")
    expect(answer).to_be_visible(timeout=60_000)
    page.mouse.move(0, 0)
    expect(page.locator(".chart canvas").first).to_be_visible(timeout=60_000)
    page.wait_for_timeout(1500)
    keep(page.screenshot(), HERE / f"page-{scheme}.png")
    if scheme == "light":
        keep(page.locator(".what-if").screenshot(), HERE / "page-what-if.png")
        charts = page.locator("section", has=page.locator("#charts"))
        charts.scroll_into_view_if_needed()
        page.wait_for_timeout(1500)
        keep(charts.screenshot(), HERE / "page-charts.png")
    context.close()


def keep(picture: bytes, path: Path) -> None:
    image = Image.open(io.BytesIO(picture)).convert("RGB")
    image.quantize(COLOURS, Image.Quantize.MAXCOVERAGE, dither=Image.Dither.NONE).save(
        path, optimize=True
    )
    print(f"wrote {path.name}, {path.stat().st_size // 1024} KB", file=sys.stderr)


if __name__ == "__main__":
    main()
