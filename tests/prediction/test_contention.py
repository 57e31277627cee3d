"""How long measured operators take of a thread at less than their peak, worked out by hand."""

from __future__ import annotations

import itertools
from dataclasses import replace

import pytest

from slotwise.model import Measurement, Plan, Profile, ProfileForms, ThreadRow, ThreadTable
from slotwise.prediction import predict
from slotwise.simulation import Arrivals, simulate
from tests.builders import cluster, topology
from tests.simulation.builders import plan

MEASURED = Measurement("2026-11-18T09:30:00Z", "4.3.0", "17.0.1", "Some CPU", cores=1.0)


def measured(*rows: tuple[int, float, float], source: str = "experiment") -> ProfileForms:
    """(threads, rate, CPU) of each row."""
    table = ThreadTable(tuple(ThreadRow(n, rate, cpu, 0.1) for n, rate, cpu in rows))
    return ProfileForms(table, measurement=replace(MEASURED, source=source))  # type: ignore[arg-type]


COMPUTES = measured((1, 100.0, 1.0), (4, 100.0, 1.0))
"""10 ms of CPU: four threads do no more than one."""
WAITS = measured((1, 100.0, 0.1), (4, 200.0, 0.2))
"""10 ms alone, 1 ms of it CPU; with four threads something else holds them up at the peak."""


def at(profile: Profile, threads: int, rate: float, *others: Profile) -> Plan:
    """`a` has the profile, operators after it the other ones, one thread each, all in one slot."""
    names = ["a", *(f"o{number}" for number in range(len(others)))]
    chain = topology("in>a", *(f"{a}>{b}" for a, b in itertools.pairwise(names)))
    profiles = dict(zip(names, (profile, *others), strict=True))
    return plan(chain, profiles, {"a": threads}, rate=rate, cluster=cluster(1, 1))


@pytest.mark.parametrize(
    ("profile", "rate", "service_ms"),
    [
        (COMPUTES, 1e-6, 10.0),  # alone in its slot
        (COMPUTES, 50.0, 10.0 / (1 - 3 / 8)),  # the other three take 3/8 of the CPU
        (COMPUTES, 99.99, 40.0),  # all four at their peak
        (WAITS, 1e-6, 10.0),
        (WAITS, 100.0, 9.0 + 1.0 / (1 - 3 / 40)),
        (WAITS, 199.99, 20.0),
    ],
)
def test_between_a_thread_alone_and_the_peak(
    profile: ProfileForms, rate: float, service_ms: float
) -> None:
    predicted = predict(at(profile, 4, rate))
    assert predicted.operators[1].service_ms == pytest.approx(service_ms, rel=1e-3)


def test_other_operators_of_the_slot_stretch_what_is_cpu() -> None:
    """They take a half of it; 1 ms of 10 is CPU."""
    other = measured((1, 100.0, 0.5))
    plan = at(measured((1, 100.0, 0.1)), 1, 99.99, other)
    assert predict(plan).operators[1].service_ms == pytest.approx(9.0 + 2.0, rel=1e-3)


def test_no_more_than_by_the_threads_of_the_slot() -> None:
    """Another one takes 80 % of the CPU; with the source's there are three threads."""
    other = measured((1, 100.0, 0.8))
    plan = at(measured((1, 200.0, 0.1)), 1, 99.0, other)
    assert predict(plan).operators[1].service_ms == pytest.approx(4.5 + 3 * 0.5, rel=1e-3)


@pytest.mark.parametrize("source", ["run", None])
def test_of_other_profiles_only_the_time_at_the_peak_is_known(source: str | None) -> None:
    rows = (1, 100.0, 1.0), (4, 100.0, 1.0)
    typed = measured(*rows).table if source is None else measured(*rows, source=source)
    assert typed is not None
    assert predict(at(typed, 4, 50.0)).operators[1].service_ms == pytest.approx(40.0)


@pytest.mark.parametrize("rate", [20.0, 80.0])
def test_simulated_threads_take_as_long(rate: float) -> None:
    of = at(COMPUTES, 4, rate)
    seen = simulate(of, arrivals=Arrivals("constant"), tuples=2000, seed=0)
    expected = predict(of).operators[1].service_ms
    assert seen.operators[1].service_ms == pytest.approx(expected, rel=0.1)
