"""Plans whose thread counts the paper gives, so that only the placer decides."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from slotwise.fitting import Placing
from slotwise.model import (
    Allocation,
    Bundle,
    FixedLoad,
    Observation,
    OperatorAllocation,
    Pipeline,
    Placement,
    Plan,
    Refused,
    ThreadTraffic,
)
from slotwise.model.profile import POINTS_PER_CORE
from slotwise.placers.base import Placer
from slotwise.prediction import predict
from slotwise.rates import arrival_rates, sent_per_tuple
from slotwise.weights import weights


def given_threads(pipeline: Pipeline, rate: float, threads: Mapping[str, int]) -> Allocation:
    """`threads` per operator, charged what they use at `rate`; operators with a fixed load that
    are left out have the threads of their profile, others its load per thread.
    """
    topology = pipeline.topology
    counts = [_count(pipeline, operator.name, threads) for operator in topology.operators]
    arriving = arrival_rates(topology, rate, counts).operators.tolist()
    sent = sent_per_tuple(topology, counts).tolist()
    entries = []
    for position, (operator, count) in enumerate(zip(topology.operators, counts, strict=True)):
        rate_here = arriving[position]
        cpu, mem, transfer = _charge(pipeline, operator.name, rate_here, count, sent[position])
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
    current: Plan | None = None,
    measured: ThreadTraffic | None = None,
) -> Plan:
    """The allocation on the pipeline's cluster; `measured` is the traffic under `current`."""
    cluster = pipeline.cluster
    assert cluster is not None
    answer = Placing(pipeline, allocation, placer, current, measured).on(cluster)
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


def rate_of(pipeline: Pipeline) -> float:
    """The paper's rate, which all bundled examples have as a goal."""
    assert pipeline.goals.rate is not None
    return pipeline.goals.rate


def sojourn_ms(seen: Observation) -> float:
    """Of a simulation, which always knows it."""
    assert seen.sojourn_ms is not None
    return seen.sojourn_ms


def _count(pipeline: Pipeline, operator: str, threads: Mapping[str, int]) -> int:
    if operator in threads:
        return threads[operator]
    fixed = pipeline.profiles.fixed(operator)
    assert fixed is not None, f"no thread count is given for '{operator}'"
    return fixed.threads


def _charge(
    pipeline: Pipeline, operator: str, arriving: float, threads: int, sent: float
) -> tuple[float, float, float]:
    """CPU and memory of all threads at that rate, in slots; CPU per tuple that crosses nodes.

    `sent` is tuples sent per tuple handled.
    """
    profile = pipeline.profiles[operator]
    if isinstance(profile, FixedLoad):
        part = threads / profile.threads
        return profile.cpu * part, profile.mem * part, 0.0
    service = pipeline.profiles.service(operator, sent)
    costs = pipeline.profiles.costs(operator, sent)
    return (
        service.cpu * arriving / service.rate,
        threads * service.mem,
        costs.transfer_points / POINTS_PER_CORE,
    )
