"""Names and texts as parts of Spark SQL: whatever something is called, its name stays data."""

from __future__ import annotations


def quoted(name: str) -> str:
    """The identifier.

    >>> print(quoted("a`b"))
    `a``b`
    """
    return "`" + name.replace("`", "``") + "`"


def literal(text: str) -> str:
    r"""The string literal. A `$` is escaped, too: Spark replaces `${…}` wherever it is in SQL.

    >>> print(literal("it's"), literal("a\\b"), literal("${x}"))
    'it\'s' 'a\\b' '\u0024{x}'
    """
    escaped = text.replace("\\", "\\\\").replace("'", "\\'").replace("$", "\\u0024")
    return f"'{escaped}'"
