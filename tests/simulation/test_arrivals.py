"""When sources emit."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from slotwise.model import Logic, ModelError, Plan, Schedule
from slotwise.rates import arrival_rates
from slotwise.simulation import Arrivals, Options, simulate
from slotwise.simulation.kernels.arrivals import clock_time, nominal_at, sources_of
from slotwise.simulation.run import run
from tests.builders import topology
from tests.simulation.builders import plan

PLAN = plan(topology("a>b"), {})


def times(arrivals: Arrivals, rate: float = 1.0, threads: int = 1, **options: object) -> np.ndarray:
    given = plan(topology("a>b"), {}, {"a": threads})
    log = run(given, rate, Options(arrivals=arrivals, **options), log_size=50_000).tally.log
    return log[(log[:, 0] < threads) & (log[:, 1] + log[:, 3] > 0)][:, [0, 3]]


def test_constant_arrivals_are_evenly_apart_over_all_threads() -> None:
    found = np.sort(times(Arrivals("constant"), rate=8.0, threads=4, duration_s=10.0)[:, 1])
    assert np.diff(found) == pytest.approx(0.125)


def test_a_trace_is_stretched_dealt_out_and_repeated() -> None:
    trace = Arrivals("trace", trace_s=(10.0, 11.0, 13.0))
    found = times(trace, rate=2.0, threads=2, duration_s=3.9)
    # Mean interval 1.5 s in the trace, 0.5 s here: gaps 1/3, 2/3, then one mean interval.
    assert np.sort(found[:, 1])[:5] == pytest.approx([1 / 3, 1.0, 1.5, 1.5 + 1 / 3, 2.5])
    assert set(found[:, 0]) == {0.0, 1.0}


def test_uniform_intervals() -> None:
    gaps = np.diff(np.sort(times(Arrivals("uniform"), tuples=20_000)[:, 1]))
    assert gaps.max() <= 2
    assert gaps.mean() == pytest.approx(1, rel=0.02)
    assert gaps.var() == pytest.approx(1 / 3, rel=0.05)


def test_spread_gives_threads_unequal_rates() -> None:
    found = times(Arrivals("constant", spread=0.5), rate=3.0, threads=3, duration_s=1000.0)
    counts = np.unique(found[:, 0], return_counts=True)[1]
    assert counts == pytest.approx([500, 1000, 1500], abs=2)


@pytest.mark.parametrize(
    ("schedule", "second", "factor"),
    [
        (Schedule.step(50, 3), 25, 1),
        (Schedule.step(50, 3), 75, 3),
        (Schedule.ramp(0, 100, 5), 50, 3),
        (Schedule.sine(100, 0.8), 25, 1.8),
        (Schedule.sine(40, 0.8), 70, 0.2),
        (Schedule.burst(20, 5, 4), 57.5, 4),
        (Schedule.burst(20, 5, 4), 45, 1),
    ],
)
def test_schedules_change_the_rate(schedule: Schedule, second: float, factor: float) -> None:
    found = simulate(
        PLAN, 400.0, arrivals=Arrivals("constant", schedule), duration_s=100.0, windows=200
    )
    assert found.series is not None
    window = int(second / found.series.window_s)
    assert found.series.offered_rate[window] == pytest.approx(400 * factor, rel=0.05)


@given(
    st.sampled_from(
        [
            Schedule.step(5, 3),
            Schedule.ramp(2, 8, 0),
            Schedule.sine(7, 1.0),
            Schedule.burst(3, 1, 0),
            Schedule(((0.0, 0.0), (4.0, 0.0), (4.0, 2.0))),
        ]
    ),
    st.floats(0.01, 7.0),
)
def test_clock_and_nominal_time_are_inverse(schedule: Schedule, clock_s: float) -> None:
    sources = sources_of(
        PLAN, arrival_rates(PLAN.pipeline.topology, 1.0), Arrivals(schedule=schedule)
    )
    of = sources.schedules[0], float(sources.periods[0])
    nominal = nominal_at(*of, clock_s)
    there = clock_time(*of, nominal)
    # Where the rate is 0 many clock times are one nominal time: the last of them is found.
    assert nominal_at(*of, there) == pytest.approx(nominal, abs=1e-9)


def scheduled(**texts: str) -> Plan:
    """Sources x and y, with these schedules in the spec."""
    of = topology("x>b", "y>b")
    operators = tuple(
        replace(o, logic=Logic(options=(("schedule", texts[o.name]),))) if o.name in texts else o
        for o in of.operators
    )
    return plan(replace(of, operators=operators), {})


class TestSchedulesOfTheSpec:
    BOTH = scheduled(x="step:at=5s,factor=3", y="burst:period=4s,length=1s,factor=5")

    def rates_of_x_and_y(self, plan: Plan, **options: object) -> list[tuple[float, ...]]:
        """Per second."""
        seen = simulate(plan, 100.0, duration_s=10.0, windows=10, warm_up=0.0, **options)
        assert seen.series is not None
        return [seen.series.handled_rate[name] for name in ("x", "y")]

    def test_every_source_follows_its_own(self) -> None:
        x, y = self.rates_of_x_and_y(self.BOTH, arrivals=Arrivals("constant"))
        assert x == pytest.approx([100] * 5 + [300] * 5, abs=2)
        assert y == pytest.approx([100, 100, 100, 500] * 2 + [100, 100], abs=2)

    def test_a_schedule_of_the_arrivals_goes_before(self) -> None:
        given = Arrivals("constant", Schedule.constant())
        assert self.rates_of_x_and_y(self.BOTH, arrivals=given) == self.rates_of_x_and_y(
            plan(topology("x>b", "y>b"), {}), arrivals=Arrivals("constant")
        )

    @pytest.mark.parametrize("tuples", [500, 2600, 40_000])
    def test_the_number_of_tuples_counts_all_sources(self, tuples: int) -> None:
        options = Options(arrivals=Arrivals("constant"), tuples=tuples)
        log = run(self.BOTH, 100.0, options, log_size=100_000).tally.log
        x, y = (self.BOTH.pipeline.topology.index[name] for name in ("x", "y"))
        emitted = np.isin(log[:, 0], [x, y]) & (log[:, 1] + log[:, 3] > 0)
        assert emitted.sum() == pytest.approx(tuples, abs=3)

    def test_the_offered_rate_is_the_mean_of_all_sources(self) -> None:
        seen = simulate(self.BOTH, 100.0, duration_s=10.0, warm_up=0.5)
        # From second 5 on: 300/s at x; at y 100/s and, for one of the five seconds, 500/s.
        assert seen.offered_rate == pytest.approx((300 + (4 * 100 + 500) / 5) / 2, rel=0.001)

    def test_a_source_that_falls_silent_leaves_it_to_the_others(self) -> None:
        one_stops = scheduled(x="ramp:from=0s,to=2s,factor=0")
        seen = run(one_stops, 100.0, Options(arrivals=Arrivals("constant"), tuples=1100))
        assert seen.end_s == pytest.approx(10.0, abs=0.1)

    def test_sources_that_all_fall_silent_never_emit_so_many(self) -> None:
        both_stop = scheduled(x="ramp:from=0s,to=2s,factor=0", y="step:at=1s,factor=0")
        with pytest.raises(ModelError, match="never emits 1,000 tuples"):
            run(both_stop, 100.0, Options(tuples=1000))
