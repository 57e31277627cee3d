"""What cannot be built, and what values promise."""

from __future__ import annotations

import math
from dataclasses import astuple

import numpy as np
import pytest

from slotwise.model import (
    Cluster,
    FixedLoad,
    Grouping,
    ModelError,
    Node,
    Operator,
    Placement,
    Profiles,
    ServiceRate,
    Stream,
    TaskCosts,
    ThreadRow,
    ThreadTable,
    Topology,
    whole,
)
from tests.builders import chain, cluster, topology


@pytest.mark.parametrize(
    ("streams", "sentence"),
    [
        (["a>b", "b>c", "c>b"], "there is a cycle b → c → b: mark the stream"),
        (["a>b", "a>b"], "duplicate stream a → b"),
        (["a>b:0"], "selectivity 0.0: expected a number > 0"),
        (["a>b:nan"], "selectivity nan"),
        (["a>b", "a>c!"], "marked 'loop: true' but closes no loop"),
    ],
)
def test_streams_that_are_refused(streams: list[str], sentence: str) -> None:
    with pytest.raises(ModelError, match=sentence):
        topology(*streams)


def test_operators_that_are_refused() -> None:
    source, other = Operator("a", "source"), Operator("b")
    for operators, streams, sentence in [
        ((), (), "no operators"),
        ((other,), (), "no source"),
        ((source, source), (), "duplicate operator name 'a'"),
        ((source, other), (), "'b' is unreachable"),
        ((source, other), (Stream("a", "c"),), "unknown operator 'c': there are a, b"),
        ((source, other), (Stream("a", "b"), Stream("b", "a")), "leads into the source 'a'"),
        (
            (source, Operator("b", "sink"), Operator("c")),
            (Stream("a", "b"), Stream("b", "c")),
            "leaves the sink 'b'",
        ),
        ((Operator("a", "source", share=0.0),), (), "share 0.0"),
    ]:
        with pytest.raises(ModelError, match=sentence):
            Topology("t", operators, streams)


def test_groupings_that_are_refused() -> None:
    with pytest.raises(ModelError, match="unknown grouping 'random'"):
        Grouping("random")  # type: ignore[arg-type]
    with pytest.raises(ModelError, match="needs a field"):
        Grouping("fields")


def test_orders_are_deterministic_and_ignore_loops() -> None:
    of = topology("in>c", "in>b", "c>d", "b>d", "d>b:0.1!")
    assert [o.name for o in of.in_order()] == ["in", "c", "b", "d"]
    assert [of.operators[i].name for i in of.breadth_first_order] == ["in", "c", "b", "d"]


def test_parts_are_what_streams_and_loops_connect() -> None:
    of = topology("a>b", "d>e", "b>c", "c>b:0.1!", "f>e")
    names = [[of.operators[i].name for i in part] for part in of.parts]
    assert names == [["a", "b", "c"], ["d", "e", "f"]]
    assert chain(3).parts == ((0, 1, 2),)


@pytest.mark.parametrize(
    "rows",
    [
        (),
        ((2, 1.0), (1, 2.0)),
        ((1, 1.0), (1, 2.0)),
        ((0, 1.0),),
        ((1, 0.0),),
        ((1, -1.0),),
        ((1, math.nan),),
    ],
)
def test_thread_tables_that_are_refused(rows: tuple[tuple[int, float], ...]) -> None:
    with pytest.raises(ModelError):
        ThreadTable(tuple(ThreadRow(n, rate, 0.1, 0.1) for n, rate in rows))


def test_a_thread_table_between_below_and_past_its_rows() -> None:
    table = ThreadTable((ThreadRow(2, 10.0, 0.4, 0.2), ThreadRow(4, 30.0, 0.6, 0.4)))
    assert table.at(1) == ThreadRow(1, 5.0, 0.2, 0.1)
    assert astuple(table.at(3)) == pytest.approx((3, 20.0, 0.5, 0.3))
    assert table.at(9).rate == 30.0
    assert table.smallest_for(30.5) is None


def test_every_form_of_profile_is_seen_as_the_others() -> None:
    profiles = Profiles(
        {
            "service": ServiceRate(100.0, cpu=0.25, mem=0.1),
            "costs": TaskCosts(cpu_points=0.5, memory_mb=0.5, sojourn_ms=20.0),
            "table": ThreadTable((ThreadRow(1, 2.0, 0.1, 0.2), ThreadRow(4, 6.0, 0.6, 0.4))),
        },
        slot_memory_mb=1000.0,
    )
    assert profiles.table("service").best == ThreadRow(4, 400.0, 1.0, 0.4)
    assert profiles.table("costs").at(1) == ThreadRow(1, 50.0, 0.25, 0.05)
    assert profiles.service("table") == ServiceRate(1.5, cpu=0.15, mem=0.1)
    assert profiles.service("costs") == ServiceRate(50.0, cpu=0.25, mem=0.05)
    assert profiles.costs("service") == TaskCosts(cpu_points=0.25, memory_mb=0.5, sojourn_ms=10.0)
    # Of task costs' memory, a part is for each tuple sent: here three for one that arrives.
    assert profiles.service("costs", sent_per_tuple=3.0).mem == 0.1
    assert profiles.table("costs", sent_per_tuple=3.0).at(1).mem == 0.1
    assert profiles.costs("service", sent_per_tuple=3.0).memory_mb == 0.25
    assert profiles.derived("table", ServiceRate)
    assert not profiles.derived("table", ThreadTable)


def test_profiles_that_are_refused() -> None:
    for build in (
        lambda: TaskCosts(),
        lambda: TaskCosts(cpu_points=-1.0),
        lambda: ServiceRate(0.0),
        lambda: ServiceRate(1.0, service_scv=math.nan),
        lambda: FixedLoad(threads=0),
    ):
        with pytest.raises(ModelError):
            build()


def test_the_first_slots_of_a_cluster() -> None:
    four = cluster(2, slots=2).first(3)
    assert [node.slots for node in four.nodes] == [2, 1]
    assert list(four.slot_memory) == pytest.approx([1, 1, 1])
    assert cluster(2).first(100) == cluster(2)


def test_capacities_are_in_reference_slots() -> None:
    mixed = Cluster((Node("a", 2, 16.0, speed=2.0), Node("b", 1, 4.0)), slot_memory_gb=4.0)
    assert list(mixed.slot_cpu) == [2.0, 2.0, 1.0]
    assert list(mixed.slot_memory) == [2.0, 2.0, 1.0]


def test_clusters_that_are_refused() -> None:
    for build, sentence in (
        (lambda: Cluster((), 1.0), "no nodes"),
        (lambda: Cluster((Node("a", 1, 1.0), Node("a", 1, 1.0)), 1.0), "duplicate node name 'a'"),
        (lambda: Node("a", 0, 1.0), "slots of 'a' is 0: expected an integer ≥ 1"),
        (lambda: Node("a", 1, math.inf), "memory_gb of 'a' is inf"),
        (lambda: Node("a", 1, 1.0, price_per_hour=-1), "price_per_hour"),
    ):
        with pytest.raises(ModelError, match=sentence):
            build()


def test_a_placement_is_a_value() -> None:
    first = Placement("p", (2, 1), np.array([0, 1, 1]))
    assert first == Placement("p", (2, 1), np.array([0, 1, 1]))
    assert first != Placement("p", (2, 1), np.array([0, 1, 0]))
    with pytest.raises(ValueError, match="read-only"):
        first.slots[0] = 2
    with pytest.raises(ValueError, match="2 slots given for 3 threads"):
        Placement("p", (2, 1), np.array([0, 1]))
    assert [part.tolist() for part in first.groups] == [[0, 0, 1], [0, 1, 1], [1, 1, 1]]


def test_whole_numbers_survive_rounding() -> None:
    assert (whole(3.0000000001), whole(3.001), whole(0.1 * 3 / 0.1)) == (3, 4, 3)
