"""Which tuples a handled tuple causes, to which threads they go, and when they get there.

All are functions of the world, the sending thread, how many tuples it handled and sent before and
the tuple's key, so both kernels get the same answers in whatever order they ask.
"""

from __future__ import annotations

import math

import numpy as np
from numba import njit
from numpy.typing import NDArray

from slotwise.simulation.draws import COUNT, FORWARD, KEY, TARGET, mixed, number, unit
from slotwise.simulation.world import ALL, FIELDS, GLOBAL, LOCAL, ROUND_ROBIN, WEIGHTED, World

SENDER_SHIFT = 38
"""(sender + 1, number of the tuple) in one integer: bits for the number. No sender: from outside."""
_GOLDEN = (math.sqrt(5) - 1) / 2
_OWN_KEY = np.uint64(0x94D049BB133111EB)


@njit(cache=True, inline="always")
def caused(world: World, stream: int, thread: int, handled: int) -> int:
    """Tuples that the thread's `handled`-th tuple puts on the stream (`all` counts as one)."""
    selectivity = world.selectivity[stream]
    if selectivity == 1.0:
        return 1
    if world.random_selectivity:
        draw = unit(number(world.key[thread], COUNT, handled)) + world.before[stream]
        return int(math.floor(draw + selectivity) - math.floor(draw))
    return int(math.floor((handled + 1) * selectivity) - math.floor(handled * selectivity))


@njit(cache=True, inline="always")
def copies(world: World, stream: int) -> int:
    """Threads that get each tuple of the stream."""
    if world.kind[stream] == ALL:
        target = world.target[stream]
        return world.first[target + 1] - world.first[target]
    return 1


@njit(cache=True)
def receiver(world: World, stream: int, thread: int, sent: int, copy: int, key: int) -> int:
    """The thread that gets copy `copy` of the sender's `sent`-th tuple on the stream."""
    target = world.target[stream]
    first = world.first[target]
    threads = world.first[target + 1] - first
    kind = world.kind[stream]
    if threads == 1 or kind == GLOBAL:
        return first
    if kind == ROUND_ROBIN:
        return first + (thread - world.first[world.operator[thread]] + sent) % threads
    if kind == ALL:
        return first + copy
    if kind == FIELDS:
        return first + int(mixed(np.uint64(key)) % np.uint64(threads))
    if kind == LOCAL:
        return _local_or_shuffle(world, first, threads, thread, sent)
    word = number(world.key[thread], TARGET ^ mixed(np.uint64(stream)), sent)
    if kind == WEIGHTED:
        # Multiples of the golden ratio fill [0, 1) evenly from any point on: shares come out
        # within a tuple or two of the weights, as a round robin's would.
        start = unit(number(world.key[thread], TARGET, stream))
        point = (start + sent * _GOLDEN) % 1.0
        shares = world.weights[world.weight[stream] : world.weight[stream] + threads]
        return first + min(np.searchsorted(shares, point, side="right"), threads - 1)
    return first + int(unit(word) * threads)


@njit(cache=True)
def _local_or_shuffle(world: World, first: int, threads: int, thread: int, sent: int) -> int:
    slots = world.by_slot_slot[first : first + threads]
    begin = np.searchsorted(slots, world.slot[thread], side="left")
    end = np.searchsorted(slots, world.slot[thread], side="right")
    turn = thread - world.first[world.operator[thread]] + sent
    if end > begin:
        return world.by_slot[first + begin + turn % (end - begin)]
    return first + turn % threads


@njit(cache=True, inline="always")
def distance(world: World, sender: int, thread: int) -> int:
    """0 in the same slot, 1 on the same node, 2 in the same rack, 3 elsewhere."""
    if world.slot[sender] == world.slot[thread]:
        return 0
    if world.node[sender] == world.node[thread]:
        return 1
    return 2 if world.rack[world.node[sender]] == world.rack[world.node[thread]] else 3


@njit(cache=True, inline="always")
def leaving(world: World, stream: int, sender: int, thread: int, now: float) -> float:
    """When a tuple that is ready at `now` may be sent (paper 4's steps; else at once)."""
    if len(world.steps) == 0 or world.node[sender] == world.node[thread]:
        return now
    step = world.steps[world.node[sender], world.node[thread]]
    time_slot = math.floor(now / world.step_s)
    wait = (step + world.stage[stream] - time_slot) % world.round_steps
    return now if wait == 0 else (time_slot + wait) * world.step_s


@njit(cache=True)
def transfer_seconds(
    world: World, sent: NDArray[np.int64], sender: int, thread: int, handled: int, key: int
) -> float:
    """Thread time that the tuple costs because it came from, or goes to, another node.

    `sender` is -1 for what comes from outside; `sent` are the thread's counters, not changed.
    """
    seconds = 0.0
    if sender >= 0 and world.node[sender] != world.node[thread]:
        seconds += world.receive_s[thread]
    if world.send_s[thread] == 0:
        return seconds
    operator = world.operator[thread]
    key = passed_on(world, thread, handled, key)
    for entry in range(world.outputs[operator], world.outputs[operator + 1]):
        stream = world.streams[entry]
        before = sent[world.counter[stream] + thread - world.first[operator]]
        for extra in range(caused(world, stream, thread, handled)):
            for copy in range(copies(world, stream)):
                goes_to = receiver(world, stream, thread, before + extra, copy, key)
                if world.node[goes_to] != world.node[thread]:
                    seconds += world.send_s[thread]
    return seconds


@njit(cache=True, inline="always")
def first_key(world: World, thread: int, emitted: int) -> int:
    """The key a source gives its `emitted`-th tuple; 0 where no stream looks at it."""
    if len(world.key_shares) == 0:
        return 0
    point = unit(number(world.key[thread], KEY, emitted))
    return min(np.searchsorted(world.key_shares, point, side="right"), len(world.key_shares) - 1)


@njit(cache=True, inline="always")
def passed_on(world: World, thread: int, handled: int, key: int) -> int:
    """The key that a tuple has after the thread handled it; sources always keep it."""
    if world.forwarded >= 1.0 or len(world.key_shares) == 0:
        return key
    if world.source[world.operator[thread]]:
        return key
    if unit(number(world.key[thread], FORWARD, handled)) < world.forwarded:
        return key
    # Beyond all drawn keys, so that no thread's constant is one of them.
    return len(world.key_shares) + int(mixed(_OWN_KEY + np.uint64(thread)) % np.uint64(1 << 40))
