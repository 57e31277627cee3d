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

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from slotwise.simulation.arrivals import advance, clocks_at
from slotwise.simulation.draws import service_factor
from slotwise.simulation.kernel import kernel, part
from slotwise.simulation.measure import Tally, record_sent, record_travel, record_visit
from slotwise.simulation.routing import (
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
)
from slotwise.simulation.world import Table, World, counters

Integers = NDArray[np.int64]

CHUNK_VISITS = 1 << 12
"""Visits per operator in a chunk: its arrays stay in the processor's cache."""
MOST_CHUNK_VISITS = 1 << 20
"""Visits of all operators together in a chunk."""
MUCH_ROOM = 1 << 22
"""Rows that inboxes may have in all before only those grow that must."""
FEW = 24
"""So many tuples are sorted by insertion, more by merging."""
DONE, FULL = range(2)
"""Why `advance_chunks` came back: all is handled, or there is too little room to go on."""

_TUPLE = np.dtype(
    [
        ("time", "f8"),  # when it reaches its thread
        ("root", "f8"),
        ("order", "i8"),  # (sender + 1, number), for ties in time
        ("thread", "i8"),
    ]
)
_INBOX = np.dtype(
    [
        ("first", "i8"),  # its first row
        ("room", "i8"),
        ("wanted", "i8"),  # the room without which there is no going on
        ("count", "i8"),
        ("latest", "f8"),  # time of any of its tuples
    ]
)
_ENTRY = np.dtype([("time", "f8"), ("number", "i8")])
_THREAD = np.dtype([("free", "f8"), ("handled", "i8")])


class State(NamedTuple):
    """All that changes from chunk to chunk, the tally excepted; and scratch space."""

    tuples: Table
    """Tuples on their way, each operator's in its inbox."""
    keys: Integers
    """Of each of `tuples`; empty: no stream looks at them."""
    inboxes: Table
    clocks: Table
    threads: Table
    """When each is free, and how many tuples it handled."""
    sent: Integers
    """Per stream and sender, tuples sent so far (stream.counter)."""
    times: NDArray[np.float64]
    """[0] when the chunk begins and [1] ends, [2] when sources stop."""
    done: Integers
    """[0] operators done in the chunk."""
    ready: Table
    """What one operator handles in one chunk, in order: times, and rows of `tuples`."""
    unsorted: Table
    starts: Integers


def run(
    world: World,
    tally: Tally,
    order: tuple[int, ...],
    rates: NDArray[np.float64],
    most_under_way: int,
) -> float:
    """Fills `tally`; tells when the sources stopped, early if too many tuples were under way.

    `order` is the operators' topological order, `rates` the tuples/s that reach each in the mean.
    """
    chunk_s = min(CHUNK_VISITS * len(order), MOST_CHUNK_VISITS) / float(rates.sum())
    state = _state(world, _rooms(world, rates * chunk_s))
    state.times[:] = 0.0, chunk_s, tally.end
    positions = np.array(order, dtype=np.int64)
    while advance_chunks(world, tally, state, positions, most_under_way) == FULL:
        state = _grown(state)
    return float(state.times[2])


def _rooms(world: World, expected: NDArray[np.float64]) -> Integers:
    """Rows per operator for chunks of so many tuples each in the mean: for the most they can
    cause (`_room_for_outputs`); that Poisson arrivals need more is seldom.
    """
    streams = world.streams
    most = expected[streams["source"]] * np.ceil(streams["selectivity"]) * streams["copies"]
    coming = np.bincount(streams["target"], most, len(expected))
    rows = np.maximum(expected, coming)
    return np.asarray(np.ceil(1.2 * rows + 6 * np.sqrt(rows) + 16), dtype=np.int64)


def _state(world: World, rooms: Integers) -> State:
    inboxes = np.zeros(len(world.operators), _INBOX)
    inboxes["room"] = rooms
    inboxes["first"] = np.cumsum(rooms) - rooms
    keyed = len(world.key_shares) > 0
    return State(
        tuples=np.zeros(rooms.sum(), _TUPLE),
        keys=np.zeros(rooms.sum() if keyed else 0, np.int64),
        inboxes=inboxes,
        clocks=clocks_at(world.sources, world.threads["key"], 0.0),
        threads=np.zeros(len(world.threads), _THREAD),
        sent=np.zeros(counters(world), np.int64),
        times=np.zeros(3),
        done=np.zeros(1, np.int64),
        **_scratch(int(rooms.max())),
    )


def _scratch(rows: int) -> dict[str, NDArray[Any]]:
    return {
        "ready": np.zeros(rows, _ENTRY),
        "unsorted": np.zeros(rows, _ENTRY),
        "starts": np.zeros(rows + 1, np.int64),
    }


def _grown(state: State) -> State:
    """The inboxes that want more room get at least twice what they had; the others half as much
    again, since what one lacks others soon will, unless that takes much memory.
    """
    inboxes = state.inboxes.copy()
    room, wanted = inboxes["room"], inboxes["wanted"]
    others = room + room // 2 if room.sum() < MUCH_ROOM else room
    inboxes["room"] = np.where(wanted > room, np.maximum(wanted, 2 * room), others)
    inboxes["first"] = np.cumsum(inboxes["room"]) - inboxes["room"]
    tuples = np.zeros(inboxes["room"].sum(), _TUPLE)
    keys = np.zeros(len(tuples) if len(state.keys) else 0, np.int64)
    for old, new in zip(state.inboxes, inboxes, strict=True):
        was = slice(old["first"], old["first"] + old["count"])
        now = slice(new["first"], new["first"] + new["count"])
        tuples[now] = state.tuples[was]
        if len(keys):
            keys[now] = state.keys[was]
    scratch = _scratch(int(inboxes["room"].max()))
    return state._replace(tuples=tuples, keys=keys, inboxes=inboxes, **scratch)


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
            under_way += state.inboxes[operator].count
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
    own, inbox = world.operators[operator], state.inboxes[operator]
    if own.source and not emit(world, state, own, operator, min(state.times[1], state.times[2])):
        return False
    count = inbox.count
    if not _in_order(state, inbox, state.times[1]):
        count = _sort(state, inbox, state.times[0], state.times[1])
    if not _room_for_outputs(world, state, own, count):
        return False
    handle(world, tally, state, operator, count)
    _keep_rest(state, inbox, state.times[1])
    return True


@part
def _append(state: State, inbox: Row, time: float) -> int:
    """A new row at the end of the inbox, for a tuple that arrives at `time`."""
    number = inbox.first + inbox.count
    inbox.count += 1
    inbox.latest = max(inbox.latest, time)
    state.tuples[number].time = time
    return int(number)


@kernel
def emit(world: World, state: State, own: Row, operator: int, until: float) -> bool:
    """All arrivals from outside before `until`; False: there is no room for them all."""
    inbox = state.inboxes[operator]
    for thread in range(own.first, own.last):
        key = world.threads[thread].key
        while state.clocks[thread].next < until:
            if inbox.count == inbox.room:
                inbox.wanted = inbox.room + 1
                return False
            clock = state.clocks[thread]
            number = _append(state, inbox, clock.next)
            new = state.tuples[number]
            new.root = clock.next
            new.order = outside_order(clock.emitted, thread - own.first, own.last - own.first)
            new.thread = thread
            if len(state.keys):
                state.keys[number] = first_key(world.key_shares, key, clock.emitted)
            advance(world.sources, state.clocks, key, thread)
    return True


@kernel
def _room_for_outputs(world: World, state: State, own: Row, count: int) -> bool:
    """Is there room for the most that `count` tuples can cause?"""
    enough = True
    for output in range(own.first_output, own.last_output):
        stream = world.streams[output]
        inbox = state.inboxes[stream.target]
        inbox.wanted = inbox.count + count * int(np.ceil(stream.selectivity)) * stream.copies
        enough = enough and inbox.wanted <= inbox.room
    return enough


@kernel
def _in_order(state: State, inbox: Row, until: float) -> bool:
    """All into `ready`; False, mostly soon: some come after `until`, or not after those before."""
    before = -np.inf
    for i in range(inbox.count):
        time = state.tuples[inbox.first + i].time
        if time <= before or time >= until:
            return False
        state.ready[i].time = before = time
        state.ready[i].number = inbox.first + i
    return True


@kernel
def _keep_rest(state: State, inbox: Row, until: float) -> None:
    """Takes what arrives before `until` out of the inbox."""
    kept, latest = 0, -np.inf
    if inbox.latest >= until:
        for number in range(inbox.first, inbox.first + inbox.count):
            if state.tuples[number].time >= until:
                latest = max(latest, state.tuples[number].time)
                state.tuples[inbox.first + kept] = state.tuples[number]
                if len(state.keys):
                    state.keys[inbox.first + kept] = state.keys[number]
                kept += 1
    inbox.count = kept
    inbox.latest = latest


@kernel
def _sort(state: State, inbox: Row, since: float, until: float) -> int:
    """What arrives from `since` to `until` into `ready`, by (time, order); tells how many. A bucket
    sort, linear in the mean: there are as many buckets as tuples, evenly over that time.
    """
    ready, starts, buckets = state.ready, state.starts, inbox.count
    latest = min(until, inbox.latest)
    scale = 0.0 if latest <= since else (buckets - 0.5) / (latest - since)
    starts[: buckets + 1] = 0
    for number in range(inbox.first, inbox.first + buckets):
        time = state.tuples[number].time
        if time < until:
            starts[int((time - since) * scale) + 1] += 1
    fullest = 0
    for b in range(buckets):
        fullest = max(fullest, starts[b + 1])
        starts[b + 1] += starts[b]
    count = starts[buckets]
    for number in range(inbox.first, inbox.first + buckets):
        time = state.tuples[number].time
        if time < until:
            bucket = int((time - since) * scale)
            place = starts[bucket]
            starts[bucket] = place + 1
            ready[place].time, ready[place].number = time, number
    if fullest <= FEW:
        _sort_nearly(state, 0, count)
    begin = 0
    for b in range(buckets if fullest > FEW else 0):
        if starts[b] - begin > 1:
            _sort_bucket(state, begin, starts[b])
        begin = starts[b]
    return int(count)


@part
def _later(state: State, one: Row, other: Row) -> bool:
    if one.time != other.time:
        return bool(one.time > other.time)
    return bool(state.tuples[one.number].order > state.tuples[other.number].order)


@part
def _sort_nearly(state: State, begin: int, end: int) -> None:
    """By insertion, for what is nearly in order, or for a few."""
    ready, moved = state.ready, state.unsorted[0]
    for i in range(begin + 1, end):
        if _later(state, ready[i - 1], ready[i]):
            moved.time, moved.number = ready[i].time, ready[i].number
            at = i
            while at > begin and _later(state, ready[at - 1], moved):
                ready[at] = ready[at - 1]
                at -= 1
            ready[at] = moved


@kernel
def _sort_bucket(state: State, begin: int, end: int) -> None:
    """Stretches of FEW by insertion, then merged two by two."""
    for first in range(begin, end, FEW):
        _sort_nearly(state, first, min(first + FEW, end))
    length = FEW
    while length < end - begin:
        for first in range(begin, end - length, 2 * length):
            _merge(state, first, first + length, min(first + 2 * length, end))
        length *= 2


@kernel
def _merge(state: State, first: int, middle: int, end: int) -> None:
    """Two sorted stretches of `ready` into one."""
    ready, aside = state.ready, state.unsorted
    for i in range(first, middle):
        aside[i - first] = ready[i]
    left, right, to = 0, middle, first
    while left < middle - first:
        if right < end and _later(state, aside[left], ready[right]):
            ready[to] = ready[right]
            right += 1
        else:
            ready[to] = aside[left]
            left += 1
        to += 1


@kernel
def handle(world: World, tally: Tally, state: State, operator: int, count: int) -> None:
    """The recursion for every tuple that is ready, and what it sends on."""
    own = world.operators[operator]
    samples = world.samples[own.first_sample : own.last_sample]
    for i in range(count):
        number = state.ready[i].number
        taken = state.tuples[number]
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
            key = state.keys[number] if len(state.keys) else 0
            seconds += transfer_seconds(world, state.sent, sender, thread, handled, key)
        start = max(taken.time, server.free)
        end = start + seconds
        server.free = end
        server.handled = handled + 1
        root = taken.root
        record_visit(tally, operator, own, thread, handled, root, taken.time, start, end)
        key = passed_on(world, thread, handled, state.keys[number]) if len(state.keys) else 0
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
                leaves = leaving(world, stream.stage, sender, world.threads[goes_to], end)
            arrives = leaves + world.delays_s[far]
            number = _append(state, state.inboxes[stream.target], arrives)
            new = state.tuples[number]
            new.root = root
            new.order = ((thread + 1) << SENDER_SHIFT) + sent
            new.thread = goes_to
            if len(state.keys):
                state.keys[number] = key
            record_sent(tally, stream, sender.place, goes_to, root, far)
            record_travel(tally, stream.target, root, arrives - end)
