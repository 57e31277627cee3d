"""The experiment of one operator: its input replayed, the operator, and what comes after it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from slotwise.formats import KAFKA
from slotwise.model import Grouping, Logic, Operator, SlotwiseError, Stream, Topology
from slotwise.model.pipeline import Engine
from slotwise.paced import pace_of

REPLAY, NEXT_HOP = "slotwise-replay", "slotwise-next-hop"
"""Names beside the operator's own."""
SHUFFLE = Grouping("shuffle")
DELAY_S = 1.5
"""Until the query runs: what came due before would be late, and a backlog."""


@dataclass(frozen=True)
class Case:
    """What is measured: an operator on records that it gets in production."""

    operator: Operator
    input: Captured | None
    """None: it is a source, which makes its own records."""
    grouping: Grouping = SHUFFLE
    """How its tuples choose a thread: keys stay together where its logic needs that."""
    emits: bool = True
    """False: its results leave the query."""
    function: Callable[..., Any] | None = None
    """What it computes in Python, if it does."""
    engine: Engine = "auto"

    @property
    def name(self) -> str:
        return self.operator.name

    @property
    def bound(self) -> dict[str, Callable[..., Any]]:
        return {} if self.function is None else {self.name: self.function}

    def topology(self) -> Topology:
        """The input, the operator and its next hop in a row; paper 1's three tasks."""
        streams: list[Stream] = []
        if self.input is None:
            operators = [_from_start_on(self.operator)]
        else:
            operators = [self.input.replay(), _without_format(self.operator)]
            streams.append(Stream(REPLAY, self.name, 1.0, self.grouping))
        if self.emits:
            operators.append(Operator(NEXT_HOP, "sink"))
            streams.append(Stream(self.name, NEXT_HOP, 1.0, SHUFFLE))
        return Topology(f"profile of {self.name}", tuple(operators), tuple(streams))


@dataclass(frozen=True)
class Captured:
    """Records that arrived at an operator, one JSON object per line, and their type."""

    lines: Path
    schema: str
    """As DDL; a line may have more fields."""
    records: int
    arrival_scv: float | None = None
    """Squared coefficient of variation of the times between them; None: too few to say."""
    field: str | None = None
    """The one that is the record; None: the whole object is."""

    def replay(self) -> Operator:
        """A paced source that gives the records again, typed as they were, from the first one on
        after the last. One that is not of its type fails: it would be NULL.
        """
        schema = self.schema.replace("\\", "\\\\").replace("'", "\\'")
        options = (("payload", f"file({self.lines})"), ("delay", f"{1000 * DELAY_S:g}ms"))
        record = f"from_json(value, '{schema}', map('mode', 'FAILFAST'))"
        if self.field is not None:
            record += f".{self.field}"
        logic = Logic(expr=record, options=options)
        return Operator(REPLAY, "source", 1.0, logic)


def reading(operator: Operator) -> Operator:
    """An operator that reads a topic, as one that is sent its messages: it parses and computes what
    it does in production. What Kafka's client takes is not in it.
    """
    return replace(
        operator, kind="operator", share=1.0, logic=replace(operator.logic, partitions=None)
    )


def check(operator: Operator, function: Callable[..., Any] | None) -> None:
    """Raise SlotwiseError for an operator that there is nothing to measure of."""
    logic = operator.logic
    if operator.kind == "source" and pace_of(operator) is None and logic.format != KAFKA:
        raise SlotwiseError(
            f"source '{operator.name}' reads {logic.format}, whose rate cannot be set: give it a "
            "profile by hand, such as {fixed: {cpu: 0.1}}"
        )
    if operator.kind == "operator" and logic.is_empty and function is None:
        raise SlotwiseError(
            f"operator '{operator.name}' has no logic to measure: give it an expr, an aggregate or "
            "a python function"
        )


def _without_format(operator: Operator) -> Operator:
    """What a sink is given for a trial belongs nowhere."""
    return replace(operator, logic=replace(operator.logic, format=None, options=()))


def _from_start_on(operator: Operator) -> Operator:
    """A paced source that keeps to one rate, without an end, once its query runs."""
    kept = {"arrivals", "seed", "payload"}
    options = [(name, value) for name, value in operator.logic.options if name in kept]
    options.append(("delay", f"{1000 * DELAY_S:g}ms"))
    return replace(operator, share=1.0, logic=replace(operator.logic, options=tuple(options)))
