from __future__ import annotations

import re
from pathlib import Path

import pytest

from slotwise import workloads
from slotwise.model import Hop, Platform, ProfileForms, ServiceRate, ThreadRow, ThreadTable
from slotwise.spec import SpecError, dump, load, loads

SPEC = """\
topology:
  name: two
  operators: {in: {kind: source}, work: {}}
  streams: [{from: in, to: work}]
catalog: [{type: D1, slots: 1, memory_gb: 1}]
"""
PROFILES = """\
profiles:
  in: {fixed: {cpu: 0.1}}
  work:
    threads: {1: {rate: 10, cpu: 0.5, mem: 0.1}}
    service: {rate: 12}
    measured: {at: 2026-11-18T09:30:00Z, spark: 4.3.0, java: 17.0.1, cpu: Some, cores: 0.25}
  of-another-spec: {service: {rate: 1}}
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "measured").mkdir()
    (tmp_path / "measured" / "profiles.yaml").write_text(PROFILES)
    (tmp_path / "measured" / "platform.yaml").write_text("platform: {in_node: {send_us: 20}}\n")
    return tmp_path


def spec_in(folder: Path, more: str) -> Path:
    path = folder / "spec.yaml"
    path.write_text(SPEC + more)
    return path


def test_profiles_and_platform_come_from_files_beside_the_spec(folder: Path) -> None:
    both = "include: [measured/profiles.yaml, measured/platform.yaml]\n"
    pipeline = load(spec_in(folder, both))
    work = pipeline.profiles["work"]
    assert isinstance(work, ProfileForms)
    assert work.table == ThreadTable((ThreadRow(1, 10.0, 0.5, 0.1),))
    assert work.service == ServiceRate(12.0)
    assert work.measurement is not None
    assert work.measurement.cores == 0.25
    assert set(pipeline.profiles.by_operator) == {"in", "work"}
    assert pipeline.platform == Platform(in_node=Hop(send_us=20.0))
    assert loads(dump(pipeline)) == pipeline
    assert "include" not in dump(pipeline)


def test_own_entries_win_then_later_files(folder: Path) -> None:
    (folder / "later.yaml").write_text("profiles: {work: {service: {rate: 7}}}\n")
    files = "include: [measured/profiles.yaml, later.yaml]\n"
    assert load(spec_in(folder, files)).profiles["work"] == ServiceRate(7.0)
    own = "profiles: {work: {service: {rate: 3}}}\nplatform: {slot_cpu: 0.1}\n"
    one = "include: measured/profiles.yaml\n"
    (folder / "measured" / "profiles.yaml").write_text(PROFILES + "platform: {sink_us: 3}\n")
    pipeline = load(spec_in(folder, one + own))
    assert pipeline.profiles["work"] == ServiceRate(3.0)
    assert pipeline.platform == Platform(slot_cpu=0.1)


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        ("rate: 10", "rate: -1", r"profiles\.yaml:4:25: profiles\.work\.threads\.1\.rate is -1"),
        ("profiles:", "profile:", r"profiles\.yaml:1:1: unknown key 'profile': "),
        ("of-another-spec: {service: {rate", "x: {costs: {cpu_points: 0}}#", "7:3: all task costs"),
        ("  in: {", "  in {", r"profiles\.yaml:2:\d+: this is not valid YAML"),
    ],
)
def test_errors_name_the_included_file_and_line(
    folder: Path, old: str, new: str, expected: str
) -> None:
    (folder / "measured" / "profiles.yaml").write_text(PROFILES.replace(old, new))
    with pytest.raises(SpecError, match=expected):
        load(spec_in(folder, "include: measured/profiles.yaml\n"))


def test_an_included_file_that_is_missing_is_named(folder: Path) -> None:
    missing = re.escape(str(folder / "none.yaml"))
    with pytest.raises(SpecError, match=f"{missing}: the file cannot be read"):
        load(spec_in(folder, "include: none.yaml\n"))


def test_an_operator_without_a_profile_anywhere_is_named(folder: Path) -> None:
    with pytest.raises(SpecError, match="operator 'in' has no profile"):
        load(spec_in(folder, "include: measured/platform.yaml\n"))


def test_an_empty_included_file_holds_nothing(folder: Path) -> None:
    (folder / "empty.yaml").write_text("# nothing yet\n")
    files = "include: [empty.yaml, measured/profiles.yaml]\n"
    assert load(spec_in(folder, files)).platform == Platform()


def test_a_bundled_example_cannot_include() -> None:
    text = workloads.read("chain") + "include: a.yaml\n"
    with pytest.raises(SpecError, match="only a spec file can include others"):
        loads(text)
