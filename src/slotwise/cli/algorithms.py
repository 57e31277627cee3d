"""`slotwise algorithms`: what the registry knows."""

from __future__ import annotations

import dataclasses
import importlib
from collections.abc import Iterator
from typing import Any

from slotwise.cli.output import json_text, show
from slotwise.cli.parameters import Json


def algorithms(*, json: Json = False) -> None:
    """List all algorithms with their options, as they are written: topology:alpha=0.2."""
    found = list(_described())
    if json:
        print(json_text(found), end="")
    else:
        _show_table(found)


def _described() -> Iterator[dict[str, Any]]:
    from slotwise import registry
    from slotwise.comparison import plan_auto

    families = {
        "allocator": registry.ALLOCATORS,
        "provisioner": registry.PROVISIONERS,
        "placer": registry.PLACERS,
    }
    for family, members in families.items():
        for name, path in members.items():
            module_name, _, class_name = path.partition(":")
            module = importlib.import_module(module_name)
            fields = dataclasses.fields(getattr(module, class_name))
            options = {field.name: field.default for field in fields}
            yield _entry(family, name, module.__doc__, options)
    yield _entry("placer", registry.AUTO, plan_auto.__doc__, {})


def _entry(family: str, name: str, doc: str | None, options: dict[str, Any]) -> dict[str, Any]:
    first_paragraph = " ".join((doc or "").strip().split("\n\n")[0].split())
    return {"family": family, "name": name, "what": first_paragraph, "options": options}


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
            Text(entry["what"]),
            Text(options, "dim"),
        )
        family = entry["family"]
    show(made)


def _shown(default: Any) -> str:
    return "…" if default is None else f"{default}"
