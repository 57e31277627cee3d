"""Measured profiles in a spec's text: what is not replaced stays, to the letter."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from slotwise import workloads
from slotwise.model import (
    Hop,
    Measurement,
    Pipeline,
    Platform,
    Profile,
    ProfileForms,
    Profiles,
    ServiceRate,
    TaskCosts,
    ThreadRow,
    ThreadTable,
)
from slotwise.spec import SpecError, dump, load, loads
from slotwise.spec.build_profiles import platform_of, profiles_of
from slotwise.spec.profile_document import PlatformDocument, ProfileDocument
from slotwise.spec.rewriting import profiles_text, with_profiles
from slotwise.spec.writing import platform_values, profile_values
from tests.strategies import pipelines, platforms, profile_forms

MEASURED = Measurement(
    "2026-11-18T09:30:00Z", "4.3.0", "17.0.1", "Some CPU", 0.25, 512.0, 12, 0.01234
)
ROWS = (ThreadRow(1, 105.04999, 0.923456, 0.02), ThreadRow(12, 1234.56, 1.0, 0.1))
FORMS = ProfileForms(
    ThreadTable(ROWS), TaskCosts(0.5, sojourn_ms=9.5), ServiceRate(98.7654), MEASURED
)
PLATFORM = Platform(slot_cpu=0.01, in_slot=Hop(1.5), flush_ms=5.0, cores=0.25, measurement=MEASURED)
HEAD = """\
topology:
  name: two
  operators: {in: {kind: source}, work: {}}
  streams: [{from: in, to: work}]
catalog: [{type: D1, slots: 1, memory_gb: 1}]
"""
ENTRY = """\
  work:
    threads:
      1:  {rate: 105,  cpu: 0.9235, mem: 0.02}
      12: {rate: 1235, cpu: 1,      mem: 0.1}
    costs: {cpu_points: 0.5, sojourn_ms: 9.5}
    service: {rate: 98.77}
    measured: {at: "2026-11-18T09:30:00Z", spark: "4.3.0", java: "17.0.1", cpu: "Some CPU",
      cores: 0.25, memory_mb: 512, trials: 12, spread: 0.01234}
"""


def rounded(profiles: Mapping[str, Profile]) -> dict[str, Profile]:
    """As they are written: 4 digits."""
    values = profile_values(profiles)
    return profiles_of({name: ProfileDocument(**each) for name, each in values.items()})


def replaced(pipeline: Pipeline, profiles: Mapping[str, Profile]) -> Pipeline:
    own = {**pipeline.profiles.by_operator, **rounded(profiles)}
    return replace(pipeline, profiles=Profiles(own, pipeline.profiles.slot_memory_mb))


def comments(text: str) -> list[str]:
    return re.findall(r"(?:^|\s)(#.*)", text)


def test_an_entry_is_replaced_and_the_rest_stays_to_the_letter() -> None:
    before = (
        HEAD + "profiles:\n  # above\n  in:   {fixed: {cpu: 0.1}}  # a\n"
        "  # of work\n  work: {service:  {rate: 7}}  # gone\n\n# end\n"
    )
    after = with_profiles(before, {"work": FORMS})
    assert after == (
        HEAD + "profiles:\n  # above\n  in:   {fixed: {cpu: 0.1}}  # a\n  # of work\n"
        f"{ENTRY}\n# end\n"
    )


def test_figures_have_four_digits() -> None:
    assert rounded({"o": FORMS})["o"] == ProfileForms(
        ThreadTable((ThreadRow(1, 105.0, 0.9235, 0.02), ThreadRow(12, 1235.0, 1.0, 0.1))),
        TaskCosts(0.5, sojourn_ms=9.5),
        ServiceRate(98.77),
        MEASURED,
    )


@pytest.mark.parametrize("example", workloads.names())
def test_an_operator_of_every_example(example: str) -> None:
    text = workloads.read(example)
    pipeline = loads(text)
    operators = list(pipeline.profiles.by_operator)
    for operator in (operators[0], operators[len(operators) // 2]):
        made = with_profiles(text, {operator: FORMS}, PLATFORM)
        assert loads(made) == replace(replaced(pipeline, {operator: FORMS}), platform=PLATFORM)
        old, new = text.splitlines(), iter(made.splitlines())
        # Other lines are the same, in their order, but for an alias that is written out.
        left = [line for line in old if line in made.splitlines()]
        assert all(any(line == other for other in new) for line in left)
        assert len(old) - len(left) <= 10


@settings(max_examples=25, deadline=None)
@given(st.data())
def test_any_pipeline_with_any_profiles(data: st.DataObject) -> None:
    pipeline = data.draw(pipelines())
    operators = st.sampled_from(sorted(pipeline.profiles.by_operator))
    new = data.draw(st.dictionaries(operators, profile_forms, max_size=3))
    text = data.draw(st.sampled_from(["", "# first\n", "\ufeff"])) + dump(pipeline) + "# last\n"
    made = with_profiles(text, new)
    assert loads(made) == replaced(pipeline, new)
    assert comments(made)[-1] == "# last"
    platform = data.draw(platforms)
    written = platform_of(PlatformDocument(**platform_values(platform)))
    assert loads(with_profiles(made, {}, platform)).platform == written


def test_an_anchor_moves_to_the_first_entry_that_uses_it() -> None:
    text = workloads.read("twitter-sentiment")
    made = with_profiles(text, {"sentiment-mean": FORMS, "hashtags": FORMS})
    assert loads(made) == replaced(loads(text), {"sentiment-mean": FORMS, "hashtags": FORMS})
    assert "  sentiment-report: &light {costs: {cpu_points: 0.01, " in made
    assert made.endswith(text[text.index("  hashtag-rank: *light") :])
    assert made.count("*light") == 2
    assert comments(made) == comments(text)


def test_an_anchor_that_stays_keeps_its_aliases() -> None:
    text = workloads.read("twitter-sentiment")
    made = with_profiles(text, {"hashtags": FORMS})
    assert "  sentiment-mean: &light\n" in made
    assert made.count("*light") == 3


@pytest.mark.parametrize(
    "layout",
    [
        "profiles: {in: {fixed: {}}, work: {service: {rate: 7}},}\n",
        "profiles: {'in': {fixed: {}}}  # of work, none\n",
        "profiles:\n    in: {fixed: {}}",
        "profiles:\n  work: &w {service: {rate: 7}}\n  in: *w\n",
        "profiles:\n  work: {service: &s {rate: 7}}\n  in:\n    service: *s\n",
        "profiles: {work: &w {service: {rate: 7}}, in: *w}\n",
        "profiles: {}\nplatform: {slot_cpu: 1}  # old\n",
        "profiles: {}\n",
        "",
        "profiles:\r\n  in: {fixed: {}}\r\n  work: {service: {rate: 1}}\r\n# end\r\n",
        "profiles:\n  ? work\n  : {service: {rate: 7}}\n  in: {fixed: {}}\n",
        "profiles:\n  in: {fixed: {}}\n  ?  # a comment\n    work\n  : {service: {rate: 7}}\n",
    ],
)
def test_layouts(layout: str) -> None:
    text = HEAD + layout
    if "a comment" in layout:
        with pytest.raises(SpecError, match=r"^f.yaml: the layout of 'profiles' does not allow"):
            with_profiles(text, {"work": FORMS}, name="f.yaml")
        return
    both = with_profiles(text, {"work": FORMS, "in": FORMS}, PLATFORM)
    made = loads(both)
    assert dict(made.profiles.by_operator) == rounded({"work": FORMS, "in": FORMS})
    assert made.platform == PLATFORM
    if "in:" in layout:
        alone = loads(with_profiles(text, {"work": FORMS}))
        assert alone.profiles["work"] == rounded({"work": FORMS})["work"]
    if "\r\n" in layout:
        assert not re.search("(?<!\r)\n", both.removeprefix(HEAD))


def test_a_text_in_one_line_of_json() -> None:
    text = (
        '{"topology": {"name": "t", "operators": {"a": {"kind": "source"}}, "streams": []}, '
        '"catalog": [{"type": "D1", "slots": 1, "memory_gb": 1}]}'
    )
    made = loads(with_profiles(text, {"a": FORMS}, PLATFORM))
    assert (made.profiles["a"], made.platform) == (rounded({"a": FORMS})["a"], PLATFORM)


def test_a_spec_that_includes_keeps_what_it_includes(tmp_path: Path) -> None:
    (tmp_path / "measured.yaml").write_text(profiles_text({"in": FORMS}, PLATFORM))
    path = tmp_path / "spec.yaml"
    path.write_text(with_profiles(f"include: measured.yaml\n{HEAD}", {"work": FORMS}))
    pipeline = load(path)
    assert pipeline.profiles.by_operator == rounded({"in": FORMS, "work": FORMS})
    assert pipeline.platform == PLATFORM


def test_a_file_of_profiles_says_how_it_was_made() -> None:
    assert profiles_text({"work": FORMS}, PLATFORM) == (
        "# Costs of operators and of the engine, for specs: include: THIS-FILE\n"
        "# Made by slotwise profile, 2026-11-18T09:30:00Z: Spark 4.3.0, Java 17.0.1, Some CPU\n"
        f"profiles:\n{ENTRY}"
        "platform:\n  slot_cpu: 0.01\n  in_slot: {send_us: 1.5}\n  flush_ms: 5\n  cores: 0.25\n"
        '  measured: {at: "2026-11-18T09:30:00Z", spark: "4.3.0", java: "17.0.1", '
        'cpu: "Some CPU",\n    cores: 0.25, memory_mb: 512, trials: 12, spread: 0.01234}\n'
    )


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("", "f.yaml:1:1: the spec is empty"),
        (HEAD + "profile: {}\n", "unknown key 'profile'"),
        (HEAD, "f.yaml: there is no operator 'other' to write a profile for"),
    ],
)
def test_what_cannot_be_written_into(text: str, problem: str) -> None:
    with pytest.raises(SpecError, match=re.escape(problem)):
        with_profiles(text, {"other": FORMS}, name="f.yaml")
