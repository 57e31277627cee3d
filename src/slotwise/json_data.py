"""Values as strict JSON, which has no infinity and no NaN: null stands for both."""

from __future__ import annotations

import dataclasses
import json
import math
from typing import Any


def json_text(value: Any) -> str:
    """Indented, with a line break at the end; see json_data for what a value becomes."""
    return json.dumps(json_data(value), indent=2, ensure_ascii=False, allow_nan=False) + "\n"


def json_data(value: Any) -> Any:
    """The value as JSON has it: dataclasses are mappings, tuples and numpy arrays are lists, and
    numbers that are not finite are None.

    >>> json_data({"latency_ms": math.inf, "slots": (1, 2.5)})
    {'latency_ms': None, 'slots': [1, 2.5]}
    """
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        names = (field.name for field in dataclasses.fields(value))
        return {name: json_data(getattr(value, name)) for name in names}
    match value:
        case dict():
            return {key: json_data(item) for key, item in value.items()}
        case list() | tuple():
            return [json_data(item) for item in value]
        case float():
            return float(value) if math.isfinite(value) else None
        case str() | int() | None:  # bool is an int
            return value
    return json_data(value.tolist())  # numpy, which is not imported for this
