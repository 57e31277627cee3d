"""Snapshots of the meters in the order of time, in bounded memory however long a run takes."""

from __future__ import annotations

from bisect import bisect_left
from collections import deque
from collections.abc import Iterator
from itertools import islice

from slotwise.spark.metering.meters import MeterSnapshot

MOST_OLDER = 600


class History:
    """All snapshots of the last `kept_s` seconds, and of those before every one, every 2nd, 4th, …:
    so many that there are `MOST_OLDER` at most.
    """

    def __init__(self, kept_s: float) -> None:
        self.kept_s = kept_s
        self.clear()

    def clear(self) -> None:
        self._recent: deque[MeterSnapshot] = deque()
        self._older: list[MeterSnapshot] = []
        self._left = 0
        """How many have become too old for `_recent`; every `_step`-th of them is in `_older`."""
        self._step = 1

    def append(self, snapshot: MeterSnapshot) -> None:
        """O(1), but for the times when every other of the older ones is dropped."""
        self._recent.append(snapshot)
        # A window of `kept_s` begins at the last one before it.
        while len(self._recent) > 1 and self._recent[1].time <= snapshot.time - self.kept_s:
            self._retire(self._recent.popleft())

    def _retire(self, snapshot: MeterSnapshot) -> None:
        if self._left % self._step == 0:
            self._older.append(snapshot)
        self._left += 1
        if len(self._older) > MOST_OLDER:
            del self._older[1::2]
            self._step *= 2

    def forget(self) -> None:
        """Drop all but the last one, where the next window then begins."""
        recent = list(self._recent)[-1:]
        self.clear()
        self._recent.extend(recent)

    def __len__(self) -> int:
        return len(self._older) + len(self._recent)

    def __iter__(self) -> Iterator[MeterSnapshot]:
        yield from self._older
        yield from self._recent

    @property
    def last(self) -> MeterSnapshot | None:
        return self._recent[-1] if self._recent else None

    def since(self, time: float) -> list[MeterSnapshot]:
        """From the one nearest to `time`, which is no more than `kept_s` ago, to the last; two at
        least, if there are two. O(kept).
        """
        times = [snapshot.time for snapshot in self._recent]
        start = bisect_left(times, time)
        if 0 < start < len(times) and time - times[start - 1] < times[start] - time:
            start -= 1
        start = min(start, max(len(times) - 2, 0))
        return list(islice(self._recent, start, None))

    def whole(self) -> list[MeterSnapshot]:
        """From the first to the last, about equally far apart: the last two may be closer. O(kept).

        Of a long run they are as far apart as the older ones are.
        """
        aligned = islice(self._recent, -self._left % self._step, None, self._step)
        found = [*self._older, *aligned]
        return found if self.last is None or found[-1] is self.last else [*found, self.last]
