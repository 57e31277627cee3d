"""The types of tuples in a query: each is one struct column that carries it between levels."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import Any

from pyspark.sql.types import DataType, StructType

from slotwise.model import SlotwiseError, Topology

NULLABILITY = ("nullable", "containsNull", "valueContainsNull", "metadata")
"""What the JSON of a type also says."""
RESERVED = ("id", "ts")
WHOLE = "_record"
"""In an operator's logic: its whole input tuple, as a struct."""
RULE = "id, ts and names with a leading _ are reserved"


@dataclass
class Records:
    """Operators whose output tuples have the same fields share a column."""

    columns: dict[str, str] = field(default_factory=dict)
    """The type, as text -> its column."""
    by_operator: dict[int, StructType] = field(default_factory=dict)
    raw: dict[int, StructType] = field(default_factory=dict)
    """Per source, what its data source gives."""

    def add(self, operator: int, made: StructType) -> None:
        self.by_operator[operator] = made
        self.column(made)

    def of(self, operator: int) -> str:
        """The column that carries what `operator` emits."""
        return self.column(self.by_operator[operator])

    def into(self, topology: Topology, operator: int) -> str:
        """The column that brings `operator` its input: one type, whoever sends it."""
        if operator in self.raw:
            return self.column(self.raw[operator])
        return self.sent_to(topology, operator)

    def sent_to(self, topology: Topology, operator: int) -> str:
        """The column that brings `operator` what others send it."""
        senders = [topology.edges[stream][0] for stream in topology.inputs[operator]]
        first = senders[0]
        for other in senders[1:]:
            if self.of(other) != self.of(first):
                raise SlotwiseError(
                    f"it receives {self.by_operator[first].simpleString()} from "
                    f"'{topology.operators[first].name}' but "
                    f"{self.by_operator[other].simpleString()} from "
                    f"'{topology.operators[other].name}': both must emit the same type"
                )
        return self.of(first)

    def column(self, made: StructType) -> str:
        """The column of a type; a new one for a new type."""
        return self.columns.setdefault(_shape(made), f"_record{len(self.columns)}")


def record_type(found: DataType) -> StructType:
    """The type of the output tuple that an expression of this type makes."""
    if not isinstance(found, StructType):
        return StructType().add("value", found)
    if not found.names:
        raise SlotwiseError("its result has no fields")
    taken = set(RESERVED)
    for name in found.names:
        if name.lower() in taken or name.startswith("_"):
            is_double = name.lower() in taken.difference(RESERVED)
            problem = "names are equal in upper and lower case" if is_double else RULE
            raise SlotwiseError(f"its result has the field '{name}': {problem}")
        taken.add(name.lower())
    return found


def as_record(out: str) -> str:
    """SQL that makes a tuple of a plain value; NULL stays no tuple."""
    return f"IF({out} IS NULL, NULL, named_struct('value', {out}))"


def _shape(made: DataType) -> str:
    """Names and types, whether or not something may be NULL."""
    return json.dumps(_without_nullability(made.jsonValue()))


def _without_nullability(value: Any) -> Any:
    if isinstance(value, dict):
        kept = {key: each for key, each in value.items() if key not in NULLABILITY}
        return {key: _without_nullability(each) for key, each in kept.items()}
    return [_without_nullability(each) for each in value] if isinstance(value, list) else value
