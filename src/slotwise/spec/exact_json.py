"""Frozen values as JSON and back, exactly: exact_value(type(v), exact_data(v)) == v.

What is None is left out of its object; null stands for infinity, which JSON does not have. So the
two stay apart, as `json_data` does not keep them. Reading goes by the fields' types.
"""

from __future__ import annotations

import dataclasses
import functools
import math
import types
import typing
from collections.abc import Mapping
from typing import Any, Literal, TypeVar, get_args, get_origin

Value = TypeVar("Value")

_EXPECTED = {float: "a number", int: "an integer", str: "text", bool: "true or false"}


def exact_data(value: Any) -> Any:
    """Dataclasses, numbers, texts, and tuples and mappings of them; numpy arrays are lists."""
    if dataclasses.is_dataclass(value):
        found = {field.name: getattr(value, field.name) for field in dataclasses.fields(value)}
        return {name: exact_data(each) for name, each in found.items() if each is not None}
    match value:
        case str() | int() | None:  # bool is an int
            return value
        case float():
            return None if math.isinf(value) else float(value)
        case Mapping():
            return {key: exact_data(each) for key, each in value.items()}
        case tuple() | list():
            return [exact_data(each) for each in value]
    return value.tolist()  # numpy


def exact_value(kind: type[Value], data: Any, where: str = "") -> Value:
    """Raises ValueError with a sentence that says where it is not a `kind`."""
    made: Value = _value(kind, data, where)
    return made


def _value(kind: Any, data: Any, where: str) -> Any:
    if dataclasses.is_dataclass(kind):
        return _dataclass(kind, data, where)
    origin, inside = get_origin(kind), get_args(kind)
    if origin in (types.UnionType, typing.Union):
        return _value(next(each for each in inside if each is not types.NoneType), data, where)
    if origin is Literal:
        return _checked(data, data in inside, f"one of {', '.join(map(str, inside))}", where)
    if origin is tuple:
        _checked(data, isinstance(data, list), "a list", where)
        return tuple(_value(inside[0], each, f"{where}[{n}]") for n, each in enumerate(data))
    if origin in (dict, Mapping):
        _checked(data, isinstance(data, dict), "an object", where)
        return {key: _value(inside[1], each, f"{where}.{key}") for key, each in data.items()}
    if kind is float:
        return _number(data, where)
    fits = isinstance(data, kind) and (kind is bool) == isinstance(data, bool)
    return _checked(data, fits, _EXPECTED[kind], where)


def _dataclass(kind: Any, data: Any, where: str) -> Any:
    _checked(data, isinstance(data, dict), "an object", where)
    hints, found = _hints(kind), {}
    for field in dataclasses.fields(kind):
        name = f"{where}.{field.name}".lstrip(".")
        if field.name in data:
            found[field.name] = _value(hints[field.name], data[field.name], name)
        elif types.NoneType in get_args(hints[field.name]):
            found[field.name] = None
        elif field.default is dataclasses.MISSING:
            raise ValueError(f"'{name}' is missing")
    for name in data:
        if name not in hints:
            raise ValueError(f"unknown key '{f'{where}.{name}'.lstrip('.')}'")
    return kind(**found)


@functools.cache
def _hints(kind: type) -> dict[str, Any]:
    return typing.get_type_hints(kind)


def _number(data: Any, where: str) -> float:
    if data is None:
        return math.inf
    is_number = isinstance(data, (int, float)) and not isinstance(data, bool)
    return float(_checked(data, is_number and math.isfinite(data), "a number", where))


def _checked(data: Any, fits: bool, expected: str, where: str) -> Any:
    if not fits:
        shown = repr(data)
        shown = shown if len(shown) <= 40 else f"{shown[:38]}…"
        raise ValueError(f"'{where}' is {shown}: expected {expected}")
    return data
