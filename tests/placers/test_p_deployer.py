"""P-Deployer's packing against Algorithm 1 read word for word."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from slotwise.model import Allocation, Cluster, Node, Placement, Refusal
from slotwise.placers.base import PlacementProblem
from slotwise.placers.p_deployer import PDeployer, Tasks
from slotwise.testing import strategies
from tests import builders
from tests.placers.test_parts import combined, node_sums, plain_parts, plain_steps


def with_transfer(allocation: Allocation, costs: list[float]) -> Allocation:
    entries = zip(allocation.operators, costs, strict=True)
    return replace(
        allocation, operators=tuple(replace(entry, transfer_cpu=c) for entry, c in entries)
    )


class Reference:
    """Equations 3, 5 and 6 for every task, anew in every step."""

    def __init__(self, case: PlacementProblem) -> None:
        self.case, self.mem = case, case.allocation.thread_mem
        self.topology, self.allocation, self.cluster = case.topology, case.allocation, case.cluster
        self.stream_rates = case.stream_rates
        self.operator = self.allocation.thread_operator
        self.node = np.full(len(self.operator), -1)

    def cpu(self, task: int, neighbours: set[int]) -> float:
        """Equation 3, `neighbours` being the other tasks on the task's node."""
        of = int(self.operator[task])
        entry = self.allocation.operators[of]
        remote = 0.0
        for (source, target), rate in zip(self.topology.edges, self.stream_rates, strict=True):
            pair = rate / (self.allocation.threads[source] * self.allocation.threads[target])
            for end, far in ((source, target), (target, source)):
                if end == of:
                    others = {int(t) for t in np.flatnonzero(self.operator == far)} - {task}
                    remote += pair * len(others - neighbours)
        return entry.cpu / entry.threads + remote * entry.transfer_cpu

    def exchanged(self, task: int, others: set[int]) -> float:
        """Tuples/s between the task and others."""
        total = 0.0
        for (source, target), rate in zip(self.topology.edges, self.stream_rates, strict=True):
            pair = rate / (self.allocation.threads[source] * self.allocation.threads[target])
            for end, far in ((source, target), (target, source)):
                if end == self.operator[task]:
                    total += pair * sum(self.operator[other] == far for other in others - {task})
        return total

    def run(self, tuple_saving: float = 0.0) -> NDArray[np.int64]:
        cpu_left = [machine.slots * machine.speed for machine in self.cluster.nodes]
        mem_left = node_sums(self.cluster.slot_memory, self.cluster)
        for part in plain_parts(self.topology, self.allocation):
            steps = plain_steps(part, self.case, cpu_left, mem_left)
            self.pack(part, [node for step in steps for node in step], tuple_saving)
            for node in range(len(cpu_left)):
                held = {int(t) for t in np.flatnonzero(self.node == node)}
                cpu_left[node] = self.size(node) - sum(self.cpu(t, held - {t}) for t in held)
                mem_left[node] = self.mem_size(node) - sum(self.mem[t] for t in held)
        return self.node

    def size(self, node: int) -> float:
        return self.cluster.nodes[node].slots * self.cluster.nodes[node].speed

    def mem_size(self, node: int) -> float:
        return self.cluster.nodes[node].memory_gb / self.cluster.slot_memory_gb

    def pack(self, part: set[int], nodes: list[int], tuple_saving: float) -> None:
        tasks = [task for task in range(len(self.operator)) if self.operator[task] in part]
        mean_cpu = np.mean([self.cpu(task, set()) for task in tasks])
        mean_mem = np.mean([self.mem[task] for task in tasks])
        for node in nodes:
            size, mem_size = self.size(node), self.mem_size(node)
            held = {int(t) for t in np.flatnonzero(self.node == node)}
            while True:
                left = size - sum(self.cpu(t, held - {t}) for t in held)
                mem_left = mem_size - sum(self.mem[t] for t in held)
                best, highest = -1, (-np.inf, 0.0)
                for task in tasks:
                    together = held | {task}
                    need = self.cpu(task, held)
                    after = sum(self.cpu(t, together - {t}) for t in together)
                    fits = after <= size + 5e-10 and self.mem[task] <= mem_left + 5e-10
                    if self.node[task] >= 0 or not fits:
                        continue
                    kept = self.exchanged(task, held)
                    saving = self.cpu(task, set()) + (size - left) - after + tuple_saving * kept
                    priority = (
                        saving / size
                        - mean_cpu / size * ((need - left) / size) ** 2
                        - mean_mem / mem_size * ((self.mem[task] - mem_left) / mem_size) ** 2
                    )
                    if (priority, kept) > highest:
                        best, highest = task, (priority, kept)
                if best < 0:
                    break
                held.add(best)
                self.node[best] = node


@st.composite
def exact_cases(draw: st.DrawFn) -> PlacementProblem:
    """Every number a sum of few powers of two, so that no order of adding rounds anything."""
    topology = draw(strategies.topologies(largest=4))
    if draw(st.booleans()):
        topology = combined([topology, draw(strategies.topologies(largest=3))])
    threads = {o.name: draw(st.sampled_from([1, 2, 4])) for o in topology.operators}
    allocation = builders.allocation(topology, threads, rate=64.0)
    entries = tuple(
        replace(
            entry,
            transfer_cpu=draw(st.sampled_from([0.0, 2**-10, 2**-9])),
            bundles=tuple(
                replace(bundle, cpu=cpu, mem=mem)
                for cpu, mem in [draw(st.tuples(*[st.sampled_from([0.125, 0.25, 0.5])] * 2))]
                for bundle in entry.bundles
            ),
        )
        for entry in allocation
    )
    allocation = replace(allocation, operators=entries)
    sizes = draw(st.lists(st.sampled_from([1, 2, 4]), min_size=1, max_size=5))
    nodes = tuple(Node(f"n{i}", slots, 4.0 * slots) for i, slots in enumerate(sizes))
    cluster = Cluster(nodes, slot_memory_gb=4.0)
    return PlacementProblem(topology, allocation, cluster)


@settings(max_examples=150, deadline=None)
@given(exact_cases(), st.sampled_from([0.0, 0.0, 2.0**-8, 1.0]))
def test_packs_as_algorithm_1_word_for_word(case: PlacementProblem, tuple_saving: float) -> None:
    expected = Reference(case).run(tuple_saving)
    answer = PDeployer(tuple_saving=tuple_saving).place(case)
    if expected.min() < 0:
        assert isinstance(answer, Refusal)
    else:
        assert isinstance(answer, Placement)
        # Threads of an operator are alike: what counts is how many go where.
        cluster, allocation = case.cluster, case.allocation
        found = cluster.slot_node[answer.slots]
        for operator in range(len(allocation.operators)):
            mine = allocation.thread_operator == operator
            assert sorted(found[mine]) == sorted(expected[mine])


def test_neighbours_are_packed_together_where_that_saves() -> None:
    pairs = builders.topology("a>b", "c>d")
    allocation = builders.allocation(pairs, dict.fromkeys("abcd", 1), cpu=0.4)
    allocation = with_transfer(allocation, [0.001] * 4)
    cluster = builders.cluster(2, slots=1)
    answer = PDeployer().place(PlacementProblem(pairs, allocation, cluster))
    assert isinstance(answer, Placement)
    # Apart each needs 0.4 + 100/s · 0.001; together they stop paying for the network.
    assert answer.slots.tolist() == [0, 0, 1, 1]
    assert answer.reasons[0] == "packed onto 2 of 2 machines"


def test_of_equal_priorities_neighbours_come_first() -> None:
    chain = builders.chain(4)
    allocation = builders.allocation(chain, dict.fromkeys(chain.index, 2), cpu=0.25)
    answer = PDeployer().place(PlacementProblem(chain, allocation, builders.cluster(2, slots=1)))
    assert isinstance(answer, Placement)
    # All needs are equal and nothing costs a transfer: o0 and o1 by turns, then o2 and o3.
    assert answer.slots.tolist() == [*(0, 0), *(0, 0), *(1, 1), *(1, 1)]


def test_tuples_kept_can_count_where_transfers_cost_nothing() -> None:
    pairs = builders.topology("a>b", "a>c")
    sizes = {"a": 0.5, "b": 0.25, "c": 0.5}
    allocation = builders.allocation(pairs, dict.fromkeys("abc", 1))
    entries = (
        replace(e, bundles=(replace(e.bundles[0], cpu=sizes[e.operator]),)) for e in allocation
    )
    problem = PlacementProblem(
        replace(pairs, streams=(pairs.streams[0], replace(pairs.streams[1], selectivity=0.1))),
        replace(allocation, operators=tuple(entries)),
        builders.cluster(2, slots=1),
    )
    by_fit, by_tuples = PDeployer().place(problem), PDeployer(tuple_saving=1.0).place(problem)
    assert isinstance(by_fit, Placement)
    assert isinstance(by_tuples, Placement)
    # By fit a and c fill the first slot; by tuples b, which gets ten times as many, is with a.
    assert by_fit.slots.tolist() == [0, 1, 0]
    assert by_tuples.slots.tolist() == [0, 0, 1]


def test_a_negative_saving_is_an_error() -> None:
    with pytest.raises(ValueError, match="tuple_saving: invalid value '-1'"):
        PDeployer(tuple_saving=-1)


def test_a_loop_of_one_operator_costs_nothing_within_a_thread() -> None:
    loop = builders.topology("a>b", "b>b:0.5!")
    allocation = with_transfer(builders.allocation(loop, {"a": 1, "b": 2}, cpu=0.3), [0.01, 0.01])
    case = PlacementProblem(loop, allocation, builders.cluster(1))
    tasks = Tasks.of(loop, allocation, case.stream_rates)
    # b: 50/s from a, and of the loop's 100/s, 25 to and 25 from its other thread.
    assert np.allclose(tasks.cpu, [0.3 + 1.0, 0.3 + 1.0])
    assert np.allclose([Reference(case).cpu(task, set()) for task in range(2)], tasks.cpu)


def test_the_refusal_says_who_lacks_what() -> None:
    chain = builders.chain(2)
    allocation = builders.allocation(chain, {"o0": 1, "o1": 2}, cpu=0.4)
    cluster = builders.cluster(1, slots=1)
    answer = PDeployer().place(PlacementProblem(chain, allocation, cluster))
    assert isinstance(answer, Refusal)
    assert (answer.operator, answer.resource) == ("o1", "cpu")
    assert answer.missing is not None
    assert abs(answer.missing - 0.2) < 1e-9
    assert not answer.final


def test_only_the_first_workers_are_used() -> None:
    chain = replace(builders.chain(2), workers=1)
    allocation = builders.allocation(chain, {"o0": 2, "o1": 2})
    answer = PDeployer().place(PlacementProblem(chain, allocation, builders.cluster(2)))
    assert isinstance(answer, Placement)
    assert answer.slots.tolist() == [0, 0, 0, 0]


def test_threads_share_the_slots_of_a_node_evenly() -> None:
    chain = builders.chain(2)
    allocation = builders.allocation(chain, {"o0": 4, "o1": 4})
    answer = PDeployer().place(PlacementProblem(chain, allocation, builders.cluster(2)))
    assert isinstance(answer, Placement)
    assert np.bincount(answer.slots).tolist() == [2, 2, 2, 2]
