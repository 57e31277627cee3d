"""Regressions on made data: the figures that made it come out exactly."""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from slotwise.model import SlotwiseError
from slotwise.profilers import platform
from slotwise.profilers.bench import Idle
from slotwise.profilers.case import Case
from slotwise.profilers.costs import service_rate, sojourn_ms, task_costs
from slotwise.profilers.platform import explain
from slotwise.profilers.trial import Distance, Trial
from tests.profilers.made import trial

COSTS = st.floats(1e-6, 1e-3)
PLACES: tuple[tuple[Distance, Distance], ...] = (
    ("cluster", "cluster"),
    ("cluster", "slot"),
    ("slot", "slot"),
    ("cluster", "node"),
)


def made(
    rate: float, out: float, source: Distance, next_hop: Distance, c_p: float, c_t: float
) -> Trial:
    """A trial whose CPU and memory follow P-Deployer's equations; 0.002 MB per tuple."""
    remote = (rate if source == "cluster" else 0.0) + (out if next_hop == "cluster" else 0.0)
    return replace(
        trial(),
        rate=rate,
        emitted_rate=out,
        source=source,
        next_hop=next_hop,
        cpu_cores=c_p * rate + c_t * remote,
        memory_mb=0.002 * (rate + out),
    )


@settings(deadline=None)  # the first example imports scipy
@given(c_p=COSTS, c_t=COSTS, rate=st.floats(1, 1e5), selectivity=st.floats(0, 5))
def test_task_costs_are_those_that_made_the_trials(
    c_p: float, c_t: float, rate: float, selectivity: float
) -> None:
    trials = [made(rate, selectivity * rate, *places, c_p, c_t) for places in PLACES]
    found = task_costs(trials)
    assert found.cpu_points == pytest.approx(100 * c_p, rel=1e-6)
    assert found.transfer_points == pytest.approx(100 * c_t, rel=1e-6)
    assert found.memory_mb == pytest.approx(0.002)
    assert found.sojourn_ms == 4.0


def test_points_are_of_the_slot() -> None:
    trials = [made(100, 100, *places, 1e-3, 1e-4) for places in PLACES]
    assert task_costs(trials, cores=0.5).cpu_points == pytest.approx(0.2)


def test_costs_are_never_negative() -> None:
    near = replace(made(100, 100, "slot", "slot", 1e-3, 0), cpu_cores=0.2)
    far = made(100, 100, "cluster", "cluster", 1e-3, 0)
    assert task_costs([near, far]).transfer_points == 0.0


def test_an_operator_that_handled_nothing_has_no_costs() -> None:
    with pytest.raises(SlotwiseError, match="handled no tuple"):
        task_costs([replace(trial(), rate=0.0)])


def test_the_sojourn_time_is_that_of_the_fewest_threads() -> None:
    slow = replace(trial(threads=4), service_ms=9.0)
    assert sojourn_ms([trial(threads=1), slow]) == 4.0
    assert sojourn_ms([replace(trial(), service_ms=None)]) == 0.0


def test_a_service_rate_is_of_a_busy_thread() -> None:
    seen = replace(trial(rate=100.0), cpu_cores=0.1, memory_mb=51.2)  # busy 40 % of the time
    found = service_rate(seen, 512.0, cores=0.5, arrival_scv=0.3)
    assert (found.rate, found.service_scv, found.arrival_scv) == (250.0, 0.5, 0.3)
    assert found.cpu == pytest.approx(0.1 / 0.5 / 0.4)
    assert found.mem == pytest.approx(0.1)


def test_a_thread_is_no_faster_than_its_slot() -> None:
    """4 ms of time and 5 ms of a slot's CPU per tuple: the engine works while the thread waits."""
    seen = replace(trial(rate=100.0), cpu_cores=0.25)
    found = service_rate(seen, 512.0, cores=0.5)
    assert (found.rate, found.cpu) == pytest.approx((200.0, 1.0))


def test_memory_that_was_not_measured_is_not_taken_for_none() -> None:
    with pytest.raises(SlotwiseError, match="the memory of operator 'pi' was not measured"):
        service_rate(replace(trial(), memory_mb=None), 512.0)


@settings(deadline=None)
@given(buffer_s=st.floats(1e-5, 1e-3), tuple_s=st.floats(1e-7, 1e-4))
def test_buffers_and_tuples_are_told_apart(buffer_s: float, tuple_s: float) -> None:
    trials = [
        replace(
            trial(threads),
            rate=rate,
            emitted_rate=rate,
            source="cluster",
            next_hop="cluster",
        )
        for threads in platform.THREADS
        for rate in platform.RATES
    ]
    trials = [
        replace(
            each,
            cpu_cores=platform.buffers_per_s(each, platform.SMALL_BYTES) * buffer_s
            + each.rate * tuple_s,
        )
        for each in trials
    ]
    found = explain(trials)
    assert found.buffer_s == pytest.approx(buffer_s, rel=1e-6)
    assert found.tuple_s == pytest.approx(tuple_s, rel=1e-6)


def test_both_ends_of_a_hop_within_the_slot_count() -> None:
    """400 tuples/s to each of two threads: 400 / (1 + 400 · 5 ms) buffers/s to and from each."""
    far = replace(trial(2), rate=800.0, emitted_rate=800.0, source="cluster", next_hop="cluster")
    per_hop = 2 * 400 / 3
    assert platform.buffers_per_s(far, 100) == pytest.approx(2 * per_hop)
    near = replace(far, next_hop="slot")
    assert platform.buffers_per_s(near, 100) == pytest.approx(3 * per_hop)


def test_hops_of_a_small_slot_are_those_that_made_the_trials(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """0.2 ms for a buffer, 5 µs for a tuple, 4 ms for a hop; 5 ms/s for a waiting thread, 3 for one
    that is busy.
    """

    def made(bench: object, case: Case, threads: int, rate: float, *_: object) -> Trial:
        far = replace(trial(threads, rate), emitted_rate=rate, source="cluster", next_hop="cluster")
        cores = 0.005 * (threads - 1)
        if case.name.startswith("busy"):
            cores -= 0.002 * rate * platform.BUSY_MS / 1000
        if rate != platform.IDLE_RATE:
            cores += 2e-4 * platform.buffers_per_s(far, platform.SMALL_BYTES) + 5e-6 * rate
        return replace(far, cpu_cores=cores, service_ms=0.5, latency_ms=8.5)

    monkeypatch.setattr(platform, "trial", made)
    monkeypatch.setattr(platform, "records", lambda bench, size_bytes: None)
    bench = SimpleNamespace(idle=Idle(0.03, 47.0), cores=0.25)
    found, trials = platform.measure_hops(bench)  # type: ignore[arg-type]
    assert found.between_nodes.send_buffer_us == pytest.approx(200.0)
    assert (found.slot_cpu, found.thread_cpu) == pytest.approx((0.025, 0.005))
    assert found.polling_cpu == pytest.approx(0.002)
    assert found.between_nodes.receive_us == pytest.approx(2.5)
    assert found.in_slot == found.in_node == found.between_nodes
    assert found.in_slot.delay_ms == pytest.approx(4.0)
    assert (found.slot_memory_mb, found.cores) == (47.0, 0.25)
    assert len(trials) == len(platform.SLOW)
