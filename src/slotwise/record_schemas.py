"""The fields of records from a file: an Avro schema (`.avsc`) or a JSON Schema (`.json`), as DDL.

Both say more than Spark's types do; what is a value's type is kept, and what only restricts it (the
symbols of an enum, a pattern, what is required) is not checked. Values are JSON in either case, so
Avro's dates and times are the numbers that they are there.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from slotwise.model import SlotwiseError

Names = dict[str, str]
"""DDL of types by their names."""
_AVRO = {
    "boolean": "BOOLEAN",
    "int": "INT",
    "long": "BIGINT",
    "float": "FLOAT",
    "double": "DOUBLE",
    "string": "STRING",
    "bytes": "STRING",
}
_JSON = {"string": "STRING", "integer": "BIGINT", "number": "DOUBLE", "boolean": "BOOLEAN"}
_TEXTS = {"date-time": "TIMESTAMP", "date": "DATE"}


def is_file(schema: str) -> bool:
    """Whether it names a file, rather than being DDL."""
    return schema.endswith((".avsc", ".json"))


def ddl_of(schema: str) -> str:
    """DDL as it is; of a file, that of its record's fields. Raises SlotwiseError."""
    if not is_file(schema):
        return schema
    try:
        found = json.loads(Path(schema).read_text(encoding="utf-8"))
    except OSError as error:
        raise SlotwiseError(f"schema {schema}: {error.strerror}") from None
    except ValueError as error:
        raise SlotwiseError(f"schema {schema} is no JSON: {error}") from None
    try:
        made = _of_avro(found, {}) if schema.endswith(".avsc") else _of_json(found, found, ())
    except SlotwiseError as error:
        raise SlotwiseError(f"schema {schema}: {error}") from None
    if not made.startswith("STRUCT<"):
        raise SlotwiseError(f"schema {schema} is {made}: expected a record with fields")
    return made.removeprefix("STRUCT<").removesuffix(">")


def _of_avro(found: Any, names: Names) -> str:
    if isinstance(found, list):
        others = [each for each in found if each != "null"]
        if len(others) != 1:
            raise SlotwiseError(f"a union of {len(others)} types, which no column has: {found}")
        return _of_avro(others[0], names)
    kind = found.get("type") if isinstance(found, dict) else found
    if isinstance(kind, dict | list):
        return _of_avro(kind, names)
    if isinstance(found, dict) and kind in ("record", "enum", "fixed"):
        return _named(found, names)
    if kind == "array":
        return f"ARRAY<{_of_avro(found['items'], names)}>"
    if kind == "map":
        return f"MAP<STRING, {_of_avro(found['values'], names)}>"
    made = _AVRO.get(str(kind)) or names.get(str(kind).rpartition(".")[2])
    if made is None:
        raise SlotwiseError(f"unknown type '{kind}'")
    return made


def _named(found: Mapping[str, Any], names: Names) -> str:
    name = str(found.get("name", ""))
    if found["type"] == "record":
        fields = found.get("fields", ())
        made = _struct((each["name"], _of_avro(each["type"], names)) for each in fields)
    else:
        made = "STRING"
    names[name] = made
    return made


def _of_json(found: Any, whole: Any, within: tuple[str, ...]) -> str:
    """`within`: the references that led here."""
    if not isinstance(found, dict):
        raise SlotwiseError(f"{found!r} is no schema")
    if (reference := found.get("$ref")) is not None:
        if reference in within:
            raise SlotwiseError(f"{reference} contains itself, which no column can")
        return _of_json(_resolved(reference, whole), whole, (*within, reference))
    kind = found.get("type", "object" if "properties" in found else None)
    if isinstance(kind, list):
        kinds = [each for each in kind if each != "null"]
        kind = kinds[0] if len(kinds) == 1 else kind
    if kind == "object":
        return _object(found, whole, within)
    if kind == "array":
        return f"ARRAY<{_of_json(found.get('items', {}), whole, within)}>"
    if kind == "string":
        return _TEXTS.get(found.get("format", ""), "STRING")
    if not isinstance(kind, str) or kind not in _JSON:
        raise SlotwiseError(f"a value of type {kind}, which no column has")
    return _JSON[kind]


def _object(found: Mapping[str, Any], whole: Any, within: tuple[str, ...]) -> str:
    if properties := found.get("properties"):
        return _struct((n, _of_json(each, whole, within)) for n, each in properties.items())
    values = found.get("additionalProperties", {"type": "string"})
    return f"MAP<STRING, {_of_json(values, whole, within)}>"


def _resolved(reference: str, whole: Any) -> Any:
    start, *parts = reference.split("/")
    found = whole
    for part in parts:
        found = found.get(part) if isinstance(found, dict) else None
    if start != "#" or found is None:
        raise SlotwiseError(f"there is no {reference} in the file")
    return found


def _struct(fields: Iterable[tuple[str, str]]) -> str:
    made = ", ".join(f"`{name.replace('`', '``')}` {kind}" for name, kind in fields)
    return f"STRUCT<{made}>"
