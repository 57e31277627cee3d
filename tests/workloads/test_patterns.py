"""Frequent pattern detection: what a detector tells is what the window has, after every tweet."""

from __future__ import annotations

import json
from collections import Counter
from itertools import islice
from typing import Any

import pyarrow
import pytest

pytest.importorskip("pyspark")

from slotwise.spec import load
from slotwise.workloads import data, patterns
from slotwise.workloads.data import leaving_tweets
from tests.spark.plain import maximal_patterns

LINES = list(islice(data.lines("tweets"), leaving_tweets.WINDOW + 100))
STEPS = [(1, line) for line in LINES[: leaving_tweets.WINDOW]] + [
    event
    for entering, leaving in zip(LINES[leaving_tweets.WINDOW :], LINES, strict=False)
    for event in ((-1, leaving), (1, entering))
]


class Value:
    """A state of Spark's, of one key."""

    def __init__(self) -> None:
        self.held: Any = None

    def get(self) -> Any:
        return self.held

    def update(self, value: Any) -> None:
        self.held = value


class Handle:
    def getValueState(self, name: str, schema: str) -> Value:  # noqa: N802
        return Value()


class Detectors:
    """One for each word, as Spark keeps them."""

    def __init__(self) -> None:
        self.of: dict[str, patterns.Detector] = {}
        self.maximal: set[str] = set()
        self.changes = 0

    def count(self, step: int, line: str) -> int:
        """How many candidates there were."""
        candidates = patterns.candidates(json.loads(line)["text"])
        for word, own in candidates.items():
            self._tell(word, [{"ts": 0, "step": step, "patterns": own}])
        return len(candidates)

    def _tell(self, word: str, rows: list[dict[str, Any]]) -> None:
        if word not in self.of:
            self.of[word] = patterns.Detector()
            self.of[word].init(Handle())
        for row in self.of[word].handleInputRows((word,), rows, None):
            self.changes += 1
            assert (row.pattern in self.maximal) != row.is_maximal
            self.maximal ^= {row.pattern}


def test_it_tells_the_maximal_patterns_of_every_window() -> None:
    detectors = Detectors()
    for step, line in STEPS[: leaving_tweets.WINDOW]:
        detectors.count(step, line)
    for first in range(0, 100, 20):
        window = LINES[first : first + leaving_tweets.WINDOW]
        assert detectors.maximal == maximal_patterns(window)
        at = leaving_tweets.WINDOW + 2 * first
        for step, line in STEPS[at : at + 40]:
            detectors.count(step, line)


def test_nothing_is_left_of_a_tweet_that_has_left() -> None:
    detectors = Detectors()
    for step in (1, -1):
        detectors.count(step, LINES[0])
    assert [of.state.get() for of in detectors.of.values()] == [({}, 0)] * len(detectors.of)


def test_tweets_of_a_batch_are_taken_in_the_order_of_their_times() -> None:
    """As many as are frequent enter and leave in turn: there is never one more in the window."""
    detector = patterns.Detector()
    detector.init(Handle())
    entering = [{"ts": n, "step": 1, "patterns": ["city"]} for n in range(2 * patterns.THRESHOLD)]
    leaving = [{**row, "step": -1} for row in entering[patterns.THRESHOLD :]]
    assert list(detector.handleInputRows(("city",), [*entering, *leaving], None)) == []
    assert detector.state.get() == ({"city": patterns.THRESHOLD}, 0)


def test_it_makes_as_many_tuples_as_the_streams_say() -> None:
    streams = {str(stream): stream.selectivity for stream in load("fpd").topology.streams}
    detectors = Detectors()
    for step, line in STEPS[: leaving_tweets.WINDOW]:
        detectors.count(step, line)
    filled, candidates = detectors.changes, 0
    for step, line in STEPS[leaving_tweets.WINDOW :]:
        candidates += detectors.count(step, line)
    per_tweet = candidates / (len(STEPS) - leaving_tweets.WINDOW)
    assert per_tweet == pytest.approx(streams["generator → detector"], rel=0.02)
    changed = (detectors.changes - filled) / candidates
    assert changed == pytest.approx(streams["detector → reporter"], rel=0.25)


def test_a_pattern_is_with_each_of_its_words() -> None:
    found = patterns.candidates("good train on the good bus home")
    assert Counter(pattern for own in found.values() for pattern in own) == {
        **dict.fromkeys(("good", "home", "train"), 1),
        **dict.fromkeys(("good home", "good train", "home train"), 2),
        "good home train": 3,
    }


def test_candidates_keep_the_id_and_time_of_their_tweet() -> None:
    tweets = {"id": [7, 8], "ts": [70, 80], "step": [1, -1], "text": ["good train", "the bus"]}
    made = patterns.generate(pyarrow.RecordBatch.from_pydict(tweets)).to_pylist()
    assert made == [
        {"id": 7, "ts": 70, "word": "good", "step": 1, "patterns": ["good", "good train"]},
        {"id": 7, "ts": 70, "word": "train", "step": 1, "patterns": ["train", "good train"]},
    ]


def test_a_tweet_leaves_when_the_last_of_a_window_enters_after_it() -> None:
    entering, leaving = (list(data.lines(name)) for name in ("tweets", "leaving-tweets"))
    window = leaving_tweets.WINDOW
    assert leaving[window:] == entering[:-window]
    assert leaving[:window] == entering[-window:]
    logic = {source.name: source.logic.expr or "" for source in load("fpd").topology.sources}
    assert logic["leaving"].startswith(f"CASE WHEN id >= {window}\n")
