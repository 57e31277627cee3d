"""Paper 4's workloads with its thread counts (Tantalaki, Souravlas, Roumeliotis, Katsavounis).

Two are the bundled examples `random` and `tapering`; the other two have the same bolts, on the
machines of `tapering`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from slotwise.model import (
    FixedLoad,
    Grouping,
    Operator,
    Pipeline,
    Profile,
    Stream,
    Topology,
)
from slotwise.spec import load

SLOTS_PER_NODE = 4
"""As in the bundled examples."""
BUFFER_TUPLES = 4096
"""32 Mb per task hold about 4K tuples of 8 Kb."""
TUPLE_BYTES, BANDWIDTH_MB_PER_S = 8192.0, 12.5
"""8 Kb, read as kilobytes since the paper's smaller tuples have 1 KB; 100 Mbps."""


@dataclass(frozen=True)
class Case:
    """A pipeline with the paper's thread counts."""

    name: str
    pipeline: Pipeline
    threads: dict[str, int]


def random_topology(threads: int = 6) -> Case:
    """Figure 2: one spout and four bolts that branch and join, on 9 nodes."""
    return _case("random", load("random"), [threads] * 5)


def linear(threads: int = 4) -> Case:
    """Figure 6: one spout and three bolts in a row, on 8 nodes."""
    return _case("linear", _like_tapering("linear", "0>1 1>2 2>3"), [threads] * 4)


def diamond() -> Case:
    """Figure 16 (a): spout, two bolts side by side, sink; 10 tasks each, on 8 nodes."""
    return _case("diamond", _like_tapering("diamond", "0>1 0>2 1>3 2>3"), [10] * 4)


def tapering() -> Case:
    """Figure 16 (b): one spout and four bolts with 16, 16, 8, 4 and 1 tasks, on 8 nodes."""
    return _case("linear 16-16-8-4-1", load("tapering"), [16, 16, 8, 4, 1])


def _case(name: str, pipeline: Pipeline, threads: Sequence[int]) -> Case:
    """The spout, whose threads its profile gives, has the first of `threads`."""
    names = [operator.name for operator in pipeline.topology.operators]
    spout = pipeline.profiles.fixed(names[0])
    assert spout is not None
    memory = spout.mem / spout.threads
    by_operator: dict[str, Profile] = {
        **pipeline.profiles.by_operator,
        names[0]: FixedLoad(threads[0], mem=memory * threads[0]),
    }
    profiles = replace(pipeline.profiles, by_operator=by_operator)
    return Case(name, replace(pipeline, profiles=profiles), dict(zip(names, threads, strict=True)))


def _like_tapering(name: str, streams: str) -> Pipeline:
    """Another topology of the same components; `streams`: source>target, 0 is the spout."""
    ends = [text.split(">") for text in streams.split()]
    parsed = tuple(
        Stream(_name(source), _name(target), grouping=Grouping("shuffle"))
        for source, target in ends
    )
    sending = {stream.source for stream in parsed}
    names = list(dict.fromkeys(_name(end) for pair in ends for end in pair))
    operators = tuple(
        Operator(each, "source" if each == names[0] else "operator" if each in sending else "sink")
        for each in names
    )
    there = load("tapering")
    profiles = {each: there.profiles[each] for each in names}
    return replace(
        there,
        topology=Topology(name, operators, parsed),
        profiles=replace(there.profiles, by_operator=profiles),
    )


def _name(component: str) -> str:
    return "spout" if component == "0" else f"bolt-{component}"
