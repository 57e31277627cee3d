"""Plans whose thread counts the paper gives, so that only the placer decides."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from slotwise.model import (
    Allocation,
    Bundle,
    FixedLoad,
    OperatorAllocation,
    Pipeline,
    Placement,
    Plan,
    Refused,
    ThreadTraffic,
    Traffic,
)
from slotwise.model.profile import POINTS_PER_CORE
from slotwise.placers._base import Placer
from slotwise.predictors import predict, weights
from slotwise.rates import arrival_rates


def given_threads(pipeline: Pipeline, rate: float, threads: Mapping[str, int]) -> Allocation:
    """`threads` per operator, charged what they use at `rate`; operators with a fixed load that
    are left out have the threads of their profile.
    """
    topology = pipeline.topology
    counts = [_count(pipeline, operator.name, threads) for operator in topology.operators]
    arriving = arrival_rates(topology, rate, counts).operators.tolist()
    entries = []
    for operator, count, rate_here in zip(topology.operators, counts, arriving, strict=True):
        cpu, mem, transfer = _charge(pipeline, operator.name, rate_here, count)
        entries.append(
            OperatorAllocation(
                operator.name,
                rate_here,
                (Bundle(1, cpu / count, mem / count),) * count,
                "as the paper says",
                transfer_cpu=transfer,
            )
        )
    return Allocation("given", rate, tuple(entries))


def placed(
    pipeline: Pipeline,
    allocation: Allocation,
    placer: Placer,
    measured: ThreadTraffic | None = None,
) -> Plan:
    """The allocation placed on the pipeline's cluster, by measured traffic where there is any."""
    cluster = pipeline.cluster
    assert cluster is not None
    rates = arrival_rates(pipeline.topology, allocation.rate, allocation.threads)
    answer = placer.place(
        pipeline.topology, allocation, cluster, Traffic(rates.streams, measured=measured)
    )
    if not isinstance(answer, Placement):
        raise Refused(answer)
    used = len(answer.used_slots)
    plan = Plan(
        pipeline=pipeline,
        rate=allocation.rate,
        allocation=allocation,
        cluster=cluster,
        slots=used,
        extra_slots=0,
        placement=answer,
        weights=weights(pipeline, cluster, answer),
        reasons=answer.reasons,
    )
    return replace(plan, predicted=predict(plan))


def _count(pipeline: Pipeline, operator: str, threads: Mapping[str, int]) -> int:
    if operator in threads:
        return threads[operator]
    fixed = pipeline.profiles.fixed(operator)
    assert fixed is not None, f"no thread count is given for '{operator}'"
    return fixed.threads


def _charge(
    pipeline: Pipeline, operator: str, arriving: float, threads: int
) -> tuple[float, float, float]:
    """CPU and memory of all threads at that rate, in slots; CPU per tuple that crosses nodes."""
    profile = pipeline.profiles[operator]
    if isinstance(profile, FixedLoad):
        return profile.cpu, profile.mem, 0.0
    service, costs = pipeline.profiles.service(operator), pipeline.profiles.costs(operator)
    return (
        service.cpu * arriving / service.rate,
        threads * service.mem,
        costs.transfer_points / POINTS_PER_CORE,
    )
