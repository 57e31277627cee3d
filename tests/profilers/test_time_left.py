"""Time left, by steps that count alike."""

from __future__ import annotations

from slotwise.profilers.time_left import TimeLeft
from tests.clocks import SettableClock


def test_time_left_is_that_of_the_finished_steps() -> None:
    clock = SettableClock()
    left = TimeLeft(clock, {"parse": 12, "pi": 12})
    assert str(left) == ""
    clock.sleep(20.0)
    left.finish("parse")
    assert str(left) == "; at most 8 min left"
    left.skip("parse", 6)
    assert str(left) == "; at most 6 min left"
    left.end("parse")
    assert str(left) == "; at most 4 min left"
    for _ in range(10):
        clock.sleep(8.0)
        left.finish("pi")
    assert str(left) == "; at most 20 s left"
