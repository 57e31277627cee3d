"""How long a measurement takes at the most, from what its finished steps took."""

from __future__ import annotations

from collections.abc import Mapping

from slotwise.clock import Clock


def about(seconds: float) -> str:
    """For people.

    >>> about(200), about(48.3), about(0)
    ('3 min', '50 s', '10 s')
    """
    if seconds >= 90:
        return f"{seconds / 60:.0f} min"
    return f"{max(10 * round(seconds / 10), 10)} s"


class TimeLeft:
    """Its text goes behind a sentence: empty until the first step is finished; they count alike."""

    def __init__(self, clock: Clock, steps: Mapping[str, int]) -> None:
        """`steps`: per part of the whole, the most that it can have."""
        self._clock, self._steps = clock, dict(steps)
        self._began_s, self._finished = clock.now_s(), 0

    def finish(self, part: str) -> None:
        """One step of it."""
        self._finished += 1
        self._steps[part] -= 1

    def skip(self, part: str, steps: int) -> None:
        """They are known from before, and take no time."""
        self._steps[part] -= steps

    def end(self, part: str) -> None:
        """It has no more steps."""
        self._steps[part] = 0

    def __str__(self) -> str:
        if not self._finished:
            return ""
        each_s = (self._clock.now_s() - self._began_s) / self._finished
        return f"; at most {about(each_s * sum(self._steps.values()))} left"
