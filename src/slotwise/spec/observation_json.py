"""An Observation as JSON: the same keys whether predicted, simulated or measured.

JSON has no infinity: null stands for it. What an origin does not know is left out.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import Any

import numpy as np

from slotwise.json_data import json_data
from slotwise.model import Observation, ThreadTraffic, Verdict
from slotwise.spec.exact_json import exact_data, exact_value

MOST_PAIRS = 1000
"""Traffic between more pairs of threads is not recorded: it would be most of the file."""
_TRAFFIC = ("thread_traffic", "slot_traffic", "node_traffic")


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


def recorded_data(observation: Observation) -> dict[str, Any]:
    """As exact_json writes it, for `recorded_observation`. Series and traffic between slots and
    nodes are left out, and traffic between more than MOST_PAIRS pairs of threads.
    """
    short = dataclasses.replace(observation, slot_traffic=None, node_traffic=None, series=None)
    if traffic_is_large(observation):
        short = dataclasses.replace(short, thread_traffic=None)
    found: dict[str, Any] = exact_data(short)
    return {key: value for key, value in found.items() if value != []}


def traffic_is_large(observation: Observation) -> bool:
    traffic = observation.thread_traffic
    return traffic is not None and len(traffic.rates) > MOST_PAIRS


def recorded_observation(data: Any, where: str) -> Observation:
    """What `recorded_data` has left of it. Raises ValueError."""
    if not isinstance(data, dict):
        raise ValueError(f"'{where}' is not an object")
    parts: dict[str, Any] = {name: [] for name in ("operators", "streams", "slots", "nodes")}
    plain = {key: value for key, value in data.items() if key not in _TRAFFIC}
    seen = exact_value(Observation, parts | plain, where)
    if "thread_traffic" not in data:
        return seen
    return dataclasses.replace(seen, thread_traffic=_traffic(data["thread_traffic"], where))


def _traffic(data: Any, where: str) -> ThreadTraffic:
    found = exact_value(_Traffic, data, f"{where}.thread_traffic")
    if not len(found.senders) == len(found.receivers) == len(found.rates):
        raise ValueError(f"the lists of '{where}.thread_traffic' are not equally long")
    return ThreadTraffic(
        np.array(found.senders, dtype=np.int64),
        np.array(found.receivers, dtype=np.int64),
        np.array(found.rates, dtype=np.float64),
    )


@dataclasses.dataclass(frozen=True)
class _Traffic:
    """ThreadTraffic as JSON has it."""

    senders: tuple[int, ...]
    receivers: tuple[int, ...]
    rates: tuple[float, ...]


def _left_out(value: Any) -> bool:
    return value is None or (isinstance(value, tuple) and not value)
