"""An Observation as JSON: the same keys whether predicted, simulated or measured.

JSON has no infinity: null stands for it. What an origin cannot tell is left out.
"""

from __future__ import annotations

import dataclasses
import math
from typing import Any

import numpy as np

from slotwise.model import Observation


def observation_data(observation: Observation) -> dict[str, Any]:
    """Ready for json.dumps. Traffic is three lists: senders, receivers, and tuples/s."""
    return {
        field.name: _plain(value)
        for field in dataclasses.fields(observation)
        if not _left_out(value := getattr(observation, field.name))
    }


def _left_out(value: Any) -> bool:
    return value is None or (isinstance(value, tuple) and not value)


def _plain(value: Any) -> Any:
    if dataclasses.is_dataclass(value):
        fields = dataclasses.fields(value)
        return {field.name: _plain(getattr(value, field.name)) for field in fields}
    match value:
        case dict():
            return {key: _plain(item) for key, item in value.items()}
        case list() | tuple():
            return [_plain(item) for item in value]
        case np.ndarray():
            return _plain(value.tolist())
        case float():
            return float(value) if math.isfinite(value) else None
        case _:
            return value
