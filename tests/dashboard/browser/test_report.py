"""The page in one file, opened from disk without a network."""

from __future__ import annotations

from pathlib import Path

import pytest
from playwright.sync_api import expect

from slotwise.cli import DONE, run
from slotwise.dashboard.one_file import one_file
from tests.dashboard.browser.conftest import Open
from tests.dashboard.browser.test_page import planned, threads
from tests.dashboard.live import SPEC
from tests.dashboard.scripted import compared, example

pytestmark = pytest.mark.browser


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_a_report_opens_from_disk(opened: Open, tmp_path: Path, scheme: str) -> None:
    document, history = example()
    document["run"]["topology"] = "orders </script><script>window.hacked = 1</script>"
    file = tmp_path / "report.html"
    file.write_text(one_file(document, history, "</title>"), encoding="utf-8")
    page = opened(height=2400, offline=True, color_scheme=scheme)
    page.goto(file.as_uri())
    expect(page.locator("h1")).to_have_text(document["run"]["topology"])
    assert threads(page) == planned(document["plans"][str(document["plan"])])
    expect(page.locator(".chart canvas")).to_have_count(6)
    expect(page.locator(".decision")).to_have_count(len(document["decisions"]))
    assert page.evaluate("window.hacked") is None
    expect(page.get_by_label("Token")).to_have_count(0)


def test_candidates_of_a_comparison(opened: Open, tmp_path: Path) -> None:
    file = tmp_path / "compared.html"
    pairs = ["--allocators", "lsa,mba", "--placers", "sam,round-robin"]
    assert run(["compare", str(SPEC), *pairs, "--report", str(file)]) == DONE
    page = opened(offline=True)
    page.goto(file.as_uri())
    expect(page.locator(".scatter canvas")).to_be_visible()
    expect(page.get_by_text("4 of 4 candidates have a plan")).to_be_visible()
    expect(page.locator("tbody tr")).to_have_count(4)
    expect(page.locator("tbody tr").first).to_contain_text("◆")


def test_a_comparison_has_a_colour_and_a_symbol_for_each_rate(opened: Open, tmp_path: Path) -> None:
    file = tmp_path / "compared.html"
    file.write_text(one_file(compared()), encoding="utf-8")
    page = opened(offline=True)
    page.goto(file.as_uri())
    expect(page.locator(".scatter canvas")).to_be_visible()
    expect(page.get_by_text("8 candidates at 6 points")).to_be_visible()
    chart = "echarts.getInstanceByDom(document.querySelector('.scatter'))"
    series = page.evaluate(f"{chart}.getOption().series")
    looks = {(each["name"], each["symbol"], each["itemStyle"]["color"]) for each in series}
    assert [name for name, *_ in sorted(looks)] == ["at 30/s", "at 41/s"]
    assert len({colour for *_, colour in looks}) == len({symbol for _, symbol, _ in looks}) == 2
    for axis, position in (("xAxis", 0), ("yAxis", 1)):
        low, high = page.evaluate(
            f"{chart}.getModel().getComponent('{axis}').axis.scale.getExtent()"
        )
        values = [point["value"][position] for each in series for point in each["data"]]
        assert low < min(values) <= max(values) < high
