"""The fast kernel: no events; each operator's tuples as arrays, operator by operator.

Time is cut into chunks. In a chunk, operators are visited in topological order. What reaches an
operator before the chunk's end is then all known: its senders have handled all *their* arrivals
before that end, and whatever they handle later arrives later. So its arrivals are put in order,
(time, sender, number), and each thread's queue is the recursion

    start = max(arrival, end of the tuple before),   end = start + service time.

What it sends is appended to the receiving operators' inboxes; what arrives after the chunk's end
waits there for the next one. Memory is what one chunk holds, and what is under way.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from slotwise.simulation.kernels import inboxes
from slotwise.simulation.kernels.arrivals import advance, clocks_at
from slotwise.simulation.kernels.draws import service_factor
from slotwise.simulation.kernels.inboxes import (
    Inboxes,
    Integers,
    append,
    has_room_for_outputs,
    in_order,
    keep_rest,
    sort,
)
from slotwise.simulation.kernels.jit import kernel, part
from slotwise.simulation.kernels.measure import Tally, record_sent, record_travel, record_visit
from slotwise.simulation.kernels.routing import (
    SENDER_SHIFT,
    Row,
    caused,
    distance,
    first_key,
    leaving,
    outside_order,
    passed_on,
    receiver,
    transfer_seconds,
    travel_s,
)
from slotwise.simulation.kernels.world import Table, World, counters

CHUNK_VISITS = 1 << 12
"""Visits per operator in a chunk: its arrays stay in the processor's cache."""
MOST_CHUNK_VISITS = 1 << 20
"""Visits of all operators together in a chunk."""
DONE, FULL = range(2)
"""Why `advance_chunks` came back: all is handled, or there is too little room to go on."""

_THREAD = np.dtype([("free", "f8"), ("handled", "i8")])


class State(NamedTuple):
    """All that changes from chunk to chunk, the tally excepted."""

    inboxes: Inboxes
    clocks: Table
    threads: Table
    """When each is free, and how many tuples it handled."""
    sent: Integers
    """Per stream and sender, tuples sent so far (stream.counter)."""
    times: NDArray[np.float64]
    """[0] when the chunk begins and [1] ends, [2] when sources stop."""
    done: Integers
    """[0] operators done in the chunk."""


def run(
    world: World,
    tally: Tally,
    order: tuple[int, ...],
    rates: NDArray[np.float64],
    most_under_way: int,
) -> float:
    """Fills `tally`; returns when the sources stopped, early if too many tuples were under way.

    `order` is the operators' topological order, `rates` the tuples/s that reach each in the mean.
    """
    chunk_s = min(CHUNK_VISITS * len(order), MOST_CHUNK_VISITS) / float(rates.sum())
    rooms = inboxes.rooms_for(world, rates * chunk_s)
    state = _state(world, inboxes.empty(rooms, keyed=len(world.key_shares) > 0))
    state.times[:] = 0.0, chunk_s, tally.end
    positions = np.array(order, dtype=np.int64)
    while advance_chunks(world, tally, state, positions, most_under_way) == FULL:
        state = state._replace(inboxes=inboxes.grown(state.inboxes))
    return float(state.times[2])


def _state(world: World, empty: Inboxes) -> State:
    return State(
        inboxes=empty,
        clocks=clocks_at(world.sources, world.threads["key"], 0.0),
        threads=np.zeros(len(world.threads), _THREAD),
        sent=np.zeros(counters(world), np.int64),
        times=np.zeros(3),
        done=np.zeros(1, np.int64),
    )


@kernel
def advance_chunks(
    world: World, tally: Tally, state: State, order: Integers, most_under_way: int
) -> int:
    """Chunk after chunk, going on where it stopped, until nothing is under way."""
    times = state.times
    while True:
        while state.done[0] < len(order):
            if not _advance_operator(world, tally, state, order[state.done[0]]):
                return FULL
            state.done[0] += 1
        state.done[0] = 0
        under_way = 0
        for operator in range(len(order)):
            under_way += state.inboxes.of[operator].count
        if under_way > most_under_way:
            times[2] = min(times[1], times[2])
        emitting = times[1] < times[2]
        if under_way == 0 and not emitting:
            return DONE
        length = times[1] - times[0]
        times[0] = times[1]
        # After the sources, ever longer chunks: a long queue is not looked through too often.
        times[1] += length if emitting else 2 * length


@part
def _advance_operator(world: World, tally: Tally, state: State, operator: int) -> bool:
    """All that reaches the operator in the chunk; False: there is no room for it, try again."""
    own, inbox = world.operators[operator], state.inboxes.of[operator]
    if own.source and not emit(world, state, own, operator, min(state.times[1], state.times[2])):
        return False
    count = inbox.count
    if not in_order(state.inboxes, inbox, state.times[1]):
        count = sort(state.inboxes, inbox, state.times[0], state.times[1])
    if not has_room_for_outputs(state.inboxes, world, own, count):
        return False
    handle(world, tally, state, operator, count)
    keep_rest(state.inboxes, inbox, state.times[1])
    return True


@kernel
def emit(world: World, state: State, own: Row, operator: int, until: float) -> bool:
    """All arrivals from outside before `until`; False: there is no room for them all."""
    inbox = state.inboxes.of[operator]
    for thread in range(own.first, own.last):
        key = world.threads[thread].key
        while state.clocks[thread].next < until:
            if inbox.count == inbox.room:
                inbox.wanted = inbox.room + 1
                return False
            clock = state.clocks[thread]
            number = append(state.inboxes, inbox, clock.next)
            new = state.inboxes.tuples[number]
            new.root = clock.next
            new.order = outside_order(clock.emitted, thread - own.first, own.last - own.first)
            new.thread = thread
            if len(state.inboxes.keys):
                state.inboxes.keys[number] = first_key(world.key_shares, key, clock.emitted)
            advance(world.sources, state.clocks, key, thread)
    return True


@kernel
def handle(world: World, tally: Tally, state: State, operator: int, count: int) -> None:
    """The recursion for every tuple that is ready, and what it sends on."""
    own = world.operators[operator]
    samples = world.samples[own.first_sample : own.last_sample]
    for i in range(count):
        number = state.inboxes.ready[i].number
        taken = state.inboxes.tuples[number]
        if world.shared:
            taken.thread = _longest_free(state.threads, own.first, own.last)
        thread = taken.thread
        server, handled = state.threads[thread], state.threads[thread].handled
        seconds = world.threads[thread].service_s
        if seconds > 0:
            seconds *= service_factor(
                own.variation, own.shape, samples, world.threads[thread].key, handled
            )
        if world.transfers:
            sender = (taken.order >> SENDER_SHIFT) - 1
            key = state.inboxes.keys[number] if len(state.inboxes.keys) else 0
            seconds += transfer_seconds(world, state.sent, sender, thread, handled, key)
        start = max(taken.time, server.free)
        end = start + seconds
        server.free = end
        server.handled = handled + 1
        root = taken.root
        record_visit(tally, operator, own, thread, handled, root, taken.time, start, end)
        key = (
            passed_on(world, thread, handled, state.inboxes.keys[number])
            if len(state.inboxes.keys)
            else 0
        )
        for output in range(own.first_output, own.last_output):
            _send(world, tally, state, world.streams[output], thread, handled, root, key, end)


@part
def _longest_free(threads: Table, first: int, last: int) -> int:
    """The thread that is, or will be, free first; of several the first."""
    best = first
    for thread in range(first + 1, last):
        if threads[thread].free < threads[best].free:
            best = thread
    return best


@part
def _send(
    world: World,
    tally: Tally,
    state: State,
    stream: Row,
    thread: int,
    handled: int,
    root: float,
    key: int,
    end: float,
) -> None:
    """What a handled tuple puts on the stream, into the receiving operator's inbox."""
    sender = world.threads[thread]
    counter = stream.counter + sender.place
    for _ in range(caused(stream, sender, handled, world.random_selectivity)):
        sent = state.sent[counter]
        state.sent[counter] = sent + 1
        for copy in range(stream.copies):
            goes_to = receiver(world, stream, sender, sent, copy, key)
            far = distance(sender, world.threads[goes_to])
            leaves = end
            if world.round_steps > 0:
                leaves = leaving(world, sender, world.threads[goes_to], end)
            arrives = leaves + travel_s(world, stream.number, sender, world.threads[goes_to])
            number = append(state.inboxes, state.inboxes.of[stream.target], arrives)
            new = state.inboxes.tuples[number]
            new.root = root
            new.order = ((thread + 1) << SENDER_SHIFT) + sent
            new.thread = goes_to
            if len(state.inboxes.keys):
                state.inboxes.keys[number] = key
            record_sent(tally, stream, sender.place, goes_to, root, far)
            record_travel(tally, stream.target, root, arrives - end)
