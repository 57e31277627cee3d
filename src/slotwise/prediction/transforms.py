"""Laplace transforms of the time that a tuple spends at an operator: E exp(-s T).

At one thread, a batch's first tuple waits with some probability, and then a gamma time: Whitt's
QNA, section 5, and the exact, exponential one for M/M/1 and GI/M/1. Further tuples of the batch
wait for those before them. Services are gamma, as the simulation's are.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from slotwise.prediction.groups import Floats, summed
from slotwise.prediction.network import Complexes
from slotwise.prediction.thread_queues import ThreadQueues
from slotwise.prediction.waits import Waits

_EDGES = np.array([0.25, 0.5, 0.7, 0.8, 0.9, 0.95, 0.98, 0.99])
"""An operator with more kinds of threads than parts between these has them put together: tuples by
their mean time, finer where they are slow, since that is where percentiles are."""
NEGLIGIBLE = 1e-7
"""Differences of transforms from 1 below this are mostly rounding."""


def operator_transforms(queues: ThreadQueues, s: Complexes) -> Complexes:
    """[operator, s]. Every queue that gets tuples has a bounded wait. O(kinds × s)."""
    kinds = _put_together(queues)
    made = np.ones((len(kinds.operator), len(s)), dtype=np.complex128)
    served = np.flatnonzero((kinds.service_s > 0) & (kinds.weight > 0))
    if len(served):
        made[served] = _times(kinds, served, s)
    starts = np.searchsorted(kinds.operator, np.arange(queues.operators))
    return np.asarray(np.add.reduceat(kinds.weight[:, None] * made, starts, axis=0))


def _times(kinds: ThreadQueues, served: NDArray[np.int64], s: Complexes) -> Complexes:
    service_s, scv = kinds.service_s[served], kinds.service_scv[served]
    batch, burst = kinds.waits.batch[served], kinds.waits.burst[served]
    first = _first_wait(
        kinds.waits.first_s[served], kinds.utilisation[served], burst * service_s, scv / burst, s
    )
    made = first * _gamma(service_s, scv, s)
    several = np.flatnonzero(batch > 1 + 1e-9)
    made[several] *= _before_in_batch(batch[several], service_s[several], scv[several], s)
    return made


def _before_in_batch(batch: Floats, service_s: Floats, scv: Floats, s: Complexes) -> Complexes:
    """A batch's tuples have 0, 1, … services before theirs, each as likely: a geometric sum."""
    spent = _lasting(batch * service_s, scv / batch, s)
    return np.asarray(spent / (batch[:, None] * _lasting(service_s, scv, s)))


def _lasting(mean_s: Floats, scv: Floats, s: Complexes) -> Complexes:
    """1 - E exp(-s T) of a gamma time. Where that is next to nothing it is s E T: the difference
    would be rounding.
    """
    found = 1 - _gamma(mean_s, scv, s)
    return np.where(np.abs(found) > NEGLIGIBLE, found, np.multiply.outer(mean_s, s))


def _first_wait(
    mean_s: Floats, busy: Floats, burst_s: Floats, burst_scv: Floats, s: Complexes
) -> Complexes:
    """A burst is served like one customer: `burst_s` is its mean service time."""
    delayed = mean_s / (mean_s + burst_s * (1 + burst_scv) / 2)
    skewness = (1 + burst_scv) * (1 + 2 * burst_scv)  # E S³ / (E S)³ of a gamma time
    scv = 2 * busy - 1 + 4 * (1 - busy) * skewness / (3 * (1 + burst_scv) ** 2)
    length_s = np.divide(mean_s, delayed, out=np.zeros(len(mean_s)), where=delayed > 0)
    wait = _gamma(length_s, scv, s)
    return np.asarray(1 - delayed[:, None] + delayed[:, None] * wait)


def _gamma(mean_s: Floats, scv: Floats, s: Complexes) -> Complexes:
    """A gamma time's transform, [kind, s]; a constant's at scv 0."""
    times = np.multiply.outer(mean_s, s)
    made = np.asarray(1 / (1 + times), dtype=np.complex128)
    even = np.flatnonzero(scv <= 1e-6)
    made[even] = np.exp(-times[even])
    other = np.flatnonzero((scv > 1e-6) & (np.abs(scv - 1) > 1e-9))
    spread = scv[other, None]
    made[other] = (1 + times[other] * spread) ** (-1 / spread)
    return made


def _put_together(queues: ThreadQueues) -> ThreadQueues:
    if np.bincount(queues.operator).max() <= len(_EDGES) + 1:
        return queues
    order = np.lexsort((queues.waits.mean_s + queues.service_s, queues.operator))
    operator, weight = queues.operator[order], queues.weight[order]
    middle = np.cumsum(weight) - weight / 2 - operator  # weights add up to 1 per operator
    parts, at = np.unique(
        operator * (len(_EDGES) + 1) + np.searchsorted(_EDGES, middle), return_inverse=True
    )
    total = summed(weight, at)

    def mean(values: Floats) -> Floats:
        parts = np.where(weight > 0, values[order] * weight, 0.0)
        return summed(parts, at) / np.maximum(total, 1e-300)

    waits = queues.waits
    return ThreadQueues(
        operator=parts // (len(_EDGES) + 1),
        weight=total,
        utilisation=mean(queues.utilisation),
        service_s=mean(queues.service_s),
        service_scv=mean(queues.service_scv),
        waits=Waits(*map(mean, (waits.first_s, waits.in_batch_s, waits.batch, waits.burst))),
        operators=queues.operators,
    )
