"""What a pipeline needs beside Spark: `jars`, `packages` and `conf` of its spec.

Spark's driver has them from its start, and gives them to the executors. What is named under
`packages` Spark looks for in the local Maven repository (~/.m2), and else downloads.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path

from slotwise.formats import KAFKA, dead_letters_of
from slotwise.machine import spark_version
from slotwise.model import Pipeline, SlotwiseError
from slotwise.spark.cluster import conf, java

CONNECTOR = "spark-sql-kafka-0-10_2.13"
"""In the name of Spark's connector to Kafka."""


def settings(pipeline: Pipeline, given: Mapping[str, str] | None = None) -> dict[str, str]:
    """Spark's settings for them, our own jar included; those that are `given` come before `conf` of
    the spec. Raises SlotwiseError for what is missing, and for settings that are ours to make.
    """
    chosen = {**dict(pipeline.conf), **(given or {})}
    conf.check(chosen)
    jars = [path for name in pipeline.jars for path in _jars(name)]
    _check_connector(pipeline, jars)
    chosen["spark.jars"] = ",".join(map(str, [java.classpath_jar(), *jars]))
    if pipeline.packages:
        chosen["spark.jars.packages"] = ",".join(pipeline.packages)
    return chosen


def _jars(name: str) -> Iterator[Path]:
    path = Path(name)
    found = sorted(path.glob("*.jar")) if path.is_dir() else [path] if path.is_file() else []
    if not found:
        where = "has no .jar files" if path.is_dir() else "does not exist"
        raise SlotwiseError(f"jars: {name} {where}")
    yield from (each.resolve() for each in found)


def _check_connector(pipeline: Pipeline, jars: list[Path]) -> None:
    letters = pipeline.topology.dead_letters
    also = () if letters is None else (dead_letters_of(letters),)
    operators = (*pipeline.topology.operators, *also)
    user = next((o for o in operators if o.logic.format == KAFKA), None)
    if user is None:
        return
    known = [*pipeline.packages, *(path.name for path in jars)]
    installed = (java.spark_home() / "jars").glob(f"{CONNECTOR}*.jar")
    if not any(CONNECTOR in each for each in known) and not any(installed):
        raise SlotwiseError(
            f"{user.kind} '{user.name}' needs Spark's connector to Kafka: add packages: "
            f"[org.apache.spark:{CONNECTOR}:{spark_version()}] to the spec, or its jars and those "
            "that it needs as jars: [FOLDER]"
        )
