"""How long the placers take, how that grows, and how much traffic their placements leave between
nodes and racks: `python -m benchmarks.placers`.

The largest case has the size of the large cluster in Storm's own tests: 11 topologies of 30
operators with 157 threads each, 51,810 threads, onto 1,000 nodes of 66 slots in 25 racks. The other
sizes scale operators and nodes along. Prints a table; asserts nothing.
"""

from __future__ import annotations

import argparse
import math
import statistics
import time
from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray
from tests import builders

from slotwise import registry
from slotwise.model import (
    Allocation,
    Bundle,
    OperatorAllocation,
    Placement,
    Refusal,
    ThreadTraffic,
)
from slotwise.placers.base import PlacementProblem, Placer
from slotwise.rates import arrival_rates

PLACERS = [*registry.PLACERS, "p-deployer:tuple_saving=1"]
STORM_CASE = 51_810
OPERATORS_PER_TOPOLOGY = 30
THREADS_PER_OPERATOR = 157
THREADS_PER_NODE = STORM_CASE / 1_000
NODES_PER_RACK = 40


def case(threads: int, fan_out: int | None = 8, seed: int = 1) -> PlacementProblem:
    """About `threads` threads with random needs, so that a third of the cluster is asked for.

    Traffic is sparse, as if measured: each thread sends to `fan_out` threads per stream. None:
    nothing is measured, so that each thread sends to all threads of the next operator.
    """
    operators = max(2, round(threads / THREADS_PER_OPERATOR))
    topology = builders.topology(*_streams(operators))
    random = np.random.default_rng(seed)
    rates = arrival_rates(topology, 1000.0).operators
    needs = random.uniform(0.05, 0.8, (operators, 2)).round(3).tolist()
    allocation = Allocation(
        "benchmark",
        1000.0,
        tuple(
            OperatorAllocation(
                operator.name,
                float(rates[position]),
                (Bundle(1, *needs[position]),) * THREADS_PER_OPERATOR,
                "fixed by the benchmark",
            )
            for position, operator in enumerate(topology.operators)
        ),
    )
    nodes = math.ceil(allocation.total_threads / THREADS_PER_NODE)
    cluster = builders.cluster(nodes, slots=66, racks=math.ceil(nodes / NODES_PER_RACK))
    problem = PlacementProblem(topology, allocation, cluster)
    if fan_out is None:
        return problem
    return replace(problem, measured=_sparse_traffic(problem, fan_out))


def _sparse_traffic(problem: PlacementProblem, fan_out: int) -> ThreadTraffic:
    links = np.arange(THREADS_PER_OPERATOR * fan_out)
    first = problem.allocation.first_thread[np.array(problem.topology.edges)]
    return ThreadTraffic(
        (first[:, :1] + links // fan_out).ravel(),
        (first[:, 1:] + links % THREADS_PER_OPERATOR).ravel(),
        np.repeat(problem.stream_rates / len(links), len(links)),
    )


def _streams(operators: int) -> list[str]:
    """Chains of 30 operators, each a topology of its own; what is left makes a shorter one."""
    cut = operators - (operators % OPERATORS_PER_TOPOLOGY == 1)
    streams = [f"o{i}>o{i + 1}" for i in range(cut - 1) if (i + 1) % OPERATORS_PER_TOPOLOGY]
    return streams if cut == operators else [*streams, f"o{cut - 1}>o{cut}"]


def seconds(
    placer: Placer, given: PlacementProblem, repetitions: int
) -> tuple[list[float], Placement | Refusal]:
    """The times of several runs, and what came out."""
    times = []
    for _ in range(repetitions):
        fresh = _fresh(given)
        start = time.perf_counter()
        answer = placer.place(fresh)
        times.append(time.perf_counter() - start)
    return times, answer


def described(answer: Placement | Refusal, given: PlacementProblem) -> str:
    """The nodes and slots in use, and the tuples/s between nodes and between racks."""
    if isinstance(answer, Refusal):
        return answer.reason
    node = given.cluster.slot_node[answer.slots]
    rack = given.cluster.node_rack[node]
    figures = (
        *(len(np.unique(node)), len(answer.used_slots)),
        *(round(leaving(given, place)) for place in (node, rack)),
    )
    return " ".join(f"{figure:>12,}" for figure in figures)


def leaving(given: PlacementProblem, place: NDArray[np.int64]) -> float:
    """Tuples/s between threads at different places."""
    flows = given.thread_traffic
    return float(flows.rates @ (place[flows.senders] != place[flows.receivers]))


def _fresh(given: PlacementProblem) -> PlacementProblem:
    """Without what an earlier run cached, but for the stream rates: those are input."""
    problem = replace(
        given,
        topology=replace(given.topology),
        allocation=replace(given.allocation),
        cluster=replace(given.cluster),
    )
    _ = problem.stream_rates
    return problem


def report(
    names: Sequence[str], sizes: Sequence[int], repetitions: int, fan_out: int | None
) -> None:
    columns = ("nodes", "slots", "node traffic", "rack traffic")
    print(
        f"{'placer':<26} {'threads':>8} {'seconds':>9} {'spread':>9} {'growth':>7} "
        + " ".join(f"{column:>12}" for column in columns)
    )
    cases = {size: case(size, fan_out) for size in sizes}
    for name in names:
        placer = registry.placer(registry.choice(name))
        seconds(placer, case(1_000, fan_out), 1)  # compile
        smallest: tuple[int, float] | None = None
        for size in sizes:
            threads = cases[size].allocation.total_threads
            times, answer = seconds(placer, cases[size], repetitions)
            median, spread = statistics.median(times), max(times) - min(times)
            smallest = smallest or (threads, median)
            growth = _exponent(smallest, (threads, median))
            print(
                f"{name:<26} {threads:>8,} {median:>9.4f} {spread:>9.4f} {growth:>7} "
                f"{described(answer, cases[size])}",
                flush=True,
            )


def _exponent(smaller: tuple[int, float], larger: tuple[int, float]) -> str:
    """e if time grew like threads^e from the smallest size; nothing for the smallest itself."""
    if larger[0] == smaller[0]:
        return ""
    return f"{math.log(larger[1] / smaller[1]) / math.log(larger[0] / smaller[0]):.2f}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument(
        "--sizes", type=int, nargs="+", default=[5_000, 10_000, 25_000, 50_000, STORM_CASE]
    )
    parser.add_argument("--placers", nargs="+", default=PLACERS, metavar="NAME[:OPTION=VALUE]")
    parser.add_argument("--repetitions", type=int, default=3)
    parser.add_argument("--fan-out", type=int, default=8, help="receivers per thread and stream")
    parser.add_argument("--derived", action="store_true", help="no measured traffic: all receive")
    arguments = parser.parse_args()
    fan_out = None if arguments.derived else arguments.fan_out
    report(arguments.placers, arguments.sizes, arguments.repetitions, fan_out)


if __name__ == "__main__":
    main()
