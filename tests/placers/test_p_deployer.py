"""P-Deployer's packing against Algorithm 1 read word for word."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from slotwise.model import Allocation, Cluster, Node, Placement, Refusal, Topology, Traffic
from slotwise.placers.p_deployer import PDeployer, Tasks
from tests import builders, strategies

Case = tuple[Topology, Allocation, Cluster, Traffic]


def with_transfer(allocation: Allocation, costs: list[float]) -> Allocation:
    entries = zip(allocation.operators, costs, strict=True)
    return replace(
        allocation, operators=tuple(replace(entry, transfer_cpu=c) for entry, c in entries)
    )


class Reference:
    """Equations 3, 5 and 6 for every task, anew in every step."""

    def __init__(self, case: Case) -> None:
        self.topology, self.allocation, self.cluster, self.traffic = case
        self.operator = self.allocation.thread_operator
        self.node = np.full(len(self.operator), -1)

    def cpu(self, task: int, neighbours: set[int]) -> float:
        """Equation 3, `neighbours` being the other tasks on the task's node."""
        of = int(self.operator[task])
        entry = self.allocation.operators[of]
        remote = 0.0
        for (source, target), rate in zip(self.topology.edges, self.traffic.streams, strict=True):
            pair = rate / (self.allocation.threads[source] * self.allocation.threads[target])
            for end, far in ((source, target), (target, source)):
                if end == of:
                    others = {int(t) for t in np.flatnonzero(self.operator == far)} - {task}
                    remote += pair * len(others - neighbours)
        return entry.cpu / entry.threads + remote * entry.transfer_cpu

    def run(self) -> NDArray[np.int64]:
        tasks = range(len(self.operator))
        mem = self.allocation.thread_mem
        mean_cpu = np.mean([self.cpu(task, set()) for task in tasks])
        mean_mem = np.mean(mem)
        for node, machine in enumerate(self.cluster.nodes):
            size = machine.slots * machine.speed
            mem_size = machine.memory_gb / self.cluster.slot_memory_gb
            held: set[int] = set()
            while True:
                left = size - sum(self.cpu(t, held - {t}) for t in held)
                mem_left = mem_size - sum(mem[t] for t in held)
                best, highest = -1, -np.inf
                for task in np.flatnonzero(self.node < 0).tolist():
                    together = held | {task}
                    need = self.cpu(task, held)
                    after = sum(self.cpu(t, together - {t}) for t in together)
                    if after > size + 5e-10 or mem[task] > mem_left + 5e-10:
                        continue
                    saving = self.cpu(task, set()) + (size - left) - after
                    priority = (
                        saving / size
                        - mean_cpu / size * ((need - left) / size) ** 2
                        - mean_mem / mem_size * ((mem[task] - mem_left) / mem_size) ** 2
                    )
                    if priority > highest:
                        best, highest = task, priority
                if best < 0:
                    break
                held.add(best)
                self.node[best] = node
        return self.node


@st.composite
def exact_cases(draw: st.DrawFn) -> Case:
    """Every number a sum of few powers of two, so that no order of adding rounds anything."""
    topology = draw(strategies.topologies(largest=4))
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
    return topology, allocation, cluster, builders.traffic(topology, allocation)


@settings(max_examples=150, deadline=None)
@given(exact_cases())
def test_packs_as_algorithm_1_word_for_word(case: Case) -> None:
    expected = Reference(case).run()
    answer = PDeployer().place(*case)
    if expected.min() < 0:
        assert isinstance(answer, Refusal)
    else:
        assert isinstance(answer, Placement)
        # Threads of an operator are alike: what counts is how many go where.
        cluster, allocation = case[2], case[1]
        found = cluster.slot_node[answer.slots]
        for operator in range(len(allocation.operators)):
            mine = allocation.thread_operator == operator
            assert sorted(found[mine]) == sorted(expected[mine])


def test_neighbours_are_packed_together_where_that_saves() -> None:
    pairs = builders.topology("a>b", "c>d")
    allocation = builders.allocation(pairs, dict.fromkeys("abcd", 1), cpu=0.4)
    allocation = with_transfer(allocation, [0.001] * 4)
    cluster = builders.cluster(2, slots=1)
    answer = PDeployer().place(pairs, allocation, cluster, builders.traffic(pairs, allocation))
    assert isinstance(answer, Placement)
    # Apart each needs 0.4 + 100/s · 0.001; together they stop paying for the network.
    assert answer.slots.tolist() == [0, 0, 1, 1]
    assert answer.reasons == ("packed onto 2 of 2 machines",)


def test_a_loop_of_one_operator_costs_nothing_within_a_thread() -> None:
    loop = builders.topology("a>b", "b>b:0.5!")
    allocation = with_transfer(builders.allocation(loop, {"a": 1, "b": 2}, cpu=0.3), [0.01, 0.01])
    traffic = builders.traffic(loop, allocation)
    tasks = Tasks.of(loop, allocation, traffic)
    # b: 50/s from a, and of the loop's 100/s, 25 to and 25 from its other thread.
    assert np.allclose(tasks.cpu, [0.3 + 1.0, 0.3 + 1.0])
    case = (loop, allocation, builders.cluster(1), traffic)
    assert np.allclose([Reference(case).cpu(task, set()) for task in range(2)], tasks.cpu)


def test_the_refusal_says_who_lacks_what() -> None:
    chain = builders.chain(2)
    allocation = builders.allocation(chain, {"o0": 1, "o1": 2}, cpu=0.4)
    cluster = builders.cluster(1, slots=1)
    answer = PDeployer().place(chain, allocation, cluster, builders.traffic(chain, allocation))
    assert isinstance(answer, Refusal)
    assert (answer.operator, answer.resource) == ("o1", "cpu")
    assert answer.missing is not None
    assert abs(answer.missing - 0.2) < 1e-9
    assert not answer.final


def test_only_the_first_workers_are_used() -> None:
    chain = replace(builders.chain(2), workers=1)
    allocation = builders.allocation(chain, {"o0": 2, "o1": 2})
    traffic = builders.traffic(chain, allocation)
    answer = PDeployer().place(chain, allocation, builders.cluster(2), traffic)
    assert isinstance(answer, Placement)
    assert answer.slots.tolist() == [0, 0, 0, 0]


def test_threads_share_the_slots_of_a_node_evenly() -> None:
    chain = builders.chain(2)
    allocation = builders.allocation(chain, {"o0": 4, "o1": 4})
    traffic = builders.traffic(chain, allocation)
    answer = PDeployer().place(chain, allocation, builders.cluster(2), traffic)
    assert isinstance(answer, Placement)
    assert np.bincount(answer.slots).tolist() == [2, 2, 2, 2]
