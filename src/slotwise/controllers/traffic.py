"""Paper 2 online: threads move when that saves traffic between nodes, or relieves one."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from slotwise.controllers._options import check_parts, check_positive
from slotwise.controllers._plans import changed, in_slots, loaded
from slotwise.controllers.base import Situation
from slotwise.model import Choice, Decision, Gain, Observation, Plan


@dataclass(frozen=True)
class TrafficBased:
    """Section 3.2.2 of paper 2. Threads and machines stay; the placer `traffic` computes a new
    placement from the measured traffic and load. It is taken

    - every `period_s` (P), if it sends at least the part `gain` (R) fewer tuples between nodes, or
    - if a node used more than the part `overload` (B) of its CPU for `seconds` (X) and the fullest
      node would use less.

    Without measured traffic between threads the plan stays. O(pairs of threads × neighbours).
    """

    name: ClassVar[str] = "traffic"
    gain: float = 0.1
    period_s: float = 60.0
    overload: float = 0.9
    seconds: float = 30.0
    alpha: float = 0.0

    def __post_init__(self) -> None:
        check_parts(gain=self.gain, alpha=self.alpha)
        check_positive(period_s=self.period_s, overload=self.overload, seconds=self.seconds)

    def decide(self, situation: Situation) -> Decision:
        plan, seen = situation.plan, situation.seen
        full = self._overloaded(situation)
        if full is None and not self._is_time(situation):
            return Decision.keep(
                f"the next placement is computed {self.period_s:g} s after the last"
            )
        if seen.thread_traffic is None:
            return Decision.keep("traffic between threads was not measured")
        new = in_slots(plan, Choice("traffic", {"alpha": self.alpha}), seen)
        now, then = leaving(plan, seen), leaving(new, seen)
        saved = 1 - then / now if now > 0 else 0.0
        gain = Gain("inter_node_traffic", now, then)
        if full is not None and fullest(new, seen) < fullest(plan, seen) * (1 - 1e-6):
            return changed(situation, new, f"{full} was over {self.overload:.0%} of its CPU", gain)
        if saved >= self.gain and saved > 0:
            why = f"{saved:.0%} of {now:,.0f} tuples/s between nodes can be saved"
            return changed(situation, new, why, gain)
        return Decision.keep(f"a new placement would save {max(saved, 0):.0%} of the traffic")

    def _is_time(self, situation: Situation) -> bool:
        """Another P has passed since the plan is in effect."""
        before_s = situation.rates[-2][0] if len(situation.rates) > 1 else 0.0
        since_s = (at_s - situation.changed_s for at_s in (before_s, situation.now_s))
        before, now = (math.floor(seconds / self.period_s + 1e-9) for seconds in since_s)
        return now > max(before, 0)

    def _overloaded(self, situation: Situation) -> str | None:
        """A node that is over B since X seconds."""
        if not situation.covers(self.seconds):
            return None
        last = situation.last(self.seconds)
        for position, node in enumerate(situation.seen.nodes):
            used = [seen.nodes[position].cpu for seen in last]
            if all(cpu is not None and cpu > self.overload for cpu in used):
                return node.name
        return None


def leaving(plan: Plan, seen: Observation) -> float:
    """Tuples/s between nodes, as measured, if threads are where `plan` puts them."""
    flows = seen.thread_traffic
    assert flows is not None
    node = plan.cluster.slot_node[plan.placement.slots]
    return float(flows.rates[node[flows.senders] != node[flows.receivers]].sum())


def fullest(plan: Plan, seen: Observation) -> float:
    """The part of its CPU that the fullest node uses, with threads as busy as measured."""
    node, cluster = plan.cluster.slot_node[plan.placement.slots], plan.cluster
    used = np.bincount(node, loaded(plan.allocation, seen).thread_cpu, len(cluster.nodes))
    return float((used / np.bincount(cluster.slot_node, cluster.slot_cpu)).max())
