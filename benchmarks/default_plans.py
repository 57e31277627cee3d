"""Whether default plans hold, and what they cost: 200 random topologies with goals.

`python -m benchmarks.default_plans [--topologies 200] [--first-seed 0]`. Each has a rate and a p99
to keep. The default plan is then simulated with three seeds that the search has not seen. Its cost
is compared with a bound that no plan can be below, and with Spark's advice, a core for every task.
Prints a table; asserts nothing.
"""

from __future__ import annotations

import argparse
import statistics
import time
from dataclasses import dataclass, replace

import numpy as np

import slotwise
from benchmarks.quality import random_pipeline
from slotwise import registry
from slotwise.confirmation import confirmed
from slotwise.model import USUAL_HEADROOM, Choice, Pipeline, Plan, missed
from slotwise.rates import arrival_rates

SEEDS = (1, 2, 3)
MOST_BUSY = 1 - USUAL_HEADROOM


@dataclass(frozen=True)
class Result:
    """One topology; costs per hour."""

    promised: bool
    """The search found its goals met."""
    held: tuple[bool, ...]
    """By seed."""
    cost: float
    bound: float
    advised: float
    seconds: float


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--topologies", type=int, default=200)
    parser.add_argument("--first-seed", type=int, default=0)
    arguments = parser.parse_args()
    seeds = range(arguments.first_seed, arguments.first_seed + arguments.topologies)
    results = [measured(seed) for seed in seeds]
    promised = [result for result in results if result.promised]
    held = [each for result in promised for each in result.held]
    print(f"topologies                              {len(results)}")
    print(f"goals met by the default plan           {len(promised)}")
    print(f"met with other seeds                    {sum(held)} of {len(held)}")
    print(f"plans that meet them with all seeds     {sum(all(r.held) for r in promised)}")
    for name, ratios in (
        ("cost over the bound", [r.cost / r.bound for r in promised]),
        ("cost over a core per task", [r.cost / r.advised for r in promised]),
        ("seconds for a plan", [r.seconds for r in results]),
    ):
        low, middle, high = np.quantile(ratios, (0.1, 0.5, 0.9))
        print(f"{name:39} median {middle:.2f}, 10 to 90 %: {low:.2f} to {high:.2f}")
    print(f"mean cost over a core per task          {statistics.mean(_part(promised)):.2f}")


def _part(results: list[Result]) -> list[float]:
    return [result.cost / result.advised for result in results]


def measured(seed: int) -> Result:
    pipeline = with_goals(seed)
    start = time.process_time()
    plan = slotwise.plan(pipeline)
    seconds = time.process_time() - start
    return Result(
        promised=not missed(plan.judged()),
        held=tuple(_holds(plan, each) for each in SEEDS),
        cost=plan.cost_per_hour,
        bound=_price(plan, _fewest_slots(plan)),
        advised=_price(plan, _tasks(plan)),
        seconds=seconds,
    )


def with_goals(seed: int) -> Pipeline:
    """A p99 of 4 to 10 times the service time of single threads on the longest way to a sink."""
    pipeline = random_pipeline(seed)
    topology, longest = pipeline.topology, np.zeros(len(pipeline.topology.operators))
    for position in topology.order:
        before = [longest[topology.edges[stream][0]] for stream in topology.inputs[position]]
        alone = pipeline.profiles.table(topology.operators[position].name).at(1).rate
        longest[position] = max(before, default=0.0) + 1000 / alone
    times = np.random.default_rng(seed).uniform(4, 10)
    goals = replace(pipeline.goals, latency_p99_ms=float(times * longest.max()))
    return replace(pipeline, goals=goals)


def _holds(plan: Plan, seed: int) -> bool:
    seen = confirmed(plan, seed)
    return not missed(seen.judged())


def _fewest_slots(plan: Plan) -> int:
    """No plan with the headroom has fewer: the CPU of each tuple at the thread count where that is
    least, all slots full to the limit; and no slot does more than the model's best row.
    """
    slots = 0.0
    for name, rate in _arriving(plan):
        rows = plan.pipeline.profiles.table(name).rows
        slots += rate * min(min(row.cpu / row.rate for row in rows), 1 / rows[-1].rate)
    return max(1, int(np.ceil(slots / MOST_BUSY - 1e-9)))


def _tasks(plan: Plan) -> int:
    """One task per core, each at most as busy as the headroom allows."""
    return sum(
        int(np.ceil(rate / MOST_BUSY / plan.pipeline.profiles.table(name).at(1).rate))
        for name, rate in _arriving(plan)
    )


def _arriving(plan: Plan) -> list[tuple[str, float]]:
    topology = plan.pipeline.topology
    rates = arrival_rates(topology, plan.rate).operators.tolist()
    return [(each.name, rate) for each, rate in zip(topology.operators, rates, strict=True)]


def _price(plan: Plan, slots: int) -> float:
    """The least price of so many slots."""
    pipeline = plan.pipeline
    return (
        registry.provisioner(Choice("cheapest"))
        .provision(plan.allocation, pipeline.catalog, pipeline.slot_memory_gb, slots)
        .price_per_hour
    )


if __name__ == "__main__":
    main()
