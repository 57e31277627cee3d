"""Paper 2's three schedulers on one workload: in steady state, and with a change in mid-run."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from slotwise.adaptation import Rules
from slotwise.controllers.base import Controller
from slotwise.controllers.static import Static
from slotwise.controllers.traffic import TrafficBased as TrafficController
from slotwise.model import Goals, Observation, Pipeline, Plan
from slotwise.placers.round_robin import RoundRobin
from slotwise.placers.topology import TopologyBased
from slotwise.placers.traffic import TrafficBased
from slotwise.simulation import Arrivals, Keys, Options, SimulatedDeployment, simulate
from slotwise.studies.controlled import Watched, applied, controlled
from slotwise.studies.given import given_threads, placed
from slotwise.studies.study import Effort

SCHEDULERS = ("default", "offline", "online")
SPREAD = 0.2
"""V: spout executors emit up to 20 % more or less than the mean."""
PERIOD_S, CHANGE_AT_S, PAUSE_S, END_S = 10.0, 40.0, 10.0, 300.0
"""In mid-run: how often the controller looks; how long it observes the default schedule at least;
how long a change holds up all threads; when the run ends."""
QUICK_END_S = 90.0


@dataclass(frozen=True)
class Workload:
    """A pipeline with the paper's executors, and what its spouts emit."""

    pipeline: Pipeline
    threads: Mapping[str, int]
    rate: float
    keys: Keys
    spread: float = SPREAD

    def run(self, plan: Plan, effort: Effort, duration_s: float | None = None) -> Observation:
        return simulate(
            plan,
            self.rate,
            arrivals=Arrivals("constant", spread=self.spread),
            keys=self.keys,
            tuples=None if duration_s else effort.pick(200_000, 20_000),
            duration_s=duration_s,
            seed=effort.seed,
        )

    def plans(self, alpha: float, effort: Effort) -> dict[str, Plan]:
        """By scheduler; `online` sees the traffic and load of a run under `default`."""
        allocation = given_threads(self.pipeline, self.rate, self.threads)
        default = placed(self.pipeline, allocation, RoundRobin())
        measured = self.run(default, effort, CHANGE_AT_S).thread_traffic
        assert measured is not None
        return {
            "default": default,
            "offline": placed(self.pipeline, allocation, TopologyBased(alpha=alpha)),
            "online": placed(
                self.pipeline, allocation, TrafficBased(alpha=alpha), default, measured
            ),
        }


@dataclass(frozen=True)
class Seen:
    """What one scheduler reaches, in steady state."""

    latency_ms: float
    traffic: float
    """Tuples/s between nodes."""
    nodes: int
    """How many the plan uses."""
    slot_traffic: float
    """Tuples/s between slots."""
    overloaded: bool
    """Some thread was asked for more than it can do: the latency grows with the run's length."""

    @staticmethod
    def of(plan: Plan, observation: Observation) -> Seen:
        assert observation.latency_ms is not None
        assert observation.inter_node_traffic is not None
        assert observation.inter_slot_traffic is not None
        return Seen(
            observation.latency_ms,
            observation.inter_node_traffic,
            len(set(plan.cluster.slot_node[plan.placement.slots].tolist())),
            observation.inter_slot_traffic,
            observation.stable is False,
        )


Results = dict[str, Seen]
"""By scheduler."""


def steady(workload: Workload, alpha: float, effort: Effort) -> Results:
    """Every scheduler on its own."""
    plans = workload.plans(alpha, effort)
    return {name: Seen.of(plan, workload.run(plan, effort)) for name, plan in plans.items()}


@dataclass(frozen=True)
class Timeline:
    """One scheduler from the start, second by second."""

    latency_ms: tuple[float | None, ...]
    """Of the tuples that ended in each second; None: none did."""
    changes_s: tuple[float, ...]
    """When the plan was changed."""


def timeline(workload: Workload, effort: Effort) -> dict[str, Timeline]:
    """The online scheduler is the controller `traffic`, which starts from the default schedule."""
    plans = workload.plans(0.0, effort)
    online = TrafficController(period_s=CHANGE_AT_S)
    return {
        "default": _timeline(workload, plans["default"], Static(), effort),
        "offline": _timeline(workload, plans["offline"], Static(), effort),
        "online": _timeline(workload, plans["default"], online, effort),
    }


def _timeline(workload: Workload, plan: Plan, controller: Controller, effort: Effort) -> Timeline:
    deployment = SimulatedDeployment(
        plan,
        workload.rate,
        Options(arrivals=Arrivals("constant", spread=SPREAD), keys=workload.keys, seed=effort.seed),
        move_pause_s=PAUSE_S,
    )
    watched = Watched(deployment, every_s=1.0)
    end_s = effort.pick(END_S, QUICK_END_S)
    steps = controlled(watched, controller, Goals(), end_s, Rules(period_s=PERIOD_S))
    by_second = {round(seen.end_s or 0.0): seen.latency_ms for seen in watched.seen}
    return Timeline(
        tuple(by_second.get(second) for second in range(1, round(end_s) + 1)),
        tuple(step.at_s for step in applied(steps)),
    )
