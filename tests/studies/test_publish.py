from __future__ import annotations

import json
import re
import sys

import pytest

from slotwise.model import SlotwiseError
from slotwise.report import charts, pages
from slotwise.studies import publish
from slotwise.studies.study import Chart, Comparison, Line, PaperFigure, Study, Table

NAN = float("nan")


def study() -> Study:
    line = Line("a <b>", (1.0, 2.0, 3.0), (1.0, None, 300.0))
    bars = Line("bars", ("x", "y"), (1.0, None))
    return Study(
        name="test",
        title="A & B",
        citation="Somebody",
        quick=True,
        seed=7,
        assumptions=("nothing",),
        comparisons=(Comparison(PaperFigure("rate", 1, 2, "%", "Fig. 1", 0), 5.0, "because"),),
        tables=(Table("Figures", ("a|b", "c"), (("x|y", 1.25), (None, NAN))),),
        charts=(
            Chart("lines", "Lines", "x", "y", (line, line), log_y=True, levels=(("five", 5.0),)),
            Chart("points", "Points", "x", "y", (line,), "points", diagonal=True),
            Chart("bars", "Bars", "x", "y", (bars, bars), "bars"),
        ),
        remarks=("it <works>",),
    )


def test_the_files_of_a_study() -> None:
    files = publish.published(study())
    assert list(files) == [
        *("test.json", "test.md", "test-lines.png", "test-points.png", "test-bars.png"),
        "test.html",
    ]
    for name, content in files.items():
        if name.endswith(".png"):
            assert content.startswith(b"\x89PNG")
    assert publish.published(study()) == files


def test_json_is_strict_and_holds_the_verdict() -> None:
    document = json.loads(publish.json_text(study()))
    assert document["comparisons"][0]["verdict"] == "same direction"
    assert document["tables"][0]["rows"][1] == [None, None]
    assert document["charts"][0]["lines"][0]["y"] == [1.0, None, 300.0]


def test_the_page_needs_nothing_from_outside() -> None:
    page = publish.published(study())["test.html"].decode()
    assert page.count("data:image/png;base64,") == 3
    assert "<script" not in page
    assert not re.search(r'(src|href)="(?!data:)', page)
    assert "it &lt;works&gt;" in page
    assert "A &amp; B" in page


def test_markdown_has_the_table_paper_and_ours() -> None:
    text = publish.markdown(study())
    assert "| rate | 1 to 2 % | 5 % | same direction | Fig. 1 | because |" in text
    assert r"| a\|b | c |" in text
    assert r"| x\|y | 1.25 |" in text
    assert "| – | – |" in text


@pytest.mark.parametrize(
    ("value", "text"),
    [(0.0, "0"), (12345.678, "12,346"), (0.012345, "0.01235"), (-2.5, "-2.5"), (True, "1")],
)
def test_numbers_for_people(value: float, text: str) -> None:
    assert pages.shown(value) == text


def test_without_matplotlib_one_sentence_says_what_to_install(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(SlotwiseError, match=r"slotwise\[study\]"):
        charts.check_can_draw()
