"""Paper 5's frequent pattern detection (FPD): sets of words that come together in many tweets.

A pattern is a set of one to three words. It is frequent if more than THRESHOLD tweets of the window
have it, and maximal if no other frequent pattern has all its words. A tweet that enters the window
counts for each of its patterns, and one that leaves it against them.

The paper's detector is divided by patterns, so that a thread has to tell all others what changes:
its loop. Here it is divided by words: a word has all patterns that it is in. Every pattern that has
all words of another one, and more, is counted beside it, so a thread decides alone which are
maximal. A pattern of three words is counted three times for that, and reported by its first word.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from itertools import combinations
from typing import Any

import pyarrow
from pyspark.sql import Row
from pyspark.sql.streaming.stateful_processor import StatefulProcessor

SHORTEST_WORD = 4
"""Words of fewer letters, such as "the", "und" and "el", are in no pattern."""
MOST_WORDS = 3
THRESHOLD = 40
"""Tweets of the window."""

Pattern = frozenset[str]
CANDIDATES = pyarrow.schema(
    [
        ("id", pyarrow.int64()),
        ("ts", pyarrow.int64()),
        ("word", pyarrow.string()),
        ("step", pyarrow.int32()),
        ("patterns", pyarrow.list_(pyarrow.string())),
    ]
)


def generate(batch: pyarrow.RecordBatch) -> pyarrow.RecordBatch:
    """A tweet that enters or leaves (step: 1 or -1) -> for each of its words, its patterns."""
    made = [
        {"id": tweet["id"], "ts": tweet["ts"], "word": word, "step": tweet["step"], "patterns": own}
        for tweet in batch.to_pylist()
        for word, own in candidates(tweet["text"]).items()
    ]
    return pyarrow.RecordBatch.from_pylist(made, schema=CANDIDATES)


def candidates(text: str) -> dict[str, list[str]]:
    """Word -> the patterns of a tweet that it is in, as words in alphabetical order.

    >>> candidates("good morning, the train")["good"]
    ['good', 'good morning,', 'good train', 'good morning, train']
    """
    words = sorted({word for word in text.split(" ") if len(word) >= SHORTEST_WORD})
    found: dict[str, list[str]] = {word: [] for word in words}
    for count in range(1, MOST_WORDS + 1):
        for pattern in combinations(words, count):
            for word in pattern:
                found[word].append(" ".join(pattern))
    return found


def maximal(tweets: Mapping[str, int]) -> set[str]:
    """The maximal frequent ones of patterns with their tweets.

    >>> sorted(maximal({"coffee": 60, "morning": 90, "coffee morning": 50, "train": 41, "bus": 9}))
    ['coffee morning', 'train']
    """
    frequent = {pattern: _words(pattern) for pattern, n in tweets.items() if n > THRESHOLD}
    return {
        pattern
        for pattern, words in frequent.items()
        if not any(words < others for others in frequent.values())
    }


class Detector(StatefulProcessor):
    """Counts the patterns of a word. A row for each that is maximal from now on, or no longer; a
    word's changes are numbered. The tweets of a batch are taken in the order of their times: all
    that enter before all that leave would make the window longer by a batch.
    """

    def init(self, handle: Any) -> None:
        self.state = handle.getValueState("patterns", "tweets MAP<STRING, INT>, changes BIGINT")

    def handleInputRows(self, key: Any, rows: Iterable[Any], timerValues: Any) -> Iterator[Row]:  # noqa: N802
        known, changes = self.state.get() or ({}, 0)
        tweets = Counter[str](known)
        before = self._own(key[0], tweets)
        for row in sorted(rows, key=_in_time):
            if not self._counted(tweets, row["patterns"], row["step"]):
                continue
            now = self._own(key[0], tweets)
            for pattern in sorted(before ^ now):
                changes += 1
                yield Row(
                    pattern=pattern,
                    tweets=tweets[pattern],
                    is_maximal=pattern in now,
                    change=changes,
                )
            before = now
        self.state.update(({pattern: n for pattern, n in tweets.items() if n}, changes))

    def _counted(self, tweets: Counter[str], patterns: Iterable[str], step: int) -> bool:
        """Whether one of the patterns is frequent from now on, or no longer."""
        crossed = False
        for pattern in patterns:
            before = tweets[pattern] > THRESHOLD
            tweets[pattern] += step
            crossed |= before != (tweets[pattern] > THRESHOLD)
        return crossed

    def _own(self, word: str, tweets: Mapping[str, int]) -> set[str]:
        """The maximal patterns that this word reports: those that it is the first of."""
        return {pattern for pattern in maximal(tweets) if pattern.split(" ")[0] == word}

    def close(self) -> None:
        pass


def _in_time(row: Any) -> tuple[int, int]:
    """A tweet leaves before the next one enters."""
    return row["ts"], row["step"]


def _words(pattern: str) -> Pattern:
    return frozenset(pattern.split(" "))
