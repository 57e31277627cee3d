from __future__ import annotations

from dataclasses import replace

import pytest

import slotwise
from slotwise import machine, provenance
from slotwise.cli import run
from slotwise.model import Measurement, Pipeline, Platform, ProfileForms
from slotwise.spec import dump
from slotwise.spec.plan_json import plan_from_json, plan_to_json

HERE = Measurement("2026-11-18T09:30:00Z", "4.3.0", "17.0.1", "This CPU", cores=0.25)


@pytest.fixture(autouse=True)
def here(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(machine, "cpu_model", lambda: "This CPU")
    monkeypatch.setattr(machine, "spark_version", lambda: "4.3.0")
    monkeypatch.setattr(machine, "java_version", lambda: "17.0.15")


def measured(platform: Measurement | None = HERE, **operators: Measurement) -> Pipeline:
    """`starter` with profiles that were measured so."""
    pipeline = slotwise.load("starter")
    profiles = dict(pipeline.profiles.by_operator)
    for name, measurement in operators.items():
        forms = ProfileForms(service=pipeline.profiles.service(name), measurement=measurement)
        profiles[name] = forms
    return replace(
        pipeline,
        profiles=replace(pipeline.profiles, by_operator=profiles),
        platform=Platform(measurement=platform),
    )


def test_typed_profiles_and_those_of_this_machine_are_not_warned_of() -> None:
    assert provenance.warnings(slotwise.load("starter")) == ()
    assert provenance.warnings(measured(HERE, parse=HERE)) == ()


def test_another_cpu_another_spark_and_other_quotas() -> None:
    there = replace(HERE, cpu="Other CPU", spark="4.2.0")
    pipeline = measured(there, parse=there, count=replace(HERE, cores=None))
    assert provenance.warnings(pipeline) == (
        "parse, the platform were measured on Other CPU, this machine has This CPU: "
        "predictions may be off",
        "parse, the platform were measured with Spark 4.2.0, here is 4.3.0: predictions may be off",
        "CPU quotas differ: parse, the platform were measured with 0.25 cores per slot; "
        "count was measured without a quota",
    )


def test_without_pyspark_nothing_is_said_of_spark(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(machine, "spark_version", lambda: None)
    assert provenance.warnings(measured(replace(HERE, spark="3.5.0"))) == ()


def test_another_java_and_slots_of_another_size() -> None:
    """Of Java only the major version counts; a run measures no memory."""
    there = replace(HERE, java="21.0.2", memory_mb=512.0)
    pipeline = measured(replace(HERE, memory_mb=512.0), parse=there)
    slot_mb = pipeline.profiles.slot_memory_mb
    assert provenance.warnings(pipeline) == (
        "parse was measured with Java 21, here is 17: predictions may be off",
        f"parse was measured in slots of 512 MB, and the spec's have {slot_mb:,.0f} MB: predicted "
        "memory may be off",
    )
    assert provenance.warnings(measured(parse=replace(HERE, memory_mb=slot_mb))) == ()
    of_a_run = replace(HERE, memory_mb=512.0, source="run")
    assert provenance.warnings(measured(parse=of_a_run)) == ()


def test_without_java_nothing_is_said_of_java(monkeypatch: pytest.MonkeyPatch) -> None:
    assert provenance.warnings(measured(parse=replace(HERE, java="unknown"))) == ()
    monkeypatch.setattr(machine, "java_version", lambda: None)
    assert provenance.warnings(measured(parse=replace(HERE, java="21.0.2"))) == ()


def test_a_platform_that_was_not_measured() -> None:
    assert provenance.warnings(measured(None, parse=HERE)) == (
        "parse was measured, but not the platform: predictions lack what Spark itself takes; run "
        "'slotwise profile --platform' and include its file",
    )
    typed = replace(measured(parse=HERE), platform=Platform(slot_cpu=0.01))
    assert provenance.warnings(typed) == ()


def test_many_profiles_are_counted() -> None:
    there = replace(HERE, cpu="Other CPU")
    names = [o.name for o in slotwise.load("starter").topology.operators if o.kind == "operator"]
    found = provenance.warnings(measured(**dict.fromkeys(names, there)))
    assert len(found) == 1
    many = len(names) > provenance.MOST_NAMES
    assert found[0].startswith(f"{len(names)} profiles were" if many else f"{names[0]}, ")


def test_a_plan_carries_its_warnings_and_the_command_line_prints_them(
    tmp_path, capsys: pytest.CaptureFixture[str]
) -> None:
    spec = tmp_path / "spec.yaml"
    spec.write_text(dump(measured(parse=replace(HERE, cpu="Other CPU"))))
    made = slotwise.plan(spec)
    assert len(made.warnings) == 1
    assert plan_from_json(plan_to_json(made)) == made
    run(["plan", str(spec), "--json"])
    said = capsys.readouterr()
    assert f"warning: {made.warnings[0]}\n" in said.err
    assert '"warnings"' in said.out
    assert "warnings" not in plan_to_json(slotwise.plan("starter"))
