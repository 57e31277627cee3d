"""What a controller decides: keep the plan in effect or change it, and what that should do."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from slotwise.model.errors import ModelError
from slotwise.model.plan import Plan
from slotwise.model.topology import Stream

Kind = Literal["keep", "re-place", "re-plan"]


@dataclass(frozen=True)
class Gain:
    """The figure that a change is made for, now and as expected after it."""

    figure: str
    """A field of Observation: `latency_p99_ms`, `inter_node_traffic`, `cost_per_hour`, …"""
    before: float | None
    """None: not known, or without a bound."""
    after: float | None


@dataclass(frozen=True)
class Decision:
    """Keep the plan in effect; or a new plan: with threads in other slots only (`re-place`), or
    with other threads or machines (`re-plan`).
    """

    kind: Kind
    reason: str
    """One sentence with the figures, for people."""
    plan: Plan | None = None
    """The new plan; None: keep."""
    gain: Gain | None = None
    pause_s: float = 0.0
    """How long the change is expected to hold up all tuples."""
    cost_per_hour: float | None = None
    """What the machines cost after it."""
    wait_s: float = 0.0
    """How long until the pause is expected to begin: until machines have started and the batch
    before has ended."""

    def __post_init__(self) -> None:
        if (self.kind == "keep") != (self.plan is None):
            raise ModelError(f"a decision to {self.kind} has a plan exactly if it changes it")

    @classmethod
    def keep(cls, reason: str) -> Decision:
        return cls("keep", reason)

    @classmethod
    def change(
        cls,
        before: Plan,
        plan: Plan,
        reason: str,
        pause_s: float,
        gain: Gain | None = None,
        wait_s: float = 0.0,
    ) -> Decision:
        """Go over from `before` to `plan`."""
        kind = kind_of(before, plan)
        if kind == "keep":
            raise ModelError("a decision to change has the plan in effect: expected another one")
        return cls(kind, reason, plan, gain, pause_s, plan.cost_per_hour, wait_s)


def kind_of(before: Plan, plan: Plan) -> Kind:
    """What it takes to go over from one plan to the other.

    Plans that put the same threads in the same slots of the same machines are one plan, whatever
    else they say.
    """
    same_machines = before.cluster.nodes == plan.cluster.nodes
    if before.placement.threads != plan.placement.threads or not same_machines:
        return "re-plan"
    moved = (before.placement.slots != plan.placement.slots).any()
    streams = plan.pipeline.topology.streams
    routed = any(_routed(before, stream) != _routed(plan, stream) for stream in streams)
    return "re-place" if moved or routed else "keep"


def needs_restart(before: Plan, plan: Plan) -> bool:
    """Whether a query must be started again to go over from one plan to the other.

    If not, tasks only move to other slots: those of an operator are its threads, or the groups of
    its keys or the partitions of its topic, however many threads have them. A restart is for other
    tasks, for other weights, and for routes that depend on places.
    """
    operators, streams = plan.pipeline.topology.operators, plan.pipeline.topology.streams
    counts = zip(operators, before.placement.threads, plan.placement.threads, strict=True)
    if any(operator.tasks(then) != operator.tasks(now) for operator, then, now in counts):
        return True
    if any(_routed(before, stream) != _routed(plan, stream) for stream in streams):
        return True
    return any(stream.grouping.kind == "local-or-shuffle" for stream in streams)


def _routed(plan: Plan, stream: Stream) -> tuple[str, tuple[float, ...] | None]:
    """How the stream's tuples choose a thread, with the weights if they go by them."""
    kind = plan.routing(stream)
    return kind, plan.weights.get(stream.target) if kind == "weighted" else None
