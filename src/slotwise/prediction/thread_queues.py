"""Waits where every thread has a queue of its own, as in Spark and Storm.

Paper 5's queue per operator lets any idle thread take the next tuple. Engines deal tuples out to
threads, so one thread's queue grows while another is idle: waits are several times longer. How long
depends on how irregularly tuples reach a thread (dispersion.py). That is followed from the sources
through every operator; with loops, round after round until it settles.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from slotwise.model import Plan
from slotwise.prediction.dispersion import WINDOWS, Flow, Windows
from slotwise.prediction.groups import Floats, Groups, summed
from slotwise.prediction.latency import OperatorTimes, Work
from slotwise.prediction.thread_kinds import ThreadKinds
from slotwise.prediction.waits import Waits, waits
from slotwise.rates import ArrivalRates

MOST_ROUNDS = 50
SETTLED = 1e-3
"""Rounds of a loop end when no time changes by more than this part."""
POISSON = np.ones(WINDOWS)


@dataclass(frozen=True)
class ThreadQueues:
    """Parallel arrays, one entry per kind of threads, ordered by operator."""

    operator: NDArray[np.int64]
    weight: Floats
    """The kind's part of its operator's tuples."""
    utilisation: Floats
    service_s: Floats
    service_scv: Floats
    waits: Waits
    operators: int

    def times(self) -> OperatorTimes:
        """The means over each operator's tuples."""
        service_s = self._mean(self.service_s)
        squared = self._mean(self.service_s**2 * (1 + self.service_scv))
        scv = np.divide(squared, service_s**2, out=np.ones(self.operators), where=service_s > 0) - 1
        return OperatorTimes(self._mean(self.waits.mean_s), service_s, np.maximum(scv, 0.0))

    def _mean(self, values: Floats) -> Floats:
        parts = np.multiply(values, self.weight, out=np.zeros(len(values)), where=self.weight > 0)
        return summed(parts, self.operator, self.operators)


def thread_queues(
    plan: Plan,
    groups: Groups,
    kinds: ThreadKinds,
    work: Work,
    rates: ArrivalRates,
    delay_ms: Floats,
) -> ThreadQueues:
    """`delay_ms` is how long the tuples of each stream travel. Threads of an overloaded group wait
    infinitely. O((streams + kinds) × windows), with loops for each round.
    """
    service_s, service_scv = work.service_s(groups)[kinds.group], work.service_scv[kinds.group]
    walk = _Walk(plan, kinds, rates, delay_ms / 1000, service_s, service_scv)
    topology = plan.pipeline.topology
    for _ in range(MOST_ROUNDS if topology.has_loops else 1):
        before = walk.time_s.copy()
        for position in topology.order:
            walk.settle(position)
        if np.allclose(before, walk.time_s, rtol=SETTLED, atol=0.0):
            break
    total = rates.operators[kinds.operator]
    threads = kinds.threads.astype(np.float64)
    even = threads / summed(threads, kinds.operator)[kinds.operator]
    return ThreadQueues(
        operator=kinds.operator,
        weight=np.divide(walk.rate * kinds.threads, total, out=even, where=total > 0),
        utilisation=walk.rate * service_s,
        service_s=service_s,
        service_scv=service_scv,
        waits=walk.waits.without_bound(work.overloaded[kinds.group]),
        operators=groups.operators,
    )


@dataclass(frozen=True)
class _Arriving:
    """What comes to an operator on one stream, or to a source from outside."""

    rate: float
    flow: Flow
    share: Floats
    """Per kind of threads, the part of it that one thread gets."""
    index: Floats
    """[kind, window]: the index of dispersion at one thread."""
    visits: Floats
    """Per source, how many of its tuples one input causes."""
    age_s: float
    keyed: bool
    loop: bool


class _Walk:
    """Everything known so far of operators and their threads; see `settle`."""

    def __init__(
        self,
        plan: Plan,
        kinds: ThreadKinds,
        rates: ArrivalRates,
        delay_s: Floats,
        service_s: Floats,
        service_scv: Floats,
    ) -> None:
        self.plan, self.topology, self.kinds = plan, plan.pipeline.topology, kinds
        self.rates, self.delay_s = rates, delay_s
        self.service_s, self.service_scv = service_s, service_scv
        self.windows = Windows.for_services(service_s)
        operators = len(self.topology.operators)
        self.sources = [i for i, o in enumerate(self.topology.operators) if o.kind == "source"]
        self.rate = np.zeros(len(kinds.group))  # tuples/s to one thread of each kind
        self.waits = Waits.none(len(kinds.group))
        self.time_s, self.age_s = np.zeros((2, operators))  # at the operator; on arrival there
        self.visits = np.zeros((operators, len(self.sources)))  # per input of each source
        self.leaving = [Flow(POISSON, POISSON)] * operators

    def settle(self, position: int) -> None:
        """An operator's queues, and how tuples leave it, from how they leave the ones before."""
        here = self.kinds.of_operator(position)
        if position in self.sources:
            arriving = [self._from_outside(position, here)]
        else:
            streams = self.topology.inputs[position]
            arriving = [self._received(s, here) for s in streams if self.rates.streams[s] > 0]
        total = sum(each.rate for each in arriving)
        if total <= 0:
            return
        self.age_s[position] = sum(each.rate * each.age_s for each in arriving) / total
        self.visits[position] = sum(each.visits for each in arriving)
        related = self._related(position, arriving, total)
        self._queue(here, arriving, total, related)
        counts = sum((each.rate / total * each.flow.counts for each in arriving), related)
        kin = sum((each.rate / total * each.flow.kin for each in arriving), related)
        self._leave(position, here, Flow(counts, kin))

    def _from_outside(self, position: int, here: slice) -> _Arriving:
        """Every thread of a source emits by itself."""
        operator = self.topology.operators[position]
        index = POISSON * self.plan.pipeline.profiles.arrival_scv(operator.name)
        share = self.kinds.shares("shuffle", here)
        return _Arriving(
            rate=float(self.rates.operators[position]),
            flow=Flow(index, POISSON),
            share=share,
            index=np.tile(index, (len(share), 1)),
            visits=np.array([1.0 if source == position else 0.0 for source in self.sources]),
            age_s=0.0,
            keyed=False,
            loop=False,
        )

    def _received(self, position: int, here: slice) -> _Arriving:
        stream, (source, _) = self.topology.streams[position], self.topology.edges[position]
        grouping, selectivity = self.plan.routing(stream), stream.selectivity
        rate, share = float(self.rates.streams[position]), self.kinds.shares(grouping, here)
        sender_rate = float(self.rates.operators[source]) / self.plan.placement.threads[source]
        leaving = self.leaving[source]
        flow = leaving.emitted(self.windows, selectivity, sender_rate)
        if grouping == "fields":
            index = flow.by_key(share)
        elif grouping == "direct":
            index = flow.at_random(share)
        elif grouping in ("all", "global"):
            index = np.tile(flow.counts, (len(share), 1))
        else:
            index = leaving.in_turn(self.windows, selectivity, sender_rate, share)
        if grouping == "all":
            copies = float(self.kinds.threads[here].sum())
            flow = Flow(copies * flow.counts, copies * flow.kin)
        return _Arriving(
            rate=rate,
            flow=flow,
            share=share,
            index=index,
            visits=self.visits[source] * rate / float(self.rates.operators[source]),
            age_s=float(self.age_s[source] + self.time_s[source] + self.delay_s[position]),
            keyed=grouping == "fields",
            loop=stream.loop,
        )

    def _related(self, position: int, arriving: list[_Arriving], total: float) -> Floats:
        """What the index of all streams together is above their mean: tuples of one input come on
        several of them, at times that are about their age apart. What comes round a loop does not
        count: it comes just when this operator has served it, so that queues feel it as new
        (Jackson's networks).
        """
        forward = [each for each in arriving if not each.loop]
        return self._pairs(forward) * self.windows.kept(float(self.age_s[position])) / total

    def _pairs(self, arriving: list[_Arriving]) -> float:
        """Pairs of tuples per second that go back to one input, and come on different streams."""
        visits = np.array([each.visits for each in arriving])
        return float(
            self.rates.operators[self.sources] @ (visits.sum(axis=0) ** 2 - (visits**2).sum(axis=0))
        )

    def _queue(self, here: slice, arriving: list[_Arriving], total: float, related: Floats) -> None:
        rate = np.asarray(sum(each.rate * each.share for each in arriving))
        index = sum((each.rate * each.share)[:, None] * each.index for each in arriving)
        index = index / np.maximum(rate, 1e-300)[:, None]
        # Of tuples of one input, all go to one thread if their key decides.
        keyed = sum(each.rate for each in arriving if each.keyed) / total
        share = rate / total
        index += np.multiply.outer(share + (1 - share) * keyed**2, related)
        self.rate[here] = rate
        self.waits.put(
            here,
            waits(self.windows, rate, self.service_s[here], self.service_scv[here], index),
        )

    def _leave(self, position: int, here: slice, flow: Flow) -> None:
        threads = self.kinds.threads[here]
        handled = self.rate[here] * threads
        times_s = self.waits.mean_s[here] + self.service_s[here]
        self.time_s[position] = handled @ times_s / handled.sum()
        scv = float(handled @ self._leaving_scv(here) / handled.sum())
        turns = self.windows.rounding(float(handled.sum() / threads.sum()))
        let_through = self.windows.let_through(self._relaxation_s(here))
        self.leaving[position] = flow.delayed(
            self.windows.kept(float(self.time_s[position])),
            handled @ let_through / handled.sum(),
            1 + (scv - 1) * (1 - turns),
        )

    def _leaving_scv(self, here: slice) -> Floats:
        """Per kind, how irregularly tuples leave a thread, as far as it is due to their services. A
        long one holds up only what comes meanwhile: exact for M/G/1, and as in Whitt's QNA.
        """
        scv, busy = self.service_scv[here], self.rate[here] * self.service_s[here]
        return np.where(scv > 1, 1 + (scv - 1) * np.minimum(busy, 1.0) ** 2, scv)

    def _relaxation_s(self, here: slice) -> Floats:
        """Per kind, how long its queue remembers; a queue that never empties for ever."""
        busy = self.rate[here] * self.service_s[here]
        spare = np.maximum(1 - busy, 1e-9)
        variation = self.waits.burst[here] + self.service_scv[here]
        return np.asarray(self.service_s[here] * variation / spare**2)
