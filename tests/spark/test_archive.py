from __future__ import annotations

import os
import shutil
from pathlib import Path

import psutil
import pytest
from pyspark.sql import SparkSession

from slotwise.cli import ERROR, run
from slotwise.model import SlotwiseError
from slotwise.spark.cluster import SparkCluster, class_archive, java
from slotwise.spark.metering.meters import snapshot
from tests.spark.conftest import wait_until
from tests.spark.test_java import fake_java

ARCHIVE = class_archive.file()


@pytest.fixture
def other_jar(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """A copy of the jar, alone in its folder."""
    folder = tmp_path / "a folder"
    folder.mkdir()
    jar = Path(shutil.copy2(java.JAR, folder))
    monkeypatch.setattr(java, "JAR", jar)
    return jar


@pytest.mark.cluster
def test_every_process_maps_the_archive(embedded: SparkCluster, spark: SparkSession) -> None:
    assert class_archive.options(), "no archive that Java takes: run 'slotwise prepare'"
    executors = wait_until(lambda: len(told := snapshot(spark).executors) == 3 and told)
    driver = spark.sparkContext._gateway.proc.pid  # type: ignore[union-attr]
    processes = [driver, *embedded.pids, *(executor.pid for executor in executors)]
    assert [pid for pid in processes if not _maps(pid, class_archive.file())] == []


def _maps(pid: int, file: Path) -> bool:
    return any(mapped.path == str(file) for mapped in psutil.Process(pid).memory_maps())


def test_no_archive(other_jar: Path) -> None:
    assert class_archive.options() == []


def test_an_archive_of_another_jar_is_passed_over(other_jar: Path) -> None:
    shutil.copy2(ARCHIVE, class_archive.file())
    assert class_archive.options() == []


def test_a_broken_archive_is_passed_over(other_jar: Path) -> None:
    class_archive.file().write_bytes(b"no archive at all")
    assert class_archive.options() == []


def test_a_java_that_makes_none(
    other_jar: Path,
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    home = tmp_path / "java"
    home.mkdir()
    monkeypatch.setenv("JAVA_HOME", str(fake_java(home, 'openjdk version "17.0.2" 2022')))
    assert run(["prepare"]) == ERROR
    told = capsys.readouterr().err.splitlines()
    assert told[-1].startswith("slotwise: Java made no class archive: ")
    assert list(other_jar.parent.iterdir()) == [other_jar]


def test_making_one_ends_with_all_it_started(
    other_jar: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(class_archive, "MAKE_SECONDS", 4)  # so that Java is running
    with pytest.raises(SlotwiseError, match="no class archive in 4 s"):
        class_archive.make()
    named = [p for p in psutil.process_iter(["cmdline"]) if str(other_jar.parent) in str(p.info)]
    assert named == []
    assert list(other_jar.parent.iterdir()) == [other_jar]


@pytest.mark.skipif(os.geteuid() == 0, reason="nothing is forbidden to root")
def test_a_folder_of_somebody_else(other_jar: Path) -> None:
    other_jar.parent.chmod(0o500)
    with pytest.raises(SlotwiseError, match="run this command as the user who installed slotwise"):
        class_archive.make()
