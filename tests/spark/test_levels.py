"""Levels, partitions and routes, without Spark."""

from __future__ import annotations

import re
from dataclasses import replace
from functools import partial

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from ruamel.yaml import YAML

from slotwise.model import Grouping, Logic, Plan, SlotwiseError, Topology
from slotwise.model.topology import KEY_GROUPS
from slotwise.spark.query.functions import functions_of
from slotwise.spark.query.levels import layout
from slotwise.spark.query.outline import outline
from slotwise.spark.query.refusals import mode_of
from slotwise.spark.query.routing import Routes, hash_of_int
from slotwise.testing.strategies import topologies
from tests import builders
from tests.spark.plans import plan, topology

COUNT = Logic(aggregate=(("by", "value"), ("n", "count(*)")))
BY_VALUE = Grouping("fields", ("value",))


def levels(of: Topology) -> list[list[str]]:
    made = layout(plan(of))
    return [[of.operators[i].name for i in operators] for operators in made.levels]


def test_diamond() -> None:
    assert levels(topology("s>a", "s>b", "a>j", "b>j", "j>k")) == [["s"], ["a", "b"], ["j"], ["k"]]


def test_ends_are_in_the_last_level() -> None:
    assert levels(topology("s>a", "a>b", "b>k", "s>z")) == [["s"], ["a"], ["b"], ["k", "z"]]


def test_a_level_after_the_latest_of_its_inputs() -> None:
    assert levels(topology("s>a", "a>b", "s>b", "t>b")) == [["s", "t"], ["a"], ["b"]]


def test_an_aggregate_is_alone() -> None:
    of = topology(
        "s>c", "s>a", "a>b", "c>k", "b>z", logic={"c": COUNT}, groupings={"s>c": BY_VALUE}
    )
    assert levels(of) == [["s"], ["c"], ["a"], ["b"], ["k", "z"]]


def test_every_aggregate_is_alone() -> None:
    """`b` is moved by `c`, and `d`, beside `c`, by both."""
    of = topology(
        *("s>c", "s>d", "s>a", "a>b", "c>e", "e>k", "b>k", "d>z"),
        logic=dict.fromkeys(("c", "d", "e"), COUNT),
        groupings={"s>c": BY_VALUE, "s>d": BY_VALUE, "c>e": BY_VALUE},
    )
    assert levels(of) == [["s"], ["c"], ["d"], ["e"], ["a"], ["b"], ["k", "z"]]


@given(topologies(), st.sets(st.integers(0, 20)))
def test_keyed_operators_are_alone_in_any_topology(of: Topology, chosen: set[int]) -> None:
    keyed = {i for i in chosen if i < len(of.operators) and of.operators[i].kind == "operator"}
    operators = tuple(
        replace(each, logic=COUNT if i in keyed else Logic()) for i, each in enumerate(of.operators)
    )
    made = layout(plan(replace(of, operators=operators)))
    assert all(made.levels[made.level[i]] == (i,) for i in keyed)
    for stream, (source, target) in zip(of.streams, of.edges, strict=True):
        assert stream.loop or made.level[source] < made.level[target]


def test_an_aggregate_that_feeds_nobody_has_its_results_passed_on() -> None:
    of = topology("s>c", "s>z", logic={"c": COUNT}, groupings={"s>c": BY_VALUE})
    made = layout(plan(of))
    assert levels(of) == [["s"], ["c"], ["z"]]
    assert made.passing(1) == (of.index["z"],)
    assert made.delivered(2) == {of.index["c"]}


LINK = Logic(
    format="kafka",
    options=(("kafka.bootstrap.servers", "here:1"), ("topic", "t")),
    schema="value STRING",
)


def test_a_link_is_read_in_level_0_and_written_in_the_last() -> None:
    """Whichever stream of the loop has the mark."""
    before = topology("s>j", "j>a", "a>l:0.5", "l>j!", "a>k", logic={"l": LINK})
    behind = topology("s>j", "j>a", "a>l", "l>b", "b>j:0.5!", "a>k", logic={"l": LINK})
    for of in (before, behind):
        made = layout(plan(of, {"a": 2}))
        index = of.index
        assert set(made.levels[0]) == {index["s"], index["l"]}
        assert made.levels[-1] == (index["k"],)
        assert index["l"] in made.passing(len(made.levels) - 1)
        assert index["l"] not in made.passing(made.level[index["a"]])
        outline(plan(of))


def test_what_goes_to_a_link_last_is_written_behind_it() -> None:
    of = topology("s>a", "s>k", "a>l:0.5", "l>a!", logic={"l": LINK})
    assert levels(of) == [["s", "l"], ["a"], ["k"]]


def test_a_loop_without_a_topic_is_refused_with_what_to_do() -> None:
    refused(topology("s>a", "a>a:0.5!", "a>k"), match="let its tuples go through a topic, by an op")
    refused(topology("s>a", "a>l", "l>a:0.5!", logic={"l": LINK}), match="nothing leaves the loop")
    both = replace(LINK, expr="value")
    refused(
        topology("s>l", "l>k", logic={"l": both}), match="'l' is a topic that tuples go through"
    )
    bare = replace(LINK, schema=None)
    refused(topology("s>l", "l>k", logic={"l": bare}), match="'l' has no schema")
    files = replace(LINK, format="json")
    refused(topology("s>l", "l>k", logic={"l": files}), match="may have format: kafka")


def test_partitions_and_slots() -> None:
    of = topology("s>a", "s>b", "a>k", "b>k")
    made = layout(plan(of, {"a": 2, "b": 3}, on=builders.cluster(3, 1)))
    assert made.partitions == (1, 5, 1)
    assert made.thread(1, 3) == (of.index["b"], 1)
    # Threads s, a, a, b, b, b, k go round-robin over three slots.
    assert made.slots(plan(of, {"a": 2, "b": 3}, on=builders.cluster(3, 1)).placement) == (
        (0,),
        (1, 2, 0, 1, 2),
        (0,),
    )


def counting(threads: int, groups: int = KEY_GROUPS) -> Plan:
    """s and k have two threads each; nine threads and more go round-robin over two slots."""
    count = replace(COUNT, key_groups=groups)
    of = topology("s>c", "c>k", logic={"c": count}, groupings={"s>c": BY_VALUE})
    return plan(of, {"s": 2, "c": threads, "k": 2})


def test_the_tasks_of_an_aggregate_are_its_key_groups() -> None:
    made = counting(3)
    found = layout(made)
    assert found.tasks == (2, 8, 2)
    assert found.partitions == (2, 8, 2)
    assert found.first_task == (0, 2, 10, 12)
    # Threads: s 0 and 1, c 2 to 4, k 5 and 6.
    assert found.task_thread.tolist() == [0, 1, 2, 2, 2, 3, 3, 3, 4, 4, 5, 6]
    assert found.thread(1, 0) == (1, 0)
    assert found.thread(1, 7) == (1, 2)
    assert found.slots(made.placement) == ((0, 1), (0, 0, 0, 1, 1, 1, 0, 0), (1, 0))


def test_other_threads_of_an_aggregate_leave_the_query_as_it_is() -> None:
    """Only the slots of its tasks differ."""
    few, many = (layout(counting(threads)) for threads in (1, 8))
    assert few.first_task == many.first_task
    assert few.partition_task == many.partition_task
    sent = [
        list(Routes(counting(threads), layout(counting(threads))).candidates(0, False))
        for threads in (1, 8)
    ]
    assert sent[0] == sent[1]


@given(st.integers(1, 50).flatmap(lambda n: st.tuples(st.integers(1, n), st.just(n))))
def test_key_groups_are_divided_evenly(threads_and_groups: tuple[int, int]) -> None:
    threads, groups = threads_and_groups
    owners = layout(counting(threads, groups)).task_thread[2:-2] - 2
    counts = np.bincount(owners)
    assert len(counts) == threads
    assert counts.max() - counts.min() <= 1
    assert (np.diff(owners) >= 0).all()


@settings(max_examples=50)
@given(topologies())
def test_streams_lead_to_later_levels_and_threads_have_partitions(of: Topology) -> None:
    made = layout(plan(of, 2))
    for stream, (source, target) in zip(of.streams, of.edges, strict=True):
        assert stream.loop or made.level[source] < made.level[target]
    for operator in range(len(of.operators)):
        for k in range(2):
            partition = made.first_partition[operator] + k
            assert made.thread(made.level[operator], partition) == (operator, k)
    ends = [i for i, o in enumerate(of.operators) if not of.outputs[i] and o.kind != "source"]
    assert all(made.is_last(made.level[i]) for i in ends)


def test_tuples_for_later_levels_are_carried_in_the_slot_they_go_to() -> None:
    of = topology("s>a", "a>k", "s>k")
    made = plan(of, {"a": 2, "k": 2}, slots=[0, 0, 1, 1, 0])
    routes = Routes(made, layout(made))
    sent = list(routes.candidates(of.index["s"], False))[1]
    # k's thread 0 is in slot 1, where thread 1 of a is; its thread 1 is in slot 0, as a's thread 0.
    assert "element_at(array(1, 0)" in sent


def test_salts_reach_their_partition() -> None:
    of = topology("s>c", "s>z", logic={"c": COUNT}, groupings={"s>c": BY_VALUE})
    made = plan(of, {"c": 3})
    salts = Routes(made, layout(made)).salts
    assert [hash_of_int(salt) % KEY_GROUPS for salt in salts] == list(range(KEY_GROUPS))


def test_emulated_selectivity_sends_copies_and_parts() -> None:
    of = topology("s>a:2.5", "a>k")
    made = plan(of)
    found = list(Routes(made, layout(made)).candidates(0, False))
    assert [route.startswith("IF(") for route in found] == [False, False, True]


def refused(of: Topology, engine: str = "auto", match: str = "", **bound: object) -> None:
    with pytest.raises(SlotwiseError, match=re.escape(match)):
        outline(plan(of, engine=engine), bound)  # type: ignore[arg-type]


def test_refusals_name_the_operator() -> None:
    fewer = replace(COUNT, key_groups=4)
    two = topology(
        "s>c", "c>d", logic={"c": COUNT, "d": fewer}, groupings={"s>c": BY_VALUE, "c>d": BY_VALUE}
    )
    refused(two, match="aggregate 'd' has 4 key groups and 'c' has 8: in a Spark query they must")
    refused(topology("s>c", logic={"c": COUNT}), match="set grouping: {fields: value}")
    refused(
        topology("s>c", logic={"c": Logic(aggregate=(("n", "count(*)"),))}), match="'c' has no 'by'"
    )
    refused(topology("s>a", logic={"a": Logic(flat=True)}), match="'a' is flat")
    refused(topology("s>a", "a>a:0.5!", "a>k"), match="leads back to 'a'")
    refused(topology("s>a", logic={"a": Logic(python="nowhere:f")}), match="cannot import 'nowhere")
    refused(topology("s>a", logic={"a": Logic(python="f")}), match="expected module:function")
    refused(topology("s>a"), match="no such operator", b=len)
    refused(
        topology("s>a", logic={"a": Logic(options=(("rate", "1"),))}),
        match="sink 'a' has the option 'rate' and no format",
    )


@pytest.mark.parametrize("key", ["upper(value)", "window(ts, '1 minute')", "a.b", "my field, x"])
def test_the_grouping_that_a_refusal_asks_for_is_taken(key: str) -> None:
    of = partial(topology, "s>c", logic={"c": Logic(aggregate=(("by", key), ("n", "count(*)")))})
    with pytest.raises(SlotwiseError) as refused:
        outline(plan(of()))
    wanted = str(refused.value).rpartition("set grouping: ")[2]
    fields = YAML(typ="safe").load(wanted)["fields"]
    keys = (fields,) if isinstance(fields, str) else tuple(fields)
    outline(plan(of(groupings={"s>c": Grouping("fields", keys)})))


def test_what_cannot_be_together_in_an_operator() -> None:
    distinct = Logic(distinct=("value",))
    refused(topology("s>c", logic={"c": distinct}), match="of distinct 'c': set grouping: {fields:")
    two = Logic(expr="1", where="true")
    refused(topology("s>a", logic={"a": two}), match="'a' has both expr and where: keep one")
    skipping = replace(COUNT, on_error="skip")
    refused(
        topology("s>c", logic={"c": skipping}, groupings={"s>c": BY_VALUE}),
        match="'c' has on_error: skip, which aggregate cannot",
    )
    refused(topology("s>a", logic={"s": distinct}), match="source 's' has distinct: move it")


def test_an_aggregate_has_no_more_threads_than_key_groups() -> None:
    outline(counting(8))
    with pytest.raises(SlotwiseError, match="into 8 groups: set key_groups: 9 or more"):
        outline(counting(9))
    outline(counting(9, groups=9))


def on_batches(batch: object) -> "pyarrow.RecordBatch":  # type: ignore[name-defined]  # noqa: F821, UP037
    return batch


def test_python_on_batches_takes_micro_batches() -> None:
    of = topology("s>a")
    functions = functions_of(of, {"a": on_batches})
    assert mode_of(plan(of).pipeline, functions) == "micro-batch"
    refused(of, "real-time", "operator 'a' is a Python function on Arrow batches", a=on_batches)
    assert mode_of(plan(of).pipeline, functions_of(of, {"a": lambda value: value})) == "real-time"


def test_micro_batches_cannot_pass_an_aggregate() -> None:
    of = topology("s>c", "s>z", logic={"c": COUNT}, groupings={"s>c": BY_VALUE})
    refused(of, "micro-batch", "cannot pass tuples for 'z' through the level of aggregate 'c'")


def test_sources_that_real_time_mode_cannot_read_take_micro_batches() -> None:
    files = Logic(format="text", options=(("path", "in"),))
    of = topology("s>k", logic={"s": files})
    found = outline(plan(of))
    assert (found.mode, found.reading_stages) == ("micro-batch", 1)
    refused(of, "real-time", "source 's' reads text, which real-time mode cannot: set engine")
    assert outline(plan(topology("s>k"), engine="micro-batch")).reading_stages == 0


def test_a_topics_partitions_are_tasks_that_its_threads_share() -> None:
    options = (("kafka.bootstrap.servers", "host:9092"), ("subscribe", "a"))
    topic = Logic(format="kafka", options=options, partitions=3)
    of = topology("s>k", "t>k", logic={"s": topic})
    found = outline(plan(of, {"s": 2}))
    assert (found.mode, found.reading_stages) == ("real-time", 0)
    assert found.layout.tasks == (3, 1, 1)
    assert found.layout.task_thread.tolist() == [0, 0, 1, 2, 3]
    with pytest.raises(SlotwiseError, match="source 's' has 4 threads, and its topic 3 partitions"):
        outline(plan(of, {"s": 4}))


def test_records_of_a_topic_are_all_sent_whatever_the_plan_expects() -> None:
    options = (("kafka.bootstrap.servers", "here:1"), ("subscribe", "t"))
    of = topology("s>a:0.5", "a>k", logic={"s": Logic(format="kafka", options=options)})
    made = plan(of)
    (route,) = Routes(made, layout(made)).candidates(0, False)
    assert not route.startswith("IF(")
