"""Phase 2 of `exact`: given how many slots, the least traffic between nodes, by CP-SAT.

A stream i → j of rate r divides evenly over the pairs of threads, so the part of it that stays
inside node v is r · (t_iv / t_i) · (t_jv / t_j), with t_iv threads of i on v. The model multiplies
the two counts (integer products, exact), and maximises what stays inside nodes. `global` grouping
has one receiver, thread 0 of the target: there one factor is whether v holds the bundle of that
thread. Measured traffic between single threads is not used: bundles of an operator are alike.

Bundles alike in operator and size are one item with a count. Full bundles need a slot but not a
certain one, so they are counted per node. Alike nodes, and the slots of a node, are ordered by
load. Of nodes with slots of one size only the K with most slots can matter, K the slots used.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from slotwise.model import Cluster, Topology
from slotwise.placers._bundles import BundleTable
from slotwise.placers._cp_sat import MOST_VARIABLES, capacity_units, need_units, solver
from slotwise.placers.base import PlacementProblem

if TYPE_CHECKING:
    from ortools.sat.python.cp_model import CpModel, IntVar

TRAFFIC_UNITS = 10**12
"""CP-SAT counts in whole numbers: all streams together are about that many units."""

SlotOfNode = tuple[int, int]


@dataclass(frozen=True)
class Quietest:
    """The best found: every bundle's slot, and the tuples/s that surely leave their node."""

    slots: NDArray[np.int64]
    bound: float


def traffic_between_nodes(problem: PlacementProblem, thread_node: NDArray[np.int64]) -> float:
    """Tuples/s that leave their node, streams divided evenly over their pairs of threads."""
    topology, allocation = problem.topology, problem.allocation
    nodes = int(thread_node.max()) + 1
    shares = np.zeros((len(topology.operators), nodes))
    np.add.at(shares, (allocation.thread_operator, thread_node), 1.0)
    shares /= allocation.threads[:, None]
    leaving = 0.0
    for position, (source, target) in enumerate(topology.edges):
        receiving = shares[target]
        if topology.streams[position].grouping.kind == "global":
            receiving = np.arange(nodes) == thread_node[allocation.first_thread[target]]
        leaving += float(problem.stream_rates[position] * (1.0 - shares[source] @ receiving))
    return max(0.0, leaving)


def least_traffic(
    problem: PlacementProblem, bundles: BundleTable, start: NDArray[np.int64], effort: float
) -> Quietest:
    """Improve on `start` (each bundle's slot), in as many slots, as far as `effort` goes."""
    topology, cluster, items = problem.topology, problem.cluster, _Items(bundles)
    nodes = _nodes_that_matter(cluster, len(np.unique(start)))
    most = len(np.unique(start)) - int(bundles.full.sum())
    numbers = {v: range(min(cluster.nodes[v].slots, most)) for v in nodes}
    counts = len(items.full) * len(nodes) + len(items.partial) * sum(map(len, numbers.values()))
    if counts + len(topology.streams) * len(nodes) > MOST_VARIABLES:
        return Quietest(start, 0.0)
    counted = _Problem(topology, items, cluster, problem.stream_rates, numbers, most)
    return _search(counted, start, effort)


class _Items:
    """Bundles alike in operator, threads, needs and fullness."""

    def __init__(self, bundles: BundleTable) -> None:
        rows = np.stack(
            (bundles.operator, bundles.threads, bundles.cpu, bundles.mem, bundles.full), axis=1
        )
        distinct, inverse = np.unique(rows, axis=0, return_inverse=True)
        self.of_bundle: NDArray[np.int64] = inverse.ravel()
        self.operator = distinct[:, 0].astype(np.int64).tolist()
        self.threads = distinct[:, 1].astype(np.int64).tolist()
        self.needs = distinct[:, 2:4]
        self.count = np.bincount(self.of_bundle).tolist()
        self.full = np.flatnonzero(distinct[:, 4] == 1).tolist()
        self.partial = np.flatnonzero(distinct[:, 4] == 0).tolist()
        first_bundle = np.searchsorted(bundles.operator, np.unique(bundles.operator))
        self.first = self.of_bundle[first_bundle].tolist()
        """Per operator, the item that its thread 0 belongs to."""

    def total_threads(self, operator: int) -> int:
        return sum(
            threads * count
            for of, threads, count in zip(self.operator, self.threads, self.count, strict=True)
            if of == operator
        )


@dataclass(frozen=True)
class _Problem:
    """In counts of bundles that are alike."""

    topology: Topology
    items: _Items
    cluster: Cluster
    stream_rates: NDArray[np.float64]
    numbers: dict[int, range]
    """Per node that matters, the slots that bundles which are not full could use."""
    most: int
    """How many slots such bundles may use, over all nodes."""

    def capacity(self, node: int) -> NDArray[np.float64]:
        slot = self.cluster.first_slot[node]
        return np.array([self.cluster.slot_cpu[slot], self.cluster.slot_memory[slot]])

    def fits(self, item: int, node: int) -> bool:
        return bool(np.all(self.items.needs[item] <= self.capacity(node) + 1e-9))

    def alike(self) -> list[list[int]]:
        """The nodes that matter, grouped by number and size of their slots."""
        groups: dict[tuple[float, ...], list[int]] = {}
        for node in self.numbers:
            key = (self.cluster.nodes[node].slots, *self.capacity(node).tolist())
            groups.setdefault(key, []).append(node)
        return list(groups.values())


@dataclass(frozen=True)
class _Variables:
    held: dict[tuple[int, SlotOfNode], IntVar]
    """(item, slot) -> how many such bundles it holds."""
    used: dict[SlotOfNode, IntVar]
    alone: dict[tuple[int, int], IntVar]
    """(item, node) -> how many such full bundles it holds."""
    threads: dict[tuple[int, int], IntVar]
    """(operator, node) -> its threads there."""
    receives: dict[tuple[int, int], IntVar]
    """(operator, node) -> whether its thread 0 is there, where a `global` stream asks."""


def _nodes_that_matter(cluster: Cluster, used: int) -> list[int]:
    by_size: dict[tuple[float, float], list[int]] = {}
    for node, slot in enumerate(cluster.first_slot[:-1]):
        size = float(cluster.slot_cpu[slot]), float(cluster.slot_memory[slot])
        by_size.setdefault(size, []).append(node)
    largest = [
        sorted(nodes, key=lambda node: (-cluster.nodes[node].slots, node))[:used]
        for nodes in by_size.values()
    ]
    return sorted(node for nodes in largest for node in nodes)


def _search(problem: _Problem, start: NDArray[np.int64], effort: float) -> Quietest:
    from ortools.sat.python import cp_model

    model = cp_model.CpModel()
    variables = _declare(model, problem)
    _constrain(model, variables, problem)
    per_unit = max(float(problem.stream_rates.sum()), 1e-300) / TRAFFIC_UNITS
    model.maximize(_staying_units(model, variables, problem, per_unit))
    _hint(model, variables, problem, start)
    search = solver(effort)
    status = search.solve(model)
    if status not in (cp_model.OPTIMAL, cp_model.FEASIBLE):
        return Quietest(start, 0.0)
    leaving = float(problem.stream_rates.sum()) - search.best_objective_bound * per_unit
    return Quietest(_slots(variables, problem, search.value), max(0.0, leaving))


def _declare(model: CpModel, problem: _Problem) -> _Variables:
    items, nodes = problem.items, list(problem.numbers)
    slots = [(node, number) for node in nodes for number in problem.numbers[node]]
    receiving = {
        problem.topology.edges[position][1]
        for position, stream in enumerate(problem.topology.streams)
        if stream.grouping.kind == "global"
    }

    def counts(item: int) -> IntVar:
        return model.new_int_var(0, items.count[item], "")

    return _Variables(
        {(i, s): counts(i) for i in items.partial for s in slots if problem.fits(i, s[0])},
        {slot: model.new_bool_var("") for slot in slots},
        {(i, v): counts(i) for i in items.full for v in nodes if problem.fits(i, v)},
        {
            (operator, node): model.new_int_var(0, items.total_threads(operator), "")
            for operator in range(len(problem.topology.operators))
            for node in nodes
        },
        {(o, v): model.new_bool_var("") for o in sorted(receiving) for v in nodes},
    )


def _constrain(model: CpModel, variables: _Variables, problem: _Problem) -> None:
    items = problem.items
    for item in range(len(items.count)):
        counted = [n for (i, _), n in variables.held.items() if i == item]
        counted += [n for (i, _), n in variables.alone.items() if i == item]
        model.add(sum(counted) == items.count[item])
    model.add(sum(variables.used.values()) <= problem.most)
    for node, numbers in problem.numbers.items():
        full = sum(n for (_, v), n in variables.alone.items() if v == node)
        used = [variables.used[node, number] for number in numbers]
        model.add(sum(used) + full <= problem.cluster.nodes[node].slots)
        _constrain_slots(model, variables, problem, [(node, number) for number in numbers])
        for operator in range(len(problem.topology.operators)):
            here = _threads_here(variables, items, operator, node)
            model.add(variables.threads[operator, node] == here)
    for (operator, node), receives in variables.receives.items():
        model.add(receives <= _count_here(variables, items.first[operator], node))
    for operator in {operator for operator, _ in variables.receives}:
        model.add_exactly_one(r for (o, _), r in variables.receives.items() if o == operator)
    for nodes in problem.alike():
        for node, following in pairwise(nodes):
            model.add(_crowd(variables, node) >= _crowd(variables, following))


def _constrain_slots(
    model: CpModel, variables: _Variables, problem: _Problem, slots: list[SlotOfNode]
) -> None:
    """Capacities of one node's slots, and their order."""
    items = problem.items
    for slot in slots:
        for resource, capacity in enumerate(problem.capacity(slot[0]).tolist()):
            load = _load(variables, items, slot, resource)
            model.add(load <= capacity_units(capacity) * variables.used[slot])
        for item in items.partial:
            if (item, slot) in variables.held:
                most = items.count[item] * variables.used[slot]
                model.add(variables.held[item, slot] <= most)
    for slot, following in pairwise(slots):
        model.add_implication(variables.used[following], variables.used[slot])
        model.add(_load(variables, items, slot, 0) >= _load(variables, items, following, 0))


def _load(variables: _Variables, items: _Items, slot: SlotOfNode, resource: int):  # type: ignore[no-untyped-def]
    return sum(
        need_units(items.needs[item, resource]) * variables.held[item, slot]
        for item in items.partial
        if (item, slot) in variables.held
    )


def _crowd(variables: _Variables, node: int):  # type: ignore[no-untyped-def]
    return sum(count for (_, v), count in variables.threads.items() if v == node)


def _count_here(variables: _Variables, item: int, node: int):  # type: ignore[no-untyped-def]
    here = [n for (i, (v, _)), n in variables.held.items() if i == item and v == node]
    here += [n for (i, v), n in variables.alone.items() if i == item and v == node]
    return sum(here)


def _threads_here(variables: _Variables, items: _Items, operator: int, node: int):  # type: ignore[no-untyped-def]
    return sum(
        items.threads[item] * _count_here(variables, item, node)
        for item in range(len(items.count))
        if items.operator[item] == operator
    )


def _staying_units(model: CpModel, variables: _Variables, problem: _Problem, per_unit: float):  # type: ignore[no-untyped-def]
    """What stays inside nodes: for each stream and node, the product of the two ends."""
    terms = []
    for position, (source, target) in enumerate(problem.topology.edges):
        to_one = problem.topology.streams[position].grouping.kind == "global"
        receivers = variables.receives if to_one else variables.threads
        sending = problem.items.total_threads(source)
        receiving = 1 if to_one else problem.items.total_threads(target)
        weight = float(problem.stream_rates[position]) / per_unit / (sending * receiving)
        for node in problem.numbers:
            product = model.new_int_var(0, sending * receiving, "")
            ends = [variables.threads[source, node], receivers[target, node]]
            model.add_multiplication_equality(product, ends)
            terms.append(round(weight) * product)
    return sum(terms)


def _hint(
    model: CpModel, variables: _Variables, problem: _Problem, start: NDArray[np.int64]
) -> None:
    """Give the solver what it starts from, nodes and slots in the order the model asks for."""
    items, cluster = problem.items, problem.cluster
    full = np.isin(items.of_bundle, items.full)
    node_of = cluster.slot_node[start]
    in_slot = Counter(zip(items.of_bundle.tolist(), start.tolist(), strict=True))
    crowd = np.bincount(node_of, np.array(items.threads)[items.of_bundle], len(cluster.nodes))
    cpu = np.bincount(start, np.where(full, -1.0, items.needs[items.of_bundle, 0]), cluster.slots)
    for nodes in problem.alike():
        like = [
            v for v in np.unique(node_of) if cluster.nodes[v].slots == cluster.nodes[nodes[0]].slots
        ]
        like = [v for v in like if np.array_equal(problem.capacity(v), problem.capacity(nodes[0]))]
        like.sort(key=lambda v: (-crowd[v], v))
        for node, original in zip(nodes, like, strict=False):
            slots = [s for s in np.unique(start[~full]) if cluster.slot_node[s] == original]
            slots.sort(key=lambda s: (-cpu[s], s))
            for (item, (v, number)), held in variables.held.items():
                if v == node:
                    slot = slots[number] if number < len(slots) else -1
                    model.add_hint(held, in_slot.get((item, slot), 0))
            for (item, v), alone in variables.alone.items():
                if v == node:
                    here = (items.of_bundle == item) & (node_of == original)
                    model.add_hint(alone, int(here.sum()))


def _slots(
    variables: _Variables, problem: _Problem, value: Callable[[IntVar], int]
) -> NDArray[np.int64]:
    """Every bundle's slot: on each node first those that share, then the full ones."""
    items = problem.items
    free = {
        v: list(range(*problem.cluster.first_slot[v : v + 2].tolist())) for v in problem.numbers
    }
    given: list[list[int]] = [[] for _ in items.count]
    for slot, used in variables.used.items():
        if value(used):
            position = free[slot[0]].pop(0)
            for item in items.partial:
                if (item, slot) in variables.held:
                    given[item] += [position] * value(variables.held[item, slot])
    for (item, node), count in variables.alone.items():
        given[item] += [free[node].pop(0) for _ in range(value(count))]
    for (operator, node), receives in variables.receives.items():
        if value(receives):
            item = items.first[operator]
            given[item].sort(key=lambda slot: problem.cluster.slot_node[slot] != node)
    slots = np.empty(len(items.of_bundle), dtype=np.int64)
    for item, positions in enumerate(given):
        slots[items.of_bundle == item] = positions
    return slots
