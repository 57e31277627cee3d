"""PySpark columns as the Spark SQL that a spec has, and conditions as functions.

A Column only lives as long as the Spark session that it was made in; its text can be planned,
printed and run in another one. The text is made of Spark's own description of the column, node by
node; what has no text (a Python UDF, a column of a DataFrame) is refused.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable
from typing import Any

from pyspark.sql import Column, functions

from slotwise.model import SlotwiseError
from slotwise.spark.query.records import WHOLE

OPERATORS = {
    **{sign: sign for sign in ("=", "<=>", "<", "<=", ">", ">=", "+", "-", "*", "/", "%")},
    **{sign: sign for sign in ("&", "|", "^")},
    **{word: word.upper() for word in ("and", "or", "like", "rlike")},
}
"""Functions of two arguments that SQL writes between them."""
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")


def sql_of(value: object) -> str:
    """A Column as text.

    Raises SlotwiseError for a column without one, and for what is no Column.
    """
    if not isinstance(value, Column):
        raise SlotwiseError(f"{value!r} is neither Spark SQL, nor a PySpark column, nor a function")
    described: Any = value
    return _text(described._jc.node(), value)


def keeping(condition: Callable[..., Any]) -> Callable[..., Column]:
    """A function of columns that gives the tuple where the condition on its fields is true."""
    own = inspect.signature(condition).parameters.values()
    whole = inspect.Parameter(WHOLE, inspect.Parameter.POSITIONAL_OR_KEYWORD, default=None)
    signature = inspect.Signature([*own, whole])

    def kept(*by_place: Column, **named: Column) -> Column:
        taken = signature.bind(*by_place, **named)
        tuples = taken.arguments.pop(WHOLE)
        return functions.when(condition(*taken.args, **taken.kwargs), tuples)

    kept.__signature__ = signature  # type: ignore[attr-defined]
    kept.__qualname__ = getattr(condition, "__qualname__", kept.__qualname__)
    return kept


def _text(node: Any, of: Column, *, inside: bool = False) -> str:
    """Of a node in Spark's description of a column, and all below it; in brackets if it needs them
    `inside` of another one.
    """
    match str(node.getClass().getSimpleName()):
        case "Literal":
            return _literal(node)
        case "UnresolvedAttribute":
            return ".".join(map(_quoted, _each(node.nameParts())))
        case "UnresolvedStar":
            target = node.unparsedTarget()
            return f"{target.get()}.*".replace(".*.*", ".*") if target.isDefined() else "*"
        case "UnresolvedFunction":
            return _call(node, of, inside)
        case "UnresolvedExtractValue":
            return f"{_text(node.child(), of, inside=True)}[{_text(node.extraction(), of)}]"
        case "Alias" if node.name().size() == 1:
            return f"{_text(node.child(), of, inside=True)} AS {_quoted(node.name().apply(0))}"
        case "Cast":
            how = "TRY_CAST" if "Try" in str(node.evalMode()) else "CAST"
            return f"{how}({_text(node.child(), of)} AS {node.dataType().sql()})"
        case "CaseWhenOtherwise":
            return _case(node, of)
        case "LambdaFunction":
            names = [_quoted(each.name()) for each in _each(node.arguments())]
            taken = names[0] if len(names) == 1 else f"({', '.join(names)})"
            return f"{taken} -> {_text(node.function(), of)}"
        case "UnresolvedNamedLambdaVariable":
            return _quoted(node.name())
        case "SqlExpression":
            return f"({node.expression()})" if inside else str(node.expression())
        case other:
            raise SlotwiseError(f"the column {of} has no text in Spark SQL ({other}): {INSTEAD}")


INSTEAD = (
    "give a function of columns in its place, or SQL text; name fields by F.col('NAME'), not by a "
    "DataFrame"
)


def _call(node: Any, of: Column, inside: bool) -> str:
    name, given = str(node.functionName()), _each(node.arguments())
    if (text := _operation(name, [_text(each, of, inside=True) for each in given])) is not None:
        return f"({text})" if inside else text
    distinct = "DISTINCT " if node.isDistinct() else ""
    arguments = ", ".join(_text(each, of) for each in given)
    return f"{_quoted(name)}({distinct}{arguments})"


def _operation(name: str, arguments: list[str]) -> str | None:
    """What SQL does not write as a call."""
    match name, arguments:
        case _, [left, right] if name in OPERATORS:
            return f"{left} {OPERATORS[name]} {right}"
        case "in", [first, *others]:
            return f"{first} IN ({', '.join(others)})"
        case "!" | "not", [only]:
            return f"NOT {only}"
        case "isNull" | "isNotNull", [only]:
            return f"{only} IS {'NOT ' if name == 'isNotNull' else ''}NULL"
    return None


def _case(node: Any, of: Column) -> str:
    branches = [
        f"WHEN {_text(each._1(), of)} THEN {_text(each._2(), of)}"
        for each in _each(node.branches())
    ]
    otherwise = node.otherwise()
    if otherwise.isDefined():
        branches.append(f"ELSE {_text(otherwise.get(), of)}")
    return f"CASE {' '.join(branches)} END"


def _literal(node: Any) -> str:
    """With its type, as Spark writes literals."""
    from pyspark import SparkContext

    converter = "org.apache.spark.sql.classic.ColumnNodeToExpressionConverter$"
    made = getattr(getattr(SparkContext._jvm, converter), "MODULE$").apply(node)
    return str(made.sql())


def _quoted(name: object) -> str:
    text = str(name)
    return text if _NAME.fullmatch(text) else f"`{text.replace('`', '``')}`"


def _each(sequence: Any) -> list[Any]:
    return [sequence.apply(position) for position in range(sequence.size())]
