"""Random pipelines with all that a spec file can say, for hypothesis."""

from __future__ import annotations

from dataclasses import replace

from hypothesis import strategies as st

from slotwise.model import (
    Choice,
    Cluster,
    FixedLoad,
    Goals,
    Grouping,
    Hop,
    Logic,
    Measurement,
    NetworkDelays,
    Node,
    Pipeline,
    Platform,
    ProfileForms,
    Profiles,
    Scheduler,
    ServiceRate,
    Stream,
    TaskCosts,
    ThreadRow,
    ThreadTable,
    Topology,
    VmType,
)
from slotwise.testing.strategies import groupings, topologies

names = st.one_of(
    st.sampled_from(["o", "a b", "1", "true", "null", "1e3", "~", "- x", "{y}", "ü→", "#", "<<"]),
    st.text(st.characters(codec="utf-8"), min_size=1, max_size=8),
)
"""Text that YAML could take for something else."""
positive = st.floats(1e-6, 1e9) | st.integers(1, 10_000).map(float)
not_negative = st.just(0.0) | positive


@st.composite
def named_topologies(draw: st.DrawFn) -> Topology:
    """A random topology with arbitrary names, logic, field groupings, and perhaps a loop."""
    plain = draw(topologies())
    called = dict(
        zip(
            plain.index,
            draw(st.lists(names, min_size=len(plain.index), max_size=9, unique=True)),
            strict=False,
        )
    )
    operators = tuple(
        replace(o, name=called[o.name], share=draw(positive), logic=draw(logics))
        for o in plain.operators
    )
    streams = [
        replace(
            s,
            source=called[s.source],
            target=called[s.target],
            grouping=draw(groupings | field_groupings),
        )
        for s in plain.streams
    ]
    if draw(st.booleans()):
        last = operators[-1].name
        streams.append(Stream(last, last, draw(st.floats(0.01, 0.9)), loop=True))
    return Topology(draw(names), operators, tuple(streams), draw(st.none() | st.integers(1, 50)))


field_groupings = st.lists(names, min_size=1, max_size=3).map(
    lambda fields: Grouping("fields", tuple(fields))
)
logics = st.builds(
    Logic,
    expr=st.none() | st.text(max_size=20),
    flat=st.booleans(),
    aggregate=st.dictionaries(names, st.text(max_size=8), max_size=2).map(
        lambda columns: tuple(columns.items())
    ),
    key_groups=st.sampled_from([1, 8, 64]),
    python=st.none() | names,
)
thread_tables = st.lists(st.integers(1, 100), min_size=1, max_size=4, unique=True).flatmap(
    lambda counts: st.tuples(
        *(
            st.builds(ThreadRow, st.just(n), positive, not_negative, not_negative)
            for n in sorted(counts)
        )
    ).map(ThreadTable)
)
task_costs = st.builds(TaskCosts, positive, not_negative, not_negative, not_negative)
service_rates = st.builds(ServiceRate, positive, *[not_negative] * 4)
measurements = st.builds(
    Measurement,
    st.datetimes().map(lambda at: f"{at.isoformat()}Z"),
    names,
    names,
    names,
    st.none() | positive,
    st.none() | positive,
    st.integers(1, 99),
    st.none() | not_negative,
    st.sampled_from(["experiment", "run"]),
)
profile_forms = st.builds(
    ProfileForms,
    st.none() | thread_tables,
    st.none() | task_costs,
    service_rates,
    st.none() | measurements,
)
platforms = st.builds(
    lambda slot, polling, others, *more: Platform(slot, polling + others, polling, *more),
    *[not_negative] * 4,
    *[st.builds(Hop, *[not_negative] * 4)] * 3,
    *[not_negative] * 6,
    positive,
    st.none() | measurements,
)
profiles = st.one_of(
    thread_tables,
    task_costs,
    service_rates,
    profile_forms,
    st.builds(FixedLoad, st.integers(1, 5), not_negative, not_negative),
)
choices = st.builds(
    Choice,
    names,
    st.dictionaries(names, st.booleans() | st.integers(-9, 9) | positive | names, max_size=2),
)


@st.composite
def pipelines(draw: st.DrawFn) -> Pipeline:
    """Any pipeline a spec file can describe, with either a catalog or a cluster."""
    topology = draw(named_topologies())
    slot_memory_gb = draw(st.floats(0.01, 1000))
    machine = (st.integers(1, 9), positive, not_negative, positive)
    called = draw(st.lists(names, min_size=1, max_size=4, unique=True))
    catalog, cluster = (), None
    if draw(st.booleans()):
        catalog = tuple(draw(st.builds(VmType, st.just(name), *machine)) for name in called)
    else:
        rest = (names, st.none() | names)
        nodes = (draw(st.builds(Node, st.just(name), *machine, *rest)) for name in called)
        cluster = Cluster(tuple(nodes), slot_memory_gb)
    goal = st.none() | positive
    return Pipeline(
        topology,
        Profiles({o.name: draw(profiles) for o in topology.operators}, slot_memory_gb * 1024),
        catalog,
        cluster,
        draw(st.builds(Goals, goal, goal, st.none() | st.integers(1, 99))),
        draw(st.builds(NetworkDelays, *[not_negative] * 4)),
        draw(st.just(Scheduler()) | st.builds(Scheduler, choices, choices, choices)),
        platform=draw(st.just(Platform()) | platforms),
    )
