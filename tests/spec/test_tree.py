from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from slotwise.spec.tree import read_tree, resolve


def test_every_value_knows_its_place() -> None:
    tree = read_tree("a:\n  - x\n  - {b: 1, c: [2]}\n", "f")
    assert tree is not None
    assert tree.value == {"a": ["x", {"b": 1, "c": [2]}]}
    assert tree.place(("a", 0)) == (2, 5)
    assert tree.place(("a", 1, "b")) == (3, 9)
    assert tree.place(("a", 1, "b"), of_key=True) == (3, 6)
    assert tree.place(("a", 1, "c")) == (3, 12)
    assert tree.place(("a",)) == (1, 1)


def test_a_path_goes_as_far_as_the_document_does() -> None:
    tree = read_tree("a: {b: 1}", "f")
    assert tree is not None
    assert tree.descend(("a", "some tag", "b", "no more"))[0] == ("a", "b")
    assert tree.place(("nowhere",)) == (1, 1)


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("7", 7),
        ("-7", -7),
        ("010", 10),
        ("1.5", 1.5),
        (".5", 0.5),
        ("2.", 2.0),
        ("1e3", 1000.0),
        ("1E-2", 0.01),
        ("99999999999999999999", 1e20),
        ("TRUE", True),
        ("~", None),
        ("", None),
        (".INF", float("inf")),
        ("yes", "yes"),
        ("0x1F", "0x1F"),
        ("1_000", "1_000"),
        ("1.2.3", "1.2.3"),
        ("2024-01-01", "2024-01-01"),
        ("e3", "e3"),
        (".", "."),
    ],
)
def test_unquoted_text_follows_the_core_schema(text: str, value: object) -> None:
    assert resolve(text) == value
    assert type(resolve(text)) is type(value)


@given(st.floats(allow_nan=False) | st.integers(-(10**17), 10**17))
def test_a_number_means_what_python_prints(number: float) -> None:
    text = repr(number).replace("inf", ".inf")
    assert resolve(text) == number
