"""How fast the simulator is: against SimPy side by side, and how its time grows.

    python -m benchmarks.simulation            # ratios, growth to 10⁷ tuples, 50,000 threads
    python -m benchmarks.simulation --largest  # growth to 10⁸ tuples: half a minute more

Times are of this process's CPU, so that a busy machine slows all alike; SimPy and the kernels take
turns, and each figure is the median of the rounds.
"""

from __future__ import annotations

import itertools
import random
import resource
import statistics
import sys
import time
from collections.abc import Callable, Iterator

import simpy
from tests.builders import cluster, topology
from tests.simulation.builders import plan

from slotwise.model import Operator, Plan, Stream, Topology
from slotwise.simulation import Routing, simulate

STAGES, SERVERS, RATE = 3, 4, 3.0
"""A tandem: three operators of four servers, each at 75 % load."""
ROUNDS = 7


def main() -> None:
    against_simpy()
    growth(8 if "--largest" in sys.argv[1:] else 7)
    large_topology()


def against_simpy() -> None:
    """Operator visits per CPU second; the source is not counted, though it is simulated."""
    given = tandem()
    runs: dict[str, Callable[[], int]] = {
        "SimPy": lambda: simpy_visits(10_000),
        "feed-forward": lambda: ours(given, 1_000_000, "feed-forward"),
        "feed-forward, shared queues": lambda: ours(given, 1_000_000, "feed-forward", shared=True),
        "events": lambda: ours(given, 300_000, "events"),
        "events, shared queues": lambda: ours(given, 300_000, "events", shared=True),
    }
    for run in runs.values():
        run()
    speeds: dict[str, list[float]] = {name: [] for name in runs}
    for _ in range(ROUNDS):
        for name, run in runs.items():
            start = time.process_time()
            visits = run()
            speeds[name].append(visits / (time.process_time() - start))
    print(f"Tandem of {STAGES} operators with {SERVERS} threads: operator visits per CPU second")
    for name, found in speeds.items():
        ratios = [ours / theirs for ours, theirs in zip(found, speeds["SimPy"], strict=True)]
        print(
            f"  {name:28} {statistics.median(found) / 1e6:8.2f} million "
            f"{statistics.median(ratios):8.0f} × SimPy  ({min(ratios):.0f} to {max(ratios):.0f})"
        )


def growth(largest: int) -> None:
    """Time per tuple and memory from 10⁵ tuples on."""
    print("Growth: the tandem, feed-forward")
    for power in range(5, largest + 1):
        start = time.process_time()
        simulate(tandem(), tuples=10**power)
        seconds = time.process_time() - start
        megabytes = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
        print(
            f"  10^{power} tuples {seconds:8.2f} s {seconds / 10**power * 1e9:6.0f} ns each "
            f"{megabytes:6.0f} MB at most"
        )


def large_topology(operators: int = 1000, threads: int = 50_000, visits: int = 10_000_000) -> None:
    given = layered(operators, threads)
    for kernel in ("feed-forward", "events"):
        simulate(given, tuples=10, kernel=kernel)
        start = time.process_time()
        found = simulate(given, tuples=visits // operators, kernel=kernel, warm_up=0.0)
        seconds = time.process_time() - start
        rate = sum(load.arrival_rate for load in found.operators)
        handled = rate * found.series.window_s * len(found.series.offered_rate)
        print(
            f"{operators:,} operators, {threads:,} threads, {handled:,.0f} visits, {kernel}: "
            f"{seconds:.1f} s"
        )


def tandem() -> Plan:
    names = ["a", *(f"b{i}" for i in range(STAGES))]
    streams = [f"{one}>{other}" for one, other in itertools.pairwise(names)]
    return plan(
        topology(*streams),
        dict.fromkeys(names[1:], 1.0),
        dict.fromkeys(names[1:], SERVERS),
        rate=RATE,
    )


def layered(operators: int, threads: int) -> Plan:
    """A source, then layers of ten; each operator feeds one of the next layer, half its tuples go
    to another: every operator gets one tuple per input.
    """
    names = [f"o{i}" for i in range(operators)]
    streams = [Stream(names[0], name) for name in names[1:11]]
    for i in range(1, operators - 10):
        layer = (i - 1) // 10 * 10 + 11
        others = [layer + (i - 1) % 10, layer + i % 10]
        streams += [Stream(names[i], names[t], 0.5) for t in others if t < operators]
    made = Topology(
        "layered",
        tuple(Operator(name, "operator" if i else "source") for i, name in enumerate(names)),
        tuple(streams),
    )
    each = dict.fromkeys(names, threads // operators)
    rates = dict.fromkeys(names[1:], 1.0)
    where = cluster(500, 4, racks=10)
    return plan(made, rates, each, rate=0.5 * threads / operators, cluster=where)


def ours(given: Plan, tuples: int, kernel: str, shared: bool = False) -> int:
    routing = Routing(queue="shared" if shared else "own")
    simulate(given, tuples=tuples, kernel=kernel, routing=routing)
    return STAGES * tuples


def simpy_visits(tuples: int) -> int:
    """The tandem in SimPy, which notes what the least of our figures needs: each tuple's wait at
    each operator and its latency. (Ours also keep quantiles, queues over time and traffic.)
    """
    drawn, environment = random.Random(1), simpy.Environment()
    waits_s, latencies_s = [0.0] * STAGES, []
    stages = [simpy.Resource(environment, SERVERS) for _ in range(STAGES)]

    def one() -> Iterator[simpy.Event]:
        began = environment.now
        for stage, servers in enumerate(stages):
            asked = environment.now
            with servers.request() as place:
                yield place
                waits_s[stage] += environment.now - asked
                yield environment.timeout(drawn.expovariate(1.0))
        latencies_s.append(environment.now - began)

    def source() -> Iterator[simpy.Event]:
        for _ in range(tuples):
            yield environment.timeout(drawn.expovariate(RATE))
            environment.process(one())

    environment.process(source())
    environment.run()
    return STAGES * tuples


if __name__ == "__main__":
    main()
