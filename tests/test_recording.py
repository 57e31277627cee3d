"""Journals of decisions, read back; and files that are none."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from slotwise.adaptation import Adaptation, Outcome, Rules, Step
from slotwise.adaptation_journal import Head, Writer, journaled
from slotwise.controllers.threshold import Threshold
from slotwise.model import Change, Decision, Gain, Goals, Observation, Plan, SlotwiseError
from slotwise.recording import Recording, read_recording
from tests.controllers.timelines import Scripted, ScriptedDeployment, plan_at, seen
from tests.observations import observations, traffic

SMALL, LARGE = plan_at(150.0), plan_at(350.0)
HEAD = Head("test", "threshold:above=0.7", Rules(apply="never"), Goals(rate=1.0), "0")
figures = st.none() | st.floats(-1e9, 1e9)


def decisions(before: Plan) -> st.SearchStrategy[Decision]:
    gains = st.none() | st.builds(Gain, st.text(max_size=5), figures, figures)
    after = LARGE if before is SMALL else SMALL
    changes = st.builds(
        Decision.change,
        st.just(before),
        st.just(after),
        st.text(max_size=5),
        st.floats(0, 9),
        gains,
        st.floats(0, 9),
    )
    return changes | st.builds(Decision.keep, st.text(max_size=5))


@st.composite
def steps(draw: st.DrawFn) -> Step:
    plan = draw(st.sampled_from([SMALL, LARGE]))
    changes = st.builds(
        Change, st.floats(0, 1e6), st.sampled_from(["at once", "restart"]), st.floats(0, 9)
    )
    outcomes: tuple[Outcome, ...] = ("kept", "applied", "refused", "recommended", "not observed")
    return Step(
        at_s=draw(st.floats(0, 1e6)),
        since_s=draw(st.floats(0, 1e6)),
        plan=plan,
        seen=draw(st.none() | observations()),
        outcome=draw(st.sampled_from(outcomes)),
        decision=draw(st.none() | decisions(plan)),
        forced=draw(st.booleans()),
        change=draw(st.none() | changes),
        note=draw(st.text(max_size=5)),
        events=tuple(draw(st.lists(st.text(max_size=5), max_size=2))),
        decided_in_s=draw(st.integers(0, 10**6)) / 10**6,
        resumed=draw(st.booleans()),
    )


def written(recorded: Recording, path: Path) -> None:
    writer = Writer(recorded.head)
    lines = [line for step in recorded.steps for line in writer.lines(step)]
    path.write_text("".join([writer.head_line(), *lines]), encoding="utf-8")


@settings(max_examples=20, deadline=None)
@given(st.lists(steps(), max_size=4).map(tuple))
def test_a_run_comes_back_as_it_was(
    tmp_path_factory: pytest.TempPathFactory, made: tuple[Step, ...]
) -> None:
    path = tmp_path_factory.mktemp("journal") / "decisions.jsonl"
    recorded = Recording(HEAD, made)
    written(recorded, path)
    assert read_recording(path) == recorded


def test_the_head_says_how_it_was_run(tmp_path: Path) -> None:
    path = tmp_path / "decisions.jsonl"
    goals, rules = Goals(latency_p99_ms=80.0), Rules(period_s=20.0)
    loop = Adaptation(ScriptedDeployment(SMALL), Threshold(above=0.7), goals, rules)
    list(journaled(loop, 40.0, path))
    head = read_recording(path).head
    assert (head.topology, head.controller) == ("test", "threshold:above=0.7")
    assert (head.goals, head.rules) == (goals, rules)


def test_traffic_that_is_too_large_is_counted(tmp_path: Path) -> None:
    path = tmp_path / "decisions.jsonl"

    def see(plan: Plan, now_s: float) -> Observation:
        return seen(plan, end_s=now_s, thread_traffic=traffic(2000 if now_s < 15 else 3))

    deployment = ScriptedDeployment(SMALL, see)
    list(journaled(Adaptation(deployment, Scripted(), SMALL.pipeline.goals), 30.0, path))
    recorded = read_recording(path)
    assert recorded.without_traffic == 1
    assert [step.seen is not None and step.seen.thread_traffic for step in recorded.steps] == [
        None,
        traffic(3),
        traffic(3),
    ]


@pytest.fixture
def journal(tmp_path: Path) -> Path:
    """Head, plan, plan, change, step, step."""
    path = tmp_path / "decisions.jsonl"
    loop = Adaptation(ScriptedDeployment(SMALL), Scripted(lambda s: LARGE), SMALL.pipeline.goals)
    list(journaled(loop, 20.0, path))
    return path


def test_a_line_that_is_cut_at_the_end_does_not_count(journal: Path) -> None:
    whole = read_recording(journal)
    journal.write_text(journal.read_text()[:-20])
    cut = read_recording(journal)
    assert cut.is_cut
    assert cut.steps == whole.steps[:-1]


def _edited(line: str, **values: object) -> str:
    return json.dumps(json.loads(line) | values) + "\n"


@pytest.mark.parametrize(
    ("number", "edit", "problem"),
    [
        (1, lambda line: "hello\n", "the line is not JSON"),
        (1, lambda line: "[]\n", "not a journal of decisions"),
        (1, lambda line: _edited(line, record="sweep"), "not a journal of decisions"),
        (1, lambda line: _edited(line, version=2), "the journal has version 2"),
        (1, lambda line: _edited(line, goals={"rate": "x"}), "'goals.rate' is 'x'"),
        (2, lambda line: _edited(line, plan={}), "not a plan"),
        (2, lambda line: _edited(line, record="note"), "unknown record 'note'"),
        (3, lambda line: "\n", "the line is not JSON"),
        (4, lambda line: _edited(line, plan=7), "plan 7 is not in the lines before"),
        (4, lambda line: _edited(line, at_s=None), "the time is not finite"),
        (5, lambda line: _edited(line, plan=7), "plan 7 is not in the lines before"),
        (5, lambda line: _edited(line, at_s=None), "the time is not finite"),
        (5, lambda line: _edited(line, outcome="done"), "'outcome' is 'done'"),
        (5, lambda line: _edited(line, decision=3), "'decision' is 3: expected an object"),
        (6, lambda line: _edited(line, observation=[]), "'observation' is not an object"),
        (6, lambda line: line[:50] + "\n", "the line is not JSON"),
    ],
)
def test_a_damaged_or_foreign_file_is_one_sentence_with_the_line(
    journal: Path, number: int, edit: Callable[[str], str], problem: str
) -> None:
    lines = journal.read_text().splitlines(keepends=True)
    lines[number - 1] = edit(lines[number - 1])
    journal.write_text("".join(lines))
    with pytest.raises(SlotwiseError, match=re.escape(problem)) as error:
        read_recording(journal)
    assert str(error.value).startswith(f"{journal}:{number}: ")
    assert "\n" not in str(error.value)


@pytest.mark.parametrize("content", [b"", b"\xff\xfe\n", b"{"])
def test_files_that_are_no_journal(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "other"
    path.write_bytes(content)
    with pytest.raises(SlotwiseError, match=r"not a journal|not JSON"):
        read_recording(path)
    with pytest.raises(SlotwiseError, match="cannot be read"):
        read_recording(tmp_path)
