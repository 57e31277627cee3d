"""Measured profiles put into a spec's text: every other character stays as it is.

The text is not written anew from what was read, which would lose its layout: the places of the
entries are found, and only those are replaced. Then the result is read, and must say the same as
before but for what was replaced.
"""

from __future__ import annotations

from collections.abc import Mapping

from slotwise.model import Platform, Profile
from slotwise.spec.document import SpecDocument
from slotwise.spec.errors import SpecError
from slotwise.spec.layout import Entry, Part, layout_of
from slotwise.spec.reading import checked
from slotwise.spec.tree import Tree, read_tree
from slotwise.spec.writing import (
    Values,
    flow,
    platform_lines,
    platform_values,
    profile_lines,
    profile_values,
    profiles_text,
)

__all__ = ["profiles_text", "with_profiles"]

_BYTE_ORDER_MARK = "\ufeff"


def with_profiles(
    text: str,
    profiles: Mapping[str, Profile],
    platform: Platform | None = None,
    name: str = "<string>",
) -> str:
    """The spec `text` with these operators' profiles, and this platform, in place of its own.

    Comments above an entry stay; those inside and behind it go with it, since they speak of its
    figures. An anchor that others use moves to the first of them. Figures are rounded to 4 digits.
    Raises SpecError, with `name` for the file, if the text is no spec, has no such operator, or is
    laid out in a way that an entry cannot be replaced in.
    """
    plain = text.removeprefix(_BYTE_ORDER_MARK)
    before = _read(plain, name).value
    for operator in profiles:
        if operator not in before["topology"]["operators"]:
            raise SpecError(name, f"there is no operator '{operator}' to write a profile for")
    new = {"profiles": profile_values(profiles)}
    if platform is not None:
        new["platform"] = platform_values(platform)
    if before.get("profiles"):
        new["profiles"] = before["profiles"] | new["profiles"]
    expected = before | {key: value for key, value in new.items() if key in before or value}
    made = _Rewriting(plain, expected).made(list(profiles), platform is not None)
    try:
        is_right = _read(made, name).value == expected
    except SpecError:
        is_right = False
    if not is_right:
        raise SpecError(
            name,
            "the layout of 'profiles' does not allow to replace entries: write them to a file of "
            "their own and include it",
        )
    return text[: len(text) - len(plain)] + made


def _read(text: str, name: str) -> Tree:
    tree = read_tree(text, name)
    if tree is None:
        raise SpecError(name, "the spec is empty: expected one to write profiles into", 1, 1)
    checked(SpecDocument, tree, name)
    return tree


class _Rewriting:
    """One text; `expected` is what it must say in the end."""

    def __init__(self, text: str, expected: Values) -> None:
        self.text, self.expected = text, expected
        self.layout = layout_of(text)
        self.edits: list[tuple[int, int, str]] = []
        """From, to, what stands there in the end."""

    def made(self, operators: list[str], new_platform: bool) -> str:
        self.put_profiles(operators)
        if new_platform and "platform" in self.expected:
            indent = " " * self.layout.root.last.column
            lines = platform_lines(self.expected["platform"], indent)
            self.put(self.layout.root, "platform", self.expected["platform"], lines, "\n\n")
        self.move_anchors()
        return self.edited()

    def put_profiles(self, operators: list[str]) -> None:
        root, values = self.layout.root, self.expected["profiles"]
        own = root.entries.get("profiles")
        if own is not None and own.value.entries:
            lines = profile_lines(values, " " * own.value.last.column)
            for operator in operators:
                self.put(own.value, operator, values[operator], lines[operator], "\n")
        elif operators:
            # None of them is written here: no such key, or an empty or an aliased mapping.
            indent = " " * root.last.column
            lines = profile_lines(values, indent + "  ")
            section = "\n".join([f"{indent}profiles:", *lines.values()])
            self.put(root, "profiles", values, section, "\n\n")

    def put(self, into: Part, key: str, value: object, lines: str, gap: str) -> None:
        """Replace the entry, or add it behind the last one; in a block, as `lines`."""
        entry = into.entries.get(key)
        if into.is_flow and entry is not None:
            self.edits.append((entry.value.start, entry.value.end, flow(value)))
        elif into.is_flow:
            end = into.last.value.end
            self.edits.append((end, end, f", {flow(key)}: {flow(value)}"))
        elif entry is not None:
            line_end = self.line_end(entry)
            self.edits.append((entry.start, line_end, lines.lstrip(" ")))
        else:
            behind = into.entries.get("profiles") if into is self.layout.root else None
            line_end = self.line_end(behind or into.last)
            self.edits.append((line_end, line_end, gap + lines))

    def line_end(self, entry: Entry) -> int:
        """Of the entry's last line, with the comment on it."""
        end = entry.value.end
        while self.text[end - 1] in "\r\n":  # a text in block style holds its line break
            end -= 1
        found = self.text.find("\n", end)
        end = len(self.text) if found < 0 else found
        return end - 1 if self.text[end - 1] == "\r" else end

    def move_anchors(self) -> None:
        """A value whose anchor is replaced is written out at the first alias that is left."""
        replaced = [(start, end) for start, end, _ in self.edits]
        gone: set[str] = set()
        for anchor in self.layout.anchors:
            part = anchor.part
            if any(start <= part.start < end for start, end in replaced):
                gone |= set() if anchor.is_alias else {anchor.name}
            elif anchor.is_alias and anchor.name in gone:
                self.edits.append((part.start, part.end, f"&{anchor.name} {flow(part.value)}"))
                gone.remove(anchor.name)
            elif not anchor.is_alias:
                gone.discard(anchor.name)

    def edited(self) -> str:
        """Of insertions at one place, the first one stands first."""
        line_break = "\r\n" if "\r\n" in self.text else "\n"
        pieces, done = [], 0
        for start, end, by in sorted(self.edits, key=lambda edit: edit[0]):
            pieces += [self.text[done:start], by.replace("\n", line_break)]
            done = end
        return "".join(pieces) + self.text[done:]
