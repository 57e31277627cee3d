"""Pipelines of paper 3's study with profiles that nobody measured."""

from __future__ import annotations

from dataclasses import replace

from slotwise.model import (
    Hop,
    Pipeline,
    Platform,
    ProfileForms,
    ServiceRate,
    TaskCosts,
    ThreadRow,
    ThreadTable,
)
from slotwise.studies.on_spark import p_deployer
from tests.profilers.made import MEASURED

CORES = 0.25
BUFFERS_US = 40.0
"""Of CPU for a tuple at the rates at which an operator is profiled."""


def profile(cpu_us: float, wait_ms: float = 0.0, memory_mb: float = 20.0) -> ProfileForms:
    """As one thread in a slot of CORES cores shows it."""
    slots = (cpu_us + BUFFERS_US) / 1e6 / CORES
    rate = min(1 / slots, 1000 / wait_ms) if wait_ms else 1 / slots
    cpu, memory = rate * slots, memory_mb / 512
    return ProfileForms(
        ThreadTable((ThreadRow(1, rate, cpu, memory),)),
        TaskCosts(100 * slots, 0.0, memory_mb / 2 / rate, wait_ms or cpu_us / 250),
        ServiceRate(rate, cpu, memory, arrival_scv=0.0, service_scv=0.1),
        MEASURED,
    )


MADE = {
    "io": profile(30),
    "cpu": profile(2000),
    "sojourn": profile(20, wait_ms=10),
    "memory": profile(10, memory_mb=40),
}


def platform(buffer_us: float = 150.0) -> Platform:
    hop = Hop(delay_ms=3.2, send_buffer_us=buffer_us, receive_buffer_us=buffer_us)
    return Platform(
        slot_cpu=0.025,
        in_slot=hop,
        in_node=hop,
        between_nodes=hop,
        flush_ms=5,
        buffer_bytes=32768,
        record_kb=0.1,
        cores=CORES,
    )


def linear(*types: str) -> Pipeline:
    small = p_deployer.small(p_deployer.linear(*types))
    by_operator = {**small.profiles.by_operator, **{name: MADE[name] for name in types}}
    profiled = replace(small, profiles=replace(small.profiles, by_operator=by_operator))
    return replace(p_deployer.in_proportion(profiled), platform=platform())
