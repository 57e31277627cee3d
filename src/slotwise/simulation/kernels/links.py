"""The links of nodes in the event kernel: one out and one in, each with one tuple at a time.

A tuple for another node takes the sender's link out, travels, waits in the receive buffer before
the other node's link in, and takes that. With paper 4's steps it first waits in an outbox for its
node's turn to send to the other; each outbox is first come first served.
"""

from __future__ import annotations

import math

from slotwise.simulation.kernels.jit import part
from slotwise.simulation.kernels.measure import (
    Tally,
    record_dropped,
    record_held,
    record_link_out,
    record_turn,
)
from slotwise.simulation.kernels.routing import (
    SENDER_SHIFT,
    Row,
    distance,
    leaving,
    slot_in_round,
    stream_between,
    travel_s,
    turn_opens,
)
from slotwise.simulation.kernels.under_way import (
    ARRIVES,
    AT_LINK,
    LEAVES,
    RETRIES,
    TURN,
    Limits,
    State,
    release,
    schedule,
)
from slotwise.simulation.kernels.world import ROUNDING, World


@part
def leave(
    world: World,
    limits: Limits,
    tally: Tally,
    state: State,
    number: int,
    sender: Row,
    thread: Row,
    now: float,
) -> None:
    """A tuple is ready to be sent by `sender` to `thread`, for the first time or again."""
    far = distance(sender, thread)
    if limits.link_s == 0 or far < 2:
        leaves = now if world.round_steps == 0 else leaving(world, sender, thread, now)
        schedule(world, state, number, ARRIVES, leaves + _travel_s(world, sender, thread))
    elif world.round_steps == 0:
        _take_link_out(world, limits, tally, state, number, now)
    else:
        _wait_for_turn(world, limits, tally, state, number, now)


@part
def take_turn(
    world: World, limits: Limits, tally: Tally, state: State, number: int, now: float
) -> None:
    """The first tuple of an outbox goes onto the link out; the next one's turn comes after it."""
    moved = state.tuples[number]
    sender, thread = world.threads[(moved.order >> SENDER_SHIFT) - 1], world.threads[moved.thread]
    outbox = state.outboxes[sender.node, slot_in_round(world, sender, thread), thread.stage]
    outbox.head = moved.next
    _take_link_out(world, limits, tally, state, number, now)
    if outbox.head >= 0:
        _schedule_turn(world, limits, state, outbox.head, state.links[0, sender.node])


@part
def reach_node(
    world: World, limits: Limits, tally: Tally, state: State, number: int, now: float
) -> None:
    """A tuple reaches its node: into the receive buffer and onto the link in, or lost."""
    moved = state.tuples[number]
    node = world.threads[moved.thread].node
    begins = max(now, state.links[1, node])
    # Every tuple takes equally long: the time until the link is free tells how many are before.
    before = math.ceil((begins - now) / limits.link_s - ROUNDING)
    if limits.node_capacity > 0 and not limits.blocks and before >= limits.node_capacity:
        record_dropped(tally, node, moved.root, limits.resend_s > 0)
        lose(world, limits, tally, state, number, now)
        return
    state.links[1, node] = begins + limits.link_s
    record_held(tally, node, now, state.links[1, node], before + 1)
    schedule(world, state, number, ARRIVES, state.links[1, node])


@part
def lose(world: World, limits: Limits, tally: Tally, state: State, number: int, now: float) -> None:
    """A full buffer drops the tuple; its sender sends it again, all the way, or never."""
    moved = state.tuples[number]
    sums = tally.operators[world.threads[moved.thread].operator]
    counts = 1 if moved.root >= tally.warm_up else 0
    if limits.resend_s > 0:
        sums.resent += counts
        schedule(world, state, number, LEAVES, now + limits.resend_s)
    else:
        sums.lost += counts
        release(state, number)


@part
def place_at_node(limits: Limits, state: State, sender: int, node: int) -> bool:
    """Take a place in the node's receive buffer; if there is none, queue up for it."""
    own, buffer = state.threads[sender], state.nodes[node]
    if own.granted_node == node:
        own.granted_node = -1
        return True
    if buffer.held < limits.node_capacity:
        buffer.held += 1
        return True
    own.next_held = -1
    if buffer.first_held < 0:
        buffer.first_held = sender
    else:
        state.threads[buffer.last_held].next_held = sender
    buffer.last_held = sender
    return False


@part
def free_place_at_node(world: World, limits: Limits, state: State, number: int, now: float) -> None:
    """A tuple from another node was taken in: the first sender held back gets its place."""
    moved = state.tuples[number]
    sending = world.threads[(moved.order >> SENDER_SHIFT) - 1].node
    node = world.threads[moved.thread].node
    if sending == node:
        return
    buffer = state.nodes[node]
    sender = buffer.first_held
    # After a change of plan there may be more in the buffer than it holds.
    if sender < 0 or buffer.held > limits.node_capacity:
        buffer.held -= 1
        return
    buffer.first_held = state.threads[sender].next_held
    state.threads[sender].granted_node = node
    schedule(world, state, state.threads[sender].serving, RETRIES, now)


@part
def _take_link_out(
    world: World, limits: Limits, tally: Tally, state: State, number: int, now: float
) -> None:
    moved = state.tuples[number]
    sender, thread = world.threads[(moved.order >> SENDER_SHIFT) - 1], world.threads[moved.thread]
    state.links[0, sender.node] = max(now, state.links[0, sender.node]) + limits.link_s
    record_link_out(tally, sender.node, moved.root, limits.link_s)
    arrives = state.links[0, sender.node] + _travel_s(world, sender, thread)
    schedule(world, state, number, AT_LINK, arrives)


@part
def _travel_s(world: World, sender: Row, thread: Row) -> float:
    """A tuple under way does not know its stream; of several between two operators the first."""
    stream = stream_between(world, sender, thread) if len(world.delays_s) > 1 else 0
    return travel_s(world, stream, sender, thread)


@part
def _wait_for_turn(
    world: World, limits: Limits, tally: Tally, state: State, number: int, now: float
) -> None:
    moved = state.tuples[number]
    sender, thread = world.threads[(moved.order >> SENDER_SHIFT) - 1], world.threads[moved.thread]
    time_slot = slot_in_round(world, sender, thread)
    record_turn(tally, sender.node, time_slot, thread.stage, moved.root)
    outbox = state.outboxes[sender.node, time_slot, thread.stage]
    moved.next = -1
    if outbox.head < 0:
        outbox.head = number
        _schedule_turn(world, limits, state, number, max(now, state.links[0, sender.node]))
    else:
        state.tuples[outbox.tail].next = number
    outbox.tail = number


@part
def _schedule_turn(
    world: World, limits: Limits, state: State, number: int, earliest: float
) -> None:
    """The first time from `earliest` on when the tuple has left before its turn is over: what is
    sent later would meet another node's tuples at the receiver.
    """
    moved = state.tuples[number]
    sender, thread = world.threads[(moved.order >> SENDER_SHIFT) - 1], world.threads[moved.thread]
    opens = turn_opens(world, sender, thread, earliest)
    begins = max(opens, earliest)
    if begins + limits.link_s * (1 - ROUNDING) > opens + world.turn_s:
        begins = opens + world.round_steps * world.step_s
    schedule(world, state, number, TURN, begins)
