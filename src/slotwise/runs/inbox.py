"""What a run hands to the thread that writes it down, without waiting for the disk."""

from __future__ import annotations

import threading
from collections import deque
from dataclasses import dataclass, field

from slotwise.adaptation import Step
from slotwise.model import Observation, Plan

MOST = 256
"""Some minutes of a run, if the disk stands still."""


@dataclass(frozen=True)
class Seen:
    """What was observed at a moment, under a plan."""

    at_s: float
    plan: Plan
    observation: Observation


@dataclass(frozen=True)
class Stepped:
    """A period of a run under a controller."""

    step: Step
    recommended: Plan | None
    forced: tuple[str, ...]
    """The ids of forced changes that were acted upon until now."""


@dataclass(frozen=True)
class Happened:
    """Events, which Deployment.events has as sentences."""

    at_s: float
    sentences: tuple[str, ...]


@dataclass(frozen=True)
class Ended:
    why: str
    """It failed, in a sentence; empty: it is over."""


Item = Seen | Stepped | Happened | Ended


@dataclass
class Inbox:
    """Bounded. When it is full, a run that waits for nobody loses its oldest observation; one whose
    time is simulated waits for room instead, and loses nothing.
    """

    waits: bool
    most: int = MOST
    dropped: int = 0
    _items: deque[Item] = field(default_factory=deque)
    _changed: threading.Condition = field(default_factory=threading.Condition)
    _closed: bool = False

    def put(self, item: Item) -> None:
        with self._changed:
            if self.waits:
                self._changed.wait_for(lambda: len(self._items) < self.most or self._closed)
            if self._closed:
                return
            if len(self._items) >= self.most:
                self._drop()
            self._items.append(item)
            self._changed.notify_all()

    def take(self) -> list[Item]:
        """All that are there; waits for the first."""
        with self._changed:
            self._changed.wait_for(lambda: bool(self._items))
            items = list(self._items)
            self._items.clear()
            self._changed.notify_all()
            return items

    def close(self) -> None:
        """Nobody takes any more: what comes is dropped, and nobody waits."""
        with self._changed:
            self._closed = True
            self._items.clear()
            self._changed.notify_all()

    def _drop(self) -> None:
        """The oldest observation, of which there is a newer one; decisions and events are few."""
        oldest = next((item for item in self._items if isinstance(item, Seen)), None)
        if oldest is not None:
            self._items.remove(oldest)
            self.dropped += 1
