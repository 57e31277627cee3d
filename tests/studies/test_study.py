from __future__ import annotations

import pytest

from slotwise import studies
from slotwise.model import SlotwiseError
from slotwise.studies import publish
from slotwise.studies.paper import paper
from slotwise.studies.study import Comparison, PaperFigure
from tests.studies.quick import fresh, quick

PAPERS = [name for name in studies.STUDIES if name not in studies.IN_PARTS]


def figure(low: float, high: float, neutral: float | None = None) -> PaperFigure:
    return PaperFigure("a figure", low, high, "%", "Figure 1", neutral)


@pytest.mark.parametrize(
    ("ours", "verdict"),
    [
        (20.0, "agrees"),
        (33.0, "agrees"),
        (17.0, "agrees"),
        (40.0, "same direction"),
        (1.0, "same direction"),
        (0.0, "differs"),
        (-5.0, "differs"),
    ],
)
def test_a_figure_is_judged_by_its_range_then_by_its_direction(ours: float, verdict: str) -> None:
    assert Comparison(figure(20, 30, neutral=0), ours).verdict == verdict


def test_a_figure_without_a_neutral_value_has_no_direction() -> None:
    assert Comparison(figure(5, 5), 50.0).verdict == "differs"


@pytest.mark.parametrize("name", PAPERS)
def test_every_figure_of_a_paper_names_its_place_there(name: str) -> None:
    told = paper(name)
    assert told.citation
    for key, each in told.figures.items():
        assert each.source, key
        assert each.what, key
        assert each.low <= each.high, key


@pytest.mark.parametrize("name", PAPERS)
def test_where_ours_differs_the_study_says_why(name: str) -> None:
    study = quick(name)
    assert study.comparisons
    assert study.remarks
    for row in study.comparisons:
        assert bool(row.why) == (row.verdict != "agrees"), row.paper.what


@pytest.mark.parametrize("name", ["p-deployer", "drs"])
def test_the_same_seed_gives_the_same_json(name: str) -> None:
    assert publish.json_text(fresh(name)) == publish.json_text(quick(name))


def test_another_seed_gives_other_figures() -> None:
    assert fresh("drs", seed=1).tables != quick("drs").tables


def test_an_unknown_study_is_refused_with_the_nearest_name() -> None:
    with pytest.raises(SlotwiseError, match="unknown study 'dsr': did you mean 'drs'"):
        studies.run("dsr")


def test_progress_sees_every_piece_of_work() -> None:
    seen: list[str] = []

    def each(items, what, /):  # type: ignore[no-untyped-def]
        seen.extend(what for _ in items)
        return items

    studies.run("p-deployer", studies.Effort(quick=True, each=each))
    assert seen.count("machines for a target") == 4
