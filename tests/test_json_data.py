from __future__ import annotations

import json
import math
from dataclasses import dataclass

import numpy as np
import pytest

from slotwise.json_data import json_data, json_text


@dataclass(frozen=True)
class Figures:
    rates: tuple[float, ...]
    of: dict[str, float | None]


def test_what_is_not_finite_is_null_at_any_depth() -> None:
    figures = Figures((1.0, math.inf, -math.inf), {"mean": math.nan, "unknown": None})
    wanted = {"rates": [1.0, None, None], "of": {"mean": None, "unknown": None}}
    assert json_data([figures]) == [wanted]
    assert json.loads(json_text(figures)) == wanted


def test_arrays_and_their_numbers_are_plain() -> None:
    made = json_data({"row": np.array([[1, 2]]), "mean": np.float64(0.5), "count": np.int64(3)})
    assert made == {"row": [[1, 2]], "mean": 0.5, "count": 3}
    assert [type(value) for value in (made["mean"], made["count"])] == [float, int]


def test_text_is_utf_8_and_ends_with_a_line() -> None:
    assert json_text({"a": "→"}) == '{\n  "a": "→"\n}\n'


def test_anything_else_is_an_error() -> None:
    with pytest.raises(AttributeError):
        json_data({"a": object()})
