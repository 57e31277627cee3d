"""The plan and the options as tables, in the form the kernels read.

Threads are numbered as in the Allocation, slots and nodes as in the Cluster, operators as in the
Topology; streams by their sending operator, so that an operator's outputs are a range. Kernels
change nothing here; `set_times` changes how long threads take between two calls of them.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from slotwise.model import ModelError, Plan, counted
from slotwise.prediction.network import delays_by_distance_ms
from slotwise.rates import ArrivalRates, arrival_rates
from slotwise.simulation.kernels.arrivals import Sources, sources_of
from slotwise.simulation.kernels.draws import thread_keys
from slotwise.simulation.kernels.speeds import SpeedTables, speed_tables
from slotwise.simulation.options import Network, Options
from slotwise.simulation.service import ThreadFigures, thread_figures, variations

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]
Table = NDArray[Any]
"""A structured array: rows with named fields."""

ROUND_ROBIN, RANDOM, FIELDS, ALL, GLOBAL, WEIGHTED, LOCAL = range(7)
_KINDS = {
    "shuffle": ROUND_ROBIN,
    "direct": RANDOM,  # The sender chooses, we do not know how.
    "fields": FIELDS,
    "all": ALL,
    "global": GLOBAL,
    "weighted": WEIGHTED,
    "local-or-shuffle": LOCAL,
}
ROUNDING = 1e-6
"""Parts of a turn, or of a tuple on a link, by which sums of times may be off."""
MOST_PAIRS = 4_000_000
"""Traffic is counted per pair of threads up to so many pairs."""

_OPERATOR = np.dtype(
    [
        ("first", "i8"),  # its first thread
        ("last", "i8"),  # one past its last thread
        ("rank", "i8"),  # position in topological order
        ("first_output", "i8"),
        ("last_output", "i8"),
        ("leaf", "i8"),  # 1: it has no outputs
        ("source", "i8"),
        ("variation", "i8"),  # of its service times, see draws.py
        ("shape", "f8"),
        ("first_sample", "i8"),
        ("last_sample", "i8"),
    ]
)
_THREAD = np.dtype(
    [
        ("key", "u8"),  # of its random numbers
        ("service_s", "f8"),
        ("visit_s", "f8"),  # thread time for each tuple beside the service
        ("sends", "i8"),  # 1: sending takes thread time
        ("operator", "i8"),
        ("place", "i8"),  # which of its operator's threads it is
        ("slot", "i8"),
        ("node", "i8"),
        ("rack", "i8"),
        ("stage", "i8"),  # of paper 4's pipeline that feeds it
    ]
)
_STREAM = np.dtype(
    [
        ("number", "i8"),  # its position here
        ("source", "i8"),
        ("target", "i8"),
        ("kind", "i8"),
        ("first", "i8"),  # the target's first thread
        ("width", "i8"),  # the target's threads
        ("copies", "i8"),  # threads that get each tuple
        ("selectivity", "f8"),
        ("before", "f8"),  # selectivities of the sender's earlier streams, added up
        ("counter", "i8"),  # where the counters of its senders start
        ("pair", "i8"),  # where the counts of its pairs of threads start
        ("weight", "i8"),  # where the cumulative weights of the target's threads start
        ("senders", "i8"),
    ]
)


class World(NamedTuple):
    operators: Table
    threads: Table
    streams: Table
    samples: Floats
    """Recorded service times, in means."""
    weights: Floats
    by_slot: Integers
    """[0]: threads by operator, then slot; [1]: their slots."""
    delays_s: Floats
    """[0 or stream, distance]: same slot, node, rack, elsewhere. One row, or one per stream."""
    send_s: Floats
    """[thread, distance]: thread time for each tuple that is sent."""
    receive_s: Floats
    key_shares: Floats
    """Cumulative frequencies of the keys; empty: no stream needs keys."""
    steps: Integers
    """[sender node, receiver node]: the step in which they may; empty: at any time."""
    sources: Sources
    speeds: SpeedTables
    forwarded: float
    """Probability that a tuple keeps its key."""
    random_selectivity: bool
    shared: bool
    """One queue per operator."""
    transfers: bool
    """Sending or receiving takes thread time, or handling beside the service."""
    round_steps: int
    """Time slots of a round; 0: no steps."""
    stages: int
    step_s: float
    turn_s: float
    """How long a node may send in its turn: its stage's part of a time slot, less what the farthest
    node is farther away than the nearest, so that turns do not overlap at receivers."""
    turn_tuples: int
    """Tuples that a link takes in that time; 0: any number."""


class Figures(NamedTuple):
    """What only the report needs: per thread, and the arrival rates."""

    of_threads: ThreadFigures
    idle_cpu: float
    """Of each slot in use, in reference slots."""
    idle_mem: float
    rates: ArrivalRates


def build(plan: Plan, rate: float, options: Options, part: int) -> tuple[World, Figures]:
    """`part` counts the changes of plan before. O(threads log threads + streams)."""
    check_fits(plan)
    network, placement = options.network, plan.placement
    rates = arrival_rates(plan.pipeline.topology, rate, placement.threads)
    figures = thread_figures(plan, rate, options.keys)
    service_s = figures.service_s
    kinds, shapes, first_sample, samples = variations(plan, options.service, options.service_of)
    operators = _operators(plan)
    operators["variation"], operators["shape"] = kinds, shapes
    operators["first_sample"], operators["last_sample"] = first_sample[:-1], first_sample[1:]
    send_s, receive_s = _ends_s(figures, network)
    threads = _threads(plan)
    threads["service_s"], threads["visit_s"] = service_s, figures.visit_s
    threads["sends"] = (send_s > 0).any(axis=1)
    threads["key"] = thread_keys(options.seed, part, len(threads))
    streams, weights = _streams(plan, options)
    by_slot = np.lexsort((placement.slots, placement.thread_operator))
    schedule = placement.schedule if network.stepwise else None
    keyed = bool(np.any(streams["kind"] == FIELDS))
    stages = 1 + int(threads["stage"].max())
    delays_s = _delays_s(plan, rates, network)
    farther_s = float(np.ptp(delays_s[:, _distances(plan)])) if network.link_s else 0.0
    shortest_s = stages * (network.link_s + farther_s) if schedule else 0.0
    step_s = _step_s(network, float(service_s.max()), shortest_s)
    turn_s = step_s / stages - farther_s
    world = World(
        operators=operators,
        threads=threads,
        streams=streams,
        samples=samples,
        weights=weights,
        by_slot=np.stack((by_slot, placement.slots[by_slot])),
        delays_s=delays_s,
        send_s=send_s,
        receive_s=receive_s,
        key_shares=_cumulative(np.array(options.keys.frequencies())) if keyed else np.empty(0),
        steps=_steps(plan) if schedule else np.empty((0, 0), dtype=np.int64),
        sources=sources_of(plan, rates, options.arrivals),
        speeds=speed_tables(plan, options.speeds),
        forwarded=float(options.keys.forwarded),
        random_selectivity=options.routing.selectivity == "random",
        shared=options.routing.queue == "shared",
        transfers=bool(send_s.any() or receive_s.any() or figures.visit_s.any()),
        round_steps=len(schedule.senders) + schedule.stall_steps if schedule else 0,
        stages=stages,
        step_s=step_s,
        turn_s=turn_s,
        turn_tuples=int(turn_s / network.link_s + ROUNDING) if network.link_s else 0,
    )
    platform, profiles = plan.pipeline.platform, plan.pipeline.profiles
    idle_mem = platform.slot_memory_mb / profiles.slot_memory_mb
    return world, Figures(figures, platform.slot_cpu / platform.cores, idle_mem, rates)


def set_times(world: World, figures: ThreadFigures, network: Network) -> None:
    """Threads take as long as `figures` says from now on."""
    world.threads["service_s"], world.threads["visit_s"] = figures.service_s, figures.visit_s
    world.send_s[:], world.receive_s[:] = _ends_s(figures, network)


def _ends_s(figures: ThreadFigures, network: Network) -> tuple[Floats, Floats]:
    """Sending and receiving, [thread, distance]: a network's own times are for other nodes only."""
    other_nodes = np.array([0.0, 0.0, 1.0, 1.0]) / 1000
    return (
        figures.send_s + network.send_ms * other_nodes,
        figures.receive_s + network.receive_ms * other_nodes,
    )


def check_fits(plan: Plan) -> None:
    """A plan whose parts contradict each other is refused in one sentence."""
    topology, allocation, placement = plan.pipeline.topology, plan.allocation, plan.placement
    names = [operator.name for operator in topology.operators]
    if [entry.operator for entry in allocation] != names:
        raise ModelError(
            f"the plan's allocation is not for the operators of topology '{topology.name}'"
        )
    if len(placement.threads) != len(names):
        raise ModelError(
            f"the placement is for {counted(len(placement.threads), 'operator')}, "
            f"topology '{topology.name}' has {len(names)}"
        )
    for name, allocated, placed in zip(names, allocation.threads, placement.threads, strict=True):
        if allocated != placed:
            sized = counted(int(allocated), "thread")
            verb = "is" if placed == 1 else "are"
            raise ModelError(f"'{name}' is allocated {sized}, but {placed} {verb} placed")
    for stream in topology.streams:
        threads = placement.threads[topology.index[stream.target]]
        given = plan.weights.get(stream.target, ())
        if plan.routing(stream) == "weighted" and not (len(given) == threads and sum(given) > 0):
            raise ModelError(
                f"stream {stream} is weighted, but the plan has no weights for '{stream.target}'"
            )
    if np.any(placement.slots < 0) or np.any(placement.slots >= plan.cluster.slots):
        raise ModelError(
            f"the placement uses slots that do not exist: the cluster has {plan.cluster.slots}"
        )


def _operators(plan: Plan) -> Table:
    topology, first = plan.pipeline.topology, plan.allocation.first_thread
    outputs = np.concatenate(([0], np.cumsum([len(each) for each in topology.outputs])))
    rows = np.zeros(len(topology.operators), _OPERATOR)
    rows["first"], rows["last"] = first[:-1], first[1:]
    rows["rank"] = np.argsort(topology.order)
    rows["first_output"], rows["last_output"] = outputs[:-1], outputs[1:]
    rows["leaf"][list(topology.ends)] = 1
    rows["source"] = [operator.kind == "source" for operator in topology.operators]
    return rows


def _delays_s(plan: Plan, rates: ArrivalRates, network: Network) -> Floats:
    """The world's streams are by their sending operator."""
    threads = plan.placement.threads
    delays_ms = delays_by_distance_ms(plan.pipeline, rates, threads, network.delays)
    if delays_ms.ndim == 1:
        return np.asarray(delays_ms[None, :] / 1000)
    order = [stream for outputs in plan.pipeline.topology.outputs for stream in outputs]
    return np.asarray(delays_ms[order] / 1000)


def _threads(plan: Plan) -> Table:
    cluster, operator, slot = plan.cluster, plan.placement.thread_operator, plan.placement.slots
    rows = np.zeros(len(operator), _THREAD)
    rows["operator"] = operator
    rows["place"] = np.arange(len(operator)) - plan.allocation.first_thread[operator]
    rows["slot"] = slot
    rows["node"] = cluster.slot_node[slot]
    rows["rack"] = cluster.node_rack[rows["node"]]
    rows["stage"] = _stages(plan)[operator]
    return rows


def _streams(plan: Plan, options: Options) -> tuple[Table, Floats]:
    """The streams by their sending operator; and the cumulative weights they use."""
    topology, first = plan.pipeline.topology, plan.allocation.first_thread
    order = [stream for outputs in topology.outputs for stream in outputs]
    weights, first_weight = _weights(plan)
    rows = np.zeros(len(order), _STREAM)
    rows["number"] = np.arange(len(order))
    counter = pair = 0
    for row, position in zip(rows, order, strict=True):
        stream, (source, target) = topology.streams[position], topology.edges[position]
        kind = _KINDS[plan.routing(stream)]
        if kind == ROUND_ROBIN and options.routing.shuffle == "random":
            kind = RANDOM
        width = int(first[target + 1] - first[target])
        senders = int(first[source + 1] - first[source])
        earlier = [s for s in topology.outputs[source] if s < position]
        row["source"], row["target"], row["kind"] = source, target, kind
        row["first"], row["width"] = first[target], width
        row["copies"] = width if kind == ALL else 1
        row["selectivity"] = stream.selectivity
        row["before"] = sum(topology.streams[s].selectivity for s in earlier)
        row["counter"], row["pair"] = counter, pair
        row["weight"] = first_weight[target]
        row["senders"] = senders
        counter += senders
        pair += senders * width
    return rows, weights


def pairs(world: World) -> int:
    """Pairs of threads that streams connect; 0 where there are too many to count."""
    operators, streams = world.operators, world.streams
    senders = (operators["last"] - operators["first"])[streams["source"]]
    total = int((senders * streams["width"]).sum())
    return total if total <= MOST_PAIRS else 0


def counters(world: World) -> int:
    """Counters of tuples sent: one per stream and sender."""
    operators = world.operators
    return int((operators["last"] - operators["first"])[world.streams["source"]].sum())


def outboxes(world: World) -> tuple[int, int, int]:
    """Nodes, time slots of a round, stages: with paper 4's steps, each combination has one where
    links have a bandwidth.
    """
    nodes = len(world.steps) if world.turn_tuples else 0
    return nodes, world.round_steps, world.stages


def _cumulative(shares: Floats) -> Floats:
    summed = np.cumsum(shares)
    return np.asarray(summed / summed[-1])


def _weights(plan: Plan) -> tuple[Floats, dict[int, int]]:
    """The cumulative weights of the threads of operators that are fed by weights; and per operator
    where its own start (0 for the others).
    """
    topology = plan.pipeline.topology
    start = dict.fromkeys(range(len(topology.operators)), 0)
    tables: list[Floats] = []
    for position, inputs in enumerate(topology.inputs):
        if all(plan.routing(topology.streams[s]) != "weighted" for s in inputs):
            continue
        start[position] = sum(map(len, tables))
        weights = plan.weights[topology.operators[position].name]
        tables.append(_cumulative(np.array(weights, dtype=np.float64)))
    return np.concatenate(tables) if tables else np.empty(0), start


def _stages(plan: Plan) -> Integers:
    """Per operator, the stage of paper 4's pipeline that feeds it: how many streams it is away
    from the sources by the longest way, less one.
    """
    topology = plan.pipeline.topology
    depth = [0] * len(topology.operators)
    for position in topology.order:
        for stream in topology.inputs[position]:
            if not topology.streams[stream].loop:
                depth[position] = max(depth[position], depth[topology.edges[stream][0]] + 1)
    return np.maximum(np.array(depth, dtype=np.int64) - 1, 0)


def _distances(plan: Plan) -> list[int]:
    """Between the cluster's nodes, as routing.distance has them: in one rack, or not."""
    nodes_in_racks = np.bincount(plan.cluster.node_rack)
    present = {2: nodes_in_racks.max() > 1, 3: len(nodes_in_racks) > 1}
    return [distance for distance, there_are in present.items() if there_are] or [2]


def _step_s(network: Network, longest_s: float, shortest_s: float) -> float:
    """The length of a time slot; in `shortest_s` a link takes a tuple of each stage."""
    if network.step_ms is None:
        return max(longest_s, shortest_s) or 1.0
    if network.step_ms / 1000 < shortest_s * (1 - 1e-9):
        raise ModelError(
            f"network step_ms is {network.step_ms:g}: expected a number ≥ {1000 * shortest_s:g}, "
            "the time in which a link takes a tuple of each stage"
        )
    return network.step_ms / 1000


def _steps(plan: Plan) -> Integers:
    """When each node may send to each other one: its step in the round."""
    schedule = plan.placement.schedule
    assert schedule is not None
    nodes = len(plan.cluster.nodes)
    steps = np.full((nodes, nodes), -1, dtype=np.int64)
    for step, senders in enumerate(schedule.senders):
        for receiver, sender in enumerate(senders.tolist()):
            if 0 <= sender < nodes and receiver < nodes and steps[sender, receiver] < 0:
                steps[sender, receiver] = step
    used = np.unique(plan.cluster.slot_node[plan.placement.slots])
    for sender in used.tolist():
        for receiver in used.tolist():
            if sender != receiver and steps[sender, receiver] < 0:
                raise ModelError(
                    f"the communication schedule never lets {plan.cluster.nodes[sender].name} "
                    f"send to {plan.cluster.nodes[receiver].name}"
                )
    return steps
