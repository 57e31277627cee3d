"""The fast kernel: no events; each operator's tuples as arrays, operator by operator.

Time is cut into chunks. In a chunk, operators are visited in topological order. What reaches an
operator before the chunk's end is then all known: its senders have handled all *their* arrivals
before that end, and whatever they handle later arrives later. So each thread's arrivals are put in
order, (time, sender, number), and its queue is the recursion

    start = max(arrival, end of the tuple before),   end = start + service time.

What it sends is appended to the receiving operators' arrivals; what arrives after the chunk's end
waits there for the next one. Memory is what one chunk holds, and what is under way.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray

from slotwise.simulation.arrivals import Clocks, advance, clocks_at
from slotwise.simulation.draws import service_factor
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

CHUNK_VISITS = 1 << 15
"""Visits per operator in a chunk: its arrays stay in the processor's cache."""
MOST_CHUNK_VISITS = 1 << 20
"""Visits of all operators together in a chunk."""


class Arriving(NamedTuple):
    """Tuples on their way to one operator; `order` is (sender, number), for ties in time."""

    time: Floats
    root: Floats
    order: Integers
    thread: Integers
    key: Integers

    @classmethod
    def room_for(cls, count: int) -> Arriving:
        floats = [np.empty(count) for _ in range(2)]
        return cls(*floats, *(np.empty(count, np.int64) for _ in range(3)))

    def grown(self, count: int) -> Arriving:
        """The same tuples with room for `count` in all."""
        if count <= len(self.time):
            return self
        larger = Arriving.room_for(max(count, 2 * len(self.time)))
        for mine, new in zip(self, larger, strict=True):
            new[: len(mine)] = mine
        return larger


class Threads(NamedTuple):
    """The threads' states between chunks."""

    free: Floats
    """When the thread is done with all it has."""
    handled: Integers
    sent: Integers
    """Per stream and sender, tuples sent so far (world.counter)."""
    planned: Integers
    """The same, where serving looks ahead of sending: what goes to other nodes takes time."""


def run(
    world: World, tally: Tally, order: tuple[int, ...], visits_per_s: float, most_under_way: int
) -> float:
    """Fills `tally`; tells when the sources stopped, early if too many tuples were under way.

    `order` is the operators' topological order, `visits_per_s` of all operators together.
    """
    clocks = clocks_at(world.sources, world.key, 0.0)
    threads = Threads(
        np.zeros(world.threads),
        np.zeros(world.threads, np.int64),
        np.zeros(world.counters, np.int64),
        np.zeros(world.counters, np.int64),
    )
    waiting = [Arriving.room_for(64) for _ in order]
    counts = [0] * len(order)
    chunk_s = min(CHUNK_VISITS * len(order), MOST_CHUNK_VISITS) / visits_per_s
    end, reached, chunk = tally.end, 0.0, 0
    while reached < np.inf:
        chunk += 1
        # The last chunk has no end: all that is under way is handled.
        emit_until = min(chunk * chunk_s, end)
        reached = emit_until if emit_until < end else np.inf
        for operator in order:
            if world.source[operator]:
                _emit(world, clocks, waiting, counts, operator, emit_until)
            _handle(world, tally, threads, waiting, counts, operator, reached)
        if reached < np.inf and sum(counts) > most_under_way:
            end = emit_until
    return end


def _emit(
    world: World,
    clocks: Clocks,
    waiting: list[Arriving],
    counts: list[int],
    operator: int,
    until: float,
) -> None:
    """All arrivals from outside before `until`."""
    while True:
        count, full = emit(world, clocks, operator, until, waiting[operator], counts[operator])
        counts[operator] = count
        if not full:
            return
        waiting[operator] = waiting[operator].grown(2 * count)


def _handle(
    world: World,
    tally: Tally,
    threads: Threads,
    waiting: list[Arriving],
    counts: list[int],
    operator: int,
    until: float,
) -> None:
    """Everything that reaches the operator before `until`."""
    ready, counts[operator] = take_ready(
        world, operator, waiting[operator], counts[operator], until
    )
    if len(ready.time) == 0:
        return
    ends, handled = serve(world, tally, threads, operator, ready)
    for stream in world.streams[world.outputs[operator] : world.outputs[operator + 1]].tolist():
        target = int(world.target[stream])
        tuples = sending(world, stream, ready, handled)
        waiting[target] = waiting[target].grown(counts[target] + tuples)
        counts[target] = send(
            world, tally, threads, stream, ready, ends, handled, waiting[target], counts[target]
        )


@njit(cache=True)
def emit(
    world: World, clocks: Clocks, operator: int, until: float, arriving: Arriving, count: int
) -> tuple[int, bool]:
    """Appends arrivals; tells how many there are now, and whether the room was too small."""
    for thread in range(world.first[operator], world.first[operator + 1]):
        while clocks.next[thread] < until:
            if count == len(arriving.time):
                return count, True
            arriving.time[count] = clocks.next[thread]
            arriving.root[count] = clocks.next[thread]
            arriving.order[count] = clocks.emitted[thread]
            arriving.thread[count] = thread
            arriving.key[count] = first_key(world, thread, clocks.emitted[thread])
            count += 1
            advance(world.sources, clocks, world.key[thread], thread)
    return count, False


@njit(cache=True)
def take_ready(
    world: World, operator: int, arriving: Arriving, count: int, until: float
) -> tuple[Arriving, int]:
    """What arrives before `until`, by thread and in order; the rest stays in `arriving`.

    A bucket sort: about as many buckets as tuples, evenly over the threads and the time between
    the first and the last arrival; then each bucket by itself. Linear in the mean.
    """
    ready = 0
    earliest, latest = np.inf, -np.inf
    for i in range(count):
        if arriving.time[i] < until:
            ready += 1
            earliest = min(earliest, arriving.time[i])
            latest = max(latest, arriving.time[i])
    result = Arriving(
        np.empty(ready),
        np.empty(ready),
        np.empty(ready, np.int64),
        np.empty(ready, np.int64),
        np.empty(ready, np.int64),
    )
    if ready == 0:
        return result, count
    first = world.first[operator]
    groups = 1 if world.shared else world.first[operator + 1] - first
    per_group = max(1, ready // groups)
    scale = 0.0 if latest <= earliest else (per_group - 0.5) / (latest - earliest)
    starts = np.zeros(groups * per_group + 1, np.int64)
    bucket = np.empty(count, np.int64)
    for i in range(count):
        if arriving.time[i] < until:
            group = 0 if world.shared else arriving.thread[i] - first
            bucket[i] = group * per_group + int((arriving.time[i] - earliest) * scale)
            starts[bucket[i] + 1] += 1
        else:
            bucket[i] = -1
    for b in range(groups * per_group):
        starts[b + 1] += starts[b]
    kept = 0
    for i in range(count):
        if bucket[i] >= 0:
            _copy(arriving, i, result, starts[bucket[i]])
            starts[bucket[i]] += 1
        else:
            _copy(arriving, i, arriving, kept)
            kept += 1
    begin = 0
    for b in range(groups * per_group):
        if starts[b] - begin > 1:
            _sort(result, begin, starts[b])
        begin = starts[b]
    return result, kept


@njit(cache=True, inline="always")
def _copy(source: Arriving, i: int, target: Arriving, to: int) -> None:
    target.time[to] = source.time[i]
    target.root[to] = source.root[i]
    target.order[to] = source.order[i]
    target.thread[to] = source.thread[i]
    target.key[to] = source.key[i]


@njit(cache=True)
def _sort(tuples: Arriving, begin: int, end: int) -> None:
    """By (time, order): insertion for a few, merge sort for many."""
    if end - begin > 24:
        _sort_many(tuples, begin, end)
        return
    for i in range(begin + 1, end):
        at = i
        time, order = tuples.time[i], tuples.order[i]
        while at > begin and (
            tuples.time[at - 1] > time
            or (tuples.time[at - 1] == time and tuples.order[at - 1] > order)
        ):
            at -= 1
        if at < i:
            root, thread, key = tuples.root[i], tuples.thread[i], tuples.key[i]
            for j in range(i, at, -1):
                _copy(tuples, j - 1, tuples, j)
            tuples.time[at], tuples.root[at], tuples.order[at] = time, root, order
            tuples.thread[at], tuples.key[at] = thread, key


@njit(cache=True)
def _sort_many(tuples: Arriving, begin: int, end: int) -> None:
    by_order = np.argsort(tuples.order[begin:end], kind="mergesort")
    by_time = np.argsort(tuples.time[begin:end][by_order], kind="mergesort")
    places = by_order[by_time]
    tuples.time[begin:end] = tuples.time[begin:end][places]
    tuples.root[begin:end] = tuples.root[begin:end][places]
    tuples.order[begin:end] = tuples.order[begin:end][places]
    tuples.thread[begin:end] = tuples.thread[begin:end][places]
    tuples.key[begin:end] = tuples.key[begin:end][places]


@njit(cache=True)
def serve(
    world: World, tally: Tally, threads: Threads, operator: int, ready: Arriving
) -> tuple[Floats, Integers]:
    """Every thread's queue: when each tuple's handling ends, and its number at its thread."""
    ends = np.empty(len(ready.time))
    handled = np.empty(len(ready.time), np.int64)
    samples = world.samples[world.first_sample[operator] : world.first_sample[operator + 1]]
    kind, shape = world.variation[operator], world.shape[operator]
    for i in range(len(ends)):
        if world.shared:
            ready.thread[i] = _longest_free(world, threads, operator)
        thread = ready.thread[i]
        mine = threads.handled[thread]
        threads.handled[thread] = mine + 1
        seconds = world.service_s[thread]
        if seconds > 0:
            seconds *= service_factor(kind, shape, samples, world.key[thread], mine)
        if world.transfers:
            sender = (ready.order[i] >> SENDER_SHIFT) - 1
            seconds += transfer_seconds(
                world, threads.planned, sender, thread, mine, ready.key[i]
            )
            _plan_ahead(world, threads, thread, mine)
        start = max(ready.time[i], threads.free[thread])
        end = start + seconds
        threads.free[thread] = end
        ends[i] = end
        handled[i] = mine
        record_visit(
            world, tally, operator, thread, mine, ready.root[i], ready.time[i], start, end
        )
    return ends, handled


@njit(cache=True)
def _longest_free(world: World, threads: Threads, operator: int) -> int:
    """The thread that is, or will be, free first; of several the first."""
    best = world.first[operator]
    for thread in range(best + 1, world.first[operator + 1]):
        if threads.free[thread] < threads.free[best]:
            best = thread
    return best


@njit(cache=True)
def _plan_ahead(world: World, threads: Threads, thread: int, handled: int) -> None:
    operator = world.operator[thread]
    for entry in range(world.outputs[operator], world.outputs[operator + 1]):
        stream = world.streams[entry]
        counter = world.counter[stream] + thread - world.first[operator]
        threads.planned[counter] += caused(world, stream, thread, handled)


@njit(cache=True)
def sending(world: World, stream: int, ready: Arriving, handled: Integers) -> int:
    """Tuples that will go out on the stream."""
    total = 0
    for i in range(len(handled)):
        total += caused(world, stream, ready.thread[i], handled[i])
    return total * copies(world, stream)


@njit(cache=True)
def send(
    world: World,
    tally: Tally,
    threads: Threads,
    stream: int,
    ready: Arriving,
    ends: Floats,
    handled: Integers,
    arriving: Arriving,
    count: int,
) -> int:
    """Appends what the handled tuples put on the stream; tells how many there are now."""
    target = world.target[stream]
    for i in range(len(ends)):
        sender = ready.thread[i]
        key = passed_on(world, sender, handled[i], ready.key[i])
        counter = world.counter[stream] + sender - world.first[world.operator[sender]]
        for _ in range(caused(world, stream, sender, handled[i])):
            sent = threads.sent[counter]
            threads.sent[counter] = sent + 1
            for copy in range(copies(world, stream)):
                thread = receiver(world, stream, sender, sent, copy, key)
                far = distance(world, sender, thread)
                leaves = leaving(world, stream, sender, thread, ends[i])
                arriving.time[count] = leaves + world.delays_s[far]
                arriving.root[count] = ready.root[i]
                arriving.order[count] = ((sender + 1) << SENDER_SHIFT) + sent
                arriving.thread[count] = thread
                arriving.key[count] = key
                record_sent(world, tally, stream, sender, thread, ready.root[i], far)
                record_travel(tally, target, ready.root[i], arriving.time[count] - ends[i])
                count += 1
    return count
