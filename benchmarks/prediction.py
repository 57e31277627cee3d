"""How far predictions are from simulations: default plans of 200 random topologies, and examples.

`python -m benchmarks.prediction [--topologies 200] [--first-seed 0]`. Mean and p99 are compared at
the plan's rate, the capacity with the highest rate at which a simulation is stable. Prints Markdown
for docs/; asserts nothing.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator

import numpy as np

import slotwise
from benchmarks.default_plans import with_goals
from slotwise import workloads
from slotwise.confirmation import confirmed
from slotwise.model import Plan
from slotwise.simulation import simulate

SEED = 7
"""Not the one that plans are confirmed with."""
TUPLES = 100_000
"""Of each run that seeks the capacity."""
HALVINGS = 8
FIGURES = ("capacity", "latency_ms", "latency_p99_ms")
Ratios = dict[str, float]
"""By figure, predicted over simulated."""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--topologies", type=int, default=200)
    parser.add_argument("--first-seed", type=int, default=0)
    arguments = parser.parse_args()
    seeds = range(arguments.first_seed, arguments.first_seed + arguments.topologies)
    found = [ratios(slotwise.plan(with_goals(seed))) for seed in seeds]
    print(f"| {len(found)} random topologies | off by, median | 90 % within | predicted lower |")
    print("| --- | --: | --: | --: |")
    for figure in FIGURES:
        off = [max(each[figure], 1 / each[figure]) - 1 for each in found]
        lower = np.mean([each[figure] < 1 for each in found])
        print(
            f"| {figure} | {np.median(off):.1%} | {np.quantile(off, 0.9):.1%} | {lower:.0%} |",
        )
    print("\n| example: predicted over simulated | " + " | ".join(FIGURES) + " |")
    print("| --- |" + " --: |" * len(FIGURES))
    for name, of in examples():
        row = " | ".join(f"{ratio:.2f}" for ratio in ratios(of).values())
        print(f"| {name} | {row} |", flush=True)


def examples() -> Iterator[tuple[str, Plan]]:
    """As their specs say, at their own rate; only those that can keep up with it."""
    for name in workloads.names():
        made = slotwise.plan(name)
        if made.predicted is not None and made.predicted.stable:
            yield name, made


def ratios(of: Plan) -> Ratios:
    predicted, seen = of.predicted, confirmed(of, SEED).simulated
    assert predicted is not None
    assert seen is not None

    def ratio(figure: str, simulated: float | None) -> float:
        mine: float | None = getattr(predicted, figure)
        return float("nan") if not mine or not simulated else mine / simulated

    return {
        "capacity": ratio("capacity", capacity(of, predicted.capacity)),
        "latency_ms": ratio("latency_ms", seen.latency_ms),
        "latency_p99_ms": ratio("latency_p99_ms", seen.latency_p99_ms),
    }


def capacity(of: Plan, about: float) -> float:
    """The highest rate found stable, from half to twice `about`, within half a percent."""
    low, high = 0.5 * about, 2 * about
    for _ in range(HALVINGS):
        middle = (low + high) / 2
        stable = simulate(of, middle, tuples=TUPLES, seed=SEED).stable
        low, high = (middle, high) if stable else (low, middle)
    return low


if __name__ == "__main__":
    main()
