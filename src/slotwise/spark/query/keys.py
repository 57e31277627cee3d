"""What tuples are grouped by: fields, or Spark SQL over the fields.

A key that is exactly the name of a field is that field, whatever it looks like. Any other is Spark
SQL over the tuple's fields, `id` and `ts`: `upper(country)`, or `country.name` of a struct.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

PARTS = re.compile(
    r"""'(?:\\.|[^'\\])*' | "(?:\\.|[^"\\])*" | `(?:``|[^`])*` | . """, re.VERBOSE | re.DOTALL
)
"""Texts and quoted names are whole; anything else is taken letter by letter."""
ALIAS = re.compile(r"\s+AS\s+(?:`(?:``|[^`])+`|\w+)$", re.IGNORECASE)
QUOTED = re.compile(r"`(?:``|[^`])+`")


def keys_of(by: str) -> tuple[str, ...]:
    """Several keys are separated by commas, but not by those within brackets or quotes.

    >>> keys_of("country, window(at, '1 minute')")
    ('country', "window(at, '1 minute')")
    """
    keys, depth = [""], 0
    for part in PARTS.findall(by):
        depth += (part in "([{") - (part in ")]}")
        if part == "," and depth == 0:
            keys.append("")
        else:
            keys[-1] += part
    return tuple(key.strip() for key in keys)


def without_alias(key: str) -> str:
    """The key as it is computed, whatever its result is called.

    >>> without_alias("upper(country) AS land")
    'upper(country)'
    """
    return ALIAS.sub("", key.strip())


def field_named(key: str) -> str:
    """The field that a key is, if it is one: backticks around a whole name are no part of it.

    >>> field_named("`total, net`"), field_named("country AS land")
    ('total, net', 'country')
    """
    bare = without_alias(key)
    return bare[1:-1].replace("``", "`") if QUOTED.fullmatch(bare) else bare


def are_same(some: Iterable[str], others: Iterable[str]) -> bool:
    """Whether two lists of keys are computed in the same way."""
    return list(map(field_named, some)) == list(map(field_named, others))
