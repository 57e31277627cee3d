"""What tuples are grouped by, and names in SQL: without Spark."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from slotwise.spark.query.keys import are_same, field_named, keys_of
from slotwise.spark.query.names import literal, quoted

NAMES = st.text(st.characters(exclude_categories=["Cs"]), min_size=1)
ESCAPES = re.compile(r"\\(?P<letter>[\\'])")


@pytest.mark.parametrize(
    ("by", "keys"),
    [
        ("country", ("country",)),
        ("a, b.c ,d", ("a", "b.c", "d")),
        ("window(ts, '1 minute'), upper(x)", ("window(ts, '1 minute')", "upper(x)")),
        ("m['a,b'], `x,y`", ("m['a,b']", "`x,y`")),
        ("'it\\'s, so', b", ("'it\\'s, so'", "b")),
        ("`a``,b`, c", ("`a``,b`", "c")),
        ("a,,b", ("a", "", "b")),
        ("'unfinished, x", ("'unfinished", "x")),
    ],
)
def test_keys_are_separated_by_commas(by: str, keys: tuple[str, ...]) -> None:
    assert keys_of(by) == keys


@given(st.lists(NAMES, min_size=1))
def test_quoted_names_are_keys_whatever_they_contain(names: list[str]) -> None:
    keys = keys_of(", ".join(map(quoted, names)))
    assert [field_named(key) for key in keys] == names


def test_what_a_key_is_called_is_no_part_of_it() -> None:
    assert are_same(["upper(country) AS land", "`a b`"], ["upper(country)", "a b"])
    assert are_same(["CAST(x AS INT)"], ["CAST(x AS INT) as `of x`"])
    assert not are_same(["CAST(x AS INT)"], ["CAST(x AS BIGINT)"])
    assert not are_same(["a"], ["a", "b"])


@given(NAMES)
def test_a_literal_is_the_text(text: str) -> None:
    """As Spark reads literals: a backslash escapes, and quotes are only at the ends."""
    sql = literal(text)
    assert sql[0] == sql[-1] == "'"
    inside = ESCAPES.sub("", sql[1:-1])
    assert "'" not in inside
    assert "\\" not in inside
    assert ESCAPES.sub(lambda escape: escape["letter"], sql[1:-1]) == text
