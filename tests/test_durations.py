from __future__ import annotations

import pytest

from slotwise.durations import positive_seconds, seconds
from slotwise.model import ModelError


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("500ms", 0.5),
        ("90s", 90.0),
        ("5m", 300.0),
        ("0.5h", 1800.0),
        ("60", 60.0),
        (60, 60.0),
        (1e-05, 1e-05),
        (".5 s", 0.5),
        ("0s", 0.0),
    ],
)
def test_one_syntax(text: str | float, wanted: float) -> None:
    assert seconds(text) == wanted


@pytest.mark.parametrize(
    "text",
    ["5x", "", "s", "-5s", "5min", "5 m s", "1:30", "inf", "٣s", True, float("nan"), "1e999"],
)
def test_anything_else_is_refused(text: str | float) -> None:
    with pytest.raises(ModelError) as refused:
        seconds(text)
    assert str(refused.value) == (
        f"invalid duration '{text}': expected a number with ms, s, m or h, such as 90s"
    )


def test_zero_is_no_positive_duration() -> None:
    assert positive_seconds("1ms") == 0.001
    with pytest.raises(ModelError, match="invalid duration '0s': expected more than 0"):
        positive_seconds("0s")
