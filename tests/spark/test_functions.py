"""Operators in Python: what is wrong with them is said with the user's line; which are UDFs."""

from __future__ import annotations

import functools
import re
import sys
import uuid
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow
import pytest

pytest.importorskip("pyspark")

import pandas as pd
from pyspark import SparkContext
from pyspark.sql.functions import pandas_udf, udf
from pyspark.sql.types import IntegerType, StringType, StructType

from slotwise.model import Logic, SlotwiseError
from slotwise.spark.query import udfs
from slotwise.spark.query.functions import functions_of
from slotwise.spark.query.micro_batch import output_type
from slotwise.spark.query.refusals import mode_of
from tests.spark.plans import plan, topology


@pytest.fixture
def module(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[str], str]:
    """Writes a module of the user's, and gives its name."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [str(tmp_path), *sys.path])

    def written(text: str) -> str:
        name = f"mine_{uuid.uuid4().hex}"
        (tmp_path / f"{name}.py").write_text(text)
        return name

    return written


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("def f(value):\n    return value +\n", "MODULE.py, line 2: invalid syntax"),
        ("import json\n\njson.loads('{')\n", "MODULE.py, line 3: JSONDecodeError: Expecting"),
        ("import nosuch\n", "MODULE.py, line 1: No module named 'nosuch'"),
        ("import sys\nsys.exit(3)\n", "MODULE.py, line 2: SystemExit: 3"),
        ("assert False\n", "MODULE.py, line 1: AssertionError"),
        ("def other(value): ...\ndef ff(value): ...\n", "has no 'f': did you mean 'ff'?"),
        (
            "from pyspark.sql import functions as F\n\nCOUNTRY = F.col('country')\n",
            "MODULE.py, line 3: this needs a Spark session",
        ),
        (
            "from pyspark.sql.functions import udf\n\n@udf('string')\ndef f(value): ...\n",
            "MODULE.py, line 3: this needs a Spark session",
        ),
    ],
)
def test_a_module_that_cannot_be_imported(
    module: Callable[[str], str], monkeypatch: pytest.MonkeyPatch, text: str, sentence: str
) -> None:
    monkeypatch.setattr(SparkContext, "_active_spark_context", None)
    name = module(text)
    wanted = f"operator 'a': cannot import '{name}:f': "
    with pytest.raises(SlotwiseError) as refused:
        functions_of(topology("s>a", logic={"a": Logic(python=f"{name}:f")}))
    assert str(refused.value).startswith(wanted)
    assert sentence.replace("MODULE", name) in str(refused.value)
    assert "\n" not in str(refused.value)


def test_what_is_no_function(module: Callable[[str], str]) -> None:
    name = module("limit = 3\n")
    refused("its python is 3: expected a function", Logic(python=f"{name}:limit"))
    refused("test_what_is_no_function.<locals>.<lambda> takes *fields", a=lambda *fields: None)
    refused("the parameters of int cannot be read", a=int)


def refused(sentence: str, logic: Logic | None = None, **bound: Any) -> None:
    with pytest.raises(SlotwiseError, match=re.escape(f"operator 'a': {sentence}")):
        functions_of(topology("s>a", logic={"a": logic or Logic()}), bound)


@udf(returnType=StringType())
def plain(value, end=""):  # type: ignore[no-untyped-def]
    return value.upper() + end if value != "drop" else None


@pandas_udf(IntegerType())  # type: ignore[call-overload]
def longer(value: pd.Series) -> pd.Series:
    return value.str.len() + 2


@udf(returnType=StructType().add("first", StringType()).add("size", IntegerType()))
def parts(value):  # type: ignore[no-untyped-def]
    return {"first": value[:1], "size": len(value)}


def through(value: Any) -> Any:
    return plain(value)


class Named:
    def __call__(self, value: Any) -> Any:
        return value

    def shouted(self, value: Any) -> Any:
        return through(value)


def naming_what_comes_later() -> Callable[[Any], Any]:
    def first(value: Any) -> Any:
        return later(value)

    if sys.argv:
        return first

    def later(value: Any) -> Any:
        return value

    return later


@pytest.mark.parametrize(
    ("call", "mode"),
    [
        (plain, "micro-batch"),
        (longer, "micro-batch"),
        (through, "micro-batch"),
        (lambda value: through(value), "micro-batch"),
        (functools.partial(through), "micro-batch"),
        (Named().shouted, "micro-batch"),
        (naming_what_comes_later(), "real-time"),
        (lambda value: value, "real-time"),
        (Named(), "real-time"),
        (sys.intern, "real-time"),
    ],
)
def test_the_engine_auto_takes_micro_batches_for_python_udfs(call: Any, mode: str) -> None:
    of = topology("s>a")
    assert mode_of(plan(of).pipeline, functions_of(of, {"a": call})) == mode


def test_real_time_mode_is_refused_for_a_udf() -> None:
    of = topology("s>a")
    with pytest.raises(SlotwiseError, match="operator 'a' calls a Python UDF"):
        mode_of(plan(of, engine="real-time").pipeline, functions_of(of, {"a": through}))


def batch(*values: str) -> pyarrow.RecordBatch:
    columns = {"id": range(len(values)), "ts": range(len(values)), "value": values}
    return pyarrow.RecordBatch.from_pydict({name: list(each) for name, each in columns.items()})


def test_a_udf_is_called_with_batches() -> None:
    """None is no tuple; a struct's fields are the tuple's."""
    assert udfs.on_batches(plain)(batch("a", "drop", "b")).to_pydict() == {
        "id": [0, 2],
        "ts": [0, 2],
        "value": ["A", "B"],
    }
    assert udfs.on_batches(longer)(batch("a", "bc")).column("value").to_pylist() == [3, 4]
    assert udfs.on_batches(parts)(batch("abc")).to_pydict() == {
        "id": [0],
        "ts": [0],
        "first": ["a"],
        "size": [3],
    }
    assert udfs.on_batches(parts)(batch().cast(batch("a").schema)).num_rows == 0


def test_a_function_that_fails_on_an_empty_batch(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(Path(__file__).parent)

    def first(batch: pyarrow.RecordBatch) -> pyarrow.RecordBatch:
        return batch.column("nosuch")

    line = first.__code__.co_firstlineno + 1
    function = functions_of(topology("s>a"), {"a": first})[1]
    with pytest.raises(SlotwiseError, match=f"an empty batch: test_functions.py, line {line}: Key"):
        output_type(function, batch("a").schema)


def test_a_flat_udf_is_refused() -> None:
    refused("it is flat, and plain is a Python UDF", Logic(flat=True), a=plain)
