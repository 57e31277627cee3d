"""A run of the event kernel from start to end, and what a change of plan does to it."""

from __future__ import annotations

from itertools import pairwise
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from slotwise.simulation.kernels.arrivals import clocks_at
from slotwise.simulation.kernels.events import (
    FULL,
    advance_to,
    resume,
    schedule_sources,
    send_outputs,
)
from slotwise.simulation.kernels.jit import kernel
from slotwise.simulation.kernels.measure import Tally, without_threads
from slotwise.simulation.kernels.routing import SENDER_SHIFT, first_key
from slotwise.simulation.kernels.under_way import (
    ARRIVES,
    LEAVES,
    TURN,
    Limits,
    State,
    empty_state,
    enqueue,
    free_row,
    grown,
    joined,
    release,
    schedule,
)
from slotwise.simulation.kernels.world import Table, World

_SENT = -2
"""`output` of a thread whose tuple is handled and sent on, and no longer belongs to it."""


_EARLY = 1 << 40
"""Tuples that wait from the start have numbers that a source's own never reach."""


class Part(NamedTuple):
    """A stretch of the run under one plan."""

    world: World
    limits: Limits
    nodes: int
    start_s: float
    pause_s: float


class Outcome(NamedTuple):
    tally: Tally
    """Figures per thread and traffic are of the last part, all others of the whole run."""
    end_s: float
    """When the sources stopped: earlier than asked if too many tuples were under way."""
    stuck: int
    """Tuples that can never move again: threads of a loop hold each other back."""


def run(parts: tuple[Part, ...], tally: Tally, most_under_way: int) -> Outcome:
    """Fills `tally`, part after part, and then until nothing is under way."""
    running = EventRun(parts[0], tally, most_under_way)
    for before, part in pairwise(parts):
        running.until(part.start_s)
        running.change(part)
        running.tally = without_threads(running.tally, before.world, part.world)
        running.until(part.start_s + part.pause_s)
        running.resume()
    running.until(np.inf)
    under_way = len(running.state.tuples) - int(running.state.progress[0])
    return Outcome(running.tally, running.end_s, under_way)


class EventRun:
    """The event kernel at work: `until` computes on, `change` goes over to another plan.

    The same visits come out however the time is cut by calls of `until`. What happens is counted in
    `tally`, which may be exchanged between calls. Memory: the tally, and the most tuples that were
    ever under way together.
    """

    def __init__(self, part: Part, tally: Tally, most_under_way: int) -> None:
        self.part, self.tally, self.most_under_way = part, tally, most_under_way
        self.end_s = tally.end
        """When sources stop: earlier than the tally ends if too many tuples were under way."""
        self.state = _state(part, _rows(part))
        schedule_sources(part.world, self.state, self.end_s)

    def until(self, time_s: float) -> None:
        """All events before `time_s`."""
        world, limits, tally = self.part.world, self.part.limits, self.tally
        while advance_to(world, limits, tally, self.state, time_s, self.end_s) == FULL:
            if len(self.state.tuples) > self.most_under_way:
                self.end_s = min(self.end_s, float(self.state.heap.entries["time"][0]))
            self.state = grown(self.state)

    def change(self, part: Part) -> None:
        """Every tuple moves to the new plan's threads, which stand still until `resume`.

        A tally of the new plan's threads must take the place of the old one's before `until`.
        """
        old = self.part
        while self.state.progress[0] < _rows(old) + _rows(part):
            self.state = grown(self.state)
        send_all_held(old.world, old.limits, self.tally, self.state, part.start_s)
        before, fresh = self.state, _state(part, 1)
        self.part = part
        self.state = before._replace(
            clocks=fresh.clocks,
            threads=fresh.threads,
            sent=fresh.sent,
            links=fresh.links,
            nodes=fresh.nodes,
            outboxes=fresh.outboxes,
        )
        under_way = before.heap.entries[: before.heap.size[0]].copy()
        move(old.world, part, before.threads, before.outboxes, under_way, self.state)
        self.state.progress[1] = 1
        schedule_sources(part.world, self.state, self.end_s)

    def preload(self, operator: int, due_s: NDArray[np.float64]) -> None:
        """Before the first event: tuples wait for the operator whose inputs came due at these
        times, by turns at each of its threads. `resume` then lets threads take them.
        """
        while self.state.progress[0] < _rows(self.part) + len(due_s):
            self.state = grown(self.state)
        wait_from_the_start(self.part.world, self.state, operator, due_s)

    def resume(self) -> None:
        """Threads begin to work: the pause of the last change is over."""
        part = self.part
        resume(part.world, part.limits, self.state, part.start_s + part.pause_s)


def _state(part: Part, rows: int) -> State:
    clocks = clocks_at(part.world.sources, part.world.threads["key"], part.start_s)
    return empty_state(part.world, part.nodes, clocks, rows)


def _rows(part: Part) -> int:
    """Enough for all sources' next tuples and all that senders can hold back at once."""
    return 1024 + len(part.world.threads) * (part.limits.most_caused + 1)


@kernel
def send_all_held(world: World, limits: Limits, tally: Tally, state: State, now: float) -> None:
    """What senders held back goes out now, whatever the buffers hold; they are marked _SENT."""
    unbounded = Limits(0, 0, limits.blocks, limits.resend_s, limits.link_s, limits.most_caused)
    for thread in range(len(world.threads)):
        if state.threads[thread].output >= 0:
            number = state.threads[thread].serving
            send_outputs(world, unbounded, tally, state, number, now)
            if state.tuples[number].root >= tally.warm_up:
                tally.threads[thread].blocked += now - state.tuples[number].since
            state.threads[thread].output = _SENT


@kernel
def wait_from_the_start(
    world: World, state: State, operator: int, due_s: NDArray[np.float64]
) -> None:
    """Nothing is known of their senders: they count as from outside."""
    own = world.operators[operator]
    for i in range(len(due_s)):
        number = free_row(state)
        thread = own.first + i % (own.last - own.first)
        new = state.tuples[number]
        new.root = due_s[i]
        new.arrival = 0.0
        new.since = 0.0
        new.key = first_key(world.key_shares, world.threads[thread].key, _EARLY + i)
        new.thread = thread
        new.order = i
        enqueue(state, own.first if world.shared else thread, number)
        state.threads[thread].held += 1
        joined(state, operator, 0.0)


@kernel
def move(
    old: World, part: Part, was: Table, outboxes: Table, under_way: Table, state: State
) -> None:
    """Waiting tuples, those in service first, into the new threads' queues; those on their way to
    their new threads, and those in `outboxes` on their way as the new plan has it; arrivals from
    outside that were to come are forgotten: the clocks are new.
    """
    new = part.world
    for thread in range(len(old.threads)):
        if was[thread].serving >= 0 and was[thread].output != _SENT:
            _wait_again(old, new, state, was[thread].serving)
            joined(state, old.threads[thread].operator, part.start_s)
        number = was[thread].head
        while number >= 0:
            following = state.tuples[number].next
            _wait_again(old, new, state, number)
            number = following
    state.heap.size[0] = 0
    for i in range(len(under_way)):
        number = under_way[i].event
        moved = state.tuples[number]
        if moved.kind < ARRIVES or moved.kind == TURN:
            continue
        if moved.order >> SENDER_SHIFT == 0:
            release(state, number)
            continue
        _go_on(old, part, state, number, moved.kind, under_way[i].time)
    for outbox in outboxes.flat:
        number = outbox.head
        while number >= 0:
            following = state.tuples[number].next
            _go_on(old, part, state, number, LEAVES, part.start_s)
            number = following
    for thread in range(len(old.threads)):
        if was[thread].output == _SENT:
            release(state, was[thread].serving)


@kernel
def _wait_again(old: World, new: World, state: State, number: int) -> None:
    _rename(old, new, state, number)
    thread = state.tuples[number].thread
    operator = new.operators[new.threads[thread].operator]
    enqueue(state, operator.first if new.shared else thread, number)
    state.threads[thread].held += 1


@kernel
def _go_on(old: World, part: Part, state: State, number: int, kind: int, time: float) -> None:
    """A tuple that is on its way has the places it takes up in the new plan's buffers."""
    new = part.world
    _rename(old, new, state, number)
    schedule(new, state, number, kind, time)
    if part.limits.blocks:
        moved = state.tuples[number]
        state.threads[moved.thread].held += 1
        node = new.threads[moved.thread].node
        if new.threads[(moved.order >> SENDER_SHIFT) - 1].node != node:
            state.nodes[node].held += 1


@kernel
def _rename(old: World, new: World, state: State, number: int) -> None:
    """The tuple's thread and sender by their new numbers."""
    moved = state.tuples[number]
    moved.thread = _new_number(old, new, moved.thread)
    sender = (moved.order >> SENDER_SHIFT) - 1
    if sender >= 0:
        sent = moved.order & ((1 << SENDER_SHIFT) - 1)
        moved.order = ((_new_number(old, new, sender) + 1) << SENDER_SHIFT) + sent


@kernel
def _new_number(old: World, new: World, thread: int) -> int:
    """Thread t of an operator is now its thread t mod (its threads now)."""
    own = old.threads[thread]
    operator = new.operators[own.operator]
    return int(operator.first + own.place % (operator.last - operator.first))
