"""What is known of a query before Spark analyses it: enough to refuse it, and to place it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from slotwise.model import Plan
from slotwise.paced import pace_of
from slotwise.spark.query.functions import Function, functions_of
from slotwise.spark.query.levels import Layout, layout
from slotwise.spark.query.refusals import Mode, check, mode_of


@dataclass(frozen=True)
class Outline:
    """A plan cut into levels, how Spark is to run it, and its operators in Python."""

    plan: Plan
    layout: Layout
    mode: Mode
    functions: Mapping[int, Function]
    """By the operator's position."""

    @property
    def reading_stages(self) -> int:
        """How many stages only read, before the sources' level: with micro-batches, Spark decides
        into how many partitions a batch of a source that is not `paced` is read.
        """
        operators = self.layout.topology.operators
        read = [operators[position] for position in self.layout.levels[0]]
        return int(self.mode == "micro-batch" and any(pace_of(each) is None for each in read))

    @property
    def bound(self) -> dict[str, Callable[..., Any]]:
        """The operators' functions, in the form that `outline` takes."""
        operators = self.layout.topology.operators
        return {operators[i].name: function.given for i, function in self.functions.items()}


def outline(plan: Plan, bound: Mapping[str, Callable[..., Any]] | None = None) -> Outline:
    """Levels and mode. Raises SlotwiseError for what Spark cannot run; starts nothing.

    `bound` has functions for operators, by name; see `functions`.
    """
    functions = functions_of(plan.pipeline.topology, bound)
    mode = mode_of(plan.pipeline, functions)
    made = layout(plan)
    check(made, mode, functions)
    return Outline(plan, made, mode, functions)
