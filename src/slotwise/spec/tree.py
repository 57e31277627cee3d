"""YAML text -> plain values that remember where they stand.

ruamel.yaml scans and parses; the values are built here from its events, once, so that every key
and value keeps its line and column and nothing is read that a spec does not need: no tags, no
merge keys, no self-reference, no aliases that grow without bound.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from ruamel.yaml import YAML
from ruamel.yaml.error import MarkedYAMLError, YAMLError
from ruamel.yaml.events import (
    AliasEvent,
    DocumentStartEvent,
    MappingEndEvent,
    ScalarEvent,
    SequenceEndEvent,
    SequenceStartEvent,
)

from slotwise.spec.errors import SpecError

MOST_LEVELS = 32
"""A spec is about six levels deep; hostile ones are thousands."""
MOST_VALUES = 1_000_000
"""Values in a document with every alias written out."""

Key = str | int
Scalar = str | int | float | bool | None

_CONSTANTS: dict[str, Scalar] = {
    **dict.fromkeys(("", "~", "null", "Null", "NULL"), None),
    **dict.fromkeys(("true", "True", "TRUE"), True),
    **dict.fromkeys(("false", "False", "FALSE"), False),
    **dict.fromkeys((".nan", ".NaN", ".NAN"), float("nan")),
    **dict.fromkeys((".inf", ".Inf", ".INF", "+.inf", "+.Inf", "+.INF"), float("inf")),
    **dict.fromkeys(("-.inf", "-.Inf", "-.INF"), float("-inf")),
}
_INTEGER = re.compile(r"[-+]?[0-9]{1,18}")
_NUMBER = re.compile(r"[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?")
_UNPRINTABLE = re.compile(
    "[^\t\n\r\x20-\x7e\x85\xa0-\ud7ff\ue000-\ufefe\uff00-\ufffd\U00010000-\U0010ffff]"
)


@dataclass(slots=True)
class Tree:
    """A value of the document, the place it starts at, and the values inside it."""

    value: Any
    line: int
    column: int
    size: int = 1
    """Values in here, this one and every alias written out included."""
    children: dict[Any, Tree] = field(default_factory=dict)
    keys: dict[Any, tuple[int, int]] = field(default_factory=dict)
    """Where each key of a mapping stands."""

    def descend(self, path: tuple[Key, ...]) -> tuple[tuple[Key, ...], Tree]:
        """As far along `path` as the document goes; parts that it does not have are skipped.

        Skipping lets a path name what a value was taken for as well as where it stands.
        """
        here, walked = self, []
        for part in path:
            if part in here.children:
                here = here.children[part]
                walked.append(part)
        return tuple(walked), here

    def place(self, path: tuple[Key, ...], of_key: bool = False) -> tuple[int, int]:
        """Line and column: of a plain value itself, of the key for what holds more values.

        With `of_key`, of the key in any case.
        """
        walked, found = self.descend(path)
        if walked and (of_key or isinstance(found.value, dict | list)):
            _, parent = self.descend(walked[:-1])
            return parent.keys.get(walked[-1], (found.line, found.column))
        return found.line, found.column


def read_tree(text: str, file: str) -> Tree | None:
    """The one document in `text`, or None if there is none. Raises SpecError.

    Time: linear in the text, about 5 s per MB.
    """
    if bad := _UNPRINTABLE.search(text):
        line = text.count("\n", 0, bad.start()) + 1
        column = bad.start() - text.rfind("\n", 0, bad.start())
        raise SpecError(
            file, f"the character {bad[0]!a} is not allowed: save the file as UTF-8", line, column
        )
    return _Reader(file, _events(text, file)).document()


def _events(text: str, file: str) -> Iterator[Any]:
    """ruamel's events, its errors in our words."""
    line = column = 0
    try:
        for event in YAML(typ="safe", pure=True).parse(text):
            line, column = event.end_mark.line, event.end_mark.column
            yield event
    except MarkedYAMLError as error:
        raise _syntax_error(error, text, file) from None
    except (YAMLError, ValueError) as error:
        # ruamel lets int() and chr() fail on characters and versions past all bounds (\U0011FFFF).
        said = str(error).splitlines()[0]
        problem = f"this is not valid YAML ({said}): check what follows here"
        raise SpecError(file, problem, line + 1, column + 1) from None


def _syntax_error(error: MarkedYAMLError, text: str, file: str) -> SpecError:
    mark = error.problem_mark or error.context_mark
    line, column, index = (mark.line, mark.column, mark.index) if mark else (0, 0, 0)
    if text[index : index + 1] == "\t":
        problem = "a tab is not allowed here in YAML: use spaces"
    else:
        said = (error.problem or error.context or "unreadable").replace("\n", " ")
        problem = (
            f"this is not valid YAML ({said}): check indentation, quotes and brackets up to here"
        )
    return SpecError(file, problem, line + 1, column + 1)


def resolve(text: str) -> Scalar:
    """What unquoted text means in YAML 1.2's core schema, hexadecimal and octal left out.

    >>> resolve("4"), resolve("4.0"), resolve("true"), resolve("yes"), resolve("1_000")
    (4, 4.0, True, 'yes', '1_000')
    """
    if text in _CONSTANTS:
        return _CONSTANTS[text]
    if _INTEGER.fullmatch(text):
        return int(text)
    return float(text) if _NUMBER.fullmatch(text) else text


class _Reader:
    """Builds a Tree from ruamel's events, with a bound on depth and on aliases written out."""

    def __init__(self, file: str, events: Iterator[Any]) -> None:
        self.file = file
        self.events = events
        self.anchors: dict[str, Tree | None] = {}

    def document(self) -> Tree | None:
        tree: Tree | None = None
        for event in self.events:
            if isinstance(event, DocumentStartEvent):
                if tree is not None:
                    raise self.error(event, "a second document starts here: expected one per file")
                tree = self.tree(next(self.events), 1)
        return tree

    def tree(self, event: Any, level: int) -> Tree:
        if isinstance(event, AliasEvent):
            return self.alias(event)
        if level > MOST_LEVELS:
            raise self.error(event, f"values are nested more than {MOST_LEVELS} levels deep")
        if event.tag is not None:
            raise self.error(event, f"the YAML tag '{event.tag}' is not allowed: remove it")
        if event.anchor:
            self.anchors[event.anchor] = None
        if isinstance(event, ScalarEvent):
            tree = self.scalar(event)
        elif isinstance(event, SequenceStartEvent):
            tree = self.sequence(event, level)
        else:
            tree = self.mapping(event, level)
        if event.anchor:
            self.anchors[event.anchor] = tree
        return tree

    def alias(self, event: Any) -> Tree:
        if event.anchor not in self.anchors:
            raise self.error(event, f"unknown alias '*{event.anchor}': no '&{event.anchor}' above")
        tree = self.anchors[event.anchor]
        if tree is None:
            raise self.error(event, f"'*{event.anchor}' contains itself: repeat the value instead")
        return tree

    def scalar(self, event: Any) -> Tree:
        text = str(event.value)
        if not text.isascii() and re.search("[\ud800-\udfff]", text):
            raise self.error(event, "half a surrogate pair is not a character: use \\U and 8 hex")
        value = resolve(text) if event.implicit[0] else text
        return Tree(value, event.start_mark.line + 1, event.start_mark.column + 1)

    def sequence(self, start: Any, level: int) -> Tree:
        tree = Tree([], start.start_mark.line + 1, start.start_mark.column + 1)
        while not isinstance(event := next(self.events), SequenceEndEvent):
            self.add(tree, len(tree.children), self.tree(event, level + 1), event)
        tree.value = [child.value for child in tree.children.values()]
        return tree

    def mapping(self, start: Any, level: int) -> Tree:
        tree = Tree({}, start.start_mark.line + 1, start.start_mark.column + 1)
        while not isinstance(event := next(self.events), MappingEndEvent):
            key = self.key(event, tree)
            tree.keys[key] = event.start_mark.line + 1, event.start_mark.column + 1
            self.add(tree, key, self.tree(next(self.events), level + 1), event)
        tree.value = {key: child.value for key, child in tree.children.items()}
        return tree

    def key(self, event: Any, into: Tree) -> Any:
        if not isinstance(event, ScalarEvent):
            raise self.error(event, "a key must be plain text: expected 'name: value'")
        key = self.tree(event, 1).value
        if key == "<<" and event.implicit[0]:
            raise self.error(event, "merge keys ('<<') are not allowed: repeat the keys instead")
        if key in into.keys:
            raise self.error(event, f"duplicate key '{key}': rename or remove one")
        return key

    def add(self, tree: Tree, key: Any, child: Tree, event: Any) -> None:
        tree.children[key] = child
        tree.size += child.size
        if tree.size > MOST_VALUES:
            raise self.error(event, f"aliases repeat more than {MOST_VALUES:,} values: use fewer")

    def error(self, event: Any, problem: str) -> SpecError:
        mark = event.start_mark
        return SpecError(self.file, problem, mark.line + 1, mark.column + 1)
