"""The types of tuples in a query: each is one struct column that carries it between levels."""

from __future__ import annotations

from dataclasses import dataclass, field

from pyspark.sql.types import DataType, StructType

from slotwise.model import SlotwiseError, Topology

RESERVED = ("id", "ts")


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
        senders = [topology.edges[stream][0] for stream in topology.inputs[operator]]
        first = senders[0]
        for other in senders[1:]:
            if self.of(other) != self.of(first):
                raise SlotwiseError(
                    f"it receives {_text(self.by_operator[first])} from "
                    f"'{topology.operators[first].name}' but {_text(self.by_operator[other])} from "
                    f"'{topology.operators[other].name}': both must emit the same type"
                )
        return self.of(first)

    def column(self, made: StructType) -> str:
        """The column of a type; a new one for a new type."""
        return self.columns.setdefault(_text(made), f"_record{len(self.columns)}")


def record_type(found: DataType) -> StructType:
    """The type of the output tuple that an expression of this type makes."""
    if not isinstance(found, StructType):
        return StructType().add("value", found)
    for name in found.names:
        if name in RESERVED or name.startswith("_"):
            raise SlotwiseError(
                f"its result has the field '{name}': id, ts and names with a leading _ are reserved"
            )
    return found


def as_record(out: str) -> str:
    """SQL that makes a tuple of a plain value; NULL stays no tuple."""
    return f"IF({out} IS NULL, NULL, named_struct('value', {out}))"


def _text(made: StructType) -> str:
    """The fields and types, whether or not they may be NULL."""
    return made.simpleString()
