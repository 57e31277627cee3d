"""Java libraries of a spec, without Spark."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

pytest.importorskip("pyspark")

from slotwise.model import Logic, Pipeline, SlotwiseError
from slotwise.spark.cluster import java
from slotwise.spark.cluster.libraries import settings
from tests.spark.plans import plan, topology

TOPIC = Logic(
    format="kafka", options=(("kafka.bootstrap.servers", "host:9092"), ("subscribe", "a"))
)
CONNECTOR = "org.apache.spark:spark-sql-kafka-0-10_2.13:4.3.0"


def pipeline(packages: tuple[str, ...] = (), jars: tuple[str, ...] = ()) -> Pipeline:
    of = plan(topology("s>k", logic={"s": TOPIC})).pipeline
    return replace(of, packages=packages, jars=jars)


def test_a_missing_connector_is_refused_with_its_name() -> None:
    with pytest.raises(SlotwiseError, match="source 's' needs Spark's connector to Kafka: add pac"):
        settings(pipeline())


def test_packages_are_sparks_to_find() -> None:
    assert settings(pipeline(packages=(CONNECTOR,))) == {
        "spark.jars": str(java.JAR),
        "spark.jars.packages": CONNECTOR,
    }


def test_a_folder_stands_for_its_jars(tmp_path: Path) -> None:
    for name in ("spark-sql-kafka-0-10_2.13-4.3.0.jar", "kafka-clients-3.9.2.jar", "read.me"):
        (tmp_path / name).touch()
    found = settings(pipeline(jars=(str(tmp_path),)))["spark.jars"].split(",")
    names = [Path(each).name for each in found]
    assert names == [java.JAR.name, *sorted(each.name for each in tmp_path.glob("*.jar"))]


@pytest.mark.parametrize(
    ("name", "problem"), [("none", "does not exist"), ("", "has no .jar files")]
)
def test_jars_that_are_not_there_are_refused(tmp_path: Path, name: str, problem: str) -> None:
    with pytest.raises(SlotwiseError, match=problem):
        settings(pipeline(jars=(str(tmp_path / name),)))
