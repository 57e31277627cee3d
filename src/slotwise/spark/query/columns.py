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
        raise SlotwiseError(
            f"{value!r} is neither Spark SQL, nor a PySpark column, nor a function"
        )
    return _without_brackets(_text(value._jc.node(), value))


def keeping(condition: Callable[..., Any]) -> Callable[..., Column]:
    """A function of columns that gives the tuple where the condition on its fields is true."""

    def kept(*taken: Column) -> Column:
        *fields, whole = taken
        return functions.when(condition(*fields), whole)

    own = list(inspect.signature(condition).parameters.values())
    whole = inspect.Parameter(WHOLE, inspect.Parameter.POSITIONAL_OR_KEYWORD)
    kept.__signature__ = inspect.Signature([*own, whole])  # type: ignore[attr-defined]
    kept.__qualname__ = getattr(condition, "__qualname__", kept.__qualname__)
    return kept


def _text(node: Any, of: Column) -> str:
    """Of a node in Spark's description of a column, and all below it."""
    match str(node.getClass().getSimpleName()):
        case "Literal":
            return _literal(node)
        case "UnresolvedAttribute":
            return ".".join(map(_quoted, _each(node.nameParts())))
        case "UnresolvedStar":
            target = node.unparsedTarget()
            return f"{target.get()}.*".replace(".*.*", ".*") if target.isDefined() else "*"
        case "UnresolvedFunction":
            return _call(node, of)
        case "UnresolvedExtractValue":
            return f"{_text(node.child(), of)}[{_text(node.extraction(), of)}]"
        case "Alias" if node.name().size() == 1:
            return f"{_text(node.child(), of)} AS {_quoted(node.name().apply(0))}"
        case "Cast":
            how = "TRY_CAST" if "TRY_CAST" in str(node.sql())[:8] else "CAST"
            return f"{how}({_text(node.child(), of)} AS {node.dataType().sql()})"
        case "CaseWhenOtherwise":
            return _case(node, of)
        case "LambdaFunction":
            names = ", ".join(_lambda_name(each) for each in _each(node.arguments()))
            return f"({names}) -> {_without_brackets(_text(node.function(), of))}"
        case "UnresolvedNamedLambdaVariable":
            return _lambda_name(node)
        case "SqlExpression":
            return f"({node.expression()})"
        case other:
            raise SlotwiseError(f"the column {of} has no text in Spark SQL ({other}): {INSTEAD}")


INSTEAD = (
    "give a function of columns in its place, or SQL text; name fields by F.col('NAME'), not by a "
    "DataFrame"
)


def _call(node: Any, of: Column) -> str:
    name, arguments = str(node.functionName()), [_text(each, of) for each in _each(node.arguments())]
    match name, arguments:
        case _, [left, right] if name in OPERATORS:
            return f"({left} {OPERATORS[name]} {right})"
        case "in", [first, *others]:
            return f"({first} IN ({', '.join(others)}))"
        case "!" | "not", [only]:
            return f"(NOT {only})"
        case "isNull" | "isNotNull", [only]:
            return f"({only} IS {'NOT ' if name == 'isNotNull' else ''}NULL)"
    distinct = "DISTINCT " if node.isDistinct() else ""
    inside = ", ".join(map(_without_brackets, arguments))
    return f"{name if _NAME.fullmatch(name) else f'`{name}`'}({distinct}{inside})"


def _case(node: Any, of: Column) -> str:
    branches = [
        f"WHEN {_without_brackets(_text(each._1(), of))} THEN {_text(each._2(), of)}"
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


def _lambda_name(variable: Any) -> str:
    return _quoted(variable.name())


def _quoted(name: object) -> str:
    text = str(name)
    return text if _NAME.fullmatch(text) else f"`{text.replace('`', '``')}`"


def _without_brackets(text: str) -> str:
    """An outermost pair of them, if what is inside does not close it."""
    if not (text.startswith("(") and text.endswith(")")):
        return text
    depth = 0
    for position, letter in enumerate(text):
        depth += (letter == "(") - (letter == ")")
        if letter in "'`\"" or (depth == 0 and position < len(text) - 1):
            return text  # quotes may hold brackets: those stay as they are
    return text[1:-1]


def _each(sequence: Any) -> list[Any]:
    return [sequence.apply(position) for position in range(sequence.size())]
