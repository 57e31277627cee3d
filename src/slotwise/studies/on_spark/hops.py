"""What a hop takes on this machine, by how far it goes: measured on a chain of single threads.

All threads in one slot, in two slots of a node in turn, or on two nodes in turn: every hop of the
chain then goes equally far. Slots that hold no thread show what an idle one takes.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from slotwise.model import Hop, Pipeline, Placement, Plan, Platform
from slotwise.placers.round_robin import RoundRobin
from slotwise.profilers.platform import FLUSH_MS
from slotwise.studies.given import given_threads, placed
from slotwise.studies.on_spark.holding import Held
from slotwise.studies.study import Table

TITLE = "What a hop takes, by how far it goes"
SLOTS = {"in a slot": (0, 0), "between slots of a node": (0, 1), "between nodes": (0, 2)}
"""For a cluster whose first node has two slots: the slots of the chain's threads, in turn."""


@dataclass(frozen=True)
class Hops:
    """Measured on a chain, by the keys of SLOTS."""

    rate: float
    """Tuples/s that went through the chain."""
    delay_ms: Mapping[str, float]
    cpu_us: Mapping[str, float]
    """Of a core for each tuple, both ends together."""
    idle_cores: float
    """Of a slot that holds no thread."""

    def platform(self, cores: float) -> Platform:
        """What predictions charge, for slots of so many cores. All CPU is charged to buffers, which
        is where it goes at rates at which a buffer holds one or two tuples.
        """
        flushed = Platform(flush_ms=FLUSH_MS)
        buffers = float(flushed.buffers_per_s(np.array([self.rate]))[0]) / self.rate
        in_slot, in_node, between_nodes = (
            Hop(
                delay_ms=self.delay_ms[far],
                send_buffer_us=self.cpu_us[far] / 2 / buffers,
                receive_buffer_us=self.cpu_us[far] / 2 / buffers,
            )
            for far in SLOTS
        )
        return Platform(
            slot_cpu=self.idle_cores,
            in_slot=in_slot,
            in_node=in_node,
            between_nodes=between_nodes,
            flush_ms=FLUSH_MS,
            cores=cores,
        )

    def table(self) -> Table:
        rows = tuple((far, self.delay_ms[far], self.cpu_us[far]) for far in SLOTS)
        return Table(TITLE, ("hop", "ms", "CPU µs per tuple"), rows)


def chains(pipeline: Pipeline, rate: float) -> dict[str, Plan]:
    """Plans with one thread of each operator, which are in turn in two slots so far apart."""
    threads = {operator.name: 1 for operator in pipeline.topology.operators}
    plan = placed(pipeline, given_threads(pipeline, rate, threads), RoundRobin())
    count = len(threads)
    return {
        far: replace(
            plan, placement=Placement("given", (1,) * count, np.resize(np.array(slots), count))
        )
        for far, slots in SLOTS.items()
    }


def hops_of(plans: Mapping[str, Plan], seen: Mapping[str, Held], cores: float) -> Hops:
    """From what was measured of `chains`; a slot's quota is so many cores."""
    chain = next(iter(plans.values()))
    hops = len(chain.pipeline.topology.streams)
    used = {far: plan.placement.used_slots.tolist() for far, plan in plans.items()}
    idle_cores = cores * float(
        np.mean([_cpu(held, slot) for far, held in seen.items() for slot in _rest(held, used[far])])
    )
    delay_ms, cpu_us = {}, {}
    for far, held in seen.items():
        assert held.latency_ms is not None
        work_ms = sum(ms or 0.0 for ms in held.service_ms.values())
        busy_cores = sum(cores * _cpu(held, slot) - idle_cores for slot in used[far])
        delay_ms[far] = max(held.latency_ms - work_ms, 0.0) / hops
        cpu_us[far] = max(1e6 * busy_cores / chain.rate - 1000 * work_ms, 0.0) / hops
    return Hops(chain.rate, delay_ms, cpu_us, idle_cores)


def _rest(held: Held, used: Sequence[int]) -> list[int]:
    return [slot for slot in range(len(held.slot_cpu)) if slot not in used]


def _cpu(held: Held, slot: int) -> float:
    """The part of its quota in use."""
    return held.slot_cpu[slot] or 0.0
