from __future__ import annotations

import pytest

import slotwise
from slotwise.model import ServiceRate
from slotwise.studies.divisions import Application, with_bursts


def application() -> Application:
    operators = ("extractor", "matcher", "aggregator")
    return Application("VLD", slotwise.load("vld"), operators, ((8, 12, 2),))


def test_the_model_recommends_what_the_paper_did() -> None:
    assert application().recommended(22) == (10, 11, 1)
    assert application().recommended(17) == (8, 8, 1)


def test_six_divisions_use_all_processors_and_keep_up() -> None:
    six = application().six()
    assert len(set(six)) == 6
    assert {sum(division) for division in six} == {22}
    assert (10, 11, 1) in six
    assert (8, 12, 2) in six


def test_bursts_are_as_large_as_what_one_tuple_causes_at_once() -> None:
    loop = slotwise.load("loop")
    operators = ("generator", "detector", "reporter")
    plan = with_bursts(Application("FPD", loop, operators, ()).plan((6, 13, 3)))
    detector = plan.pipeline.profiles["detector"]
    generator = plan.pipeline.profiles["generator"]
    assert isinstance(detector, ServiceRate)
    assert isinstance(generator, ServiceRate)
    assert generator.arrival_scv == 1
    # Of 1,000 tuples, 935 come three at a time and 65 thirteen at a time.
    assert detector.arrival_scv == pytest.approx(0.935 * 3 + 0.065 * 13)
