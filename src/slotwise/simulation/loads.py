"""What operators, streams, threads, slots and links did in a finished run."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from slotwise.model import LinkLoad, OperatorLoad, StreamLoad, ThreadLoad, ThreadTraffic
from slotwise.prediction.groups import summed
from slotwise.simulation.kernels.measure import visited
from slotwise.simulation.kernels.speeds import mean_slowness

if TYPE_CHECKING:
    from slotwise.simulation.run import Run

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]


def counted_s(run: Run) -> float:
    """How long figures per thread, and traffic, were counted."""
    return max(run.end_s - max(run.tally.warm_up, run.last_change_s), 1e-12)


def per_second(run: Run, counts: Floats | Integers) -> Floats:
    return np.asarray(counts / counted_s(run), dtype=np.float64)


def asked_of_threads(run: Run, offered_rate: float) -> tuple[Floats, Floats]:
    """Per thread, seconds of work that arrive per second, done or not; and with the time in which
    it is blocked by full buffers, which it needs, too.

    Work is the expected rate of its operator, times the part that is routed to the thread, times
    the mean time a visit takes there. Means that the model knows are taken from it: counted ones
    would differ by chance.
    """
    tally, threads = run.tally, run.world.threads
    operator, handled = threads["operator"], tally.threads["handled"].astype(np.float64)
    share, visit_s = _shares(run, handled), _visit_s(run)
    arriving = run.figures.rates.operators[operator] * (offered_rate / run.rate) * share
    work = np.asarray(arriving * visit_s, dtype=np.float64)
    return work, work + per_second(run, tally.threads["blocked"])


def _visit_s(run: Run) -> Floats:
    """Per thread, the mean time that a tuple takes there; counted where its way matters."""
    threads, handled = run.world.threads, run.tally.threads["handled"]
    slow = mean_slowness(run.world.speeds, len(threads), run.end_s - counted_s(run), run.end_s)
    service_s = threads["service_s"] * slow
    if not run.world.transfers:
        return np.asarray(service_s, dtype=np.float64)
    counted: Floats = service_s + threads["visit_s"] * slow
    np.divide(run.tally.threads["busy"], handled, out=counted, where=handled > 0)
    return counted


def _shares(run: Run, handled: Floats) -> Floats:
    """Per thread, its part of its operator's tuples: as the groupings route them, or as counted
    where keys or places decide.
    """
    topology, first = run.plan.pipeline.topology, run.plan.allocation.first_thread
    shares = np.zeros(len(handled))
    for position, inputs in enumerate(topology.inputs):
        here = slice(int(first[position]), int(first[position + 1]))
        threads = here.stop - here.start
        kinds = [run.plan.routing(topology.streams[stream]) for stream in inputs]
        if not {"shuffle", "direct", "all", "weighted"}.issuperset(kinds):
            shares[here] = handled[here] / max(float(handled[here].sum()), 1.0)
            continue
        shares[here] = 1 / threads
        if "weighted" in kinds:
            rates = run.figures.rates.streams[list(inputs)]
            by_weight = np.array([kind == "weighted" for kind in kinds])
            part = float(rates[by_weight].sum() / max(float(rates.sum()), 1e-300))
            weights = np.array(run.plan.weights[topology.operators[position].name])
            shares[here] = (1 - part) / threads + part * weights / weights.sum()
    return shares


def link_loads(run: Run) -> tuple[LinkLoad, ...]:
    """Per node of the cluster; nothing where links have no limit."""
    links = run.tally.links
    if not links["sending"].any():
        return ()
    found = np.zeros(len(run.plan.cluster.nodes), links.dtype)
    found[: len(links)] = links
    out, received = per_second(run, found["sending"]), per_second(run, found["receiving"])
    held = per_second(run, found["held"])
    return tuple(
        LinkLoad(
            node=node.name,
            out_utilisation=float(out[i]),
            in_utilisation=float(received[i]),
            held=float(held[i]),
            most_held=int(found["most"][i]),
            lost=int(found["lost"][i]),
            resent=int(found["resent"][i]),
        )
        for i, node in enumerate(run.plan.cluster.nodes)
    )


def asked_of_links(run: Run) -> float:
    """Seconds that tuples need the busiest link of a node per second; 0: links have no limit."""
    links = run.tally.links
    busiest = max(float(links[way].max(initial=0.0)) for way in ("sending", "receiving"))
    return busiest / counted_s(run)


def asked_of_turns(run: Run) -> float:
    """Turns that tuples from one node to another need for each one that there is (paper 4)."""
    world, most = run.world, int(run.tally.turns.max(initial=0))
    if most == 0:
        return 0.0
    return most / world.turn_tuples * world.round_steps * world.step_s / counted_s(run)


def operator_loads(run: Run, queue: Sequence[float]) -> tuple[OperatorLoad, ...]:
    """`queue` is the mean number of tuples that waited for each."""
    names = [operator.name for operator in run.plan.pipeline.topology.operators]
    sums, threads = run.tally.operators, run.world.threads
    fields = ("handled", "waiting", "busy", "busy_squared")
    visits, waiting, service, squared = (visited(run.tally, run.world, each) for each in fields)
    length_s = max(run.end_s - run.tally.warm_up, 1e-12)
    with np.errstate(divide="ignore"):
        capacity = summed(1 / _visit_s(run), threads["operator"], len(names))
    busy = summed(per_second(run, run.tally.threads["busy"]), threads["operator"], len(names))
    cpu = summed(_used(run, "cpu"), threads["operator"], len(names))
    emitted = summed(
        per_second(run, _sent(run)), run.world.streams["source"].astype(np.int64), len(names)
    )

    def mean_ms(seconds: Floats, position: int) -> float | None:
        return 1000 * float(seconds[position] / visits[position]) if visits[position] else None

    return tuple(
        OperatorLoad(
            operator=name,
            arrival_rate=float(visits[i]) / length_s,
            emitted_rate=float(emitted[i]),
            capacity=float(capacity[i]),
            utilisation=float(busy[i]) / run.plan.placement.threads[i],
            waiting_ms=mean_ms(waiting, i),
            service_ms=mean_ms(service, i),
            network_ms=mean_ms(sums["network"], i),
            service_scv=_scv(float(visits[i]), float(service[i]), float(squared[i])),
            cpu=float(cpu[i]),
            queue=queue[i],
            lost=int(sums["lost"][i]),
            resent=int(sums["resent"][i]),
        )
        for i, name in enumerate(names)
    )


def _scv(count: float, total: float, squared: float) -> float | None:
    """Squared coefficient of variation; None where nothing took any time."""
    return max(0.0, count * squared / (total * total) - 1) if total > 0 else None


def _used(run: Run, what: str) -> Floats:
    """Per thread, `cpu` or `mem` in the mean: what it takes while busy, and at any time."""
    figures = run.figures.of_threads
    busy = np.minimum(per_second(run, run.tally.threads["busy"]), 1.0)
    always: Floats = getattr(figures, f"always_{what}")
    return np.asarray(getattr(figures, what) * busy + always, dtype=np.float64)


def slot_use(run: Run, offered_rate: float) -> tuple[Floats, Floats]:
    """Per slot, CPU and memory used, in reference slots; buffers as at the offered rate."""
    slot, figures = run.world.threads["slot"], run.figures
    used = [summed(_used(run, what), slot, run.plan.cluster.slots) for what in ("cpu", "mem")]
    in_use = np.unique(slot)
    used[0][in_use] += figures.idle_cpu
    used[1][in_use] += figures.idle_mem
    if (buffers := figures.of_threads.buffers) is not None:
        used[0] += buffers.cpu(offered_rate / run.rate)
    return used[0], used[1]


def stream_loads(run: Run) -> tuple[StreamLoad, ...]:
    """In the topology's order; the world's streams are by their sending operator."""
    topology, streams = run.plan.pipeline.topology, run.world.streams
    order = [stream for outputs in topology.outputs for stream in outputs]
    handled = summed(
        run.tally.threads["handled"].astype(np.float64),
        run.world.threads["operator"],
        len(topology.operators),
    )
    sent = _sent(run)
    loads = {}
    for row, position in enumerate(order):
        stream, causes = topology.streams[position], float(handled[streams["source"][row]])
        copies = float(streams["copies"][row])
        loads[position] = StreamLoad(
            stream.source,
            stream.target,
            float(per_second(run, sent[row])),
            float(sent[row]) / copies / causes if causes else None,
        )
    return tuple(loads[position] for position in range(len(order)))


def _sent(run: Run) -> Integers:
    """Tuples per stream, in the world's order."""
    if len(run.tally.pairs) == 0:
        return run.tally.sent
    return np.add.reduceat(run.tally.pairs, run.world.streams["pair"])


def thread_loads(run: Run, names: list[str], asked: Floats) -> tuple[ThreadLoad, ...]:
    threads, slots = run.world.threads, run.plan.cluster.slot_names
    rows = zip(
        threads["operator"].tolist(),
        threads["place"].tolist(),
        threads["slot"].tolist(),
        per_second(run, run.tally.threads["handled"]).tolist(),
        asked.tolist(),
        strict=True,
    )
    return tuple(
        ThreadLoad(names[operator], place, slots[slot], rate, load)
        for operator, place, slot, rate, load in rows
    )


def traffic(run: Run) -> tuple[dict[str, ThreadTraffic], Integers]:
    """Between threads, slots and nodes, nothing where there are too many pairs to count; and how
    many tuples stayed in a slot, on a node, and left it.
    """
    threads, pairs = run.world.threads, run.tally.pairs
    if len(pairs) == 0:
        return {}, run.tally.distances
    used = np.flatnonzero(pairs)
    streams = run.world.streams[np.searchsorted(run.world.streams["pair"], used, side="right") - 1]
    inside = used - streams["pair"]
    senders = run.world.operators["first"][streams["source"]] + inside // streams["width"]
    receivers = streams["first"] + inside % streams["width"]
    rates = per_second(run, pairs[used])
    apart = (threads["slot"][senders] != threads["slot"][receivers]).astype(np.int64)
    apart += threads["node"][senders] != threads["node"][receivers]
    far = np.bincount(apart, pairs[used], 3).astype(np.int64)
    between = ThreadTraffic(senders, receivers, rates)
    return {
        "thread_traffic": between,
        "slot_traffic": between.between(threads["slot"]),
        "node_traffic": between.between(threads["node"]),
    }, far
