from __future__ import annotations

import platform
from pathlib import Path

import pytest

from slotwise import machine


@pytest.fixture(autouse=True)
def fresh():
    machine.cpu_model.cache_clear()
    yield
    machine.cpu_model.cache_clear()


def test_the_cpu_is_the_model_that_linux_names(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    info = tmp_path / "cpuinfo"
    info.write_text("processor\t: 0\nmodel\t\t: 85\nmodel name\t: Some CPU @ 2.00GHz \n")
    monkeypatch.setattr(machine, "_CPU_INFO", info)
    assert machine.describe().cpu == "Some CPU @ 2.00GHz"


@pytest.mark.parametrize(("known", "expected"), [("arm", "arm"), ("", "aarch64")])
def test_elsewhere_it_is_what_python_knows(
    known: str, expected: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(machine, "_CPU_INFO", tmp_path / "none")
    monkeypatch.setattr(platform, "processor", lambda: known)
    monkeypatch.setattr(platform, "machine", lambda: "aarch64")
    assert machine.cpu_model() == expected


def test_this_machine() -> None:
    found = machine.describe()
    assert found.cores >= 1
    assert found.memory_mb > 100


def test_versions_of_packages() -> None:
    assert machine.package_version("numpy")
    assert machine.package_version("no-such-package") is None
