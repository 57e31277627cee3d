"""Paper 3's workloads (Liu and Buyya): three synthetic topologies and Twitter sentiment analysis.

Word count is the bundled example. The paper prints no task profiles: these are assumed, one of
each of its four types.
"""

from __future__ import annotations

from collections.abc import Mapping

from slotwise.model import (
    FixedLoad,
    Goals,
    Operator,
    Pipeline,
    Profile,
    Profiles,
    Stream,
    TaskCosts,
    Topology,
    VmType,
)

CPU_BOUND = TaskCosts(cpu_points=0.045, transfer_points=0.001, memory_mb=0.01, sojourn_ms=0.45)
IO_BOUND = TaskCosts(cpu_points=0.005, transfer_points=0.006, memory_mb=0.01, sojourn_ms=0.1)
SOJOURN_BOUND = TaskCosts(cpu_points=0.005, transfer_points=0.001, memory_mb=0.01, sojourn_ms=10.0)
MEMORY_BOUND = TaskCosts(cpu_points=0.01, transfer_points=0.001, memory_mb=0.4, sojourn_ms=0.2)
SOURCE = FixedLoad(1, cpu=0.2, mem=0.02)
MACHINE = VmType("m1.medium", slots=2, memory_gb=4.0, price_per_hour=0.10)
GOALS = Goals(rate=2000.0, latency_ms=500.0)


def linear() -> Pipeline:
    """Section 7.2: three CPU-bound operators in a row."""
    return _pipeline(
        "linear",
        {"spout": SOURCE, "first": CPU_BOUND, "second": CPU_BOUND, "third": CPU_BOUND},
        (Stream("spout", "first"), Stream("first", "second"), Stream("second", "third")),
    )


def diamond() -> Pipeline:
    """One operator of each type side by side, then one that takes what all four give."""
    middle: dict[str, Profile] = {
        "cpu": CPU_BOUND,
        "io": IO_BOUND,
        "sojourn": SOJOURN_BOUND,
        "memory": MEMORY_BOUND,
    }
    streams = [Stream("spout", name) for name in middle]
    streams += [Stream(name, "join", selectivity=0.25) for name in middle]
    return _pipeline("diamond", {"spout": SOURCE, **middle, "join": CPU_BOUND}, tuple(streams))


def star() -> Pipeline:
    """Two spouts, an I/O-bound hub with a large internal stream, two operators that take it."""
    profiles: dict[str, Profile] = {
        "spout-1": SOURCE,
        "spout-2": SOURCE,
        "hub": IO_BOUND,
        "out-1": IO_BOUND,
        "out-2": IO_BOUND,
    }
    streams = (
        Stream("spout-1", "hub"),
        Stream("spout-2", "hub"),
        Stream("hub", "out-1", selectivity=2.0),
        Stream("hub", "out-2", selectivity=2.0),
    )
    return _pipeline("star", profiles, streams, source_share=0.5)


def twitter_sentiment() -> Pipeline:
    """Figure 9: 11 operators, a tree 8 deep; what each does is in section 7.1.1."""
    light = TaskCosts(cpu_points=0.01, transfer_points=0.001, memory_mb=0.01, sojourn_ms=0.15)
    profiles: dict[str, Profile] = {
        "tweets": SOURCE,
        "file-writer": SOJOURN_BOUND,
        "language": CPU_BOUND,
        "sentiment": TaskCosts(0.09, 0.001, 0.01, 0.9),
        "sentiment-mean": light,
        "sentiment-report": light,
        "hashtags": light,
        "hashtag-filter": IO_BOUND,
        "hashtag-count": MEMORY_BOUND,
        "hashtag-rank": light,
        "ranking": light,
    }
    streams = (
        Stream("tweets", "file-writer"),
        Stream("tweets", "language"),
        Stream("language", "sentiment", selectivity=0.6),
        Stream("sentiment", "sentiment-mean"),
        Stream("sentiment-mean", "sentiment-report", selectivity=0.1),
        Stream("sentiment", "hashtags"),
        Stream("hashtags", "hashtag-filter", selectivity=1.5),
        Stream("hashtag-filter", "hashtag-count"),
        Stream("hashtag-count", "hashtag-rank", selectivity=0.2),
        Stream("hashtag-rank", "ranking", selectivity=0.2),
    )
    return _pipeline("twitter-sentiment", profiles, streams)


def sojourn_bound(pipeline: Pipeline, operator: str) -> bool:
    """Whether the sojourn bound is the tightest of the four."""
    profile = pipeline.profiles[operator]
    if not isinstance(profile, TaskCosts):
        return False
    return profile.bounds["sojourn"] == profile.thread_rate


def _pipeline(
    name: str,
    profiles: Mapping[str, Profile],
    streams: tuple[Stream, ...],
    source_share: float = 1.0,
) -> Pipeline:
    sending = {stream.source for stream in streams}
    operators = tuple(
        Operator(each, "source", source_share)
        if profile is SOURCE
        else Operator(each, "operator" if each in sending else "sink")
        for each, profile in profiles.items()
    )
    slot_memory_mb = MACHINE.slot_memory_gb * 1024
    return Pipeline(
        Topology(name, operators, streams),
        Profiles(profiles, slot_memory_mb),
        catalog=(MACHINE,),
        goals=GOALS,
    )
