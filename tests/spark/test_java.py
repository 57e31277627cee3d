from __future__ import annotations

from importlib import metadata
from pathlib import Path

import pytest

from slotwise.model import SlotwiseError
from slotwise.spark import java


def fake_java(folder: Path, version: str, modules: str = java.VECTOR_MODULE) -> Path:
    """A JAVA_HOME whose java only tells its version and modules."""
    (folder / "bin").mkdir()
    program = folder / "bin" / "java"
    program.write_text(
        f"#!/bin/sh\n[ \"$1\" = -version ] && echo '{version}' >&2 || echo {modules}\n"
    )
    program.chmod(0o755)
    return folder


def test_this_machine_is_well() -> None:
    java.check()
    assert java.classpath_jar().name == "slotwise-spark.jar"


def test_no_java(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("JAVA_HOME", str(tmp_path))
    with pytest.raises(
        SlotwiseError, match=r"no Java in JAVA_HOME, .*: install a JDK, 17 or newer"
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
        ("hello", java.VECTOR_MODULE, "does not tell a version"),
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
    with pytest.raises(SlotwiseError, match=r"slotwise-spark.jar is missing: install slotwise"):
        java.check()


def test_another_spark(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(metadata, "version", lambda _: "3.5.1")
    with pytest.raises(SlotwiseError, match=r"pyspark is 3\.5\.1, not 4\.3"):
        java.check()
