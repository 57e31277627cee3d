"""A small pipeline, what is seen of it period by period, and a Deployment that follows a script."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from slotwise.controllers.base import Situation
from slotwise.model import (
    Change,
    Choice,
    Decision,
    FixedLoad,
    Goals,
    Logic,
    Observation,
    OperatorLoad,
    Pipeline,
    Plan,
    Profile,
    Profiles,
    Scheduler,
    ServiceRate,
    SlotLoad,
    SlotwiseError,
    VmType,
)
from slotwise.planner import Request, plan_with
from tests.builders import cluster, topology

SHAPE = topology("in>work", "work>out")
SCHEDULER = Scheduler(Choice("lsa"), Choice("largest-first"), Choice("sam"))
PERIOD_S = 10.0


def pipeline(
    goals: Goals | None = None,
    profiles: Mapping[str, Profile] | None = None,
    nodes: int | None = None,
) -> Pipeline:
    """One thread of `work` handles 100/s and fills a core; `out` handles 1,000/s. Machines have two
    slots and cost 1 per hour; or there are so many fixed `nodes` of two slots.
    """
    own: dict[str, Profile] = {
        "in": FixedLoad(cpu=0.1),
        "work": ServiceRate(100.0),
        "out": ServiceRate(1000.0),
    }
    return Pipeline(
        SHAPE,
        Profiles(own | dict(profiles or {}), 3584.0),
        catalog=() if nodes else (VmType("m", 2, 7.0, 1.0),),
        cluster=cluster(nodes, 2) if nodes else None,
        goals=goals or Goals(rate=150.0, latency_p99_ms=100.0),
        scheduler=SCHEDULER,
    )


def with_logic(logic: Logic) -> Pipeline:
    """`work` computes that."""
    made = pipeline()
    operators = tuple(
        replace(each, logic=logic) if each.name == "work" else each
        for each in made.topology.operators
    )
    return replace(made, topology=replace(made.topology, operators=operators))


def plan_at(rate: float = 150.0, given: Pipeline | None = None) -> Plan:
    made = given or pipeline()
    return plan_with(Request(made, rate, made.scheduler))


def seen(
    plan: Plan,
    rate: float = 150.0,
    *,
    end_s: float = PERIOD_S,
    busy: float | None = None,
    service_ms: float = 10.0,
    **figures: Any,
) -> Observation:
    """`work` handles `rate` tuples/s, each in `service_ms`; `busy` if it is given."""
    threads = plan.threads
    asked = {"in": 0.0, "work": rate * service_ms / 1000, "out": rate / 1000}
    times_ms = {"in": 0.0, "work": service_ms, "out": 1.0}
    part = {name: asked[name] / threads[name] for name in asked}
    if busy is not None:
        part["work"] = busy
    usual: dict[str, Any] = {
        "throughput": rate,
        "capacity": None,
        "backlog": 0.0,
        "stable": part["work"] <= 1,
        "busiest": max(part.values()),
        "bottleneck": "work",
        "latency_ms": 20.0,
        "latency_p99_ms": 60.0,
        "sojourn_ms": 20.0,
        "network_ms": 0.0,
    }
    return Observation(
        origin="measured",
        start_s=end_s - PERIOD_S,
        end_s=end_s,
        offered_rate=rate,
        operators=tuple(
            OperatorLoad(name, rate, rate, None, min(part[name], 1.0), 1.0, times_ms[name])
            for name in asked
        ),
        streams=(),
        slots=(),
        nodes=tuple(SlotLoad(node.name, part["work"], 0.1) for node in plan.cluster.nodes),
        cost_per_hour=plan.cost_per_hour,
        inter_slot_traffic=None,
        inter_node_traffic=None,
        **(usual | figures),
    )


def situation(
    plan: Plan | None = None,
    periods: int = 3,
    changes: Sequence[Change] = (),
    goals: Goals | None = None,
    **figures: Any,
) -> Situation:
    """So many equal periods under the plan."""
    at_work = plan or plan_at()
    observations = tuple(seen(at_work, **figures, end_s=(n + 1) * PERIOD_S) for n in range(periods))
    rates = tuple((each.end_s or 0.0, each.offered_rate) for each in observations)
    wanted = goals or at_work.pipeline.goals
    return Situation(
        at_work, observations, wanted, periods * PERIOD_S, PERIOD_S, rates, tuple(changes)
    )


@dataclass
class ScriptedDeployment:
    """`see(plan, now_s)` is what is observed; None: nothing was. Applying takes `pause_s`."""

    plan: Plan
    see: Callable[[Plan, float], Observation | None] = lambda plan, now_s: seen(plan, end_s=now_s)
    pause_s: float = 2.0
    refusals: list[str] = field(default_factory=list)
    """The next changes are refused with these."""
    applied: list[tuple[float, Plan]] = field(default_factory=list)
    clock_s: float = 0.0
    events: list[str] = field(default_factory=list)
    resumed_s: float = 0.0

    def now_s(self) -> float:
        return self.clock_s

    def advance(self, seconds: float) -> None:
        self.clock_s += seconds

    def observe(self, last_s: float) -> Observation:
        found = self.see(self.plan, self.clock_s)
        if found is None:
            raise SlotwiseError("the run has measured nothing yet")
        if found.end_s == self.clock_s:  # a window as long as asked for
            found = replace(found, start_s=self.clock_s - last_s)
        return found

    def apply(self, plan: Plan) -> Change:
        if self.refusals:
            raise SlotwiseError(self.refusals.pop(0))
        how = "at once" if plan.placement.threads == self.plan.placement.threads else "restart"
        self.plan = plan
        self.clock_s += self.pause_s
        self.applied.append((self.clock_s, plan))
        return Change(self.clock_s, how, self.pause_s)  # type: ignore[arg-type]


@dataclass
class Scripted:
    """Decides what `want(situation)` wants, and notes what it was asked."""

    want: Callable[[Situation], Plan | None] = lambda situation: None
    name: str = "scripted"
    asked: list[Situation] = field(default_factory=list)

    def decide(self, situation: Situation) -> Decision:
        self.asked.append(situation)
        plan = self.want(situation)
        if plan is None or plan is situation.plan:
            return Decision.keep("all is well")
        return Decision.change(situation.plan, plan, "as the script says", 3.0)
