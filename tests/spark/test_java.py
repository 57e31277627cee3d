from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from slotwise.model import SlotwiseError
from slotwise.spark.cluster import java


def fake_java(folder: Path, version: str, modules: str = java.VECTOR_MODULE) -> Path:
    """A JAVA_HOME whose java only tells its version and modules."""
    (folder / "bin").mkdir()
    program = folder / "bin" / "java"
    program.write_text(
        f"#!/bin/sh\n[ \"$1\" = -version ] && echo '{version}' >&2 || echo {modules}\n"
    )
    program.chmod(0o755)
    return folder


def test_this_machine_meets_all_requirements() -> None:
    java.check()
    assert java.classpath_jar().name == "slotwise-spark.jar"


def test_no_java(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("JAVA_HOME", str(tmp_path))
    with pytest.raises(
        SlotwiseError, match=r"no Java in JAVA_HOME \(.*\): install a JDK, 17 or newer"
    ):
        java.check()
    monkeypatch.delenv("JAVA_HOME")
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(SlotwiseError, match="no Java on the PATH"):
        java.check()


@pytest.mark.parametrize(
    ("version", "modules", "sentence"),
    [
        ('openjdk version "11.0.2" 2019', java.VECTOR_MODULE, "is Java 11: set JAVA_HOME"),
        ('java version "1.8.0_201"', java.VECTOR_MODULE, "is Java 8: set JAVA_HOME"),
        ("hello", java.VECTOR_MODULE, "prints no version: set JAVA_HOME to a JDK"),
        ('openjdk version "17.0.2" 2022', "java.base", "has no module jdk.incubator.vector"),
    ],
)
def test_wrong_java(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, version: str, modules: str, sentence: str
) -> None:
    monkeypatch.setenv("JAVA_HOME", str(fake_java(tmp_path, version, modules)))
    with pytest.raises(SlotwiseError, match=sentence):
        java.check()


def test_no_jar(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(java, "JAR", tmp_path / "slotwise-spark.jar")
    with pytest.raises(SlotwiseError, match=r"slotwise-spark.jar is missing: reinstall slotwise"):
        java.check()


@pytest.mark.parametrize(
    ("version", "sentence"),
    [("3.5.1", r"pyspark is 3\.5\.1, not 4\.3: pip"), (None, "pyspark is not installed: pip")],
)
def test_another_spark(monkeypatch: pytest.MonkeyPatch, version: str | None, sentence: str) -> None:
    monkeypatch.setattr(java, "spark_version", lambda: version)
    with pytest.raises(SlotwiseError, match=sentence):
        java.check()


@pytest.mark.parametrize(
    ("printed", "found", "is_met"),
    [
        (None, "unknown version", False),
        ('openjdk version "1.8.0_402"\nOpenJDK Runtime Environment', "8.0_402", False),
        ('openjdk version "17.0.15" 2025-04-15\nOpenJDK Runtime Environment', "17.0.15", True),
        ('java version "21" 2023-09-19 LTS', "21", True),
    ],
)
def test_java_17_or_newer(printed: str | None, found: str, is_met: bool) -> None:
    requirement = java.java_requirement("/usr/bin/java", printed)
    assert (requirement.found, not requirement.problem) == (found, is_met)
    assert bool(requirement.fix) == bool(requirement.problem)


def test_every_requirement_is_reported_where_all_are_missing(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("JAVA_HOME", str(tmp_path))
    monkeypatch.setattr(java, "JAR", tmp_path / "slotwise-spark.jar")
    monkeypatch.setattr(java, "spark_version", lambda: None)
    missing = (*java.requirements(), java.javac_requirement())
    assert [requirement.name for requirement in missing if requirement.fix] == [
        "pyspark",
        "jar",
        "Java",
        java.VECTOR_MODULE,
        "javac",
    ]


def test_the_requirements_are_known_without_pyspark() -> None:
    code = (
        "import sys; sys.modules['pyspark'] = None\n"
        "from slotwise.spark.cluster import java\n"
        "print(java.pyspark_requirement(None).problem)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.stdout == "pyspark is not installed\n", done.stderr
