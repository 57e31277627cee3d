"""The kernel that does everything: one event after the other, in order of time.

A tuple is a record from the moment it is sent until it is handled, and is its own event: it
arrives at a node's link, at a thread's buffer, its service ends, its held-back sender tries again.
Loops, bounded buffers, links with a bandwidth and changes of plan are simulated here.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray

from slotwise.simulation.arrivals import Clocks, advance
from slotwise.simulation.draws import service_factor
from slotwise.simulation.heap import Heap, pop, push
from slotwise.simulation.measure import Tally, record_sent, record_travel, record_visit
from slotwise.simulation.routing import (
    SENDER_SHIFT,
    caused,
    copies,
    distance,
    first_key,
    leaving,
    passed_on,
    receiver,
    transfer_seconds,
)
from slotwise.simulation.world import World

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]

ENDS, RETRIES, ARRIVES, AT_LINK = range(4)
"""What happens to a record next; at one time and operator, in this order."""
DONE, PAUSED, FULL = range(3)
"""Why `advance_to` came back: no events left, the time was reached, no free records left."""


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


class Records(NamedTuple):
    root: Floats
    arrival: Floats
    """At the thread's buffer."""
    since: Floats
    """When it was sent; when its service began; when its sender was first held back."""
    key: Integers
    thread: Integers
    order: Integers
    """(sender + 1, number)."""
    kind: Integers
    next: Integers
    """The next one in the same queue."""
    free: Integers
    """A stack of unused records."""
    unused: Integers


class Threads(NamedTuple):
    head: Integers
    """First record waiting; of a shared queue: at the operator's first thread."""
    tail: Integers
    held: Integers
    """Tuples in the buffer, and where senders are held back those on their way."""
    serving: Integers
    free: Floats
    """When an idle thread became idle."""
    handled: Integers
    sent: Integers
    # How far a thread is with sending what its last tuple caused.
    out_entry: Integers
    """In world.streams; -1: it is not sending."""
    out_left: Integers
    out_copy: Integers
    granted: Integers
    """The thread in whose buffer a place is kept for this sender."""
    # Senders held back by a thread, first come first served.
    first_held: Integers
    last_held: Integers
    next_held: Integers
    link_out: Floats
    """Per node, when its link is free."""
    link_in: Floats
    standing: Integers
    """[0] is 1 while all threads stand still for a change of plan."""


def idle_threads(world: World, nodes: int) -> Threads:
    def none() -> Integers:
        return np.full(world.threads, -1, np.int64)

    def zeros() -> Integers:
        return np.zeros(world.threads, np.int64)

    return Threads(
        head=none(),
        tail=none(),
        held=zeros(),
        serving=none(),
        free=np.zeros(world.threads),
        handled=zeros(),
        sent=np.zeros(world.counters, np.int64),
        out_entry=none(),
        out_left=none(),
        out_copy=zeros(),
        granted=none(),
        first_held=none(),
        last_held=none(),
        next_held=none(),
        link_out=np.zeros(nodes),
        link_in=np.zeros(nodes),
        standing=np.zeros(1, np.int64),
    )


def room_for(count: int) -> tuple[Records, Heap]:
    floats = [np.zeros(count) for _ in range(3)]
    integers = [np.zeros(count, np.int64) for _ in range(5)]
    free = np.arange(count - 1, -1, -1)
    return Records(*floats, *integers, free, np.array([count])), Heap.room_for(count)


def grown(records: Records, heap: Heap) -> tuple[Records, Heap]:
    """Twice the room, the same content."""
    had = len(records.root)
    larger, larger_heap = room_for(2 * had)
    for mine, new in zip(records[:8], larger[:8], strict=True):
        new[:had] = mine
    unused = int(records.unused[0])
    larger.free[:had] = np.arange(2 * had - 1, had - 1, -1)
    larger.free[had : had + unused] = records.free[:unused]
    larger.unused[0] = had + unused
    for name in ("time", "event", "tie"):
        getattr(larger_heap, name)[:had] = getattr(heap, name)
    larger_heap.size[0] = heap.size[0]
    return larger, larger_heap


@njit(cache=True)
def schedule_sources(
    world: World, clocks: Clocks, records: Records, heap: Heap, end: float
) -> None:
    """The first arrival from outside of every source thread."""
    for thread in range(len(world.operator)):
        if clocks.next[thread] < end:
            _schedule_source(world, clocks, records, heap, thread)


@njit(cache=True)
def advance_to(
    world: World,
    limits: Limits,
    tally: Tally,
    clocks: Clocks,
    records: Records,
    heap: Heap,
    threads: Threads,
    until: float,
    end: float,
) -> int:
    """All events before `until`; sources emit until `end`."""
    while heap.size[0] > 0:
        now = heap.time[0]
        if now >= until:
            return PAUSED
        if records.unused[0] < limits.most_caused + 1:
            return FULL
        record = pop(heap)
        kind = records.kind[record]
        if kind == ENDS:
            thread = records.thread[record]
            record_visit(
                world,
                tally,
                world.operator[thread],
                thread,
                threads.handled[thread],
                records.root[record],
                records.arrival[record],
                records.since[record],
                now,
            )
            records.since[record] = now
            threads.out_entry[thread] = world.outputs[world.operator[thread]]
            _send_on(world, limits, tally, records, heap, threads, record, now)
        elif kind == ARRIVES:
            if records.order[record] >> SENDER_SHIFT == 0:
                thread = records.thread[record]
                advance(world.sources, clocks, world.key[thread], thread)
                if clocks.next[thread] < end:
                    _schedule_source(world, clocks, records, heap, thread)
            _arrive(world, limits, tally, records, heap, threads, record, now)
        elif kind == AT_LINK:
            node = world.node[records.thread[record]]
            threads.link_in[node] = max(now, threads.link_in[node]) + limits.link_s
            _schedule(world, records, heap, record, ARRIVES, threads.link_in[node])
        else:
            _send_on(world, limits, tally, records, heap, threads, record, now)
    return DONE


@njit(cache=True)
def resume(
    world: World, limits: Limits, records: Records, heap: Heap, threads: Threads, now: float
) -> None:
    """All threads start again after standing still."""
    threads.standing[0] = 0
    for thread in range(len(world.operator)):
        threads.free[thread] = now
    for thread in range(len(world.operator)):
        _take_next(world, limits, records, heap, threads, thread, now)


@njit(cache=True)
def _schedule_source(
    world: World, clocks: Clocks, records: Records, heap: Heap, thread: int
) -> None:
    record = _new(records)
    records.root[record] = clocks.next[thread]
    records.since[record] = clocks.next[thread]
    records.key[record] = first_key(world, thread, clocks.emitted[thread])
    records.thread[record] = thread
    records.order[record] = clocks.emitted[thread]
    _schedule(world, records, heap, record, ARRIVES, clocks.next[thread])


@njit(cache=True, inline="always")
def _new(records: Records) -> int:
    records.unused[0] -= 1
    return records.free[records.unused[0]]


@njit(cache=True, inline="always")
def release(records: Records, record: int) -> None:
    records.free[records.unused[0]] = record
    records.unused[0] += 1


@njit(cache=True)
def _schedule(
    world: World, records: Records, heap: Heap, record: int, kind: int, time: float
) -> None:
    thread = records.thread[record]
    records.kind[record] = kind
    heap.tie[record, 0] = world.rank[world.operator[thread]] * 4 + kind
    heap.tie[record, 1] = records.order[record] if kind >= ARRIVES else thread
    push(heap, time, record)


@njit(cache=True)
def _arrive(
    world: World,
    limits: Limits,
    tally: Tally,
    records: Records,
    heap: Heap,
    threads: Threads,
    record: int,
    now: float,
) -> None:
    """A tuple reaches its thread: into service, into the buffer, or lost."""
    thread = records.thread[record]
    operator = world.operator[thread]
    outside = records.order[record] >> SENDER_SHIFT == 0
    if limits.capacity > 0 and not limits.blocks and not world.source[operator]:
        busy = threads.serving[thread] >= 0 or threads.standing[0] > 0
        if busy and threads.held[thread] >= limits.capacity:
            _lose(world, limits, tally, records, heap, record, now)
            return
    if not outside:
        record_travel(tally, operator, records.root[record], now - records.since[record])
    if outside or not limits.blocks:
        threads.held[thread] += 1
    records.arrival[record] = now
    queue = world.first[operator] if world.shared else thread
    if threads.standing[0] == 0:
        if world.shared:
            thread = _idle(world, threads, operator)
        if thread >= 0 and threads.serving[thread] < 0 and threads.head[queue] < 0:
            _serve(world, limits, records, heap, threads, thread, record, now)
            return
    records.next[record] = -1
    if threads.head[queue] < 0:
        threads.head[queue] = record
    else:
        records.next[threads.tail[queue]] = record
    threads.tail[queue] = record


@njit(cache=True)
def _lose(
    world: World,
    limits: Limits,
    tally: Tally,
    records: Records,
    heap: Heap,
    record: int,
    now: float,
) -> None:
    operator = world.operator[records.thread[record]]
    counts = records.root[record] >= tally.warm_up
    if limits.resend_s > 0:
        tally.resent[operator] += counts
        _schedule(world, records, heap, record, ARRIVES, now + limits.resend_s)
    else:
        tally.lost[operator] += counts
        release(records, record)


@njit(cache=True)
def _idle(world: World, threads: Threads, operator: int) -> int:
    """The operator's thread that has been idle longest, of several the first; -1: none is."""
    best = -1
    for thread in range(world.first[operator], world.first[operator + 1]):
        if threads.serving[thread] < 0 and (
            best < 0 or threads.free[thread] < threads.free[best]
        ):
            best = thread
    return best


@njit(cache=True)
def _serve(
    world: World,
    limits: Limits,
    records: Records,
    heap: Heap,
    threads: Threads,
    thread: int,
    record: int,
    now: float,
) -> None:
    """The thread takes the tuple; its place in the buffer is free for a sender held back."""
    waited_at = records.thread[record]
    operator = world.operator[thread]
    records.thread[record] = thread
    records.since[record] = now
    threads.serving[thread] = record
    handled = threads.handled[thread]
    seconds = world.service_s[thread]
    if seconds > 0:
        samples = world.samples[world.first_sample[operator] : world.first_sample[operator + 1]]
        seconds *= service_factor(
            world.variation[operator], world.shape[operator], samples, world.key[thread], handled
        )
    if world.transfers:
        sender = (records.order[record] >> SENDER_SHIFT) - 1
        seconds += transfer_seconds(
            world, threads.sent, sender, thread, handled, records.key[record]
        )
    _schedule(world, records, heap, record, ENDS, now + seconds)
    sender = threads.first_held[waited_at]
    if sender < 0 or threads.held[waited_at] > limits.capacity:
        threads.held[waited_at] -= 1
        return
    threads.first_held[waited_at] = threads.next_held[sender]
    threads.granted[sender] = waited_at
    _schedule(world, records, heap, threads.serving[sender], RETRIES, now)


@njit(cache=True)
def _send_on(
    world: World,
    limits: Limits,
    tally: Tally,
    records: Records,
    heap: Heap,
    threads: Threads,
    record: int,
    now: float,
) -> None:
    """Send what the handled tuple causes; then, unless held back, take the next tuple."""
    thread = records.thread[record]
    if not send_outputs(world, limits, tally, records, heap, threads, record, now):
        return
    if records.root[record] >= tally.threads_from:
        tally.blocked[thread] += now - records.since[record]
    release(records, record)
    threads.handled[thread] += 1
    threads.serving[thread] = -1
    threads.free[thread] = now
    _take_next(world, limits, records, heap, threads, thread, now)


@njit(cache=True)
def _take_next(
    world: World,
    limits: Limits,
    records: Records,
    heap: Heap,
    threads: Threads,
    thread: int,
    now: float,
) -> None:
    queue = world.first[world.operator[thread]] if world.shared else thread
    record = threads.head[queue]
    if record >= 0 and threads.standing[0] == 0:
        threads.head[queue] = records.next[record]
        _serve(world, limits, records, heap, threads, thread, record, now)


@njit(cache=True)
def send_outputs(
    world: World,
    limits: Limits,
    tally: Tally,
    records: Records,
    heap: Heap,
    threads: Threads,
    record: int,
    now: float,
) -> bool:
    """Go on sending where the thread stopped; False if it is held back again."""
    thread = records.thread[record]
    operator = world.operator[thread]
    handled = threads.handled[thread]
    key = passed_on(world, thread, handled, records.key[record])
    while threads.out_entry[thread] < world.outputs[operator + 1]:
        stream = world.streams[threads.out_entry[thread]]
        counter = world.counter[stream] + thread - world.first[operator]
        if threads.out_left[thread] < 0:
            threads.out_left[thread] = caused(world, stream, thread, handled)
        while threads.out_left[thread] > 0:
            while threads.out_copy[thread] < copies(world, stream):
                goes_to = receiver(
                    world, stream, thread, threads.sent[counter], threads.out_copy[thread], key
                )
                if limits.blocks and not _place_taken(limits, threads, thread, goes_to):
                    return False
                _send(
                    world, limits, tally, records, heap, threads, stream, record, goes_to, key, now
                )
                threads.out_copy[thread] += 1
            threads.out_copy[thread] = 0
            threads.sent[counter] += 1
            threads.out_left[thread] -= 1
        threads.out_left[thread] = -1
        threads.out_entry[thread] += 1
    threads.out_entry[thread] = -1
    return True


@njit(cache=True)
def _place_taken(limits: Limits, threads: Threads, thread: int, goes_to: int) -> bool:
    """Take a place in the receiver's buffer; if there is none, queue up for it."""
    if threads.granted[thread] == goes_to:
        threads.granted[thread] = -1
        return True
    if limits.capacity == 0 or threads.held[goes_to] < limits.capacity:
        threads.held[goes_to] += 1
        return True
    threads.next_held[thread] = -1
    if threads.first_held[goes_to] < 0:
        threads.first_held[goes_to] = thread
    else:
        threads.next_held[threads.last_held[goes_to]] = thread
    threads.last_held[goes_to] = thread
    return False


@njit(cache=True)
def _send(
    world: World,
    limits: Limits,
    tally: Tally,
    records: Records,
    heap: Heap,
    threads: Threads,
    stream: int,
    parent: int,
    goes_to: int,
    key: int,
    now: float,
) -> None:
    thread = records.thread[parent]
    operator = world.operator[thread]
    record = _new(records)
    records.root[record] = records.root[parent]
    # From the end of service on, so that being held back counts as time on the way.
    records.since[record] = records.since[parent]
    records.key[record] = key
    records.thread[record] = goes_to
    number = threads.sent[world.counter[stream] + thread - world.first[operator]]
    records.order[record] = ((thread + 1) << SENDER_SHIFT) + number
    far = distance(world, thread, goes_to)
    record_sent(world, tally, stream, thread, goes_to, records.root[parent], far)
    leaves = leaving(world, stream, thread, goes_to, now)
    if limits.link_s > 0 and far > 1:
        node = world.node[thread]
        threads.link_out[node] = max(leaves, threads.link_out[node]) + limits.link_s
        arrives = threads.link_out[node] + world.delays_s[far]
        _schedule(world, records, heap, record, AT_LINK, arrives)
    else:
        _schedule(world, records, heap, record, ARRIVES, leaves + world.delays_s[far])
