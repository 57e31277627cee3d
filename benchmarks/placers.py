"""How long the placers take, and how that grows: `python -m benchmarks.placers`.

The largest case is the size of Storm's own performance test: 11 topologies of 30 operators with
157 threads each, 51,810 threads, onto 1,000 nodes of 66 slots in 25 racks. The other sizes scale
operators and nodes along. Prints a table; asserts nothing.
"""

from __future__ import annotations

import argparse
import math
import statistics
import time
from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from tests import builders
from tests.placers.contract import known_placers

from slotwise.model import (
    Allocation,
    Bundle,
    Cluster,
    OperatorAllocation,
    Refusal,
    ThreadTraffic,
    Topology,
    Traffic,
)
from slotwise.placers._base import Placer
from slotwise.rates import arrival_rates

STORM_CASE = 51_810
OPERATORS_PER_TOPOLOGY = 30
THREADS_PER_OPERATOR = 157
THREADS_PER_NODE = STORM_CASE / 1_000
NODES_PER_RACK = 40
Case = tuple[Topology, Allocation, Cluster, Traffic]


def case(threads: int, fan_out: int = 8, seed: int = 1) -> Case:
    """About `threads` threads with random needs, so that a third of the cluster is asked for.

    Traffic is sparse, as if measured: each thread sends to `fan_out` threads per stream.
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
    return topology, allocation, cluster, _sparse_traffic(topology, allocation, fan_out)


def _sparse_traffic(topology: Topology, allocation: Allocation, fan_out: int) -> Traffic:
    rates = builders.traffic(topology, allocation).streams
    links = np.arange(THREADS_PER_OPERATOR * fan_out)
    first = allocation.first_thread[np.array(topology.edges)]
    return Traffic(
        rates,
        ThreadTraffic(
            (first[:, :1] + links // fan_out).ravel(),
            (first[:, 1:] + links % THREADS_PER_OPERATOR).ravel(),
            np.repeat(rates / len(links), len(links)),
        ),
    )


def _streams(operators: int) -> list[str]:
    """Chains of 30 operators, each a topology of its own; what is left makes a shorter one."""
    cut = operators - (operators % OPERATORS_PER_TOPOLOGY == 1)
    streams = [f"o{i}>o{i + 1}" for i in range(cut - 1) if (i + 1) % OPERATORS_PER_TOPOLOGY]
    return streams if cut == operators else [*streams, f"o{cut - 1}>o{cut}"]


def seconds(placer: Placer, given: Case, repetitions: int) -> tuple[list[float], str]:
    """The times of several runs, and what came out."""
    times = []
    for _ in range(repetitions):
        fresh = tuple(replace(value) for value in given)  # without what an earlier run cached
        start = time.perf_counter()
        answer = placer.place(*fresh)
        times.append(time.perf_counter() - start)
    if isinstance(answer, Refusal):
        return times, answer.reason
    return times, f"{len(answer.used_slots)} slots"


def report(names: Sequence[str], sizes: Sequence[int], repetitions: int, fan_out: int) -> None:
    print(f"{'placer':<12} {'threads':>8} {'seconds':>9} {'spread':>9} {'growth':>7}  result")
    cases = {size: case(size, fan_out) for size in sizes}
    placers = known_placers()
    for name in names:
        placer = placers[name]()
        seconds(placer, case(1_000, fan_out), 1)  # compile
        smallest: tuple[int, float] | None = None
        for size in sizes:
            threads = cases[size][1].total_threads
            times, result = seconds(placer, cases[size], repetitions)
            median, spread = statistics.median(times), max(times) - min(times)
            smallest = smallest or (threads, median)
            growth = _exponent(smallest, (threads, median))
            print(
                f"{name:<12} {threads:>8,} {median:>9.4f} {spread:>9.4f} {growth:>7}  {result}",
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
    parser.add_argument("--placers", nargs="+", default=list(known_placers()), metavar="NAME")
    parser.add_argument("--repetitions", type=int, default=3)
    parser.add_argument("--fan-out", type=int, default=8, help="receivers per thread and stream")
    arguments = parser.parse_args()
    report(arguments.placers, arguments.sizes, arguments.repetitions, arguments.fan_out)


if __name__ == "__main__":
    main()
