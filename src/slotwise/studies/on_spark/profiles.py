"""Bundled examples with profiles that were measured on this machine.

What Spark itself takes and each operator's profile are measured once, and kept in the folder of the
study as files that specs can include. Operators with the same logic share a profile.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import slotwise
from slotwise.model import Cluster, Goals, Operator, Pipeline, Platform, Profile, SlotwiseError
from slotwise.profilers.experiment import Failed, Slot, measure, prepared
from slotwise.profilers.operators import Procedure, measurement
from slotwise.profilers.platform import measure_platform
from slotwise.spec.build_profiles import platform_of, profiles_of
from slotwise.spec.including import read_included
from slotwise.spec.rewriting import profiles_text
from slotwise.studies.on_spark.lab import Lab

Known = list[tuple[Operator, Profile]]
PROFILE_TRIALS = "profile-trials.jsonl"


def measured_pipelines(
    lab: Lab, examples: Sequence[str], slot: Slot, most_threads: int, cluster: Cluster
) -> Mapping[str, Pipeline]:
    """The examples on `cluster`, whose slots are as `slot`, with what was measured."""
    platform = _platform(lab)
    known: Known = []
    for example in examples:
        known += _profiles(lab, example, known, slot, most_threads)
    return {
        example: _with_measured(slotwise.load(example), known, platform, slot, cluster)
        for example in examples
    }


def _platform(lab: Lab) -> Platform:
    """With a whole core: a smaller quota would hold up the highest rates."""
    file = lab.folder / "platform.yaml"
    if not file.exists():
        with prepared(Slot(), lab.progress) as on:
            platform, trials = measure_platform(on, lab.progress)
            platform = replace(platform, measurement=measurement(on, trials))
        _write(file, profiles_text({}, platform))
    return platform_of(read_included(str(file)).platform)


def _profiles(lab: Lab, example: str, known: Known, slot: Slot, most_threads: int) -> Known:
    """Of the example's operators whose logic is not known yet."""
    pipeline = slotwise.load(example)
    operators = pipeline.topology.operators
    new = [operator for operator in operators if _profile_of(operator, known) is None]
    file = lab.folder / f"{example}.profiles.yaml"
    if new and not file.exists():
        procedure = Procedure(most_threads=most_threads, most_end_threads=1, with_costs=False)
        with prepared(slot, lab.progress) as on:
            found = measure(
                on,
                pipeline,
                [operator.name for operator in new],
                procedure,
                trials=lab.folder / PROFILE_TRIALS,
                progress=lab.progress,
            )
            profiles = {}
            for each in found:
                if isinstance(each, Failed):
                    raise SlotwiseError(
                        f"{example}: operator '{each.operator}' was not measured: {each.reason}"
                    )
                profiles[each.operator] = each.profile
        _write(file, profiles_text(profiles, None))
    if not new:
        return []
    measured = profiles_of(read_included(str(file)).profiles)
    return [(operator, measured[operator.name]) for operator in new]


def _profile_of(operator: Operator, known: Known) -> Profile | None:
    return next(
        (p for other, p in known if (other.kind, other.logic) == (operator.kind, operator.logic)),
        None,
    )


def _with_measured(
    pipeline: Pipeline, known: Known, platform: Platform, slot: Slot, cluster: Cluster
) -> Pipeline:
    found = {each.name: _profile_of(each, known) for each in pipeline.topology.operators}
    by_operator = {name: profile for name, profile in found.items() if profile is not None}
    return replace(
        pipeline,
        profiles=replace(
            pipeline.profiles, by_operator=by_operator, slot_memory_mb=float(slot.memory_mb)
        ),
        catalog=(),
        cluster=cluster,
        platform=platform,
        goals=Goals(),
    )


def _write(file: Path, text: str) -> None:
    """All or nothing: a file that is there is taken for complete."""
    part = file.with_suffix(".part")
    part.write_text(text, encoding="utf-8")
    part.replace(file)
