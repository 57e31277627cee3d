"""What is under way in the event kernel: tuples, the queues they wait in, and their next events."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from slotwise.simulation.kernels.heap import Heap, push
from slotwise.simulation.kernels.jit import part
from slotwise.simulation.kernels.world import Table, World, counters, outboxes

ENDS, RETRIES, ARRIVES, AT_LINK, LEAVES, TURN = range(6)
"""What happens to a tuple next; at one time and operator, in this order. LEAVES: it is sent again,
or by another plan than when it got ready; TURN: it is the first of its outbox."""
KINDS = 8
"""Their number, rounded up to a power of two."""

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
        ("granted_node", "i8"),  # the node, likewise
        # Senders that it holds back, first come first served.
        ("first_held", "i8"),
        ("last_held", "i8"),
        ("next_held", "i8"),  # after this sender, in whatever line it is
    ]
)
_NODE = np.dtype(
    [
        ("held", "i8"),  # where senders are held back: tuples on the way and in the receive buffer
        ("first_held", "i8"),  # senders that it holds back
        ("last_held", "i8"),
    ]
)
_OUTBOX = np.dtype([("head", "i8"), ("tail", "i8")])
_QUEUE = np.dtype(
    [
        ("arrived", "i8"),  # tuples so far, also those that did not wait
        ("length", "i8"),  # tuples waiting now
        # Times at which tuples left the queue, less those at which they joined it: with `length`
        # times the present time, the tuple-seconds waited so far.
        ("waited", "f8"),
    ]
)


class Limits(NamedTuple):
    """The options the kernel looks at."""

    capacity: int
    """Of threads' buffers; 0: unbounded."""
    node_capacity: int
    """Of nodes' receive buffers, likewise."""
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
    queues: Table
    """Per operator, the tuples that wait for its threads, all together."""
    sent: NDArray[np.int64]
    """Per stream and sender, tuples sent so far (stream.counter)."""
    links: NDArray[np.float64]
    """[0, node]: when its link out is free, [1, node]: its link in."""
    nodes: Table
    outboxes: Table
    """[node, time slot of the round, stage]: tuples that wait for it (paper 4); empty: no steps."""
    progress: NDArray[np.int64]
    """[0] free rows; [1] 1 while all threads stand still for a change of plan."""


def empty_state(world: World, nodes: int, clocks: Table, rows: int) -> State:
    threads = np.zeros(len(world.threads), _THREAD)
    for name in ("serving", "head", "tail", "output", "left", "granted", "first_held"):
        threads[name] = -1
    threads["granted_node"] = -1
    receiving = np.zeros(nodes, _NODE)
    receiving["first_held"] = -1
    sending = np.zeros(outboxes(world), _OUTBOX)
    sending["head"] = -1
    return State(
        tuples=np.zeros(rows, _TUPLE),
        unused=np.arange(rows - 1, -1, -1),
        heap=Heap.room_for(rows),
        clocks=clocks,
        threads=threads,
        queues=np.zeros(len(world.operators), _QUEUE),
        sent=np.zeros(counters(world), np.int64),
        links=np.zeros((2, nodes)),
        nodes=receiving,
        outboxes=sending,
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
def joined(state: State, operator: int, now: float) -> None:
    """A tuple begins to wait for the operator."""
    queue = state.queues[operator]
    queue.length += 1
    queue.waited -= now


@part
def left(state: State, operator: int, now: float) -> None:
    """A tuple that waited for the operator is taken."""
    queue = state.queues[operator]
    queue.length -= 1
    queue.waited += now


@part
def schedule(world: World, state: State, number: int, kind: int, time: float) -> None:
    """What happens to a tuple next, and when."""
    moved = state.tuples[number]
    moved.kind = kind
    rank = world.operators[world.threads[moved.thread].operator].rank
    order = moved.order if kind >= ARRIVES else moved.thread
    push(state.heap, time, number, rank * KINDS + kind, order, moved.thread)
