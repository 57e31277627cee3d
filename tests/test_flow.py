"""Flows: pipelines written in Python are those of spec files, and know the program's lines."""

from __future__ import annotations

import importlib
import re
from collections.abc import Iterator
from contextlib import nullcontext
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import slotwise
from slotwise import Flow
from slotwise.flow import DataStream
from slotwise.model import (
    FixedLoad,
    Grouping,
    Join,
    Logic,
    Node,
    Pipeline,
    Refused,
    ServiceRate,
    SlotwiseError,
    Stream,
    Topology,
    VmType,
)
from slotwise.spec import dump, loads
from slotwise.spec.rewriting import profiles_text
from slotwise.testing.strategies import groupings, topologies
from tests.strategies import field_groupings, names, positive

HERE = Path(__file__).name
CLUSTER = (Node("left", 2, 4.0), Node("right", 1, 2.0))


def upper(value: Any) -> Any:
    """Can be imported, so it is in the spec."""
    return value


def words(**given: Any) -> Flow:
    flow = Flow("words", **given)
    lines = flow.read("lines", payload="words(5)")
    split = lines.flat_map("split", "split(value, ' ')", selectivity=5)
    split.group("count", by="value", n="count(*)").write("out")
    return flow


PROFILES = {
    "lines": FixedLoad(),
    "split": ServiceRate(5000.0),
    "count": ServiceRate(20_000.0),
    "out": FixedLoad(),
}


def test_a_flow_is_the_topology_of_the_spec_file() -> None:
    assert (
        words().topology
        == loads(
            """
        topology:
          name: words
          operators:
            lines: {kind: source, options: {payload: words(5)}}
            split: {expr: "split(value, ' ')", flat: true}
            count: {aggregate: {by: value, n: count(*)}}
            out: {kind: sink}
          streams:
            - {from: lines, to: split}
            - {from: split, to: count, selectivity: 5, grouping: {fields: value}}
            - {from: count, to: out}
        profiles: {lines: {fixed: {}}, split: {fixed: {}}, count: {fixed: {}}, out: {fixed: {}}}
        catalog: [{type: small, slots: 1, memory_gb: 1}]
        """
        ).topology
    )


def test_names_are_derived_and_never_twice() -> None:
    flow = Flow("derived")
    read = flow.read()
    read.map(upper).map(upper).map("upper(value)").map(lambda value: value).where("value > 'a'")
    read.flat_map("split(value, ' ')").group(by="value", n="count(*)").write()
    flow.read().write()
    assert [operator.name for operator in flow.topology.operators] == [
        *("source", "upper", "upper-2", "map", "map-2", "where", "flat_map", "group", "sink"),
        *("source-2", "sink-2"),
    ]


def test_a_function_is_in_the_spec_if_it_can_be_imported() -> None:
    flow = Flow("functions")
    flow.read("s").map("a", upper).map("b", lambda value: value)
    logic = {operator.name: operator.logic for operator in flow.topology.operators}
    assert logic["a"] == Logic(python=f"{__name__}:upper")
    assert logic["b"].is_empty
    assert set(flow.bound) == {"b"}
    (remark,) = re.findall("# .*", str(flow))
    assert remark.startswith("# operator 'b' computes the function ")
    assert HERE in remark


def test_conditions() -> None:
    flow = Flow("conditions")
    flow.read("s").where("large", "amount > 100", selectivity=0.25).write("out")
    of = flow.topology
    assert of.operators[1].logic == Logic(where="amount > 100")
    assert of.streams[1] == Stream("large", "out", 0.25)


def test_streams_unite_branch_and_loop_with_any_grouping() -> None:
    flow = Flow("shapes")
    one, two = flow.read("one"), flow.read("two", share=0.5)
    both = one.union(two.routed("shuffle")).map("both", "value", selectivity=2)
    both.routed(fields=("a", "b"), selectivity=0.1).map("keyed", "value")
    both.map("again", "value").routed(selectivity=0.2).back_to(both)
    assert flow.topology.streams == (
        Stream("one", "both"),
        Stream("two", "both", grouping=Grouping("shuffle")),
        Stream("both", "keyed", 0.1, Grouping("fields", ("a", "b"))),
        Stream("both", "again", 2),
        Stream("again", "both", 0.2, loop=True),
    )
    assert [operator.share for operator in flow.topology.sources] == [1.0, 0.5]


class Sessions:
    """Stands for a StatefulProcessor, which a flow does not look into."""


def test_a_flow_knows_its_brokers_once() -> None:
    flow = Flow("orders", kafka={"bootstrap.servers": "here:1"})
    read = flow.read("orders", format="kafka", topic="orders", schema="n BIGINT")
    back = read.through("retry", topic="retry", schema="n BIGINT")
    back.write("out", format="kafka", topic="out", **{"kafka.bootstrap.servers": "there:1"})
    back.write("files", format="json", path="out")
    servers = [
        dict(operator.logic.options).get("kafka.bootstrap.servers")
        for operator in flow.topology.operators
    ]
    assert servers == ["here:1", "here:1", "there:1", None]
    names = [operator.name for operator in flow.topology.operators]
    profiles = "profiles: {" + ", ".join(f"{name}: {{fixed: {{}}}}" for name in names) + "}\n"
    assert loads(str(flow) + profiles).topology == flow.topology


def test_what_is_not_sql_is_in_the_spec_too() -> None:
    flow = Flow("others")
    tries = flow.read("orders", expr="struct(id AS n)").java("even", of="org.example.Even")
    made = tries.java("twice", of="org.example.Twice", schema="n BIGINT", flat=True)
    servers = {"kafka.bootstrap.servers": "here:1"}
    back = made.through("retry", topic="retry", schema="n BIGINT", partitions=2, **servers)
    back.routed(selectivity=0.1).back_to(tries)
    states = made.process("states", Sessions, by="n", schema="n BIGINT", key_groups=4)
    windows = states.group("windows", by="window(ts, '1 minute')", lateness="5 seconds", n="sum(n)")
    windows.write("kept", foreach=upper)
    windows.write("files", format="parquet", path="out")
    logic = {operator.name: operator.logic for operator in flow.topology.operators}
    options = (("topic", "retry"), ("kafka.bootstrap.servers", "here:1"))
    assert logic["even"] == Logic(java="org.example.Even")
    assert logic["twice"] == Logic(java="org.example.Twice", schema="n BIGINT", flat=True)
    link = Logic(format="kafka", options=options, schema="n BIGINT", partitions=2)
    assert logic["retry"] == link
    keeping = Logic(python=f"{__name__}:Sessions", stateful=("n",), schema="n BIGINT", key_groups=4)
    assert logic["states"] == keeping
    assert dict(logic["windows"].aggregate)["lateness"] == "5 seconds"
    assert logic["kept"] == Logic(format="foreach", python=f"{__name__}:upper")
    assert logic["files"] == Logic(format="parquet", options=(("path", "out"),))
    keys = {stream.target: stream.grouping for stream in flow.topology.streams}
    assert keys["states"] == Grouping("fields", ("n",))
    profiles = "profiles: {" + ", ".join(f"{name}: {{fixed: {{}}}}" for name in logic) + "}\n"
    assert loads(str(flow) + profiles).topology == flow.topology


def test_a_handle_is_a_value() -> None:
    flow = Flow("values")
    read = flow.read("s")
    assert read.routed("shuffle") == read.routed("shuffle") != read
    assert read.routed(selectivity=0.5) == read.routed(selectivity=0.5)
    assert [operator.name for operator in flow.topology.operators] == ["s"]


def test_options_are_written_as_spark_has_them() -> None:
    flow = Flow("options")
    flow.read("s", payload="id", records=10, **{"arrivals": "poisson"})
    assert flow.topology.operators[0].logic.options == (
        *(("payload", "id"), ("records", "10"), ("arrivals", "poisson")),
    )


# -- the spec file --------------------------------------------------------------------------------


def imported(path: str) -> Any:
    module, name = path.split(":")
    return getattr(importlib.import_module(module), name)


def rebuilt(of: Topology) -> Flow:
    """The same topology, operator by operator."""
    flow = Flow(of.name)
    flow.workers = of.workers
    made: dict[str, DataStream] = {}
    for position, operator in enumerate(of.operators):
        logic, name = operator.logic, operator.name
        inputs = [
            made[stream.source].routed(
                stream.grouping.kind, fields=stream.grouping.fields, selectivity=stream.selectivity
            )
            for stream in (of.streams[i] for i in of.inputs[position])
            if not stream.loop
        ]
        if operator.kind == "source":
            made[name] = flow.read(
                name, expr=logic.expr, share=operator.share, **dict(logic.options)
            )
            continue
        into = inputs[0].union(*inputs[1:])
        made_of = logic.expr if logic.python is None else imported(logic.python)
        if operator.kind == "sink":
            into.write(name, expr=made_of, on_error=logic.on_error)
        elif logic.where:
            made[name] = into.where(name, logic.where, on_error=logic.on_error)
        elif logic.join:
            join = logic.join
            made[name] = into.join(
                name,
                table=join.table,
                schema=join.schema,
                on=join.on,
                how=join.how,
                format=join.format,
                **dict(join.options),
            )
        elif logic.distinct:
            made[name] = into.drop_duplicates(name, by=logic.distinct, key_groups=logic.key_groups)
        elif logic.aggregate:
            given = dict(logic.aggregate)
            made[name] = into.group(name, by=given.pop("by"), key_groups=logic.key_groups, **given)
        elif logic.flat:
            made[name] = into.flat_map(name, made_of, on_error=logic.on_error)
        else:
            made[name] = into.map(name, made_of, on_error=logic.on_error)
    for stream in of.streams:
        if stream.loop:
            last = made[stream.source].routed(
                stream.grouping.kind, fields=stream.grouping.fields, selectivity=stream.selectivity
            )
            last.back_to(made[stream.target])
    return flow


computed = (
    st.builds(Logic, st.text(max_size=9), st.booleans(), on_error=st.sampled_from(["fail", "skip"]))
    | st.builds(Logic, where=names, on_error=st.sampled_from(["fail", "skip"]))
    | st.builds(
        Logic,
        join=st.builds(
            Join,
            names,
            names,
            st.lists(names, min_size=1, max_size=2).map(tuple),
            names,
            st.sampled_from([(), (("header", "true"),)]),
            st.sampled_from(["inner", "left"]),
        ),
    )
    | st.builds(
        Logic,
        distinct=st.lists(names, min_size=1, max_size=3).map(tuple),
        key_groups=st.integers(1, 64),
    )
    | st.builds(
        Logic,
        aggregate=st.dictionaries(names.filter(lambda n: n not in ("key_groups", "by")), names).map(
            lambda results: (("by", "key"), *results.items())
        ),
        key_groups=st.integers(1, 64),
    )
)
sources = st.builds(
    Logic, expr=st.none() | st.text(max_size=9), options=st.just(()) | st.just((("seed", "1"),))
)


@st.composite
def buildable(draw: st.DrawFn) -> Topology:
    """Any topology that verbs can say, with names that YAML could take for something else."""
    plain = draw(topologies(6))
    called = draw(st.lists(names, min_size=6, max_size=6, unique=True))
    new = {operator.name: called[i] for i, operator in enumerate(plain.operators)}
    operators = tuple(
        replace(
            o,
            name=new[o.name],
            share=draw(positive) if o.kind == "source" else 1.0,
            logic=draw(sources if o.kind == "source" else computed),
        )
        for o in plain.operators
    )
    streams = tuple(
        replace(
            s,
            source=new[s.source],
            target=new[s.target],
            grouping=draw(groupings | field_groupings),
        )
        for s in plain.streams
    )
    if draw(st.booleans()):
        streams += (Stream(operators[-1].name, operators[-1].name, 0.5, loop=True),)
    return Topology(draw(names), operators, streams, draw(st.none() | st.integers(1, 9)))


@settings(max_examples=20, deadline=None)
@given(buildable())
def test_what_is_printed_is_the_spec_of_the_same_topology(of: Topology) -> None:
    flow = rebuilt(of)
    assert flow.topology == of
    flow.given = {"profiles": dict.fromkeys(of.index, FixedLoad()), "cluster": CLUSTER}
    assert loads(str(flow)) == flow.pipeline()
    assert str(flow) == dump(flow.pipeline())


@pytest.mark.parametrize("name", ["word-count", "twitter-sentiment", "grid", "loop", "vld"])
def test_bundled_pipelines_can_be_written_as_flows(name: str) -> None:
    of = slotwise.load(name).topology
    again = rebuilt(of).topology
    assert again.operators == of.operators
    assert set(again.streams) == set(of.streams)


def test_only_profiles_that_are_known_are_printed() -> None:
    flow = words()
    assert "profiles:" not in str(flow)
    flow.given["profiles"] = {"split": FixedLoad(2)}
    assert "profiles:\n  split:\n    fixed: {threads: 2}\ncluster:" in str(flow)


# -- planning -------------------------------------------------------------------------------------


def test_a_flow_is_planned_for_the_goals_that_are_asked_for() -> None:
    flow = words(profiles=PROFILES, cluster=CLUSTER)
    plan = flow.plan(rate=1000, latency_p99_ms=200, allocator="mba", placer="sam")
    assert plan.rate == plan.pipeline.goals.rate == 1000
    assert plan.pipeline.goals.latency_p99_ms == 200
    assert plan.pipeline.cluster is not None
    assert plan.pipeline.slot_memory_gb == 2.0
    assert loads(dump(plan.pipeline)) == plan.pipeline
    assert flow.simulate(plan, tuples=1000).origin == "simulated"


def test_what_is_given_to_plan_is_in_place_of_the_flows() -> None:
    flow = words(profiles=PROFILES, cluster=CLUSTER, rate=100)
    catalog = (VmType("small", 2, 2.0, 0.1),)
    more = {"split": ServiceRate(10.0)}
    pipeline = flow.pipeline(catalog=catalog, profiles=more, engine="micro-batch")
    assert (pipeline.catalog, pipeline.cluster) == (catalog, None)
    assert pipeline.goals.rate == 100
    assert pipeline.engine == "micro-batch"
    assert pipeline.profiles.by_operator["split"] == ServiceRate(10.0)
    assert flow.pipeline().profiles.by_operator["split"] == PROFILES["split"]


def test_without_machines_it_is_this_one(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("os.cpu_count", lambda: 3)
    cluster = words(profiles=PROFILES).pipeline().cluster
    assert cluster is not None
    assert cluster.nodes == (Node("this-machine", 3, 1.5),)
    assert cluster.slot_memory_gb == 0.5


def test_profiles_of_a_file(tmp_path: Path) -> None:
    file = tmp_path / "words.profiles.yaml"
    file.write_text(profiles_text({**PROFILES, "other": FixedLoad()}), encoding="utf-8")
    assert words(profiles=file).pipeline().profiles.by_operator == PROFILES


def test_what_was_measured_is_kept_also_if_another_operator_fails(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    pytest.importorskip("pyspark")
    from slotwise.profilers import experiment
    from slotwise.profilers.trial import Profiled

    asked: list[Any] = []

    def measure(on: Any, of: Pipeline, names: Any, *_: Any, bound: Any, **__: Any) -> Iterator[Any]:
        asked.append((tuple(of.profiles.by_operator), names, set(bound)))
        yield Profiled("a", ServiceRate(70.0), ())
        yield experiment.Failed("b", "it is too slow")

    monkeypatch.setattr(experiment, "prepared", lambda *given: nullcontext())
    monkeypatch.setattr(experiment, "measure", measure)
    flow = Flow("measured")
    flow.read("s").map("a", upper).map("b", lambda value: value)  # measured
    text = f"{place('measured')}operator 'b' was not measured: it is too slow"
    refused(lambda: flow.profile("a", "b"), text)
    assert asked == [(("s", "a", "b"), ("a", "b"), {"b"})]
    assert flow.profiles == {"a": ServiceRate(70.0)}
    refused(lambda: flow.profile("c"), "there is no operator 'c'")


# -- errors ---------------------------------------------------------------------------------------


def place(of: str) -> str:
    """The line of this file with this text, as errors name it."""
    lines = Path(__file__).read_text(encoding="utf-8").splitlines()
    (number,) = [i for i, line in enumerate(lines, 1) if line.endswith(f"# {of}")]
    return f"{HERE}, line {number}: "


def refused(make: Any, text: str) -> None:
    with pytest.raises(SlotwiseError, match=re.escape(text)) as error:
        make()
    assert "\n" not in str(error.value)


def test_an_operator_without_a_profile_is_named_with_its_line() -> None:
    flow = Flow("bare", profiles={"s": FixedLoad()}, rate=1)
    flow.read("s").map("a", "value")  # bare
    refused(flow.plan, f"{place('bare')}operator 'a' has no profile: measure it by flow.profile")


def test_what_the_model_refuses_is_told_with_its_line() -> None:
    flow = Flow("twice")
    read = flow.read("s")
    read.union(read).map("a", "value")  # united
    refused(lambda: flow.topology, f"{place('united')}duplicate stream s → a")
    other = Flow("unknown option")
    other.read("s", paylod="id")  # option
    refused(lambda: other.topology, f"{place('option')}source 's' has no option 'paylod'")


def test_names_and_values_are_checked_where_they_are_given() -> None:
    flow = Flow("wrong")
    read = flow.read("s")
    refused(lambda: flow.read("s"), "there is an operator 's' already")
    refused(lambda: read.map("a", 5), "operator 'a': 5 is neither Spark SQL, nor a PySpark column")
    refused(lambda: read.map("a", "value", "b"), "map takes a name and what to compute")
    refused(lambda: read.group(by=upper, n="count(*)"), "is a function: expected Spark SQL")
    refused(lambda: read.union(Flow("other").read()), "cannot be united with flow 'other'")
    refused(lambda: Flow("x", clusters=()), "a flow has no 'clusters': did you mean 'cluster'?")
    refused(lambda: flow.pipeline(rat=5), "a flow has no 'rat': did you mean 'rate'?")
    refused(lambda: Flow("empty").topology, "the topology has no operators")


def test_a_refusal_stays_one() -> None:
    flow = words(profiles=PROFILES, cluster=CLUSTER[1:])
    with pytest.raises(Refused):
        flow.plan(rate=100_000, allocator="mba", placer="sam")


def test_a_plan_for_another_version_of_the_flow_is_refused() -> None:
    flow = words(profiles=PROFILES, cluster=CLUSTER)
    plan = flow.plan(rate=100, allocator="mba", placer="sam")
    flow.read("more")
    refused(lambda: flow.run(plan), "the plan is not for flow 'words' as it is now")
