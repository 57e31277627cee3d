"""The kernel that does everything: one event after the other, in order of time.

A tuple is a row from the moment it is sent until it is handled, and is its own event: it arrives
at a node's link (links.py), at a thread's buffer, its service ends, its held-back sender tries
again. Loops, bounded buffers, links with a bandwidth and changes of plan are simulated here.
"""

from __future__ import annotations

from slotwise.simulation.kernels.arrivals import advance
from slotwise.simulation.kernels.draws import service_factor
from slotwise.simulation.kernels.heap import pop
from slotwise.simulation.kernels.jit import kernel, part
from slotwise.simulation.kernels.links import (
    free_place_at_node,
    leave,
    lose,
    place_at_node,
    reach_node,
    take_turn,
)
from slotwise.simulation.kernels.measure import (
    Tally,
    record_link_in,
    record_sent,
    record_travel,
    record_visit,
)
from slotwise.simulation.kernels.routing import (
    SENDER_SHIFT,
    caused,
    distance,
    first_key,
    outside_order,
    passed_on,
    receiver,
    transfer_seconds,
)
from slotwise.simulation.kernels.speeds import slowness
from slotwise.simulation.kernels.under_way import (
    ARRIVES,
    AT_LINK,
    ENDS,
    LEAVES,
    RETRIES,
    Limits,
    State,
    enqueue,
    free_row,
    joined,
    left,
    release,
    schedule,
)
from slotwise.simulation.kernels.world import Table, World

DONE, PAUSED, FULL = range(3)
"""Why `advance_to` came back: no events left, the time was reached, no free rows left."""


@kernel
def schedule_sources(world: World, state: State, end: float) -> None:
    """The next arrival from outside of every source thread."""
    for thread in range(len(world.threads)):
        if state.clocks[thread].next < end:
            _schedule_source(world, state, thread)


@kernel
def advance_to(
    world: World, limits: Limits, tally: Tally, state: State, until: float, end: float
) -> int:
    """All events before `until`; sources emit until `end`."""
    while state.heap.size[0] > 0:
        now = state.heap.entries[0].time
        if now >= until:
            return PAUSED
        if state.progress[0] < limits.most_caused + 1:
            return FULL
        number = pop(state.heap)
        moved = state.tuples[number]
        thread = moved.thread
        if moved.kind == ARRIVES:
            if moved.order >> SENDER_SHIFT == 0:
                advance(world.sources, state.clocks, world.threads[thread].key, thread)
                if state.clocks[thread].next < end:
                    _schedule_source(world, state, thread)
            _arrive(world, limits, tally, state, number, now)
        elif moved.kind > ARRIVES:
            _travel_on(world, limits, tally, state, number, now)
        else:
            if moved.kind == ENDS:
                operator = world.threads[thread].operator
                own = world.operators[operator]
                handled = state.threads[thread].handled
                record_visit(
                    tally,
                    operator,
                    own,
                    thread,
                    handled,
                    moved.root,
                    moved.arrival,
                    moved.since,
                    now,
                )
                moved.since = now
                state.threads[thread].output = own.first_output
            if send_outputs(world, limits, tally, state, number, now):
                _finish(world, limits, tally, state, number, now)
    return DONE


@kernel
def _travel_on(
    world: World, limits: Limits, tally: Tally, state: State, number: int, now: float
) -> None:
    """What happens to a tuple between two nodes."""
    moved = state.tuples[number]
    if moved.kind == AT_LINK:
        reach_node(world, limits, tally, state, number, now)
    elif moved.kind == LEAVES:
        sender = world.threads[(moved.order >> SENDER_SHIFT) - 1]
        thread = world.threads[moved.thread]
        leave(world, limits, tally, state, number, sender, thread, now)
    else:
        take_turn(world, limits, tally, state, number, now)


@kernel
def resume(world: World, limits: Limits, state: State, now: float) -> None:
    """All threads start again after standing still."""
    state.progress[1] = 0
    for thread in range(len(world.threads)):
        state.threads[thread].free = now
    for thread in range(len(world.threads)):
        _take_next(world, limits, state, thread, now)


@part
def _schedule_source(world: World, state: State, thread: int) -> None:
    number = free_row(state)
    clock, new = state.clocks[thread], state.tuples[number]
    new.root = clock.next
    new.since = clock.next
    new.key = first_key(world.key_shares, world.threads[thread].key, clock.emitted)
    new.thread = thread
    own = world.threads[thread]
    operator = world.operators[own.operator]
    new.order = outside_order(clock.emitted, own.place, operator.last - operator.first)
    schedule(world, state, number, ARRIVES, clock.next)


@part
def _arrive(
    world: World, limits: Limits, tally: Tally, state: State, number: int, now: float
) -> None:
    """A tuple reaches its thread: into service, into the buffer, or lost."""
    moved = state.tuples[number]
    target = state.threads[moved.thread]
    operator = world.threads[moved.thread].operator
    own = world.operators[operator]
    outside = moved.order >> SENDER_SHIFT == 0
    if limits.capacity > 0 and not limits.blocks and not own.source:
        busy = target.serving >= 0 or state.progress[1] > 0
        if busy and target.held >= limits.capacity:
            lose(world, limits, tally, state, number, now)
            return
    if not outside:
        record_travel(tally, operator, moved.root, now - moved.since)
        if limits.blocks and limits.node_capacity > 0:
            free_place_at_node(world, limits, state, number, now)
    if outside or not limits.blocks:
        target.held += 1
    moved.arrival = now
    state.queues[operator].arrived += 1
    server = moved.thread
    if world.shared:
        server = _longest_idle(state.threads, own.first, own.last)
    if state.progress[1] == 0 and server >= 0 and state.threads[server].serving < 0:
        _serve(world, limits, state, server, number, now)
    else:
        enqueue(state, own.first if world.shared else moved.thread, number)
        joined(state, operator, now)


@part
def _longest_idle(threads: Table, first: int, last: int) -> int:
    """The thread that has been idle longest, of several the first; -1: none is."""
    best = -1
    for thread in range(first, last):
        if threads[thread].serving < 0 and (best < 0 or threads[thread].free < threads[best].free):
            best = thread
    return best


@part
def _serve(
    world: World, limits: Limits, state: State, thread: int, number: int, now: float
) -> None:
    """The thread takes the tuple; its place in the buffer is free for a sender held back."""
    moved, own = state.tuples[number], world.threads[thread]
    buffer = moved.thread
    operator = world.operators[own.operator]
    moved.thread = thread
    moved.since = now
    state.threads[thread].serving = number
    handled = state.threads[thread].handled
    seconds = own.service_s
    if seconds > 0:
        samples = world.samples[operator.first_sample : operator.last_sample]
        seconds *= service_factor(operator.variation, operator.shape, samples, own.key, handled)
    if world.transfers:
        sender = (moved.order >> SENDER_SHIFT) - 1
        seconds += transfer_seconds(world, state.sent, sender, thread, handled, moved.key)
    if len(world.speeds.follows) > 0:
        seconds *= slowness(world.speeds, thread, now)
    schedule(world, state, number, ENDS, now + seconds)
    _free_place(world, limits, state, buffer, now)


@part
def _free_place(world: World, limits: Limits, state: State, thread: int, now: float) -> None:
    """A tuple left the thread's buffer: the first sender held back gets its place."""
    buffer = state.threads[thread]
    sender = buffer.first_held
    if sender < 0 or buffer.held > limits.capacity:
        buffer.held -= 1
        return
    buffer.first_held = state.threads[sender].next_held
    state.threads[sender].granted = thread
    schedule(world, state, state.threads[sender].serving, RETRIES, now)


@part
def _finish(
    world: World, limits: Limits, tally: Tally, state: State, number: int, now: float
) -> None:
    """All that the tuple caused is sent: on to the next."""
    moved = state.tuples[number]
    thread = moved.thread
    if moved.root >= tally.warm_up:
        tally.threads[thread].blocked += now - moved.since
    release(state, number)
    own = state.threads[thread]
    own.handled += 1
    own.serving = -1
    own.free = now
    _take_next(world, limits, state, thread, now)


@part
def _take_next(world: World, limits: Limits, state: State, thread: int, now: float) -> None:
    operator = world.threads[thread].operator
    queue = state.threads[world.operators[operator].first if world.shared else thread]
    number = queue.head
    if number >= 0 and state.progress[1] == 0:
        queue.head = state.tuples[number].next
        left(state, operator, now)
        _serve(world, limits, state, thread, number, now)


@part
def send_outputs(
    world: World, limits: Limits, tally: Tally, state: State, number: int, now: float
) -> bool:
    """Go on sending where the thread stopped; False if it is held back again."""
    moved = state.tuples[number]
    thread = moved.thread
    own, sending = world.threads[thread], state.threads[thread]
    last_output = world.operators[own.operator].last_output
    key = passed_on(world, thread, sending.handled, moved.key)
    while sending.output < last_output:
        stream = world.streams[sending.output]
        counter = stream.counter + own.place
        if sending.left < 0:
            sending.left = caused(stream, own, sending.handled, world.random_selectivity)
        while sending.left > 0:
            sent = state.sent[counter]
            while sending.copy < stream.copies:
                goes_to = receiver(world, stream, own, sent, sending.copy, key)
                if limits.blocks and not _places_taken(world, limits, state, thread, goes_to):
                    return False
                _send(world, limits, tally, state, sending.output, number, goes_to, key, now)
                sending.copy += 1
            sending.copy = 0
            state.sent[counter] = sent + 1
            sending.left -= 1
        sending.left = -1
        sending.output += 1
    sending.output = -1
    return True


@part
def _places_taken(world: World, limits: Limits, state: State, sender: int, goes_to: int) -> bool:
    """Take a place in the receiver's buffer and, where the tuple leaves its node, in that of the
    receiver's node; if there is none, queue up for it.

    The thread's place comes first: what is in a node's buffer can always go on, so that it empties.
    """
    if not _place_at_thread(limits, state, sender, goes_to):
        return False
    node = world.threads[goes_to].node
    crosses = limits.node_capacity > 0 and world.threads[sender].node != node
    if crosses and not place_at_node(limits, state, sender, node):
        state.threads[sender].granted = goes_to
        return False
    return True


@part
def _place_at_thread(limits: Limits, state: State, sender: int, goes_to: int) -> bool:
    own, buffer = state.threads[sender], state.threads[goes_to]
    if own.granted == goes_to:
        own.granted = -1
        return True
    if limits.capacity == 0 or buffer.held < limits.capacity:
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
def _send(
    world: World,
    limits: Limits,
    tally: Tally,
    state: State,
    output: int,
    parent_number: int,
    goes_to: int,
    key: int,
    now: float,
) -> None:
    stream, parent = world.streams[output], state.tuples[parent_number]
    sender, thread = world.threads[parent.thread], world.threads[goes_to]
    number = free_row(state)
    new = state.tuples[number]
    new.root = parent.root
    # From the end of service on, so that being held back counts as time on the way.
    new.since = parent.since
    new.key = key
    new.thread = goes_to
    sent = state.sent[stream.counter + sender.place]
    new.order = ((parent.thread + 1) << SENDER_SHIFT) + sent
    far = distance(sender, thread)
    record_sent(tally, stream, sender.place, goes_to, parent.root, far)
    if limits.link_s > 0 and far > 1:
        record_link_in(tally, thread.node, parent.root, limits.link_s)
    leave(world, limits, tally, state, number, sender, thread, now)
