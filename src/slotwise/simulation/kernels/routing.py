"""Which tuples a handled tuple causes, to which threads they go, and when they get there.

All are functions of the world, the sending thread, how many tuples it handled and sent before and
the tuple's key, so both kernels get the same answers in whatever order they ask. `thread`, `sender`
and `stream` are rows of the world's tables.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from slotwise.simulation.kernels.draws import (
    COUNT,
    FORWARD,
    KEY,
    TARGET,
    mixed,
    number,
    own_key,
    unit,
)
from slotwise.simulation.kernels.jit import kernel, part
from slotwise.simulation.kernels.world import (
    ALL,
    FIELDS,
    GLOBAL,
    LOCAL,
    ROUND_ROBIN,
    WEIGHTED,
    World,
)

Row = Any
"""A row of a table."""
SENDER_SHIFT = 38
"""(sender + 1, number of the tuple) in one integer: bits for the number; 0 is from outside."""
KEPT_TURNS_BITS = 10
_HALF = np.uint64(32)
_GOLDEN = (math.sqrt(5) - 1) / 2


@part
def outside_order(emitted: int, place: int, places: int) -> int:
    """The order of a tuple from outside: no sender; by number, then by the source's thread."""
    return emitted * places + place


@part
def caused(stream: Row, sender: Row, handled: int, random_selectivity: bool) -> int:
    """Tuples that the sender's `handled`-th tuple puts on the stream (`all` counts as one)."""
    selectivity = stream.selectivity
    if selectivity == 1.0:
        return 1
    if random_selectivity:
        draw = unit(number(sender.key, COUNT, handled)) + stream.before
        return int(math.floor(draw + selectivity) - math.floor(draw))
    return int(math.floor((handled + 1) * selectivity) - math.floor(handled * selectivity))


@part
def receiver(world: World, stream: Row, sender: Row, sent: int, copy: int, key: int) -> int:
    """The thread that gets copy `copy` of the sender's `sent`-th tuple on the stream."""
    if stream.kind == ROUND_ROBIN:
        turn = np.uint64(_turn(stream, sender, sent)) % np.uint64(stream.width)
        return int(stream.first + np.int64(turn))
    if stream.kind == GLOBAL:
        return int(stream.first)
    if stream.kind == ALL:
        return int(stream.first + copy)
    if stream.kind == FIELDS:
        return int(stream.first + int(mixed(np.uint64(key)) % np.uint64(stream.width)))
    if stream.kind == LOCAL:
        return _local_or_shuffle(world.by_slot, stream, sender, sent)
    salt = TARGET ^ mixed(np.uint64(stream.target))
    if stream.kind == WEIGHTED:
        # Multiples of the golden ratio fill [0, 1) evenly from any point on: shares come out
        # within a tuple or two of the weights, as a round robin's would.
        point = (unit(number(sender.key, salt, 0)) + sent * _GOLDEN) % 1.0
        shares = world.weights[stream.weight : stream.weight + stream.width]
        place = int(np.searchsorted(shares, point, side="right"))
        return int(stream.first + min(place, stream.width - 1))
    return int(stream.first + int(unit(number(sender.key, salt, sent)) * stream.width))


@part
def _turn(stream: Row, sender: Row, sent: int) -> int:
    """How many turns of receivers are over before the sender's `sent`-th tuple on the stream.

    One of several senders begins anywhere, and anew after 1,024 tuples. Otherwise those with a
    common pace would keep their distance for ever: near one receiver they would go round together,
    and each receiver would get all its tuples at once.
    """
    if stream.senders == 1:
        return int(sent)
    # The key is random: the upper half of any odd multiple of it is, too.
    multiple = np.uint64(2 * (sent >> KEPT_TURNS_BITS) + 1) + (np.uint64(stream.number) << _HALF)
    return int(np.int64((sender.key * multiple) >> _HALF)) + sent


@kernel
def _local_or_shuffle(by_slot: NDArray[np.int64], stream: Row, sender: Row, sent: int) -> int:
    slots = by_slot[1, stream.first : stream.first + stream.width]
    begin = np.searchsorted(slots, sender.slot, side="left")
    end = np.searchsorted(slots, sender.slot, side="right")
    turn = _turn(stream, sender, sent)
    if end > begin:
        return int(by_slot[0, stream.first + begin + turn % (end - begin)])
    return int(stream.first + turn % stream.width)


@part
def distance(sender: Row, thread: Row) -> int:
    """0 in the same slot, 1 on the same node, 2 in the same rack, 3 elsewhere."""
    if sender.slot == thread.slot:
        return 0
    if sender.node == thread.node:
        return 1
    return 2 if sender.rack == thread.rack else 3


@part
def travel_s(world: World, stream: int, sender: Row, thread: Row) -> float:
    """How long a tuple of the stream travels from one to the other."""
    row = stream if len(world.delays_s) > 1 else 0
    return float(world.delays_s[row, distance(sender, thread)])


@part
def stream_between(world: World, sender: Row, thread: Row) -> int:
    """The stream by which the sender's operator sends to the thread's."""
    operator = world.operators[sender.operator]
    for entry in range(operator.first_output, operator.last_output):
        if world.streams[entry].target == thread.operator:
            return int(entry)
    return 0


@part
def leaving(world: World, sender: Row, thread: Row, now: float) -> float:
    """When a tuple that is ready at `now` may be sent: paper 4's steps, Algorithm 3."""
    if sender.node == thread.node:
        return now
    time_slot = _time_slot(world, now)
    step = world.steps[sender.node, thread.node]
    wait = (step + thread.stage - time_slot) % world.round_steps
    return now if wait == 0 else (time_slot + wait) * world.step_s


@part
def slot_in_round(world: World, sender: Row, thread: Row) -> int:
    """The time slot of every round in which the sender's node may send to the thread."""
    step = world.steps[sender.node, thread.node]
    return int((step + thread.stage) % world.round_steps)


@part
def turn_opens(world: World, sender: Row, thread: Row, now: float) -> float:
    """When the sender's node next has its turn, or now has it, to send to the thread.

    In one time slot every stage does a step. Where nodes have one link the stages take turns, each
    in an equal part of the slot: so a node sends to one node and receives from one at any time.
    """
    time_slot = _time_slot(world, now)
    step = world.steps[sender.node, thread.node]
    wait = (step + thread.stage - time_slot) % world.round_steps
    return float((time_slot + wait + thread.stage / world.stages) * world.step_s)


@part
def _time_slot(world: World, now: float) -> int:
    """Their number; a time slot begins a rounding error early."""
    return math.floor(now / world.step_s + 1e-9)


@kernel
def transfer_seconds(
    world: World, sent: NDArray[np.int64], sender: int, thread: int, handled: int, key: int
) -> float:
    """Thread time that the tuple costs beside its service, by where it came from and goes to.

    `sender` is -1 for what comes from outside; `sent` are the thread's counters, not changed.
    """
    own = world.threads[thread]
    seconds = float(own.visit_s)
    if sender >= 0:
        seconds += world.receive_s[thread, distance(world.threads[sender], own)]
    if own.sends == 0:
        return seconds
    key = passed_on(world, thread, handled, key)
    operator = world.operators[own.operator]
    for entry in range(operator.first_output, operator.last_output):
        stream = world.streams[entry]
        before = sent[stream.counter + own.place]
        for extra in range(caused(stream, own, handled, world.random_selectivity)):
            for copy in range(stream.copies):
                goes_to = receiver(world, stream, own, before + extra, copy, key)
                seconds += world.send_s[thread, distance(own, world.threads[goes_to])]
    return seconds


@part
def first_key(key_shares: NDArray[np.float64], sender_key: np.uint64, emitted: int) -> int:
    """The key a source gives its `emitted`-th tuple; 0 where no stream looks at it."""
    if len(key_shares) == 0:
        return 0
    point = unit(number(sender_key, KEY, emitted))
    return min(int(np.searchsorted(key_shares, point, side="right")), len(key_shares) - 1)


@part
def passed_on(world: World, thread: int, handled: int, key: int) -> int:
    """The key that a tuple has after the thread handled it; sources always keep it."""
    if world.forwarded >= 1.0 or len(world.key_shares) == 0:
        return key
    own = world.threads[thread]
    if world.operators[own.operator].source:
        return key
    if unit(number(own.key, FORWARD, handled)) < world.forwarded:
        return key
    return own_key(len(world.key_shares), thread)
