"""How fast threads are at a time: schedules of their operators and nodes."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from slotwise.model import Plan, Schedule
from slotwise.simulation.kernels.jit import kernel, part
from slotwise.simulation.options import Speeds

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]

INSTANTS = 32
"""A mean over a window is that of the middles of so many parts of it."""


class SpeedTables(NamedTuple):
    follows: Integers
    """[thread, 0]: the schedule of its operator, [thread, 1]: of its node, -1: always 1. No rows:
    no speed ever changes."""
    schedules: Floats
    """Per schedule, [0] clock times, [1] factors."""
    periods: Floats
    """Per schedule; 0: it does not repeat."""


def speed_tables(plan: Plan, speeds: Speeds) -> SpeedTables:
    """Nodes that the plan does not have are left out: another plan of the run may have them."""
    if not speeds.vary:
        return SpeedTables(np.empty((0, 2), np.int64), np.empty((0, 2, 1)), np.empty(0))
    schedules = [*speeds.operators.values(), *speeds.nodes.values()]
    number = {name: i for i, name in enumerate(speeds.operators)}
    node_number = {name: len(number) + i for i, name in enumerate(speeds.nodes)}
    operators = [number.get(each.name, -1) for each in plan.pipeline.topology.operators]
    nodes = [node_number.get(node.name, -1) for node in plan.cluster.nodes]
    placement, cluster = plan.placement, plan.cluster
    follows = (
        np.array(operators)[placement.thread_operator],
        np.array(nodes)[cluster.slot_node[placement.slots]],
    )
    periods = np.array([schedule.period_s or 0.0 for schedule in schedules])
    return SpeedTables(np.stack(follows, axis=1), _points(schedules), periods)


def _points(schedules: list[Schedule]) -> Floats:
    """The shorter ones repeat their last factor, which changes nothing."""
    most = max(len(schedule.points) for schedule in schedules)
    made = np.empty((len(schedules), 2, most))
    for row, schedule in zip(made, schedules, strict=True):
        points = (*schedule.points, *[schedule.points[-1]] * (most - len(schedule.points)))
        row[:] = np.array(points, dtype=np.float64).T
    return made


def mean_slowness(speeds: SpeedTables, threads: int, start_s: float, end_s: float) -> Floats:
    """Per thread, how many times longer services took that began in the window."""
    if len(speeds.follows) == 0:
        return np.ones(threads)
    distinct, which = np.unique(speeds.follows, axis=0, return_inverse=True)
    moments = start_s + (end_s - start_s) * (np.arange(INSTANTS) + 0.5) / INSTANTS
    first = np.array([int(np.argmax(which.ravel() == i)) for i in range(len(distinct))])
    means = [np.mean([slowness(speeds, thread, now) for now in moments]) for thread in first]
    return np.array(means)[which.ravel()]


@kernel
def slowness(speeds: SpeedTables, thread: int, now: float) -> float:
    """How many times longer a service of the thread takes that begins now."""
    times = 1.0
    for i in range(2):
        schedule = speeds.follows[thread, i]
        if schedule >= 0:
            times /= _factor(speeds.schedules[schedule], speeds.periods[schedule], now)
    return times


@part
def _factor(schedule: Floats, period: float, now: float) -> float:
    times, factors = schedule[0], schedule[1]
    if period > 0:
        now = now % period
    piece = np.searchsorted(times, now, side="right") - 1
    if piece == len(times) - 1:
        return float(factors[piece])
    part_of_it = (now - times[piece]) / (times[piece + 1] - times[piece])
    return float(factors[piece] + part_of_it * (factors[piece + 1] - factors[piece]))
