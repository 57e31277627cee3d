"""Which part of the tuples that `fields` streams bring goes to which thread, by a run's keys.

What routing.receiver does tuple by tuple, in the mean. A key goes to the same thread whoever sends
it, so it is enough to know how often each key leaves an operator.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from slotwise.keys import mixed
from slotwise.model import Plan
from slotwise.rates import ArrivalRates
from slotwise.simulation.kernels.draws import own_key
from slotwise.simulation.options import Keys

Floats = NDArray[np.float64]
Hashes = NDArray[np.uint64]


def key_shares(plan: Plan, rates: ArrivalRates, keys: Keys) -> Floats:
    """Per thread, its part of its operator's keyed tuples; 0 where no `fields` stream enters.

    Streams that lead back are taken to bring the same keys as the others. O(keys · operators), and
    where threads write keys of their own O((keys + threads) · operators).
    """
    topology, first = plan.pipeline.topology, plan.allocation.first_thread
    shares = np.zeros(int(first[-1]))
    if all(stream.grouping.kind != "fields" for stream in topology.streams):
        return shares
    hashes, drawn = _known(keys, len(shares))
    leaving = [drawn] * len(topology.operators)
    for position in topology.order:
        here = slice(int(first[position]), int(first[position + 1]))
        inputs = [s for s in topology.inputs[position] if not topology.streams[s].loop]
        keyed = [s for s in inputs if topology.streams[s].grouping.kind == "fields"]
        if keys.forwarded >= 1:
            keyed = keyed[:1]  # all bring the same keys
        brought = {s: leaving[topology.edges[s][0]] for s in inputs}
        dealt = {s: _dealt(hashes, brought[s], here.stop - here.start) for s in keyed}
        if dealt:
            shares[here] = _mix(dealt, rates)
        if inputs and keys.forwarded < 1:
            routed = {s: dealt[s] if s in dealt else _routed(plan, s) for s in inputs}
            written = np.zeros(len(shares))
            written[here] = _mix(routed, rates)
            leaving[position] = keys.forwarded * _mix(brought, rates)
            leaving[position][-len(shares) :] += (1 - keys.forwarded) * written
    return shares


def _known(keys: Keys, threads: int) -> tuple[Hashes, Floats]:
    """All keys by their hash, and how often sources draw them; the threads' own come last."""
    drawn = np.array(keys.frequencies(), dtype=np.float64)
    known = np.arange(len(drawn), dtype=np.uint64)
    if keys.forwarded < 1:
        own = [own_key(len(drawn), thread) for thread in range(threads)]
        known = np.append(known, np.array(own, dtype=np.uint64))
        drawn = np.append(drawn / drawn.sum(), np.zeros(threads))
    hashes: Hashes = mixed(known)  # type: ignore
    return hashes, drawn


def _dealt(hashes: Hashes, often: Floats, threads: int) -> Floats:
    """Each thread's part of the tuples whose keys are that often."""
    receiver = (hashes % np.uint64(threads)).astype(np.int64)
    # Divided last: of equally frequent keys that is their exact count over all.
    return np.asarray(np.bincount(receiver, often, threads) / often.sum())


def _routed(plan: Plan, stream: int) -> Floats:
    """Each thread's part of a stream that does not look at keys."""
    given = plan.pipeline.topology.streams[stream]
    threads = plan.placement.threads[plan.pipeline.topology.index[given.target]]
    kind = plan.routing(given)
    parts = np.ones(threads)
    if kind == "global":
        parts[1:] = 0.0
    elif kind == "weighted":
        parts[:] = plan.weights[given.target]
    return np.asarray(parts / parts.sum())


def _mix(parts: dict[int, Floats], rates: ArrivalRates) -> Floats:
    """The streams' parts together, by their rates."""
    weights = rates.streams[list(parts)]
    if len(parts) == 1 or not weights.sum():
        return next(iter(parts.values()))
    return np.asarray(np.average(list(parts.values()), axis=0, weights=weights), dtype=np.float64)
