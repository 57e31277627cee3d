"""Nodes' links and their receive buffers: loss, resending, back-pressure, and paper 4's steps."""

from __future__ import annotations

import math
import re
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from slotwise.model import CommunicationSchedule, ModelError, NetworkDelays, Observation, Plan
from slotwise.simulation import Arrivals, Buffers, Network, Options, Routing, simulate
from slotwise.simulation.kernels.measure import visited
from slotwise.simulation.run import run
from tests.builders import cluster, topology
from tests.simulation import strategies
from tests.simulation.builders import plan

LINK = Network(tuple_bytes=10_000, bandwidth_mb_per_s=1.0)
"""A tuple takes 10 ms: a link carries 100 a second."""


def crowd(senders: int) -> Plan:
    """So many nodes with a source each send to one more."""
    return plan(
        topology("a>b"),
        {},
        {"a": senders},
        cluster=cluster(senders + 1, 1),
        slots=list(range(senders + 1)),
    )


def all_to_all(shape: str, nodes: int) -> Plan:
    """A thread of every operator on every node, with paper 4's steps: a Latin square. Two racks."""
    made = topology(*shape.split())
    names = [operator.name for operator in made.operators]
    placed = plan(
        made,
        {},
        dict.fromkeys(names, nodes),
        cluster=cluster(nodes, len(names), racks=2),
        slots=[node * len(names) + i for i in range(len(names)) for node in range(nodes)],
    )
    square = (np.arange(nodes)[:, None] + np.arange(nodes)) % nodes
    schedule = CommunicationSchedule(square, stages=len(names) - 1)
    return replace(placed, placement=replace(placed.placement, schedule=schedule))


def sum_of(seen: Observation, what: str) -> int:
    return sum(getattr(link, what) for link in seen.links)


def m_d_1_k_loss(load: float, capacity: int) -> float:
    """The part of Poisson arrivals that finds `capacity` tuples in an M/D/1/K queue: from the
    Markov chain of how many a departing tuple leaves behind (Cooper, Introduction to Queueing
    Theory, 5.9).
    """
    arrive = [math.exp(-load) * load**n / math.factorial(n) for n in range(capacity)]
    moves = np.zeros((capacity, capacity))
    for left in range(capacity):
        for came in range(capacity):
            to = max(left - 1, 0) + came
            if to < capacity - 1:
                moves[left, to] += arrive[came]
        moves[left, capacity - 1] = 1 - moves[left].sum()
    balance = np.vstack([moves.T - np.eye(capacity), np.ones(capacity)])
    left_behind = np.linalg.lstsq(balance, np.eye(capacity + 1)[-1], rcond=None)[0]
    return float(1 - 1 / (left_behind[0] + load))


@pytest.mark.parametrize(("load", "capacity"), [(0.6, 1), (0.9, 2), (0.8, 4), (1.3, 3), (1.0, 10)])
def test_loss_at_a_link_is_that_of_m_d_1_k(load: float, capacity: int) -> None:
    """Within the 99 % confidence interval of ten runs, which is a few percent wide. The arrivals
    are Poisson but for what 300 links out space apart.
    """
    lost = []
    for seed in range(10):
        seen = simulate(
            crowd(300),
            100 * load,
            network=LINK,
            buffers=Buffers(when_full="lose", node_capacity=capacity),
            tuples=20_000,
            seed=seed,
        )
        came = sum_of(seen, "lost") + seen.operators[1].arrival_rate * (seen.end_s - seen.start_s)
        lost.append(sum_of(seen, "lost") / came)
    margin = 3.25 * float(np.std(lost, ddof=1)) / math.sqrt(10)
    expected = m_d_1_k_loss(load, capacity)
    assert margin < 0.06 * expected + 0.002, "the runs are too short to tell"
    assert abs(float(np.mean(lost)) - expected) < margin + 0.005 * expected


def test_what_a_full_buffer_drops_is_counted_at_the_node_and_at_the_operator() -> None:
    buffers = Buffers(when_full="lose", node_capacity=2)
    seen = simulate(crowd(5), 120.0, network=LINK, buffers=buffers, tuples=20_000, warm_up=0.0)
    assert [link.lost for link in seen.links[:5]] == [0] * 5
    assert seen.links[5].lost == seen.operators[1].lost > 2000
    handled = round(seen.operators[1].arrival_rate * seen.end_s)
    assert handled + seen.operators[1].lost == round(seen.operators[0].arrival_rate * seen.end_s)
    assert seen.links[5].most_held == 2
    assert 1 < seen.links[5].held < 2
    assert seen.links[5].in_utilisation == pytest.approx(1.2, rel=0.02), "what it was asked for"
    assert not seen.stable
    assert seen.capacity == seen.throughput < 100


def test_resent_tuples_take_the_links_again_and_all_arrive() -> None:
    buffers = Buffers(when_full="lose", resend_after_ms=35.0, node_capacity=1)
    seen = simulate(crowd(4), 40.0, network=LINK, buffers=buffers, tuples=20_000, warm_up=0.0)
    assert sum_of(seen, "lost") == seen.operators[1].lost == 0
    assert sum_of(seen, "resent") == seen.operators[1].resent > 5000
    inputs = round(seen.operators[0].arrival_rate * seen.end_s)
    assert seen.operators[1].arrival_rate == seen.operators[0].arrival_rate
    out_s = sum_of(seen, "out_utilisation") * seen.end_s
    assert out_s == pytest.approx(0.01 * (inputs + seen.operators[1].resent))
    assert sum_of(seen, "in_utilisation") * seen.end_s == pytest.approx(0.01 * inputs)
    # Out, in, and for each time that it was dropped the wait and the way out again.
    again = seen.operators[1].resent / inputs
    assert seen.network_ms > 20 + again * 45


def test_back_pressure_keeps_the_receive_buffer_within_its_capacity() -> None:
    calm = simulate(crowd(5), 60.0, network=LINK, tuples=20_000, warm_up=0.0)
    tight = simulate(
        crowd(5), 60.0, network=LINK, buffers=Buffers(node_capacity=2), tuples=20_000, warm_up=0.0
    )
    assert calm.links[5].most_held > 2
    assert tight.links[5].most_held == 2
    assert sum_of(tight, "lost") == sum_of(tight, "resent") == 0
    assert tight.operators[1].arrival_rate == calm.operators[1].arrival_rate
    assert tight.backlog >= calm.backlog
    full = simulate(crowd(5), 150.0, network=LINK, buffers=Buffers(node_capacity=2), tuples=20_000)
    assert full.links[5].most_held <= 2
    assert full.backlog > 1000, "it waits at the sources"
    assert full.capacity == pytest.approx(100.0, rel=0.02), "one comes in while one goes out"


def test_a_large_receive_buffer_is_as_good_as_none() -> None:
    free = simulate(crowd(5), 90.0, network=LINK, tuples=5_000)
    for full in ("block", "lose"):
        buffers = Buffers(when_full=full, node_capacity=100_000)
        assert simulate(crowd(5), 90.0, network=LINK, buffers=buffers, tuples=5_000) == free


def test_held_is_the_mean_number_in_the_receive_buffer() -> None:
    """M/D/1: load + load² / 2(1 - load) in all, waiting or on the link."""
    seen = simulate(crowd(300), 70.0, network=LINK, tuples=100_000)
    assert seen.links[300].held == pytest.approx(0.7 + 0.49 / 0.6, rel=0.03)
    assert seen.links[0].held == 0


@pytest.mark.parametrize("delays", [NetworkDelays(0, 0, 0, 0), NetworkDelays(0, 1, 2, 6)])
@pytest.mark.parametrize("load", [0.5, 3.0])
@pytest.mark.parametrize("shape", ["a>b", "a>b b>c c>d"])
def test_steps_leave_nothing_to_wait_for_at_a_receiver(
    shape: str, load: float, delays: NetworkDelays
) -> None:
    """A node receives from one node at a time, so that a receive buffer for one tuple loses
    nothing, at any load, with any number of stages and distances. Without steps it does.
    """
    given = all_to_all(shape, 5)
    stages = len(shape.split())
    network = replace(LINK, step_ms=25.0 * stages, delays=delays)
    buffers = Buffers(when_full="lose", resend_after_ms=5.0, node_capacity=1)
    options = {"buffers": buffers, "tuples": 5_000, "warm_up": 0.0}
    rate = load * 500 / stages
    stepped = simulate(given, rate, network=network, **options)
    assert sum_of(stepped, "resent") == 0
    assert max(link.most_held for link in stepped.links) == 1
    assert max(link.in_utilisation for link in stepped.links) > 0.7 * load
    free = simulate(given, rate, network=replace(network, stepwise=False), **options)
    assert sum_of(free, "resent") > 500


def test_steps_carry_what_their_turns_have_room_for() -> None:
    """Five nodes, one stage: each of the four others gets two tuples in a round of five slots of
    25 ms, of which each has room for two. Within the node a tuple goes at once: every fifth.
    """
    given = all_to_all("a>b", 5)
    seen = simulate(given, 2000.0, network=replace(LINK, step_ms=25.0), tuples=20_000)
    assert seen.series is not None
    handled = seen.series.handled_rate["b"]
    between = np.mean(handled[20:]) - 2000.0 / 5
    assert between == pytest.approx(5 * 4 * 2 / 0.125, rel=0.02)
    assert not seen.stable
    # Five times, and a little more for the one pair of nodes that has most by chance.
    asked = [re.search(r"need (\S+) times the turns", remark) for remark in seen.remarks]
    assert [float(found[1]) for found in asked if found] == [pytest.approx(5.1, abs=0.15)]


def test_a_tuple_that_waits_for_its_slot_holds_up_no_other() -> None:
    """One sender, three receivers in turn: each tuple waits for its own receiver's slot only."""
    made = topology("a>b")
    given = plan(made, {}, {"b": 3}, cluster=cluster(4, 1), slots=[0, 1, 2, 3])
    square = (np.arange(4)[:, None] + np.arange(4)) % 4
    schedule = CommunicationSchedule(square)
    given = replace(given, placement=replace(given.placement, schedule=schedule))
    seen = simulate(given, 0.5, network=replace(LINK, step_ms=100.0), tuples=20_000)
    # The last 10 ms of a slot of 100 ms in a round of 400 are too late: 310²/2 of 400; and 20 ms
    # on the links.
    assert seen.network_ms == pytest.approx(310**2 / 2 / 400 + 20, rel=0.02)


def test_a_step_has_room_for_a_tuple_of_each_stage() -> None:
    given = all_to_all("a>b b>c", 3)
    short = replace(LINK, step_ms=15.0)
    with pytest.raises(ModelError, match=r"step_ms is 15: expected a number ≥ 20"):
        simulate(given, network=short, tuples=100)
    apart = replace(LINK, step_ms=25.0, delays=NetworkDelays(0, 0, 1, 4))
    with pytest.raises(ModelError, match=r"step_ms is 25: expected a number ≥ 26"):
        simulate(given, network=apart, tuples=100)
    simulate(given, network=replace(short, stepwise=False), tuples=100)
    assert simulate(given, 30.0, network=LINK, tuples=500).throughput > 20, "20 ms if none is given"


def test_a_receive_buffer_needs_a_bandwidth() -> None:
    with pytest.raises(ModelError, match="bandwidth_mb_per_s"):
        simulate(crowd(2), buffers=Buffers(node_capacity=1))


def test_links_without_a_limit_are_not_told_of() -> None:
    assert simulate(crowd(2), tuples=100).links == ()


BUFFERS = st.sampled_from(
    [
        Buffers(node_capacity=2),
        Buffers(3, node_capacity=1),
        Buffers(None, "lose", node_capacity=1),
        Buffers(2, "lose", node_capacity=2),
        Buffers(None, "lose", 5.0, node_capacity=1),
        Buffers(2, "lose", 40.0, node_capacity=3),
    ]
)


@settings(max_examples=60, deadline=None)
@given(strategies.plans(), strategies.options(), BUFFERS, st.booleans(), st.floats(0.05, 2.0))
def test_every_tuple_is_handled_or_lost_once(
    of: Plan, drawn: Options, buffers: Buffers, stepwise: bool, load: float
) -> None:
    options = replace(
        drawn,
        network=strategies.linked(of, load),
        buffers=buffers,
        routing=replace(drawn.routing, queue="own"),
        warm_up=0.0,
    )
    done = run(strategies.stepped(of) if stepwise else of, None, options)
    assert done.stuck == 0
    world, tally = done.world, done.tally
    handled = visited(tally, world, "handled")
    sent = np.zeros(len(world.operators), np.int64)
    for stream in world.streams:
        senders = world.operators[stream["source"]]
        size = int(senders["last"] - senders["first"]) * int(stream["width"])
        sent[stream["target"]] += tally.pairs[stream["pair"] : stream["pair"] + size].sum()
    inner = world.operators["source"] == 0
    lost, resent = tally.operators["lost"], tally.operators["resent"]
    assert np.array_equal((handled + lost)[inner], sent[inner])
    gives_up = buffers.when_full == "lose" and buffers.resend_after_ms is None
    assert gives_up or lost.sum() == 0
    assert buffers.resend_after_ms or resent.sum() == 0
    at_nodes = (tally.links["lost"].sum(), tally.links["resent"].sum())
    if buffers.capacity is None:
        assert at_nodes == (lost.sum(), resent.sum())
    else:
        assert at_nodes <= (lost.sum(), resent.sum())
    assert tally.links["most"].max(initial=0) <= buffers.node_capacity
    # Every way between nodes takes the link out, and the link in unless it ended in a loss.
    link_s = options.network.link_s
    between = world.threads["node"]
    crossed = 0
    for stream in world.streams:
        first, width = int(stream["first"]), int(stream["width"])
        senders = range(*(int(world.operators[stream["source"]][end]) for end in ("first", "last")))
        table = tally.pairs[stream["pair"] :][: len(senders) * width].reshape(len(senders), width)
        apart = between[list(senders)][:, None] != between[first : first + width]
        crossed += int(table[apart].sum())
    if buffers.capacity is None:
        taken = tally.links["sending"].sum() / link_s
        assert taken == pytest.approx(crossed + resent.sum())
        assert tally.links["receiving"].sum() / link_s == pytest.approx(crossed)


def test_a_shared_queue_has_room_for_what_links_bring() -> None:
    given = plan(
        topology("a>b"), {"b": 60.0}, {"a": 3, "b": 2}, cluster=cluster(4, 2), slots=[0, 2, 4, 6, 7]
    )
    seen = simulate(
        given,
        90.0,
        routing=Routing(queue="shared"),
        network=replace(LINK, delays=NetworkDelays()),
        buffers=Buffers(node_capacity=2),
        arrivals=Arrivals("uniform"),
        tuples=5_000,
        warm_up=0.0,
    )
    assert seen.operators[1].arrival_rate == seen.operators[0].arrival_rate
    assert seen.links[3].most_held == 2
