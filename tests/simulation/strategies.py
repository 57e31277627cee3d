"""Random plans, with every grouping, and random options, for hypothesis."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from hypothesis import assume
from hypothesis import strategies as st

from slotwise.model import (
    CommunicationSchedule,
    FixedLoad,
    Grouping,
    Hop,
    NetworkDelays,
    Pipeline,
    Placement,
    Plan,
    Platform,
    Profiles,
    Schedule,
    ServiceRate,
    TaskCosts,
    Topology,
)
from slotwise.rates import arrival_rates
from slotwise.simulation import Arrivals, Keys, Network, Options, Routing, ServiceTimes
from slotwise.testing.strategies import allocations, clusters, topologies
from tests.plannable import placed_anywhere

groupings = st.one_of(
    st.sampled_from(["shuffle", "all", "global", "direct", "weighted", "local-or-shuffle"]).map(
        Grouping
    ),
    st.just(Grouping("fields", ("key",))),
)

hops = st.builds(
    Hop,
    *[st.sampled_from([0.0, 20.0, 900.0])] * 2,
    delay_ms=st.sampled_from([0.0, 0.3, 2.0]),
    send_buffer_us=st.sampled_from([0.0, 150.0]),
    receive_buffer_us=st.sampled_from([0.0, 120.0]),
)
platforms = st.builds(
    Platform,
    slot_cpu=st.sampled_from([0.0, 0.02]),
    thread_cpu=st.sampled_from([0.004, 0.006]),
    polling_cpu=st.sampled_from([0.0, 0.004]),
    in_slot=hops,
    in_node=hops,
    between_nodes=hops,
    source_us=st.sampled_from([0.0, 30.0]),
    sink_us=st.sampled_from([0.0, 50.0]),
    meter_us=st.sampled_from([0.0, 5.0]),
    flush_ms=st.just(5.0),
    buffer_bytes=st.just(32_768.0),
    record_kb=st.sampled_from([0.0, 2.0]),
    cores=st.sampled_from([0.25, 1.0]),
)
buffered_platforms = platforms.map(
    lambda platform: replace(
        platform, in_node=replace(platform.in_node, send_buffer_us=90.0, receive_buffer_us=60.0)
    )
)


@st.composite
def plans(draw: st.DrawFn) -> Plan:
    """Up to 6 operators, loaded from idle to too much; at most 60 visits per input."""
    bare = draw(topologies(largest=6))
    topology = Topology(
        "random",
        bare.operators,
        tuple(replace(stream, grouping=draw(groupings)) for stream in bare.streams),
    )
    allocation = draw(allocations(topology))
    visits = arrival_rates(topology, 1.0, allocation.threads).operators
    assume(visits.sum() < 60)
    profiles = {}
    for position, entry in enumerate(allocation):
        needed = allocation.rate * visits[position] / entry.threads
        profiles[entry.operator] = draw(
            st.sampled_from(
                [
                    FixedLoad(1, 0.1, 0.1),
                    ServiceRate(needed * 1.3, cpu=0.1),
                    ServiceRate(needed * 2, cpu=0.2, service_scv=0.5),
                    TaskCosts(cpu_points=40 / needed, transfer_points=10 / needed),
                ]
            )
        )
    cluster = draw(clusters())
    delays = draw(st.sampled_from([NetworkDelays(), NetworkDelays(0, 0, 0, 0)]))
    pipeline = Pipeline(
        topology,
        Profiles(profiles, 3584.0),
        cluster=cluster,
        network=delays,
        platform=draw(st.just(Platform()) | platforms),
    )
    rising = {e.operator: tuple(float(n + 1) for n in range(e.threads)) for e in allocation}
    return replace(draw(placed_anywhere(pipeline, allocation)), weights=rising)


@st.composite
def replanned(draw: st.DrawFn, plan: Plan) -> Plan:
    """The same pipeline and rate with other threads per operator, elsewhere on the cluster."""
    allocation = draw(allocations(plan.pipeline.topology))
    threads = tuple(allocation.threads.tolist())
    visits = arrival_rates(plan.pipeline.topology, 1.0, threads).operators
    assume(visits.sum() < 60)
    slot = st.integers(0, plan.cluster.slots - 1)
    slots = draw(st.lists(slot, min_size=sum(threads), max_size=sum(threads)))
    return replace(
        plan,
        allocation=replace(allocation, rate=plan.rate),
        placement=Placement("random", threads, np.array(slots)),
        weights={
            entry.operator: tuple(float(n + 1) for n in range(entry.threads))
            for entry in allocation
        },
    )


def stepped(plan: Plan) -> Plan:
    """With steps as paper 4 has them: a Latin square, and two stall steps."""
    nodes = np.arange(len(plan.cluster.nodes))
    schedule = CommunicationSchedule((nodes[:, None] + nodes) % len(nodes), stall_steps=2)
    return replace(plan, placement=replace(plan.placement, schedule=schedule))


def linked(plan: Plan, load: float) -> Network:
    """One link that carried all tuples of the plan would be loaded so much."""
    visits = arrival_rates(plan.pipeline.topology, plan.rate, plan.allocation.threads).operators
    link_s = load / float(visits.sum())
    return Network(tuple_bytes=1000.0, bandwidth_mb_per_s=1e-3 / link_s)


@st.composite
def options(draw: st.DrawFn) -> Options:
    """What both kernels can do."""
    schedules = [None, Schedule.step(1, 2), Schedule.sine(3, 0.5), Schedule.burst(2, 0.5, 3)]
    kinds = [Arrivals(k, draw(st.sampled_from(schedules))) for k in ("poisson", "uniform")]
    kinds += [Arrivals("constant", spread=0.3), Arrivals("trace", trace_s=(0.0, 1.0, 1.0, 4.0))]
    services = [
        ServiceTimes(),
        ServiceTimes("deterministic"),
        ServiceTimes("lognormal", 2.0),
        ServiceTimes("gamma", 3.0),
        ServiceTimes("samples", samples=(1.0, 2.0, 6.0)),
    ]
    return Options(
        arrivals=draw(st.sampled_from(kinds)),
        service=draw(st.sampled_from(services)),
        keys=draw(st.sampled_from([Keys(number=7), Keys("zipf", 20, 1.2, forwarded=0.5)])),
        routing=Routing(
            draw(st.sampled_from(["round-robin", "random"])),
            draw(st.sampled_from(["fixed", "random"])),
            draw(st.sampled_from(["own", "own", "shared"])),
        ),
        network=draw(st.sampled_from([Network(), Network(send_ms=0.2, receive_ms=0.1)])),
        tuples=draw(st.integers(1, 300)),
        warm_up=draw(st.sampled_from([0.0, 0.2])),
        seed=draw(st.integers(0, 1000)),
        windows=draw(st.integers(1, 30)),
    )
