from __future__ import annotations

import json

import pytest

from slotwise.cli import doctor
from slotwise.spark.cluster import java

from .conftest import Run


def test_one_line_per_check(run: Run) -> None:
    ran = run("doctor")
    assert ran.status == 0
    for name in ("Python", "packages", "Java", "javac", "pyspark", "pandas", "memory", "cores"):
        assert f" {name} " in ran.out
    found = json.loads(run("doctor", "--json").out)
    assert all(bool(check["fix"]) != check["ok"] for check in found)


@pytest.mark.parametrize(("version", "ok"), [("2.3.3", True), ("3.0.0", False), (None, False)])
def test_pandas(version: str | None, ok: bool) -> None:
    check = doctor.pandas_check(version)
    assert (check.ok, check.needed_for) == (ok, "run")


def test_what_a_run_requires_is_checked(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(java, "spark_version", lambda: None)
    found = {check.name: check for check in doctor.spark_checks()}
    assert found["pyspark"].fix == java.SPARK_FIX
    assert {check.needed_for for check in found.values()} == {"run"}


def test_exit_1_only_for_what_planning_needs(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    old = doctor.python_check((3, 10, 4))
    assert (old.found, old.fix) == ("3.10.4", "install Python 3.11 or newer")
    monkeypatch.setattr(doctor, "all_checks", lambda: iter([doctor.pandas_check(None)]))
    assert run("doctor").status == 0
    monkeypatch.setattr(doctor, "all_checks", lambda: iter([old]))
    ran = run("doctor")
    assert ran.status == 1
    assert "install Python 3.11 or newer" in ran.out


def test_java_is_looked_for_in_java_home_first(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("JAVA_HOME", "/no/such/java")
    found = {check.name: check for check in doctor.all_checks()}
    for name in ("Java", java.VECTOR_MODULE, "javac"):
        assert not found[name].ok
