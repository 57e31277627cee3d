"""Where the parts of a YAML text stand in it, so that some can be replaced and no other touched."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from ruamel.yaml import YAML
from ruamel.yaml.events import (
    AliasEvent,
    MappingEndEvent,
    MappingStartEvent,
    ScalarEvent,
    SequenceEndEvent,
    SequenceStartEvent,
)

from slotwise.spec.tree import resolve


@dataclass(slots=True)
class Part:
    """A value in the text, from its first character (or that of its anchor) to past its last."""

    value: Any
    start: int
    end: int
    is_flow: bool = True
    """Not a block, whose entries stand on lines of their own."""
    entries: dict[Any, Entry] = field(default_factory=dict)
    """Of a mapping; empty for an alias of one."""

    @property
    def last(self) -> Entry:
        return next(reversed(self.entries.values()))


@dataclass(slots=True)
class Entry:
    """A key of a mapping and what it says.

    In a block, `start` is where the key stands, or its `?`; elsewhere that does not matter.
    """

    start: int
    column: int
    value: Part


@dataclass(frozen=True)
class Anchor:
    """`&name` before a value, or `*name` in place of it."""

    name: str
    is_alias: bool
    part: Part


@dataclass(frozen=True)
class Layout:
    root: Part
    anchors: tuple[Anchor, ...]
    """In the order of the text."""


def layout_of(text: str) -> Layout:
    """Of a text that `read_tree` has accepted. Time: linear."""
    reader = _Reader(text, YAML(typ="safe", pure=True).parse(text))
    root = reader.part(next(e for e in reader.events if hasattr(e, "anchor")))
    return Layout(root, tuple(reader.anchors))


class _Reader:
    def __init__(self, text: str, events: Iterator[Any]) -> None:
        self.text = text
        self.events = iter(events)
        self.anchors: list[Anchor] = []
        self.values: dict[str, Any] = {}

    def part(self, event: Any) -> Part:
        part = Part(None, event.start_mark.index, event.end_mark.index)
        if isinstance(event, AliasEvent):
            part.value = self.values[event.anchor]
        elif isinstance(event, ScalarEvent):
            part.value = resolve(str(event.value)) if event.implicit[0] else str(event.value)
        if event.anchor:
            # In the order of the text, though the value follows.
            self.anchors.append(Anchor(event.anchor, isinstance(event, AliasEvent), part))
        if isinstance(event, MappingStartEvent):
            self.mapping(part, event.flow_style)
        elif isinstance(event, SequenceStartEvent):
            self.sequence(part, event.flow_style)
        if event.anchor:
            self.values[event.anchor] = part.value
        return part

    def mapping(self, part: Part, is_flow: bool) -> None:
        part.is_flow = is_flow
        while not isinstance(event := next(self.events), MappingEndEvent):
            key = self.part(event)
            value = self.part(next(self.events))
            part.entries[key.value] = Entry(*((0, 0) if is_flow else self.place(key)), value)
            part.end = value.end
        part.value = {key: entry.value.value for key, entry in part.entries.items()}
        self.close(part, event)

    def place(self, key: Part) -> tuple[int, int]:
        """Where its entry starts on its line, with `? ` or without, and in which column."""
        line = self.text.rfind("\n", 0, key.start) + 1
        before = self.text[line : key.start].rstrip(" ")
        column = len(before) - 1 if before.endswith("?") else key.start - line
        return line + column, column

    def sequence(self, part: Part, is_flow: bool) -> None:
        part.value = []
        part.is_flow = is_flow
        while not isinstance(event := next(self.events), SequenceEndEvent):
            item = self.part(event)
            part.value.append(item.value)
            part.end = item.end
        self.close(part, event)

    @staticmethod
    def close(part: Part, event: Any) -> None:
        """A block ends where its last value does: its end event stands where the next part does."""
        if part.is_flow:
            part.end = event.end_mark.index
