"""A plan on Spark at one rate for a while: what it does in steady state."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Any

import numpy as np

from slotwise.json_data import json_data
from slotwise.model import Observation, Plan, ThreadTraffic
from slotwise.simulation.observe import BATCHES, STUDENT_T_95
from slotwise.spark.query.outline import outline
from slotwise.spark.run import Run
from slotwise.spark.stage import Stage
from slotwise.spark.supervise import supervise
from slotwise.spark.waiting import await_pace, await_tuples


@dataclass(frozen=True)
class Held:
    """What was measured of a plan in one window."""

    rate: float
    """Inputs/s that were offered."""
    throughput: float | None
    stable: bool | None
    busiest: float | None
    bottleneck: str | None
    latency_ms: float | None
    latency_p50_ms: float | None
    latency_p99_ms: float | None
    sojourn_ms: float | None
    sojourn_margin_ms: float | None
    """Half the 95 % confidence interval of `sojourn_ms`, from batch means."""
    inter_slot_traffic: float | None
    inter_node_traffic: float | None
    slot_cpu: tuple[float | None, ...]
    """Per slot of the cluster, the part of its quota in use, or of a core without one."""
    service_ms: Mapping[str, float | None]
    """By operator."""
    busy: Mapping[str, float]
    """By operator, what its busiest thread is asked for; see ThreadLoad.utilisation."""
    traffic: tuple[tuple[int, int, float], ...]
    """(sender, receiver, tuples/s) for threads as the allocation numbers them."""

    @property
    def thread_traffic(self) -> ThreadTraffic:
        senders, receivers, rates = np.array(self.traffic, dtype=np.float64).reshape(-1, 3).T
        return ThreadTraffic(senders.astype(np.int64), receivers.astype(np.int64), rates)

    @property
    def cpu(self) -> float:
        """Quotas in use, all slots together."""
        return math.fsum(cpu for cpu in self.slot_cpu if cpu is not None)

    def row(self) -> dict[str, Any]:
        """For a journal."""
        return dict(json_data(self))

    @staticmethod
    def of(row: Mapping[str, Any]) -> Held:
        """What `row` gave."""
        known = {field.name: row[field.name] for field in fields(Held)}
        traffic = tuple((int(one), int(other), rate) for one, other, rate in row["traffic"])
        return Held(**{**known, "slot_cpu": tuple(row["slot_cpu"]), "traffic": traffic})


def held(stage: Stage, plan: Plan, *, warm_up_s: float, measured_s: float, **settings: Any) -> Held:
    """The plan's query, started, let run for `warm_up_s` once it keeps pace, then measured.

    `settings` are those of spark.run.Options.
    """
    with stage.query(outline(plan), stage.options(**settings)) as run:
        await_tuples(run)
        await_pace(run)
        return watched(run, warm_up_s, measured_s)


def watched(run: Run, warm_up_s: float, measured_s: float) -> Held:
    """What a run does from now on, the warm-up left out."""
    supervise(run, warm_up_s, tries=0)
    run.watch.forget()
    supervise(run, measured_s, tries=0)
    return held_of(run.observe(measured_s + 2))


def held_of(seen: Observation) -> Held:
    busy: dict[str, float] = {}
    for thread in seen.threads:
        busy[thread.operator] = max(busy.get(thread.operator, 0.0), thread.utilisation)
    return Held(
        rate=seen.offered_rate,
        throughput=seen.throughput,
        stable=seen.stable,
        busiest=seen.busiest,
        bottleneck=seen.bottleneck,
        latency_ms=seen.latency_ms,
        latency_p50_ms=seen.latency_p50_ms,
        latency_p99_ms=seen.latency_p99_ms,
        sojourn_ms=seen.sojourn_ms,
        sojourn_margin_ms=_margin_ms(seen.series.sojourn_ms if seen.series else ()),
        inter_slot_traffic=seen.inter_slot_traffic,
        inter_node_traffic=seen.inter_node_traffic,
        slot_cpu=tuple(slot.cpu for slot in seen.slots),
        service_ms={load.operator: load.service_ms for load in seen.operators},
        busy=busy,
        traffic=_triples(seen.thread_traffic),
    )


def _triples(traffic: ThreadTraffic | None) -> tuple[tuple[int, int, float], ...]:
    if traffic is None:
        return ()
    ends = traffic.senders.tolist(), traffic.receivers.tolist(), traffic.rates.tolist()
    return tuple(zip(*ends, strict=True))


def _margin_ms(values: Sequence[float | None]) -> float | None:
    """From batches of neighbouring values; None if there are fewer than two for each."""
    known = [value for value in values if value is not None]
    if len(known) < 2 * BATCHES:
        return None
    means = [float(np.mean(batch)) for batch in np.array_split(known, BATCHES)]
    return STUDENT_T_95 * float(np.std(means, ddof=1)) / math.sqrt(BATCHES)
