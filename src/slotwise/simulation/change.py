"""A run of the event kernel from start to end, and what a change of plan does to it."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray

from slotwise.simulation.arrivals import Clocks, clocks_at
from slotwise.simulation.events import (
    ARRIVES,
    ENDS,
    FULL,
    Limits,
    Records,
    Threads,
    advance_to,
    grown,
    idle_threads,
    release,
    resume,
    room_for,
    schedule_sources,
    send_outputs,
)
from slotwise.simulation.heap import Heap, push
from slotwise.simulation.measure import Tally
from slotwise.simulation.routing import SENDER_SHIFT
from slotwise.simulation.world import World

Integers = NDArray[np.int64]

_SENT = -2
"""out_entry of a thread whose tuple is handled and sent on, and no longer belongs to it."""


class Part(NamedTuple):
    """A stretch of the run under one plan."""

    world: World
    limits: Limits
    nodes: int
    start_s: float
    pause_s: float


class Outcome(NamedTuple):
    tally: Tally
    """Of the last part; figures that are not per thread are of the whole run."""
    end_s: float
    """When the sources stopped: earlier than asked if too many tuples were under way."""
    stuck: int
    """Tuples that can never move again: threads of a loop hold each other back."""


class _Run:
    """The event kernel's state, and the room it needs."""

    def __init__(self, parts: tuple[Part, ...], tally: Tally, most_under_way: int) -> None:
        self.parts, self.tally, self.most_under_way = parts, tally, most_under_way
        self.end_s = tally.end
        first = parts[0]
        self.records, self.heap = room_for(_room(first))
        self._enter(first)

    def _enter(self, part: Part) -> None:
        self.part = part
        self.threads = idle_threads(part.world, part.nodes)
        self.clocks = clocks_at(part.world.sources, part.world.key, part.start_s)

    def start(self) -> None:
        self._make_room(self.part)
        schedule_sources(self.part.world, self.clocks, self.records, self.heap, self.end_s)

    def until(self, time_s: float) -> None:
        """All events before `time_s`."""
        while True:
            why = advance_to(
                self.part.world,
                self.part.limits,
                self.tally,
                self.clocks,
                self.records,
                self.heap,
                self.threads,
                time_s,
                self.end_s,
            )
            if why != FULL:
                return
            if len(self.records.root) > self.most_under_way and self.heap.size[0]:
                self.end_s = min(self.end_s, float(self.heap.time[0]))
            self.records, self.heap = grown(self.records, self.heap)

    def change(self, part: Part) -> None:
        """Every tuple moves to the new plan's threads, which stand still for the pause."""
        old, old_threads = self.part, self.threads
        self._make_room(old)
        state = self.records, self.heap
        send_all_held(old.world, old.limits, self.tally, *state, old_threads, part.start_s)
        self._enter(part)
        move(old.world, part.world, part.limits.blocks, *state, old_threads, self.threads)
        threads = part.world.threads
        self.tally = self.tally._replace(
            threads_from=max(self.tally.warm_up, part.start_s),
            handled=np.zeros(threads, np.int64),
            busy=np.zeros(threads),
            blocked=np.zeros(threads),
            distances=np.zeros(4, np.int64),
            pairs=np.zeros(part.world.pairs, np.int64),
        )
        self.threads.standing[0] = 1
        self.start()
        resumes_s = part.start_s + part.pause_s
        self.until(resumes_s)
        resume(part.world, part.limits, self.records, self.heap, self.threads, resumes_s)

    def _make_room(self, part: Part) -> None:
        while self.records.unused[0] < _room(part):
            self.records, self.heap = grown(self.records, self.heap)

    def stuck(self) -> int:
        return len(self.records.root) - int(self.records.unused[0])


def run(parts: tuple[Part, ...], tally: Tally, most_under_way: int) -> Outcome:
    """Fills `tally`, part after part, and then until nothing is under way."""
    running = _Run(parts, tally, most_under_way)
    running.start()
    for part in parts[1:]:
        running.until(part.start_s)
        running.change(part)
    running.until(np.inf)
    return Outcome(running.tally, running.end_s, running.stuck())


def _room(part: Part) -> int:
    """Records enough for all sources' next tuples and all that is held back at once."""
    return 1024 + part.world.threads * (part.limits.most_caused + 2)


@njit(cache=True)
def send_all_held(
    world: World,
    limits: Limits,
    tally: Tally,
    records: Records,
    heap: Heap,
    threads: Threads,
    now: float,
) -> None:
    """What senders held back goes out now, whatever the buffers hold; they are marked _SENT."""
    unbounded = Limits(0, limits.blocks, limits.resend_s, limits.link_s, limits.most_caused)
    for thread in range(len(world.operator)):
        if threads.out_entry[thread] >= 0:
            record = threads.serving[thread]
            send_outputs(world, unbounded, tally, records, heap, threads, record, now)
            if records.root[record] >= tally.threads_from:
                tally.blocked[thread] += now - records.since[record]
            threads.out_entry[thread] = _SENT


@njit(cache=True)
def _moved(old: World, new: World, thread: int) -> int:
    operator = old.operator[thread]
    place = thread - old.first[operator]
    return new.first[operator] + place % (new.first[operator + 1] - new.first[operator])


@njit(cache=True)
def move(
    old: World,
    new: World,
    blocks: bool,
    records: Records,
    heap: Heap,
    was: Threads,
    now: Threads,
) -> None:
    """Waiting tuples, those in service first, into the new threads' queues; those on their way to
    their new threads; arrivals from outside that were to come are forgotten: the clocks are new.
    """
    for thread in range(len(old.operator)):
        if was.serving[thread] >= 0 and was.out_entry[thread] != _SENT:
            _append(old, new, records, now, thread, was.serving[thread])
        record = was.head[thread]
        while record >= 0:
            following = records.next[record]
            _append(old, new, records, now, thread, record)
            record = following
    events = heap.size[0]
    times, under_way = heap.time[:events].copy(), heap.event[:events].copy()
    heap.size[0] = 0
    for i in range(events):
        record = under_way[i]
        if records.kind[record] < ARRIVES:
            continue
        if records.order[record] >> SENDER_SHIFT == 0:
            release(records, record)
            continue
        _rename(old, new, records, record)
        thread = records.thread[record]
        heap.tie[record, 0] = new.rank[new.operator[thread]] * 4 + records.kind[record]
        heap.tie[record, 1] = records.order[record]
        push(heap, times[i], record)
        now.held[thread] += blocks
    for thread in range(len(old.operator)):
        if was.out_entry[thread] == _SENT:
            release(records, was.serving[thread])


@njit(cache=True)
def _rename(old: World, new: World, records: Records, record: int) -> None:
    """The record's thread and sender by their new numbers."""
    records.thread[record] = _moved(old, new, records.thread[record])
    sender = (records.order[record] >> SENDER_SHIFT) - 1
    if sender >= 0:
        number = records.order[record] & ((1 << SENDER_SHIFT) - 1)
        records.order[record] = ((_moved(old, new, sender) + 1) << SENDER_SHIFT) + number


@njit(cache=True)
def _append(
    old: World, new: World, records: Records, now: Threads, thread: int, record: int
) -> None:
    _rename(old, new, records, record)
    moved = _moved(old, new, thread)
    queue = new.first[new.operator[moved]] if new.shared else moved
    records.kind[record] = ENDS
    records.next[record] = -1
    if now.head[queue] < 0:
        now.head[queue] = record
    else:
        records.next[now.tail[queue]] = record
    now.tail[queue] = record
    now.held[moved] += 1
