"""pydantic's findings, as one sentence each: what is there, and what to write instead."""

from __future__ import annotations

import json
from typing import Any

Path = tuple[str | int, ...]

_EXPECTED = {
    "string_type": "text, in quotes if it looks like a number",
    "string_too_short": "at least one character",
    "float_type": "a number, without quotes",
    "int_type": "an integer, without quotes",
    "int_from_float": "an integer",
    "bool_type": "true or false",
    "finite_number": "a finite number",
    "dict_type": "a mapping (key: value)",
    "model_type": "a mapping (key: value)",
    "list_type": "a list (- item)",
    "greater_than": "a number > {gt:g}",
    "greater_than_equal": "a number ≥ {ge:g}",
    "less_than_equal": "a number ≤ {le:,}",
    "literal_error": "one of {expected}",
    "too_short": "at least {min_length} of them",
    "too_long": "at most {max_length} of them",
}


def sentence(error: Any, label: Path, whole: str = "the spec") -> str:
    """One of pydantic's errors; `label` is its path as far as the document has it, and
    `whole` is what to call the document.
    """
    kind, context, value = error["type"], error.get("ctx", {}), error["input"]
    where = ".".join(str(part) for part in label)
    if kind == "unknown_key":
        return f"{where}: {error['msg']}" if where else str(error["msg"])
    if kind == "missing":
        owner = f"'{where}'" if where else whole
        return f"{owner} has no '{error['loc'][-1]}': add it"
    if kind == "sentence":
        return f"{where}: {error['msg']}"
    if kind == "form":
        return f"{where} is {_shown(value)}: {error['msg']}"
    wanted = _EXPECTED[kind].format_map(context) if kind in _EXPECTED else str(error["msg"])
    if "[key]" in error["loc"]:
        return f"{_shown(value)} is not a valid key here: expected {wanted}"
    return f"{where} is {_shown(value)}: expected {wanted}"


def _shown(value: object) -> str:
    """The value as the file has it, cut short."""
    if value is None or value in ("", {}, []):
        return "empty"
    match value:
        case dict():
            return "a mapping"
        case list():
            return "a list"
        case bool():
            return str(value).lower()
        case str():
            text = json.dumps(value, ensure_ascii=False)
            return text if len(text) <= 42 else f'{text[:40]}…"'
        case _:
            return str(value)
