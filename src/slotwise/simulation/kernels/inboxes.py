"""What is on its way to each operator, for the fast kernel: kept as it comes, taken out in order.

An operator's inbox is a stretch of one table of tuples. `sort` puts what one chunk of time has for
it into `ready`, by (time, order), in linear time in the mean.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from slotwise.simulation.kernels.jit import kernel, part
from slotwise.simulation.kernels.routing import Row
from slotwise.simulation.kernels.world import Table, World

Integers = NDArray[np.int64]

MUCH_ROOM = 1 << 22
"""Rows that inboxes may have in all before only those grow that must."""
FEW = 24
"""So many tuples are sorted by insertion, more by merging."""

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


class Inboxes(NamedTuple):
    """The inboxes of all operators; and scratch space."""

    tuples: Table
    """Tuples on their way, each operator's in its inbox."""
    keys: Integers
    """Of each of `tuples`; empty: no stream looks at them."""
    of: Table
    """Per operator, where its inbox is and what it holds."""
    ready: Table
    """What one operator handles in one chunk, in order: times, and rows of `tuples`."""
    unsorted: Table
    starts: Integers


def rooms_for(world: World, expected: NDArray[np.float64]) -> Integers:
    """Rows per operator for chunks of so many tuples each in the mean: for the most they can
    cause (`has_room_for_outputs`); that Poisson arrivals need more is seldom.
    """
    streams = world.streams
    most = expected[streams["source"]] * np.ceil(streams["selectivity"]) * streams["copies"]
    coming = np.bincount(streams["target"], most, len(expected))
    rows = np.maximum(expected, coming)
    return np.asarray(np.ceil(1.2 * rows + 6 * np.sqrt(rows) + 16), dtype=np.int64)


def empty(rooms: Integers, keyed: bool) -> Inboxes:
    """With so many rows for each operator."""
    of = np.zeros(len(rooms), _INBOX)
    of["room"] = rooms
    of["first"] = np.cumsum(rooms) - rooms
    return Inboxes(
        tuples=np.zeros(rooms.sum(), _TUPLE),
        keys=np.zeros(rooms.sum() if keyed else 0, np.int64),
        of=of,
        **_scratch(int(rooms.max())),
    )


def _scratch(rows: int) -> dict[str, NDArray[Any]]:
    return {
        "ready": np.zeros(rows, _ENTRY),
        "unsorted": np.zeros(rows, _ENTRY),
        "starts": np.zeros(rows + 1, np.int64),
    }


def grown(inboxes: Inboxes) -> Inboxes:
    """The inboxes that want more room get at least twice what they had; the others half as much
    again, since what one lacks others soon will, unless that takes much memory.
    """
    of = inboxes.of.copy()
    room, wanted = of["room"], of["wanted"]
    others = room + room // 2 if room.sum() < MUCH_ROOM else room
    of["room"] = np.where(wanted > room, np.maximum(wanted, 2 * room), others)
    of["first"] = np.cumsum(of["room"]) - of["room"]
    tuples = np.zeros(of["room"].sum(), _TUPLE)
    keys = np.zeros(len(tuples) if len(inboxes.keys) else 0, np.int64)
    for old, new in zip(inboxes.of, of, strict=True):
        was = slice(old["first"], old["first"] + old["count"])
        now = slice(new["first"], new["first"] + new["count"])
        tuples[now] = inboxes.tuples[was]
        if len(keys):
            keys[now] = inboxes.keys[was]
    scratch = _scratch(int(of["room"].max()))
    return inboxes._replace(tuples=tuples, keys=keys, of=of, **scratch)


@kernel
def has_room_for_outputs(inboxes: Inboxes, world: World, own: Row, count: int) -> bool:
    """Is there room for the most that `count` tuples can cause?"""
    enough = True
    for output in range(own.first_output, own.last_output):
        stream = world.streams[output]
        inbox = inboxes.of[stream.target]
        inbox.wanted = inbox.count + count * int(np.ceil(stream.selectivity)) * stream.copies
        enough = enough and inbox.wanted <= inbox.room
    return enough


@part
def append(inboxes: Inboxes, inbox: Row, time: float) -> int:
    """A new row at the end of the inbox, for a tuple that arrives at `time`."""
    number = inbox.first + inbox.count
    inbox.count += 1
    inbox.latest = max(inbox.latest, time)
    inboxes.tuples[number].time = time
    return int(number)


@kernel
def in_order(inboxes: Inboxes, inbox: Row, until: float) -> bool:
    """All into `ready`; False, mostly soon: some come after `until`, or not after those before."""
    before = -np.inf
    for i in range(inbox.count):
        time = inboxes.tuples[inbox.first + i].time
        if time <= before or time >= until:
            return False
        inboxes.ready[i].time = before = time
        inboxes.ready[i].number = inbox.first + i
    return True


@kernel
def keep_rest(inboxes: Inboxes, inbox: Row, until: float) -> None:
    """Takes what arrives before `until` out of the inbox."""
    kept, latest = 0, -np.inf
    if inbox.latest >= until:
        for number in range(inbox.first, inbox.first + inbox.count):
            if inboxes.tuples[number].time >= until:
                latest = max(latest, inboxes.tuples[number].time)
                inboxes.tuples[inbox.first + kept] = inboxes.tuples[number]
                if len(inboxes.keys):
                    inboxes.keys[inbox.first + kept] = inboxes.keys[number]
                kept += 1
    inbox.count = kept
    inbox.latest = latest


@kernel
def sort(inboxes: Inboxes, inbox: Row, since: float, until: float) -> int:
    """What arrives from `since` to `until` into `ready`, by (time, order); gives how many. A bucket
    sort, linear in the mean: there are as many buckets as tuples, evenly over that time.
    """
    ready, starts, buckets = inboxes.ready, inboxes.starts, inbox.count
    latest = min(until, inbox.latest)
    scale = 0.0 if latest <= since else (buckets - 0.5) / (latest - since)
    starts[: buckets + 1] = 0
    for number in range(inbox.first, inbox.first + buckets):
        time = inboxes.tuples[number].time
        if time < until:
            starts[int((time - since) * scale) + 1] += 1
    fullest = 0
    for b in range(buckets):
        fullest = max(fullest, starts[b + 1])
        starts[b + 1] += starts[b]
    count = starts[buckets]
    for number in range(inbox.first, inbox.first + buckets):
        time = inboxes.tuples[number].time
        if time < until:
            bucket = int((time - since) * scale)
            place = starts[bucket]
            starts[bucket] = place + 1
            ready[place].time, ready[place].number = time, number
    if fullest <= FEW:
        _sort_nearly(inboxes, 0, count)
    begin = 0
    for b in range(buckets if fullest > FEW else 0):
        if starts[b] - begin > 1:
            _sort_bucket(inboxes, begin, starts[b])
        begin = starts[b]
    return int(count)


@part
def _later(inboxes: Inboxes, one: Row, other: Row) -> bool:
    if one.time != other.time:
        return bool(one.time > other.time)
    return bool(inboxes.tuples[one.number].order > inboxes.tuples[other.number].order)


@part
def _sort_nearly(inboxes: Inboxes, begin: int, end: int) -> None:
    """By insertion, for what is nearly in order, or for a few."""
    ready, moved = inboxes.ready, inboxes.unsorted[0]
    for i in range(begin + 1, end):
        if _later(inboxes, ready[i - 1], ready[i]):
            moved.time, moved.number = ready[i].time, ready[i].number
            at = i
            while at > begin and _later(inboxes, ready[at - 1], moved):
                ready[at] = ready[at - 1]
                at -= 1
            ready[at] = moved


@kernel
def _sort_bucket(inboxes: Inboxes, begin: int, end: int) -> None:
    """Stretches of FEW by insertion, then merged two by two."""
    for first in range(begin, end, FEW):
        _sort_nearly(inboxes, first, min(first + FEW, end))
    length = FEW
    while length < end - begin:
        for first in range(begin, end - length, 2 * length):
            _merge(inboxes, first, first + length, min(first + 2 * length, end))
        length *= 2


@kernel
def _merge(inboxes: Inboxes, first: int, middle: int, end: int) -> None:
    """Two sorted stretches of `ready` into one."""
    ready, aside = inboxes.ready, inboxes.unsorted
    for i in range(first, middle):
        aside[i - first] = ready[i]
    left, right, to = 0, middle, first
    while left < middle - first:
        if right < end and _later(inboxes, aside[left], ready[right]):
            ready[to] = ready[right]
            right += 1
        else:
            ready[to] = aside[left]
            left += 1
        to += 1
