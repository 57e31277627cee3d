"""The seam between deciding and running: a plan at work, simulated or on Spark."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, Protocol

from slotwise.model.errors import ModelError, SlotwiseError
from slotwise.model.observation import Observation

if TYPE_CHECKING:
    from slotwise.model.plan import Plan

How = Literal["at once", "next batch", "restart"]
MOVE_PAUSE_S = 0.5
"""As measured on Spark: the gap between two batches, when threads go on in other slots."""
RESTART_PAUSE_S = 3.0
"""Likewise: a restart of the query from its checkpoint, with other threads."""


@dataclass(frozen=True)
class Change:
    """A new plan in effect."""

    at_s: float
    """When it was in effect, by the deployment's clock."""
    how: How
    pause_s: float
    """The longest time without a tuple at a sink while it was changed."""


class Fault(str):
    """An event that is a failure."""

    __slots__ = ()


class Deployment(Protocol):
    """A plan at work. A controller works alike with a simulated one and one on Spark.

    Its clock starts at 0 with the first plan and goes on over changes and restarts.
    """

    @property
    def plan(self) -> Plan:
        """The plan in effect."""
        ...

    @property
    def events(self) -> Sequence[str]:
        """What happened to it: failures, each a Fault, machines that came and went; one sentence
        each, oldest first. It only grows.
        """
        ...

    @property
    def resumed_s(self) -> float:
        """When it last went on after a failure, by its clock; 0: it has not failed."""
        ...

    def now_s(self) -> float: ...

    def advance(self, seconds: float) -> None:
        """Let so much time pass: simulated, compute on; on Spark, wait and watch."""
        ...

    def observe(self, last_s: float) -> Observation:
        """What was seen in the last `last_s` seconds, or since the start where that is later; its
        `start_s` is when its window begins.

        Threads of two plans are never mixed: figures per thread, of streams, slots and nodes, and
        traffic count from the last `apply` on, if that was in the window. On Spark all figures do:
        there the window itself begins at the earliest when the plan was in effect.

        Raises SlotwiseError if nothing was seen yet, and for a window that is longer than what is
        kept (`kept_s`, 10 minutes unless the deployment was made with another).
        """
        ...

    def apply(self, plan: Plan) -> Change:
        """Go on as `plan` says, which is for the same topology; returns when it is in effect."""
        ...


def check_seconds(name: str, value: float) -> None:
    """Raises ModelError unless `value` is a time that can pass."""
    if not (math.isfinite(value) and value > 0):
        raise ModelError(f"invalid value '{value}' for {name}: expected seconds > 0")


def check_window(last_s: float, now_s: float, kept_s: float) -> None:
    """Raises SlotwiseError where the last `last_s` seconds are not all kept at `now_s`."""
    check_seconds("last_s", last_s)
    longest_s = kept_s * (1 + 1e-9)  # rounding errors aside
    if last_s > longest_s and now_s > longest_s:
        raise SlotwiseError(
            f"cannot observe the last {last_s:g} s: only {kept_s:g} s are kept (kept_s)"
        )
