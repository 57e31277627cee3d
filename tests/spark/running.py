"""Runs for tests: started, awaited by condition, and what they have written."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from pyspark.sql import SparkSession

from slotwise.model import Plan
from slotwise.spark.cluster import Machines
from slotwise.spark.query.outline import outline
from slotwise.spark.run import Options, Run, compile_plan, start


@contextmanager
def running(
    spark: SparkSession,
    plan: Plan,
    folder: Path,
    *,
    bound: Mapping[str, Callable[..., Any]] | None = None,
    machines: Machines | None = None,
    **options: Any,
) -> Iterator[Run]:
    """The plan, running, its output in folder/out; stopped whatever happens."""
    given = {"batch_seconds": 2.0, "work": "none", "output": folder / "out", **options}
    chosen = Options(checkpoint=folder / "checkpoint", **given)
    made = compile_plan(spark, outline(plan, bound), chosen)
    run = start(spark, made, chosen, machines=machines)
    try:
        yield run
    finally:
        run.stop()


def written(folder: Path) -> list[dict[str, Any]]:
    """All rows of finished batches."""
    return [
        json.loads(line)
        for file in written_files(folder)
        for line in file.read_text(encoding="utf-8").splitlines()
    ]


def written_files(folder: Path) -> list[Path]:
    return sorted((folder / "out").glob("batch-*.json"))
