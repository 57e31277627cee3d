"""Frozen values through JSON and back: None and infinity stay apart."""

from __future__ import annotations

import json
import math
import re
from dataclasses import dataclass
from typing import Any

import pytest
from hypothesis import given

from slotwise.model import Change, Goals, ModelError, Observation
from slotwise.spec.exact_json import exact_data, exact_value
from slotwise.spec.observation_json import MOST_PAIRS, recorded_data, recorded_observation
from tests.controllers.timelines import plan_at
from tests.controllers.timelines import seen as seen_under
from tests.observations import observations, traffic


@dataclass(frozen=True)
class _Sample:
    number: float
    perhaps: float | None
    count: int = 1
    names: tuple[str, ...] = ()


def through_json(data: Any) -> Any:
    return json.loads(json.dumps(data, allow_nan=False))


@given(observations())
def test_an_observation_comes_back_as_it_was(seen: Observation) -> None:
    assert recorded_observation(through_json(recorded_data(seen)), "seen") == seen


def test_none_is_left_out_and_infinity_is_null() -> None:
    assert exact_data(_Sample(math.inf, None)) == {"number": None, "count": 1, "names": []}
    assert exact_value(_Sample, {"number": None}) == _Sample(math.inf, None)
    assert exact_value(_Sample, {"number": 1, "perhaps": None}) == _Sample(1.0, math.inf)


def test_traffic_between_many_threads_is_left_out() -> None:
    few = seen_under(plan_at(), thread_traffic=traffic(MOST_PAIRS))
    many = seen_under(plan_at(), thread_traffic=traffic(MOST_PAIRS + 1))
    assert recorded_observation(recorded_data(few), "seen").thread_traffic is not None
    assert recorded_observation(recorded_data(many), "seen").thread_traffic is None


@pytest.mark.parametrize(
    ("kind", "data", "problem"),
    [
        (_Sample, {}, "'number' is missing"),
        (_Sample, [], "'' is []: expected an object"),
        (_Sample, {"number": "1"}, "'number' is '1': expected a number"),
        (_Sample, {"number": True}, "'number' is True: expected a number"),
        (_Sample, {"number": 1, "count": 1.5}, "'count' is 1.5: expected an integer"),
        (_Sample, {"number": 1, "names": "ab"}, "'names' is 'ab': expected a list"),
        (_Sample, {"number": 1, "names": [1]}, "'names[0]' is 1: expected text"),
        (_Sample, {"number": 1, "size": 2}, "unknown key 'size'"),
        (Change, {"at_s": 1, "how": "soon", "pause_s": 1}, "expected one of at once, next batch"),
        (Goals, {"rate": -1.0}, "invalid goal rate"),
    ],
)
def test_what_does_not_fit_is_one_sentence(kind: type, data: Any, problem: str) -> None:
    with pytest.raises((ValueError, ModelError), match=re.escape(problem)):
        exact_value(kind, data)
