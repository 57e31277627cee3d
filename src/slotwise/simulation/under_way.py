"""What is under way in the event kernel: tuples, the queues they wait in, and their next events."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from slotwise.simulation.heap import Heap, push
from slotwise.simulation.kernel import part
from slotwise.simulation.world import Table, World, counters

ENDS, RETRIES, ARRIVES, AT_LINK = range(4)
"""What happens to a tuple next; at one time and operator, in this order."""

_TUPLE = np.dtype(
    [
        ("root", "f8"),
        ("arrival", "f8"),  # at the thread's buffer
        ("since", "f8"),  # ready to be sent; then service began; then service ended
        ("key", "i8"),
        ("thread", "i8"),
        ("order", "i8"),  # (sender + 1, number)
        ("kind", "i8"),  # what happens next
        ("next", "i8"),  # in the same queue
    ]
)
_THREAD = np.dtype(
    [
        ("free", "f8"),  # when an idle thread became idle
        ("handled", "i8"),
        ("serving", "i8"),  # -1: idle
        ("head", "i8"),  # first tuple waiting; of a shared queue: at the operator's first thread
        ("tail", "i8"),
        ("held", "i8"),  # tuples in the buffer; where senders are held back also those on the way
        # How far it is with sending what its last tuple caused.
        ("output", "i8"),  # stream; -1: it is not sending
        ("left", "i8"),  # tuples to go on that stream; -1: not yet known
        ("copy", "i8"),
        ("granted", "i8"),  # the thread in whose buffer a place is kept for this sender
        # Senders that it holds back, first come first served.
        ("first_held", "i8"),
        ("last_held", "i8"),
        ("next_held", "i8"),
    ]
)


class Limits(NamedTuple):
    """The options the kernel looks at."""

    capacity: int
    """0: unbounded."""
    blocks: bool
    resend_s: float
    """0: what is lost is gone."""
    link_s: float
    """Seconds a tuple takes on a node's link; 0: links are infinitely fast."""
    most_caused: int
    """The most tuples that one handled tuple can cause."""


class State(NamedTuple):
    """All that changes while events happen, the tally excepted."""

    tuples: Table
    unused: NDArray[np.int64]
    """A stack of free rows of `tuples`; how many is in `progress[0]`."""
    heap: Heap
    clocks: Table
    threads: Table
    sent: NDArray[np.int64]
    """Per stream and sender, tuples sent so far (stream.counter)."""
    links: NDArray[np.float64]
    """[0, node]: when its link out is free, [1, node]: its link in."""
    progress: NDArray[np.int64]
    """[0] free rows; [1] 1 while all threads stand still for a change of plan."""


def empty_state(world: World, nodes: int, clocks: Table, rows: int) -> State:
    threads = np.zeros(len(world.threads), _THREAD)
    for name in ("serving", "head", "tail", "output", "left", "granted", "first_held"):
        threads[name] = -1
    return State(
        tuples=np.zeros(rows, _TUPLE),
        unused=np.arange(rows - 1, -1, -1),
        heap=Heap.room_for(rows),
        clocks=clocks,
        threads=threads,
        sent=np.zeros(counters(world), np.int64),
        links=np.zeros((2, nodes)),
        progress=np.array([rows, 0]),
    )


def grown(state: State) -> State:
    """Twice the rows, the same content."""
    had, free = len(state.tuples), int(state.progress[0])
    tuples, heap = np.zeros(2 * had, _TUPLE), Heap.room_for(2 * had)
    tuples[:had] = state.tuples
    heap.entries[:had] = state.heap.entries
    heap.tie[:had] = state.heap.tie
    heap.size[0] = state.heap.size[0]
    unused = np.zeros(2 * had, np.int64)
    unused[:had] = np.arange(2 * had - 1, had - 1, -1)
    unused[had : had + free] = state.unused[:free]
    state.progress[0] = had + free
    return state._replace(tuples=tuples, heap=heap, unused=unused)


@part
def release(state: State, number: int) -> None:
    """The row of a tuple that is handled or lost is free again."""
    state.unused[state.progress[0]] = number
    state.progress[0] += 1


@part
def free_row(state: State) -> int:
    """For a new tuple; there is one, as `advance_to` looks to."""
    state.progress[0] -= 1
    return int(state.unused[state.progress[0]])


@part
def enqueue(state: State, thread: int, number: int) -> None:
    """A tuple waits for its thread, or for the operator whose first thread that is."""
    queue = state.threads[thread]
    state.tuples[number].next = -1
    if queue.head < 0:
        queue.head = number
    else:
        state.tuples[queue.tail].next = number
    queue.tail = number


@part
def schedule(world: World, state: State, number: int, kind: int, time: float) -> None:
    """What happens to a tuple next, and when."""
    moved = state.tuples[number]
    moved.kind = kind
    rank = world.operators[world.threads[moved.thread].operator].rank
    push(
        state.heap, time, number, rank * 4 + kind, moved.order if kind >= ARRIVES else moved.thread
    )
