"""Paper 3's synthetic topologies (Liu and Buyya), made of the operators of `twitter-sentiment`.

Word count and Twitter sentiment analysis are bundled examples. The paper prints no task profiles:
those in `twitter-sentiment` are assumed, one of each of its four types. The synthetic topologies
have the same, on the same machines and with the same goals.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import cache

from slotwise.model import (
    Grouping,
    Operator,
    Pipeline,
    Profile,
    Stream,
    TaskCosts,
    Topology,
)
from slotwise.spec import load

TYPES = {
    "cpu": "language",
    "io": "hashtag-filter",
    "sojourn": "file-writer",
    "memory": "hashtag-count",
}
"""The operator of `twitter-sentiment` that is bound by what the type is named after."""
SOURCE = "tweets"


def linear() -> Pipeline:
    """Section 7.1.1: three CPU-bound operators in a row."""
    types = {"spout": "source", "first": "cpu", "second": "cpu", "third": "cpu"}
    return _pipeline("linear", types, "spout>first first>second second>third")


def diamond() -> Pipeline:
    """One operator of each type side by side, then one that takes what all four give."""
    types = {"spout": "source", **{name: name for name in TYPES}, "join": "cpu"}
    streams = [f"spout>{name} {name}>join:0.25" for name in TYPES]
    return _pipeline("diamond", types, " ".join(streams))


def star() -> Pipeline:
    """Two spouts, an I/O-bound hub with a large internal stream, two operators that take it."""
    types = {
        **{"spout-1": "source", "spout-2": "source"},
        **{"hub": "io", "out-1": "io", "out-2": "io"},
    }
    streams = "spout-1>hub spout-2>hub hub>out-1:2 hub>out-2:2"
    return _pipeline("star", types, streams, source_share=0.5)


def profile_of(kind: str) -> Profile:
    """The assumed profile of an operator of that type, or of a `source`."""
    operator = SOURCE if kind == "source" else TYPES[kind]
    return _twitter_sentiment().profiles[operator]


def sojourn_bound(pipeline: Pipeline, operator: str) -> bool:
    """Whether the sojourn bound is the tightest of the four."""
    if pipeline.profiles.derived(operator, TaskCosts):
        return False
    costs = pipeline.profiles.costs(operator)
    return costs.bounds["sojourn"] == costs.thread_rate


@cache
def _twitter_sentiment() -> Pipeline:
    return load("twitter-sentiment")


def _pipeline(
    name: str, types: Mapping[str, str], streams: str, source_share: float = 1.0
) -> Pipeline:
    """`streams`: source>target[:selectivity]; `types`: operator -> its type."""
    parsed = [_stream(text) for text in streams.split()]
    there = _twitter_sentiment()
    return replace(
        there,
        topology=Topology(name, _operators(types, parsed, source_share), tuple(parsed)),
        profiles=replace(
            there.profiles, by_operator={each: profile_of(kind) for each, kind in types.items()}
        ),
    )


def _operators(
    types: Mapping[str, str], streams: Sequence[Stream], source_share: float
) -> tuple[Operator, ...]:
    sending = {stream.source for stream in streams}
    return tuple(
        Operator(name, "source", source_share)
        if kind == "source"
        else Operator(name, "operator" if name in sending else "sink")
        for name, kind in types.items()
    )


def _stream(text: str) -> Stream:
    ends, _, selectivity = text.partition(":")
    source, target = ends.split(">")
    return Stream(source, target, float(selectivity or 1), Grouping("shuffle"))
