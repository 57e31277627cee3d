"""The plan and the options as flat arrays, in the form the kernels read.

Threads are numbered as in the Allocation, slots and nodes as in the Cluster, operators and streams
as in the Topology. Nothing here changes during a run.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from slotwise.model import ModelError, Plan
from slotwise.rates import ArrivalRates, arrival_rates
from slotwise.simulation.arrivals import Sources, sources_of
from slotwise.simulation.draws import thread_keys
from slotwise.simulation.options import Options
from slotwise.simulation.service import thread_figures, variations

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]

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
MOST_PAIRS = 4_000_000
"""Traffic is counted per pair of threads up to so many pairs."""


class World(NamedTuple):
    # Operators.
    first: Integers
    """First thread of each operator; one more entry at the end."""
    rank: Integers
    """Position in topological order."""
    outputs: Integers
    """Where each operator's streams start in `streams`; one more entry at the end."""
    streams: Integers
    leaf: NDArray[np.bool_]
    source: NDArray[np.bool_]
    variation: Integers
    shape: Floats
    first_sample: Integers
    samples: Floats
    # Threads.
    operator: Integers
    slot: Integers
    node: Integers
    key: NDArray[np.uint64]
    service_s: Floats
    send_s: Floats
    receive_s: Floats
    # Streams.
    target: Integers
    kind: Integers
    selectivity: Floats
    before: Floats
    """Selectivities of the sending operator's earlier streams, added up."""
    counter: Integers
    """Where the counters of the stream's senders start."""
    pair: Integers
    """Where the counts of the stream's pairs of threads start."""
    weight: Integers
    """Where the cumulative weights of the target's threads start."""
    stage: Integers
    # Tables.
    weights: Floats
    by_slot: Integers
    """Threads by operator, then slot."""
    by_slot_slot: Integers
    rack: Integers
    """Of each node."""
    delays_s: Floats
    key_shares: Floats
    """Cumulative frequencies of the keys; empty: no stream needs keys."""
    forwarded: float
    sources: Sources
    # Switches and figures.
    random_selectivity: bool
    shared: bool
    transfers: bool
    """Sending or receiving across nodes takes thread time."""
    steps: NDArray[np.int64]
    """[sender node, receiver node]: the step in which they may; empty: at any time."""
    round_steps: int
    step_s: float
    counters: int
    pairs: int
    """0: too many to count."""

    @property
    def threads(self) -> int:
        return len(self.operator)

    @property
    def operators(self) -> int:
        return len(self.rank)


class Figures(NamedTuple):
    """What only the report needs, per thread."""

    cpu: Floats
    mem: Floats
    slowed: Floats
    rates: ArrivalRates


def build(plan: Plan, rate: float, options: Options, part: int) -> tuple[World, Figures]:
    """`part` counts the changes of plan before. O(threads log threads + streams)."""
    network, routing = options.network, options.routing
    topology, cluster, placement = plan.pipeline.topology, plan.cluster, plan.placement
    check_fits(plan)
    rates = arrival_rates(topology, rate, placement.threads)
    service_s, cpu, mem, slowed = thread_figures(plan, rate)
    kinds, shapes, first_sample, samples = variations(plan, options.service, options.service_of)
    operator, slot = placement.thread_operator, placement.slots
    first = plan.allocation.first_thread
    by_slot = np.lexsort((slot, operator))
    edges = np.array(topology.edges, dtype=np.int64).reshape(-1, 2)
    senders = np.diff(first)[edges[:, 0]]
    receivers = np.diff(first)[edges[:, 1]]
    pairs = np.concatenate(([0], np.cumsum(senders * receivers)))
    transfer = np.array([entry.transfer_cpu for entry in plan.allocation])[operator]
    transfer = transfer / cluster.slot_cpu[slot]
    stepping = placement.schedule if network.stepwise else None
    delays = network.delays or plan.pipeline.network
    kind = np.array([_KINDS[stream.grouping.kind] for stream in topology.streams], dtype=np.int64)
    if routing.shuffle == "random":
        kind[kind == ROUND_ROBIN] = RANDOM
    cumulative, weight = _cumulative_weights(plan)
    needs_keys = bool(np.any(kind == FIELDS))
    world = World(
        first=first,
        rank=np.argsort(topology.order),
        outputs=np.concatenate(([0], np.cumsum([len(o) for o in topology.outputs]))),
        streams=np.array([s for each in topology.outputs for s in each], dtype=np.int64),
        leaf=np.array([not each for each in topology.outputs]),
        source=np.array([o.kind == "source" for o in topology.operators]),
        variation=kinds,
        shape=shapes,
        first_sample=first_sample,
        samples=samples,
        operator=operator,
        slot=np.asarray(slot).copy(),
        node=cluster.slot_node[slot],
        key=thread_keys(options.seed, part, len(operator)),
        service_s=service_s,
        send_s=transfer + network.send_ms / 1000,
        receive_s=transfer + network.receive_ms / 1000,
        target=edges[:, 1].copy(),
        kind=kind,
        selectivity=np.array([s.selectivity for s in topology.streams]),
        before=_selectivities_before(plan),
        counter=np.concatenate(([0], np.cumsum(senders))),
        pair=pairs,
        weight=weight[edges[:, 1]],
        stage=_stages(plan),
        weights=cumulative,
        by_slot=by_slot,
        by_slot_slot=np.asarray(slot)[by_slot],
        rack=cluster.node_rack,
        delays_s=np.array([delays.slot_ms, delays.node_ms, delays.rack_ms, delays.cluster_ms])
        / 1000,
        key_shares=_cumulative(np.array(options.keys.frequencies())) if needs_keys else np.empty(0),
        forwarded=options.keys.forwarded,
        sources=sources_of(plan, rates, options.arrivals),
        random_selectivity=routing.selectivity == "random",
        shared=routing.queue == "shared",
        transfers=bool(np.any(transfer > 0) or network.send_ms or network.receive_ms),
        steps=_steps(plan) if stepping else np.empty((0, 0), dtype=np.int64),
        round_steps=len(stepping.senders) + stepping.stall_steps if stepping else 0,
        step_s=network.step_ms / 1000 if network.step_ms else _longest(service_s),
        counters=int(senders.sum()),
        pairs=int(pairs[-1]) if pairs[-1] <= MOST_PAIRS else 0,
    )
    return world, Figures(cpu, mem, slowed, rates)


def check_fits(plan: Plan) -> None:
    """A plan whose parts contradict each other is refused in one sentence."""
    topology, allocation, placement = plan.pipeline.topology, plan.allocation, plan.placement
    names = [operator.name for operator in topology.operators]
    if [entry.operator for entry in allocation] != names:
        raise ModelError(
            f"the plan's allocation is not for the operators of topology '{topology.name}'"
        )
    for name, allocated, placed in zip(names, allocation.threads, placement.threads, strict=False):
        if allocated != placed:
            raise ModelError(f"'{name}' is allocated {allocated} threads, but {placed} are placed")
    if len(placement.threads) != len(names):
        raise ModelError(
            f"the placement is for {len(placement.threads)} operators, "
            f"topology '{topology.name}' has {len(names)}"
        )
    if np.any(placement.slots < 0) or np.any(placement.slots >= plan.cluster.slots):
        raise ModelError(f"the placement uses slots that the cluster's {plan.cluster.slots} are not")


def _longest(service_s: Floats) -> float:
    longest = float(service_s.max())
    return longest if longest > 0 else 1.0


def _selectivities_before(plan: Plan) -> Floats:
    topology = plan.pipeline.topology
    before = np.zeros(len(topology.streams))
    for streams in topology.outputs:
        total = 0.0
        for stream in streams:
            before[stream] = total
            total += topology.streams[stream].selectivity
    return before


def _cumulative(shares: Floats) -> Floats:
    summed = np.cumsum(shares)
    return np.asarray(summed / summed[-1])


def _cumulative_weights(plan: Plan) -> tuple[Floats, Integers]:
    """The weights of all threads of operators that `weighted` grouping feeds; and per operator
    where its own start.
    """
    topology = plan.pipeline.topology
    start = np.zeros(len(topology.operators), dtype=np.int64)
    tables: list[Floats] = []
    reached = 0
    for position, inputs in enumerate(topology.inputs):
        if all(topology.streams[s].grouping.kind != "weighted" for s in inputs):
            continue
        name = topology.operators[position].name
        shares = np.array(plan.weights.get(name, ()), dtype=np.float64)
        if len(shares) != plan.placement.threads[position] or shares.sum() <= 0:
            raise ModelError(f"a stream to '{name}' is weighted, but the plan has no weights for it")
        start[position] = reached
        reached += len(shares)
        tables.append(_cumulative(shares))
    return np.concatenate(tables) if tables else np.empty(0), start


def _stages(plan: Plan) -> Integers:
    """Per stream, its stage in paper 4's pipeline: how many streams its target is away from the
    sources, by the longest way, less one.
    """
    topology = plan.pipeline.topology
    depth = np.zeros(len(topology.operators), dtype=np.int64)
    for position in topology.order:
        for stream in topology.inputs[position]:
            if not topology.streams[stream].loop:
                depth[position] = max(depth[position], depth[topology.edges[stream][0]] + 1)
    return np.array([max(depth[target] - 1, 0) for _, target in topology.edges], dtype=np.int64)


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
