"""New plans from the one in effect: with given threads, in other slots, or planned again."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from slotwise import registry
from slotwise.allocators.base import Demand, demands, fixed_entry
from slotwise.controllers.base import Situation
from slotwise.model import (
    Allocation,
    Bundle,
    Choice,
    Decision,
    Gain,
    Observation,
    OperatorAllocation,
    Pipeline,
    Plan,
    Scheduler,
    ThreadTable,
    counted,
)
from slotwise.model.decision import kind_of
from slotwise.planner import Request, check_budget, plan_with
from slotwise.prediction import predict
from slotwise.rates import arrival_rates

PLACER = Choice("sam")
PROVISIONER = Choice("cheapest")
"""Where the pipeline's scheduler names none."""


def changed(
    situation: Situation, plan: Plan, why: str, gain: Gain | None = None, expected: str = ""
) -> Decision:
    """Go over to `plan`; keep, if it is the plan in effect in all that matters."""
    before = situation.plan
    if kind_of(before, plan) == "keep":
        return Decision.keep(f"{why}, and the plan in effect is the one for it")
    pause_s = situation.pause_s(plan)
    parts = [difference(before, plan), expected, f"pause {pause_s:.2g} s"]
    reason = f"{why}: {', '.join(part for part in parts if part)}"
    return Decision.change(before, plan, reason, pause_s, gain, situation.wait_s)


def difference(before: Plan, after: Plan) -> str:
    """`work 4 → 6 threads on 2 nodes`."""
    then, now = before.threads, after.threads
    threads = [
        f"{name} {then[name]} → {counted(now[name], 'thread')}"
        for name in now
        if now[name] != then[name]
    ]
    moved = (
        "the same threads in other slots" if before.cluster == after.cluster else "the same threads"
    )
    return f"{'; '.join(threads) or moved} on {counted(after.machines, 'node')}"


def placer_of(plan: Plan) -> Choice:
    named = plan.pipeline.scheduler.placer
    return PLACER if named.name == registry.AUTO else named


def provisioner_of(plan: Plan) -> Choice:
    named = plan.pipeline.scheduler.provisioner
    return PROVISIONER if named.name == registry.AUTO else named


def with_threads(plan: Plan, rate: float, threads: Mapping[str, int], name: str) -> Plan:
    """So many threads per operator, each charged what it needs when it is always busy, on as many
    machines as that takes. Raises Refused.
    """
    allocation = given(plan.pipeline, rate, threads, name)
    request = Request(plan.pipeline, rate, plan.pipeline.scheduler, plan)
    made = request.place(allocation, provisioner_of(plan), placer_of(plan))
    check_budget(plan.pipeline.goals, made.cluster)
    return in_pipeline(made, plan.pipeline)


def given(pipeline: Pipeline, rate: float, threads: Mapping[str, int], name: str) -> Allocation:
    """As with_threads; fixed loads keep their threads, and none gets more than it can have."""
    operators = pipeline.topology.operators
    wanted = [threads[operator.name] for operator in operators]
    counts = [min(n, each.most_threads or n) for n, each in zip(wanted, operators, strict=True)]
    rates = arrival_rates(pipeline.topology, rate, counts)
    return Allocation(
        name,
        rate,
        tuple(
            _entry(pipeline, demand, count)
            for demand, count in zip(demands(pipeline.topology, rates), counts, strict=True)
        ),
    )


def _entry(pipeline: Pipeline, demand: Demand, threads: int) -> OperatorAllocation:
    """In bundles as full as the profile says is best, and one of the rest."""
    profiles, operator = pipeline.profiles, demand.operator
    if (fixed := profiles.fixed(operator)) is not None:
        return fixed_entry(demand, fixed)
    table = profiles.table(operator, demand.sent_per_tuple)
    size = min(table.best.threads, threads)
    full = size == table.best.threads and not profiles.derived(operator, ThreadTable)
    bundles = [_bundle(table, size, full)] * (threads // size)
    if rest := threads % size:
        bundles.append(_bundle(table, rest, False))
    reason = f"{counted(threads, 'thread')} by the controller"
    return OperatorAllocation(operator, demand.arriving, tuple(bundles), reason)


def _bundle(table: ThreadTable, threads: int, full: bool) -> Bundle:
    row = table.at(threads)
    return Bundle(threads, max(1.0, row.cpu) if full else row.cpu, row.mem, full)


def in_slots(plan: Plan, placer: Choice, seen: Observation) -> Plan:
    """The same threads on the same machines, placed again by what was measured. Raises Refused."""
    here = replace(plan.pipeline, catalog=(), cluster=plan.cluster)
    request = Request(here, plan.rate, plan.pipeline.scheduler, plan, seen)
    made = request.place(loaded(plan.allocation, seen), provisioner_of(plan), placer)
    return in_pipeline(replace(made, allocation=plan.allocation), plan.pipeline)


def loaded(allocation: Allocation, seen: Observation) -> Allocation:
    """The allocation charged with the CPU that was measured, where it was; no bundles."""
    measured = {load.operator: load.cpu for load in seen.operators}
    return replace(
        allocation,
        operators=tuple(
            entry
            if (cpu := measured.get(entry.operator)) is None
            else replace(
                entry,
                bundles=(Bundle(1, cpu / entry.threads, entry.mem / entry.threads),)
                * entry.threads,
            )
            for entry in allocation
        ),
    )


def planned(plan: Plan, pipeline: Pipeline, rate: float, allocator: Choice, placer: Choice) -> Plan:
    """The pipeline planned anew by named algorithms. Raises Refused."""
    scheduler = Scheduler(allocator, provisioner_of(plan), placer)
    made = plan_with(Request(pipeline, rate, scheduler, plan))
    return in_pipeline(made, pipeline)


def in_pipeline(plan: Plan, pipeline: Pipeline) -> Plan:
    """The plan with its own pipeline again, and its prediction."""
    whole = replace(plan, pipeline=pipeline)
    return replace(whole, predicted=predict(whole))
