"""How long DRS takes to decide: `python -m benchmarks.allocators`.

Paper 5 needs 0.083, 0.158, 0.323, 0.665 and 1.250 ms for K = 12, 24, 48, 96, 192 processors over
three operators. Prints a table; asserts nothing.
"""

from __future__ import annotations

import statistics
import time

import numpy as np

from slotwise.allocators.drs import share_out

PAPER_MS = {12: 0.083, 24: 0.158, 48: 0.323, 96: 0.665, 192: 1.250}


def median_ms(operators: int, processors: int, repetitions: int) -> tuple[float, float]:
    """(median, spread from the 10th to the 90th percentile) of one decision."""
    random = np.random.default_rng(1)
    service = random.uniform(0.5, 2.0, operators)
    load = random.dirichlet(np.ones(operators)) * (processors - operators) * 0.8
    arrival = np.maximum(load, 0.01) * service
    variation = np.ones(operators)
    share_out(arrival, service, variation, 1.0, processors)  # compile
    times = []
    for _ in range(repetitions):
        start = time.perf_counter()
        share_out(arrival, service, variation, 1.0, processors)
        times.append((time.perf_counter() - start) * 1000)
    deciles = statistics.quantiles(times, n=10)
    return statistics.median(times), deciles[-1] - deciles[0]


def main() -> None:
    print(
        f"{'operators':>9} {'processors':>10} {'ms':>9} {'spread':>9} {'paper ms':>9} {'ratio':>7}"
    )
    for processors, paper in PAPER_MS.items():
        median, spread = median_ms(3, processors, 2000)
        print(
            f"{3:>9} {processors:>10,} {median:>9.4f} {spread:>9.4f} {paper:>9.3f} "
            f"{paper / median:>6.0f}×"
        )
    median, spread = median_ms(1_000, 100_000, 15)
    print(f"{1_000:>9,} {100_000:>10,} {median:>9.3f} {spread:>9.3f} {'–':>9} {'–':>7}")


if __name__ == "__main__":
    main()
