"""Names and texts as parts of Spark SQL: whatever something is called, its name stays data."""

from __future__ import annotations


def quoted(name: str) -> str:
    """The identifier.

    >>> print(quoted("a`b"))
    `a``b`
    """
    return "`" + name.replace("`", "``") + "`"


def literal(text: str) -> str:
    r"""The string literal.

    >>> print(literal("it's"), literal("a\\b"))
    'it\'s' 'a\\b'
    """
    return "'" + text.replace("\\", "\\\\").replace("'", "\\'") + "'"
