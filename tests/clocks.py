"""A clock for tests: time passes only when somebody sleeps."""

from __future__ import annotations

from collections.abc import Callable


class SettableClock:
    """`at` schedules what happens at a moment; `sleep` moves on and lets it happen."""

    def __init__(self, now_s: float = 0.0) -> None:
        self._now_s = now_s
        self._due: list[tuple[float, Callable[[], None]]] = []

    def now_s(self) -> float:
        return self._now_s

    def sleep(self, seconds: float) -> None:
        self._now_s += seconds
        due = [act for at_s, act in self._due if at_s <= self._now_s]
        self._due = [(at_s, act) for at_s, act in self._due if at_s > self._now_s]
        for act in due:
            act()

    def at(self, at_s: float, act: Callable[[], None]) -> None:
        self._due.append((at_s, act))
