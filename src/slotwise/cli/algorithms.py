"""`slotwise algorithms`: what the registry knows."""

from __future__ import annotations

import inspect
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from slotwise.cli.output import show
from slotwise.cli.parameters import Json
from slotwise.json_data import json_text

if TYPE_CHECKING:
    from rich.text import Text

    from slotwise.registry import Member


def algorithms(*, json: Json = False) -> None:
    """List all algorithms with their options, also those that installed packages add."""
    found = list(_described())
    if json:
        print(json_text(found), end="")
    else:
        _show_table(found)


def _described() -> Iterator[dict[str, Any]]:
    from slotwise import plugins, registry
    from slotwise.search import search

    for family in registry.FAMILIES.values():
        for member in registry.members(family):
            options = plugins.options(member.algorithm) if member.algorithm else {}
            yield _entry(member, _documentation(member.algorithm), options)
        if family.searched:
            auto = registry.Member(family.noun, registry.AUTO, None, None)
            yield _entry(auto, search.__doc__, {})


def _documentation(algorithm: type[Any] | None) -> str | None:
    """Its module's docstring; that of the class where the module has none."""
    if algorithm is None:
        return None
    return getattr(inspect.getmodule(algorithm), "__doc__", None) or algorithm.__doc__


def _entry(member: Member, doc: str | None, options: dict[str, Any]) -> dict[str, Any]:
    return {
        "family": member.family,
        "name": member.name,
        "what": " ".join((doc or "").strip().split("\n\n")[0].split()),
        "options": options,
        "package": member.package,
        "problem": member.problem,
    }


def _show_table(found: list[dict[str, Any]]) -> None:
    from rich.text import Text

    from slotwise.report.tables import table

    made = table("Family", "Name", "What it does", "Options")
    family = None
    for entry in found:
        if family not in (None, entry["family"]):
            made.add_section()
        options = "\n".join(f"{name}={_shown(value)}" for name, value in entry["options"].items())
        made.add_row(
            "" if family == entry["family"] else entry["family"],
            Text(entry["name"], "bold"),
            _what(entry),
            Text(options, "dim"),
        )
        family = entry["family"]
    show(made)


def _what(entry: dict[str, Any]) -> Text:
    """What it does, and for one that a package adds, which package, or why it cannot be used."""
    from rich.text import Text

    if entry["problem"] is not None:
        broken = f"Cannot be used: {entry['problem']} (from {entry['package']})."
        return Text(broken, "red")
    origin = f" (from {entry['package']})" if entry["package"] else ""
    return Text(f"{entry['what']}{origin}")


def _shown(default: Any) -> str:
    return "…" if default is None else f"{default}"
