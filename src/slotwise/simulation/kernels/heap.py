"""The event queue: a binary heap of (time, event), smallest first.

Events at the same time come by their tie: first by the operator's topological rank (what an event
causes at the same time is further down), ends of service before arrivals; then by thread, or by
(sender, number), of which the copies for several threads come by thread.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from slotwise.simulation.kernels.jit import part

_CLASS_SHIFT = 32
_ENTRY = np.dtype([("time", "f8"), ("event", "i8")])


class Heap(NamedTuple):
    entries: NDArray[Any]
    size: NDArray[np.int64]
    tie: NDArray[np.int64]
    """Per event: (class and thread, order)."""

    @classmethod
    def room_for(cls, events: int) -> Heap:
        return cls(np.zeros(events, _ENTRY), np.zeros(1, np.int64), np.zeros((events, 2), np.int64))


@part
def push(heap: Heap, time: float, event: int, tie: int, order: int, thread: int) -> None:
    heap.tie[event, 0] = (tie << _CLASS_SHIFT) + thread
    heap.tie[event, 1] = order
    entries = heap.entries
    place = heap.size[0]
    heap.size[0] = place + 1
    while place > 0:
        parent = (place - 1) >> 1
        if not _before(heap.tie, time, event, entries[parent].time, entries[parent].event):
            break
        entries[place] = entries[parent]
        place = parent
    entries[place].time = time
    entries[place].event = event


@part
def pop(heap: Heap) -> int:
    """The first event, taken out; its time must have been read before."""
    entries = heap.entries
    first = entries[0].event
    size = heap.size[0] - 1
    heap.size[0] = size
    time, event = entries[size].time, entries[size].event
    place = 0
    while True:
        child = 2 * place + 1
        if child >= size:
            break
        right = child + 1
        if right < size and _before(
            heap.tie,
            entries[right].time,
            entries[right].event,
            entries[child].time,
            entries[child].event,
        ):
            child = right
        if _before(heap.tie, time, event, entries[child].time, entries[child].event):
            break
        entries[place] = entries[child]
        place = child
    entries[place].time = time
    entries[place].event = event
    return int(first)


@part
def _before(tie: NDArray[np.int64], time: float, event: int, other_time: float, other: int) -> bool:
    if time != other_time:
        return bool(time < other_time)
    first, second = tie[event, 0], tie[other, 0]
    if first >> _CLASS_SHIFT != second >> _CLASS_SHIFT or tie[event, 1] == tie[other, 1]:
        return bool(first < second)
    return bool(tie[event, 1] < tie[other, 1])
