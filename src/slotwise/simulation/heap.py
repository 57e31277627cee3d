"""The event queue: a binary heap of (time, event), smallest first.

Events at the same time come by `tie`, two integers per event: first by the operator's topological
rank (what an event causes at the same time is further down), ends of service before arrivals; then
by thread, or by (sender, number).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray


class Heap(NamedTuple):
    time: NDArray[np.float64]
    event: NDArray[np.int64]
    size: NDArray[np.int64]
    tie: NDArray[np.int64]
    """Per event: (class, order)."""

    @classmethod
    def room_for(cls, events: int) -> Heap:
        return cls(
            np.empty(events),
            np.empty(events, np.int64),
            np.zeros(1, np.int64),
            np.empty((events, 2), np.int64),
        )


@njit(cache=True, inline="always")
def _before(heap: Heap, time: float, event: int, place: int) -> bool:
    """Is (time, event) before what is at `place`?"""
    if time != heap.time[place]:
        return time < heap.time[place]
    other = heap.event[place]
    if heap.tie[event, 0] != heap.tie[other, 0]:
        return heap.tie[event, 0] < heap.tie[other, 0]
    return heap.tie[event, 1] < heap.tie[other, 1]


@njit(cache=True)
def push(heap: Heap, time: float, event: int) -> None:
    place = heap.size[0]
    heap.size[0] = place + 1
    while place > 0:
        parent = (place - 1) >> 1
        if not _before(heap, time, event, parent):
            break
        heap.time[place] = heap.time[parent]
        heap.event[place] = heap.event[parent]
        place = parent
    heap.time[place] = time
    heap.event[place] = event


@njit(cache=True)
def pop(heap: Heap) -> int:
    """The first event, taken out; its time must have been read before."""
    first = heap.event[0]
    size = heap.size[0] - 1
    heap.size[0] = size
    time, event = heap.time[size], heap.event[size]
    place = 0
    while True:
        child = 2 * place + 1
        if child >= size:
            break
        right = child + 1
        if right < size and _before(heap, heap.time[right], heap.event[right], child):
            child = right
        if _before(heap, time, event, child):
            break
        heap.time[place] = heap.time[child]
        heap.event[place] = heap.event[child]
        place = child
    heap.time[place] = time
    heap.event[place] = event
    return first
