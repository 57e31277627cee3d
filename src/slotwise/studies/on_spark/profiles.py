"""Pipelines with profiles that were measured on this machine.

What Spark itself takes and each operator's profile are measured once, and kept in the folder of the
study as files that specs can include. Operators with the same logic share a profile. A file's name
has a digest of what was measured and how: what has changed since is measured again.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import fields, replace
from pathlib import Path

from slotwise.model import Hop, Operator, Pipeline, Platform, Profile, SlotwiseError
from slotwise.profilers.bench import Bench
from slotwise.profilers.experiment import Failed, measure
from slotwise.profilers.operators import Procedure, measurement
from slotwise.profilers.trial import Trial
from slotwise.spec.build_profiles import platform_of, profiles_of
from slotwise.spec.including import read_included
from slotwise.spec.rewriting import profiles_text
from slotwise.studies.on_spark.lab import Lab
from slotwise.studies.on_spark.shared_cluster import On

Known = list[tuple[Operator, Profile]]
PROFILE_TRIALS = "profile-trials.jsonl"
MeasurePlatform = Callable[[Bench, Callable[[str], None]], tuple[Platform, tuple[Trial, ...]]]


def measured_platform(lab: Lab, on: On[Bench], measured: MeasurePlatform) -> Platform:
    """As `measured` finds it; `on` starts the bench, if that is still to be done."""
    figures = [field.name for made in (Platform, Hop) for field in fields(made)]
    file = lab.folder / f"platform-{_digest(figures)}.yaml"
    if not file.exists():
        with on() as bench:
            platform, trials = measured(bench, lab.progress)
            platform = replace(platform, measurement=measurement(bench, trials))
        _write(file, profiles_text({}, platform))
    return platform_of(read_included(str(file)).platform)


def measured_pipelines(
    lab: Lab,
    on: On[Bench],
    pipelines: Mapping[str, Pipeline],
    procedure: Procedure,
    kinds: Sequence[str] = ("source", "operator", "sink"),
) -> Mapping[str, Pipeline]:
    """The pipelines with what was measured in place of their profiles; operators of other `kinds`
    keep theirs. `on` starts the bench, if something is left to be measured.
    """
    known: Known = []
    for name, pipeline in pipelines.items():
        operators = [each for each in pipeline.topology.operators if each.kind in kinds]
        new = [operator for operator in operators if _profile_of(operator, known) is None]
        if new:
            known += _profiles(lab, on, name, pipeline, new, procedure)
    return {name: _with_measured(pipeline, known) for name, pipeline in pipelines.items()}


def _profiles(
    lab: Lab,
    on: On[Bench],
    name: str,
    pipeline: Pipeline,
    operators: Sequence[Operator],
    procedure: Procedure,
) -> Known:
    """Of these operators."""
    file = lab.folder / f"{name}-{_digest(operators, procedure)}.profiles.yaml"
    if not file.exists():
        with on() as bench:
            found = measure(
                bench,
                pipeline,
                [operator.name for operator in operators],
                procedure,
                trials=lab.folder / PROFILE_TRIALS,
                progress=lab.progress,
            )
            profiles = {}
            for each in found:
                if isinstance(each, Failed):
                    raise SlotwiseError(
                        f"{name}: operator '{each.operator}' was not measured: {each.reason}"
                    )
                profiles[each.operator] = each.profile
        _write(file, profiles_text(profiles, None))
    measured = profiles_of(read_included(str(file)).profiles)
    return [(operator, measured[operator.name]) for operator in operators]


def _profile_of(operator: Operator, known: Known) -> Profile | None:
    return next(
        (p for other, p in known if (other.kind, other.logic) == (operator.kind, operator.logic)),
        None,
    )


def _with_measured(pipeline: Pipeline, known: Known) -> Pipeline:
    found = {each.name: _profile_of(each, known) for each in pipeline.topology.operators}
    measured = {name: profile for name, profile in found.items() if profile is not None}
    profiles = pipeline.profiles
    return replace(
        pipeline, profiles=replace(profiles, by_operator={**profiles.by_operator, **measured})
    )


def _digest(*parts: object) -> str:
    return hashlib.sha256(repr(parts).encode()).hexdigest()[:8]


def _write(file: Path, text: str) -> None:
    """All or nothing: a file that is there is taken for complete."""
    part = file.with_suffix(".part")
    part.write_text(text, encoding="utf-8")
    part.replace(file)
