"""Time, injected: whatever waits takes a clock, and shares one wait."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Protocol

POLL_S = 0.1


class Clock(Protocol):
    """Tests pass one whose `sleep` only moves its `now_s` on."""

    def now_s(self) -> float:
        """Seconds since some fixed moment; never fewer than before."""
        ...

    def sleep(self, seconds: float) -> None: ...


class SystemClock:
    """Real time."""

    def now_s(self) -> float:
        return time.monotonic()

    def sleep(self, seconds: float) -> None:
        time.sleep(seconds)


SYSTEM: Clock = SystemClock()


def await_condition(
    holds: Callable[[], bool],
    timeout_s: float,
    clock: Clock = SYSTEM,
    *,
    poll_s: float = POLL_S,
) -> bool:
    """True as soon as `holds()`; False if it does not within `timeout_s`.

    It is asked at once, each `poll_s`, and a last time at the end of `timeout_s`. What it raises
    ends the wait.
    """
    end_s = clock.now_s() + timeout_s
    while not holds():
        left_s = end_s - clock.now_s()
        if left_s <= 0:
            return False
        clock.sleep(min(poll_s, left_s))
    return True
