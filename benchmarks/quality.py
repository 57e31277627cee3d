"""How many slots each allocator and placer pair needs against the fewest: 200 random topologies.

`python -m benchmarks.quality`. For every allocator the `exact` placer proves a bound: no placement
of that allocation's bundles uses fewer slots. The table shows how far above that each placer is,
and what its plan is predicted to carry. Prints Markdown for docs/; asserts nothing.
"""

from __future__ import annotations

import argparse
import statistics
import sys
from collections import defaultdict
from dataclasses import replace

import numpy as np

from slotwise import registry
from slotwise.comparison import candidates
from slotwise.model import (
    Operator,
    Pipeline,
    Profiles,
    Stream,
    ThreadRow,
    ThreadTable,
    Topology,
    VmType,
)
from slotwise.model.pipeline import Goals

CATALOG = (
    VmType("D1", 1, 3.5, 0.10),
    VmType("D2", 2, 7.0, 0.20),
    VmType("D3", 4, 14.0, 0.40),
)
EXACT = "exact:effort=0.2"
PLACERS = (*(name for name in registry.PLACERS if name != "exact"), EXACT)


def random_pipeline(seed: int) -> Pipeline:
    """4 to 10 operators, each fed by one or two earlier ones, with profiles like paper 1's:
    some scale within a slot, some do not, some wait and some burn.
    """
    random = np.random.default_rng(seed)
    size = int(random.integers(4, 11))
    streams = [
        Stream(f"o{sender}", f"o{target}", float(random.choice([0.5, 1.0, 1.0, 2.0])))
        for target in range(1, size)
        for sender in sorted(set(random.integers(0, target, size=random.integers(1, 3)).tolist()))
    ]
    operators = tuple(Operator(f"o{i}", "operator" if i else "source") for i in range(size))
    tables = {operator.name: _table(random) for operator in operators}
    return Pipeline(
        Topology(f"random-{seed}", operators, tuple(streams)),
        Profiles(tables, 3.5 * 1024),
        catalog=CATALOG,
        goals=Goals(rate=float(random.integers(20, 150))),
    )


def _table(random: np.random.Generator) -> ThreadTable:
    alone = float(random.uniform(20, 400))
    cpu, mem = float(random.uniform(0.05, 0.9)), float(random.uniform(0.02, 0.4))
    rows = [ThreadRow(1, alone, cpu, mem)]
    for threads in (2, 4, 8):
        if cpu * threads > 1.2 or random.random() < 0.2:
            break
        speed_up = threads ** float(random.uniform(0.3, 1.0))
        rows.append(
            ThreadRow(
                threads,
                alone * speed_up,
                min(0.98, cpu * speed_up),
                min(0.98, mem * (1 + 0.1 * threads)),
            )
        )
    return ThreadTable(tuple(rows))


def measure(topologies: int) -> tuple[dict, dict]:
    """(slots over the bound, predicted over planned rate), each by (allocator, placer)."""
    above: dict[tuple[str, str], list[float]] = defaultdict(list)
    reached: dict[tuple[str, str], list[float]] = defaultdict(list)
    for seed in range(topologies):
        pipeline = random_pipeline(seed)
        # DRS is bounded by twice the time that service alone takes.
        bounded = replace(pipeline, goals=replace(pipeline.goals, latency_ms=_bound(pipeline)))
        for allocator in registry.ALLOCATORS:
            tried = list(candidates(bounded, (), [allocator], PLACERS))
            bound = next(
                (c.plan.placement.proven_bound for c in tried if c.plan and c.placer == EXACT),
                None,
            )
            for candidate in tried:
                if bound and candidate.plan and candidate.plan.predicted:
                    key = allocator, candidate.placer
                    above[key].append(candidate.plan.slots / bound)
                    predicted = candidate.plan.predicted
                    reached[key].append(min(1.0, predicted.proportional_capacity / candidate.rate))
        if sys.stderr.isatty():
            print(f"\r{seed + 1}/{topologies}", end="", file=sys.stderr)
    return above, reached


def _bound(pipeline: Pipeline) -> float:
    from slotwise.rates import arrival_rates

    unit = arrival_rates(pipeline.topology, 1.0)
    at_work = sum(
        float(rate) / pipeline.profiles.service(operator.name).rate
        for operator, rate in zip(pipeline.topology.operators, unit.operators, strict=True)
    )
    return 2000 * at_work / unit.external


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--topologies", type=int, default=200)
    arguments = parser.parse_args()
    above, reached = measure(arguments.topologies)
    print(
        "| allocator | placer | planned | slots over bound: median | mean | worst | "
        "predicted over planned rate: median |"
    )
    print("| --- | --- | --: | --: | --: | --: | --: |")
    for (allocator, placer), ratios in above.items():
        rates = statistics.median(reached[allocator, placer])
        print(
            f"| {allocator} | {placer} | {len(ratios)} | {statistics.median(ratios):.3f} | "
            f"{statistics.mean(ratios):.3f} | {max(ratios):.2f} | {rates:.2f} |"
        )


if __name__ == "__main__":
    main()
