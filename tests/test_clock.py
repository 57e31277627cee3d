from __future__ import annotations

import pytest

from slotwise.clock import await_condition
from tests.clocks import SettableClock


def test_what_holds_already_takes_no_time() -> None:
    clock = SettableClock(now_s=5.0)
    assert await_condition(lambda: True, 0.0, clock)
    assert clock.now_s() == 5.0


def test_the_wait_ends_at_the_first_poll_after_the_condition_holds() -> None:
    clock, happened = SettableClock(), []
    clock.at(2.25, lambda: happened.append(True))
    assert await_condition(lambda: bool(happened), 10.0, clock, poll_s=0.5)
    assert clock.now_s() == 2.5


def test_the_wait_ends_in_time_and_asks_once_more_then() -> None:
    clock, asked = SettableClock(), []

    def holds() -> bool:
        asked.append(clock.now_s())
        return False

    assert not await_condition(holds, 1.2, clock, poll_s=0.5)
    assert asked == [0.0, 0.5, 1.0, 1.2]


def test_what_the_condition_raises_ends_the_wait() -> None:
    clock = SettableClock()

    def fails() -> bool:
        if clock.now_s() >= 1.0:
            raise ValueError
        return False

    with pytest.raises(ValueError):
        await_condition(fails, 60.0, clock, poll_s=0.5)
    assert clock.now_s() == 1.0
