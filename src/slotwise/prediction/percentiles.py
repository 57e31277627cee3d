"""Percentiles of the latency at sinks, from the queues' means.

A tuple's latency is a sum of waits, services and travels along its way, and tuples take different
ways. The Laplace transform of a sum is a product, that of a mixture a mean: so transforms follow
the streams as ages do in the mean (latency.py), and Abate and Whitt's Euler algorithm (1995) turns
the one at sinks back into a distribution. Times at successive operators are taken as independent.
"""

from __future__ import annotations

import math

import numpy as np

from slotwise.model import Topology
from slotwise.prediction.groups import Floats
from slotwise.prediction.network import Complexes, Distances
from slotwise.prediction.thread_queues import ThreadQueues
from slotwise.prediction.transforms import operator_transforms
from slotwise.rates import ArrivalRates

PERCENTILES = (0.50, 0.95, 0.99)
_GRID = np.geomspace(0.005, 100.0, 16)
"""Where the distribution is looked at first, in mean latencies. One in a hundred tuples at most is
a hundred times as late as the mean (Markov): the 99th percentile is in it."""
_FINE = np.linspace(0.0, 1.0, 8)
_ERROR = 18.4
"""The Euler algorithm's A: what it leaves out is exp(-A)."""
_TERMS = np.arange(11 + 12)
_BINOMIAL = np.array([math.comb(11, k) for k in range(12)]) / 2**11


def latency_percentiles_ms(
    topology: Topology,
    queues: ThreadQueues,
    rates: ArrivalRates,
    travel: Distances,
    delays_ms: Floats,
    mean_ms: float,
) -> tuple[float, ...]:
    """At PERCENTILES, of all tuples at sinks together; `mean_ms` is their mean latency, and finite,
    `delays_ms` how long tuples travel by distance.

    O((streams + kinds) × terms).
    """
    if not (queues.service_s > 0).any() or mean_ms <= 0:
        return (mean_ms,) * len(PERCENTILES)

    def reached(times_s: Floats) -> Floats:
        """The part of tuples that are no older than each time; times rise along the last axis."""
        s = np.multiply.outer(1 / (2 * times_s), _ERROR + 2j * np.pi * _TERMS)
        each = s.ravel()
        transform = _at_sinks(topology, queues, rates, travel.transforms(delays_ms, each), each)
        return _inverted((transform / each).reshape(s.shape), times_s)

    coarse_s = _GRID * mean_ms / 1000
    left = np.searchsorted(reached(coarse_s), PERCENTILES).clip(1, len(_GRID) - 1) - 1
    fine_s = coarse_s[left, None] * (coarse_s[left + 1] / coarse_s[left])[:, None] ** _FINE
    late = -np.log1p(-np.minimum(reached(fine_s), 1 - 1e-9))  # nearly straight in a tail
    return tuple(
        1000 * float(np.interp(-math.log1p(-wanted), row, times_s))
        for wanted, row, times_s in zip(PERCENTILES, late, fine_s, strict=True)
    )


def _inverted(transform: Complexes, times_s: Floats) -> Floats:
    """The function at each time, from its transform's terms; made never to fall."""
    signed = transform.real * (-1.0) ** _TERMS
    signed[..., 0] /= 2
    sums = np.cumsum(signed, axis=-1)[..., -len(_BINOMIAL) :] @ _BINOMIAL
    found = sums * math.exp(_ERROR / 2) / times_s
    # Near jumps, as even services make them, the algorithm goes too high before it is right.
    return np.asarray(np.minimum.accumulate(found[..., ::-1], axis=-1)[..., ::-1])


def _at_sinks(
    topology: Topology,
    queues: ThreadQueues,
    rates: ArrivalRates,
    travel: Complexes,
    s: Complexes,
) -> Complexes:
    """The latency's transform, each sink's by the tuples that get there."""
    times = operator_transforms(queues, s)
    sources, targets = np.array(topology.edges, dtype=np.int64).reshape(-1, 2).T
    arriving, ends = rates.operators, list(topology.ends)
    shares = np.divide(
        rates.streams, arriving[targets], out=np.zeros(len(targets)), where=arriving[targets] > 0
    )
    passed = shares[:, None] * times[sources] * travel
    ages = _ages(topology, passed)
    return np.asarray(arriving[ends] @ (ages[ends] * times[ends]) / arriving[ends].sum())


def _ages(topology: Topology, passed: Complexes) -> Complexes:
    """[operator, s]: the transforms of tuples' ages on arrival.

    `passed` [stream, s] is what a stream makes of its sender's. What comes round a loop is unknown
    on the way; since all is linear, one pass per loop shows what it would change.
    """
    loops = [i for i, stream in enumerate(topology.streams) if stream.loop]
    started = np.zeros((len(topology.operators), passed.shape[1]), dtype=np.complex128)
    started[[topology.index[source.name] for source in topology.sources]] = 1.0
    ages = _forward(topology, passed, started)
    if not loops:
        return ages
    responses = []
    for loop in loops:
        started = np.zeros_like(ages)
        started[topology.edges[loop][1]] = 1.0
        responses.append(_forward(topology, passed, started))
    senders = [topology.edges[loop][0] for loop in loops]
    gains = np.array([passed[loops] * response[senders] for response in responses])
    known = passed[loops] * ages[senders]
    # Per s, a small system: what comes round is what is sent there, by all that comes round too.
    system = np.identity(len(loops)) - gains.T
    coming = np.linalg.solve(system, known.T[:, :, None])[:, :, 0].T
    return np.asarray(ages + np.einsum("ls,los->os", coming, np.array(responses)))


def _forward(topology: Topology, passed: Complexes, started: Complexes) -> Complexes:
    """`started` and what follows from it, loops left out."""
    ages = started.copy()
    for position in topology.order:
        for stream in topology.inputs[position]:
            if not topology.streams[stream].loop:
                ages[position] += passed[stream] * ages[topology.edges[stream][0]]
    return ages
