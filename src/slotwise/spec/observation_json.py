"""An Observation as JSON: the same keys whether predicted, simulated or measured.

JSON has no infinity: null stands for it. What an origin does not know is left out.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import Any

from slotwise.json_data import json_data
from slotwise.model import Observation, Verdict


def observation_data(observation: Observation) -> dict[str, Any]:
    """Ready for json.dumps. Traffic is three lists: senders, receivers, and tuples/s."""
    return {
        field.name: json_data(value)
        for field in dataclasses.fields(observation)
        if not _left_out(value := getattr(observation, field.name))
    }


def verdicts_data(verdicts: Sequence[Verdict]) -> list[dict[str, Any]]:
    """Every goal with what was seen of it."""
    return [json_data(verdict) for verdict in verdicts]


def _left_out(value: Any) -> bool:
    return value is None or (isinstance(value, tuple) and not value)
