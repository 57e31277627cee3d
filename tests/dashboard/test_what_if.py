"""Questions to the process that plans: also when it is killed while they wait."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from slotwise.dashboard import what_if as module
from slotwise.dashboard.what_if import MOST_WAITING, Busy, Question, WhatIf
from slotwise.model import SlotwiseError


def asked(count: int, killed: bool = False) -> list[Any]:
    """What so many questions at a time are answered with."""

    async def ask() -> list[Any]:
        what_if = WhatIf()
        try:
            waiting = [
                asyncio.create_task(what_if.ask("no plan", Question())) for _ in range(count)
            ]
            await asyncio.sleep(0)  # until all of them wait
            if killed:
                what_if.end()
            return list(await asyncio.gather(*waiting, return_exceptions=True))
        finally:
            what_if.end()

    return asyncio.run(ask())


def test_whoever_waits_for_a_process_that_is_killed_asks_again() -> None:
    for found in asked(MOST_WAITING, killed=True):
        assert isinstance(found, SlotwiseError)
        assert "ask again" in str(found)


def test_a_question_that_takes_too_long_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "MOST_S", 0.0)
    (found,) = asked(1)
    assert isinstance(found, SlotwiseError)
    assert "no plan was found within 0 s" in str(found)


def test_one_question_too_many_is_refused() -> None:
    found = asked(MOST_WAITING + 1, killed=True)
    assert [type(each) for each in found].count(Busy) == 1
