"""A simulated Deployment: a plan at work, step by step, with changes of plan in mid-run."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import fields, replace

import numpy as np

from slotwise.model import Change, ModelError, Observation, OperatorLoad, Plan, SlotwiseError
from slotwise.model.decision import needs_restart
from slotwise.model.deployment import (
    MOVE_PAUSE_S,
    RESTART_PAUSE_S,
    check_seconds,
    check_window,
)
from slotwise.simulation.kernels.arrivals import emitted_by
from slotwise.simulation.kernels.change import EventRun
from slotwise.simulation.kernels.measure import Tally, visited
from slotwise.simulation.kernels.world import World, set_times
from slotwise.simulation.loads import operator_loads
from slotwise.simulation.observe import mean_ms, shared_figures, slope
from slotwise.simulation.options import Options
from slotwise.simulation.run import (
    MOST_UNDER_WAY,
    Run,
    check_options,
    check_same_topology,
    part_of,
)
from slotwise.simulation.service import thread_figures
from slotwise.simulation.stretches import Queues, Stretch, Stretches, merged, stretch_tally
from slotwise.simulation.waiting import due_times_s

LEVEL = 0.02
_ONLY_IN_RUNS = ("tuples", "duration_s", "warm_up", "changes", "kernel", "windows")
"""Options of a run with an end."""
STRETCHES = 5
"""Per period: enough for the slope of latencies."""


class SimulatedDeployment:
    """A plan at work in the event kernel; see model.Deployment.

    Stepping gives the same visits as `simulate` with the same seed and the same changes of plan,
    but where the input rate changes and slots are short of CPU: `simulate` slows their threads down
    as at the nominal rate, a deployment as at the mean rate of each `advance`.

    An Observation differs from `simulate`'s in what it counts. `simulate` follows every input that
    came due in its window to the end, however long that takes. Here inputs may still be under way,
    so what counts is what *happened* in the window: the tuples whose handling ended there, whenever
    their inputs came due. In steady state both give the same means; while a backlog grows or
    is worked off, a window shows the tuples that came through. So:

    - `throughput`, rates, times and percentiles are of tuples that ended in the window;
    - `sojourn_ms` is Σ over operators of visits per input × mean time at the operator, and None
      if no tuple ended at one of them; `sojourn_margin_ms` and `series` are None;
    - `backlog` and the mean queues are exact: what waits at the end, and waited in the window;
    - `stable` compares the load that is asked for, whether or not it was handled, as `simulate`
      does;
    - figures per thread, of streams, slots and nodes, and traffic count from the last change of
      plan on, if that was in the window.

    What happened is kept for the last `kept_s` seconds, in stretches of at most `resolution_s`
    that are cut back from the end of each `advance`. A window is exact where it begins at such a
    cut, always if steps, pauses and `last_s` are multiples of `resolution_s`. Else it begins at the
    cut before; `start_s` says when. So memory does not grow with time:
    O(kept_s / resolution_s · (threads + pairs of threads that exchange tuples)), and the
    tuples under way. Time is linear in the visits.
    """

    def __init__(
        self,
        plan: Plan,
        rate: float | None = None,
        options: Options | None = None,
        *,
        move_pause_s: float = MOVE_PAUSE_S,
        restart_pause_s: float = RESTART_PAUSE_S,
        resolution_s: float = 0.5,
        kept_s: float = 600.0,
        waiting: Mapping[str, float] | None = None,
    ) -> None:
        """`rate` is the input rate (None: the plan's); `options.arrivals.schedule` changes it.

        All threads stand still for `move_pause_s` when a change moves them, and for
        `restart_pause_s` when it `needs_restart`. The defaults are what was measured
        on Spark: the gap between two batches, and a restart of the query from its checkpoint.
        So many tuples are `waiting` for operators at the beginning; see `due_times_s`.
        """
        self._options = options or Options()
        _check_options(plan, self._options)
        check_seconds("move_pause_s", move_pause_s)
        check_seconds("restart_pause_s", restart_pause_s)
        check_seconds("resolution_s", resolution_s)
        check_seconds("kept_s", kept_s)
        self._plan = self._real = plan
        self._rate = self._slowed_at = plan.rate if rate is None else rate
        self._move_pause_s, self._restart_pause_s = move_pause_s, restart_pause_s
        self._resolution_s = min(resolution_s, kept_s)
        self._now_s, self._changes = 0.0, 0
        part, self._figures = part_of(plan, self._rate, self._options, 0)
        self._events = EventRun(part, stretch_tally(part.world), MOST_UNDER_WAY)
        self._preload(waiting or {})
        self._queues = Queues.at(self._events.state.queues, 0.0)
        self._stretches = Stretches(kept_s)

    @classmethod
    def for_periods(
        cls,
        plan: Plan,
        period_s: float,
        rate: float | None = None,
        options: Options | None = None,
    ) -> SimulatedDeployment:
        """One that is observed once per period, the pause of a change included, as adaptation.py
        does: it keeps no more than that, in STRETCHES stretches per period, and is faster for it.
        """
        kept_s = period_s + RESTART_PAUSE_S + MOVE_PAUSE_S
        return cls(plan, rate, options, resolution_s=period_s / STRETCHES, kept_s=kept_s)

    def _preload(self, waiting: Mapping[str, float]) -> None:
        rates = self._figures.rates
        sources = self._events.part.world.sources
        if sources.scheduled:  # The tuples came at the rate with which the schedule begins.
            rates = rates.scaled(max(emitted_by(sources, 1.0), 1e-9) / rates.external)
        due = due_times_s(self._plan.pipeline.topology, rates, waiting)
        for operator, due_s in due.items():
            self._events.preload(operator, due_s)
        if due:
            self._events.resume()

    @property
    def plan(self) -> Plan:
        return self._plan

    @property
    def events(self) -> tuple[str, ...]:
        """Nothing fails here."""
        return ()

    @property
    def resumed_s(self) -> float:
        return 0.0

    def now_s(self) -> float:
        return self._now_s

    def advance(self, seconds: float) -> None:
        """Simulate on. Raises SlotwiseError when too many tuples are under way to go on."""
        check_seconds("seconds", seconds)
        self._advance_to(self._now_s + seconds)

    def apply(self, plan: Plan) -> Change:
        """Go over to `plan` now; the clock then stands at the end of the pause.

        What was in service starts again, and waiting tuples stay with their thread; see PlanChange.
        Operators cost what the first plan's profiles say: those of a later plan are what its maker
        believes.
        """
        check_same_topology(self._plan, plan)
        moves = not needs_restart(self._plan, plan)
        pause_s = self._move_pause_s if moves else self._restart_pause_s
        number = self._changes + 1
        real = replace(plan, pipeline=self._real.pipeline)
        part, figures = part_of(real, self._rate, self._options, number, self._now_s, pause_s)
        self._events.change(part)
        self._events.tally = stretch_tally(part.world)
        self._plan, self._real, self._figures, self._changes = plan, real, figures, number
        self._slowed_at = self._rate
        self._advance_to(self._now_s + pause_s)
        self._events.resume()
        return Change(self._now_s, "at once" if moves else "restart", pause_s)

    def observe(self, last_s: float, places: bool = True) -> Observation:
        """What happened in the last `last_s` seconds, or since the start where that is later.

        Without `places`, figures of threads, slots and nodes, and traffic, are left out: with
        thousands of threads they take longer than all others. Raises SlotwiseError before the first
        `advance`, and for more than `kept_s`.
        """
        check_window(last_s, self._now_s, self._stretches.kept_s)
        if self._now_s == 0:
            raise SlotwiseError("nothing was observed yet: advance the deployment first")
        return self._observed(self._stretches.since(max(0.0, self._now_s - last_s)), places)

    def _advance_to(self, end_s: float) -> None:
        """In stretches that are cut back from the end; before what is kept, in one."""
        self._slow_down(end_s)
        kept_s = min(end_s - self._now_s, self._stretches.kept_s)
        stretches = math.ceil(kept_s / self._resolution_s * (1 - 1e-9))
        for left in range(stretches, -1, -1):
            cut_s = end_s - left * self._resolution_s
            if left == 0 or cut_s > self._now_s + 1e-6 * self._resolution_s:
                self._stretch_to(cut_s)

    def _slow_down(self, end_s: float) -> None:
        """Slots that are short of CPU at the rate from now to `end_s` slow their threads down."""
        world = self._events.part.world
        if not world.sources.scheduled:
            return
        asked = emitted_by(world.sources, end_s) - emitted_by(world.sources, self._now_s)
        nominal = (end_s - self._now_s) * self._figures.rates.external
        rate = self._rate * _level(asked / nominal)
        if rate in (0.0, self._slowed_at):
            return
        self._slowed_at, slowed = rate, thread_figures(self._real, rate, self._options.keys)
        set_times(world, slowed, self._options.network)
        # What buffers take is at parts of the nominal rate.
        slowed = slowed._replace(buffers=self._figures.of_threads.buffers)
        self._figures = self._figures._replace(of_threads=slowed)

    def _stretch_to(self, end_s: float) -> None:
        events = self._events
        events.until(end_s)
        if events.end_s < math.inf:
            raise SlotwiseError(
                f"more than {MOST_UNDER_WAY:,} tuples were under way at {events.end_s:g} s: the "
                "plan cannot keep up with the input rate"
            )
        queues = Queues.at(events.state.queues, end_s)
        world, span_s = events.part.world, (self._now_s, end_s)
        waited = queues.since(self._queues)
        self._stretches.append(Stretch.of(events.tally, world, span_s, self._changes, waited))
        events.tally = stretch_tally(world)
        self._queues, self._now_s = queues, end_s

    def _observed(self, stretches: list[Stretch], places: bool) -> Observation:
        events, seconds = self._events, self._now_s - stretches[0].start_s
        world = events.part.world
        tally = _network_per_arrival(merged(stretches, world), world, stretches)
        run = Run(
            plan=self._plan,
            rate=self._rate,
            world=world,
            figures=self._figures,
            tally=tally,
            asked_s=self._now_s,
            end_s=self._now_s,
            kernel="events",
            seed=self._options.seed,
            last_change_s=events.part.start_s,
        )
        waited = np.sum([each.queues.waited for each in stretches], axis=0)
        operators = operator_loads(run, (waited / seconds).tolist())
        middle_s = np.array([(each.start_s + each.end_s) / 2 for each in stretches])
        windows = tally.windows
        sources = world.operators["source"] > 0
        return Observation(
            **shared_figures(run, visited(tally, world, "handled") / seconds, places),
            backlog=float(events.state.queues["length"][sources].sum()),
            latency_ms=mean_ms(windows["sink_latency"], windows["sinks"]),
            latency_slope=slope(middle_s, windows["sink_latency"], windows["sinks"]),
            sojourn_ms=_per_input_ms(run, operators, "waiting_ms", "service_ms", "network_ms"),
            network_ms=_per_input_ms(run, operators, "network_ms"),
            operators=operators,
        )


def _level(factor: float) -> float:
    """In steps of 2 %, so that threads' times are not computed again for the least change."""
    return math.exp(LEVEL * round(math.log(factor) / LEVEL)) if factor > 0 else 0.0


def _network_per_arrival(tally: Tally, world: World, stretches: list[Stretch]) -> Tally:
    """Travel times are counted when tuples arrive, all others when they were handled: scaled to
    those that were handled, so that means are per arrival.
    """
    arrived = np.sum([each.queues.arrived for each in stretches], axis=0)
    handled = visited(tally, world, "handled")
    tally.operators["network"] *= handled / np.maximum(arrived, 1)
    return tally


def _per_input_ms(run: Run, operators: tuple[OperatorLoad, ...], *times: str) -> float | None:
    """The operators' mean `times`, added up over all visits that an input causes."""
    rates = run.figures.rates
    total = 0.0
    for load, visits in zip(operators, (rates.operators / rates.external).tolist(), strict=True):
        for time in times if visits > 0 else ():
            mean = getattr(load, time)
            if mean is None:
                return None
            total += visits * mean
    return total


def _check_options(plan: Plan, options: Options) -> None:
    check_options(plan, options)
    for field in fields(Options):
        if field.name in _ONLY_IN_RUNS and getattr(options, field.name) != field.default:
            raise ModelError(
                f"option {field.name} applies only to runs of a fixed length: remove it"
            )
