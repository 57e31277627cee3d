from __future__ import annotations

import json

import pytest

from slotwise.cli import doctor

from .conftest import Run

JAVA_8 = 'openjdk version "1.8.0_402"\nOpenJDK Runtime Environment (build 1.8.0_402-b06)'
JAVA_17 = 'openjdk version "17.0.15" 2025-04-15\nOpenJDK Runtime Environment'
JAVA_21 = 'java version "21" 2023-09-19 LTS'


def test_one_line_per_check(run: Run) -> None:
    ran = run("doctor")
    assert ran.status == 0
    for name in ("Python", "packages", "Java", "javac", "pyspark", "pandas", "memory", "cores"):
        assert f" {name} " in ran.out
    found = json.loads(run("doctor", "--json").out)
    assert all(bool(check["fix"]) != check["ok"] for check in found)


@pytest.mark.parametrize(
    ("told", "found", "ok"),
    [
        (None, "not found", False),
        ("no version here", "not found", False),
        (JAVA_8, "8.0_402", False),
        (JAVA_17, "17.0.15", True),
        (JAVA_21, "21", True),
    ],
)
def test_java_17_or_newer(told: str | None, found: str, ok: bool) -> None:
    check = doctor.java_check(told)
    assert (check.found, check.ok) == (found, ok)
    assert ok or "openjdk-17-jdk-headless" in check.fix


def test_java_without_the_vector_module() -> None:
    assert doctor.vector_check("java.base@17\njdk.incubator.vector@17\n").ok
    assert not doctor.vector_check("java.base@17\n").ok
    assert not doctor.vector_check(None).ok


@pytest.mark.parametrize(("told", "ok"), [("javac 17.0.15", True), (None, False)])
def test_javac(told: str | None, ok: bool) -> None:
    assert doctor.javac_check(told).ok is ok


@pytest.mark.parametrize(
    ("pyspark", "pandas", "ok"),
    [
        ("4.3.0", "2.3.3", (True, True)),
        ("4.1.1", "3.0.0", (False, False)),
        (None, None, (False, False)),
    ],
)
def test_pyspark_and_pandas(pyspark: str | None, pandas: str | None, ok: tuple[bool, bool]) -> None:
    checks = doctor.pyspark_check(pyspark), doctor.pandas_check(pandas)
    assert tuple(check.ok for check in checks) == ok
    assert all(check.needed_for == "run" for check in checks)


def test_exit_1_only_for_what_planning_needs(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    old = doctor.python_check((3, 10, 4))
    assert (old.found, old.fix) == ("3.10.4", "install Python 3.11 or newer")
    monkeypatch.setattr(doctor, "all_checks", lambda: iter([doctor.java_check(None)]))
    assert run("doctor").status == 0
    monkeypatch.setattr(doctor, "all_checks", lambda: iter([old]))
    ran = run("doctor")
    assert ran.status == 1
    assert "install Python 3.11 or newer" in ran.out


def test_java_is_looked_for_in_java_home_first(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("JAVA_HOME", "/no/such/java")
    found = {check.name: check for check in doctor.all_checks()}
    assert not found["Java"].ok
    assert not found["javac"].ok
