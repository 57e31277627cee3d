"""What Spark itself takes, measured once per cluster: idle slots, hops, buffers, source and sink.

The operator under test passes records on. Rates, threads, sizes and distances vary, and CPU of its
slot is explained by least squares:

    cores = buffers received · b + buffers sent · b + tuples · t + threads · i

`b` is the CPU for a buffer at either end, `t` for a tuple that is received, metered and sent on,
`i` for a thread that only waits for tuples, which is measured by itself. A thread that is busy
takes less than that: it does not look for tuples. Threads that are busy without CPU show how much.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from slotwise.model import Grouping, Hop, Logic, Operator, Platform
from slotwise.profilers.bench import Bench, Idle
from slotwise.profilers.case import Captured, Case
from slotwise.profilers.measuring import Times, cpu_cores, trial
from slotwise.profilers.trial import Distance, Trial

FLUSH_MS = 5.0
"""spark.shuffle.streaming.networkBufferMaxWaitTimeMs, as sessions set it."""
BUFFER_BYTES = 32768.0
SMALL_BYTES, LARGE_BYTES = 100, 4000
IDLE_THREADS = 16
BUSY_MS = 400
"""For a tuple of the operator whose threads are busy without CPU: long, so that tuples are few."""
BUSY = 0.9
"""The part of the time in which they are busy."""
IDLE_RATE = 1.0
WARM_RATE = 20_000.0
LOW_RATE = 100.0
"""At which a hop's delay is measured: buffers are sent because they are old."""
HIGH_RATE = 20_000.0
RATES = (200.0, 2_000.0, HIGH_RATE)
THREADS = (1, 4)
TIMES = Times(most_warm_up_s=3.0, measured_s=4.0)
SLOW = ((1, LOW_RATE), (1, 500.0), (1, 2_000.0), (IDLE_THREADS, 50.0), (IDLE_THREADS, 200.0))
"""(threads, tuples/s) that a slot of a quarter of a core keeps up with: few buffers of few pairs of
threads, and of many."""
METERED_RATE = 100_000.0
METERED_TIMES = Times(most_warm_up_s=6.0, measured_s=6.0)


@dataclass(frozen=True)
class Explained:
    """The figures of the regression, in seconds of a core."""

    buffer_s: float
    tuple_s: float


def measure_idle(bench: Bench) -> Idle:
    """CPU and memory of the slot under test with a thread and next to no tuples; Java has compiled
    what tuples need by then.
    """
    bench.idle = Idle()
    case = passing(bench, SMALL_BYTES)
    trial(bench, case, 1, WARM_RATE, Times(8.0, 1.0))
    seen = trial(bench, case, 1, IDLE_RATE, Times(2.0, 5.0), memory=True)
    return Idle(seen.cpu_cores, seen.memory_mb or 0.0)


def measure_idle_thread(bench: Bench, case: Case) -> float:
    """Cores that a thread of the case takes without tuples, one in a slot with many: Spark's tasks
    look for input all the time. `bench.idle` has been measured, with one thread.
    """
    seen = trial(bench, case, IDLE_THREADS, IDLE_RATE, Times(2.0, 5.0))
    return seen.cpu_cores / (IDLE_THREADS - 1)


def measure_polling(bench: Bench, explained: Explained, thread_cores: float) -> float:
    """The part of `thread_cores` that a thread takes only while it waits for tuples: what threads
    take less that are busy without CPU. `bench.idle` has been measured.
    """
    seen = trial(bench, _busy(bench), IDLE_THREADS, BUSY * IDLE_THREADS * 1000 / BUSY_MS, TIMES)
    of_tuples = buffers_per_s(seen, SMALL_BYTES) * explained.buffer_s
    of_tuples += seen.rate * explained.tuple_s
    each = (seen.cpu_cores - of_tuples + thread_cores) / IDLE_THREADS
    busy = min(seen.rate * BUSY_MS / 1000 / IDLE_THREADS, 1.0)
    return min(max(thread_cores - each, 0.0) / max(busy, 1e-9), thread_cores)


def _busy(bench: Bench) -> Case:
    expr = f"IF(wait_us({1000 * BUSY_MS}) > 0, value, NULL)"
    operator = Operator(f"busy for {BUSY_MS} ms", "operator", 1.0, Logic(expr=expr))
    return Case(operator, records(bench, SMALL_BYTES))


def measure_platform(
    bench: Bench, progress: Callable[[str], None] = lambda sentence: None
) -> tuple[Platform, tuple[Trial, ...]]:
    """The platform's costs, and the trials that they rest on. `bench.idle` has been measured."""
    small, large = passing(bench, SMALL_BYTES), passing(bench, LARGE_BYTES)
    trials: list[Trial] = []

    def seen(case: Case, threads: int, rate: float, far: Distance = "cluster") -> Trial:
        trials.append(trial(bench, case, threads, rate, TIMES, source=far, next_hop=far))
        found = trials[-1]
        progress(
            f"{case.name}, {threads} × {rate:,.0f}/s, {far}: {found.cpu_cores:.3f} cores, "
            f"{found.latency_ms or 0:.1f} ms"
        )
        return found

    trial(bench, small, max(THREADS), WARM_RATE, Times(10.0, 1.0))  # Java compiles
    thread_cores = measure_idle_thread(bench, small)
    progress(f"a thread without tuples takes {thread_cores:.4f} cores")
    remote = [seen(small, threads, rate) for threads in THREADS for rate in RATES]
    explained = explain(remote, thread_cores)
    polling_cores = measure_polling(bench, explained, thread_cores)
    progress(f"of that {polling_cores:.4f} only while it waits for tuples")
    per_kb_s = _per_kb_s(seen(large, 1, HIGH_RATE / 4), explained)
    delays = {far: _delay_ms(seen(small, 1, LOW_RATE, far)) for far in ("slot", "node", "cluster")}
    node = explain([seen(small, 1, rate, "node") for rate in (RATES[0], HIGH_RATE)])
    slot = explain([seen(small, 1, rate, "slot") for rate in (RATES[0], HIGH_RATE)])
    ends = {kind: _end_s(seen, bench, kind, explained) for kind in ("source", "sink")}
    return (
        Platform(
            slot_cpu=max(bench.idle.cpu_cores - thread_cores, 0.0),
            thread_cpu=thread_cores,
            polling_cpu=polling_cores,
            slot_memory_mb=bench.idle.memory_mb,
            in_slot=_hop(slot, per_kb_s, delays["slot"]),
            in_node=_hop(node, per_kb_s, delays["node"]),
            between_nodes=_hop(explained, per_kb_s, delays["cluster"]),
            source_us=1e6 * ends["source"],
            sink_us=1e6 * ends["sink"],
            meter_us=1e6 * _meter_s(bench, small, progress),
            flush_ms=FLUSH_MS,
            buffer_bytes=BUFFER_BYTES,
            record_kb=SMALL_BYTES / 1024,
            cores=bench.cores or 1.0,
        ),
        tuple(trials),
    )


def measure_hops(
    bench: Bench, progress: Callable[[str], None] = lambda sentence: None
) -> tuple[Platform, tuple[Trial, ...]]:
    """Idle slots and hops only: few trials, at rates for a slot with a small CPU quota.

    Hops between nodes stand for all: Spark's shuffle takes about the same for every distance on one
    machine. `bench.idle` has been measured.
    """
    case = passing(bench, SMALL_BYTES)
    trial(bench, case, 1, max(rate for _, rate in SLOW), Times(8.0, 1.0))  # Java compiles
    thread_cores = measure_idle_thread(bench, case)
    progress(f"a thread without tuples takes {thread_cores:.4f} cores")
    trials = tuple(trial(bench, case, threads, rate, TIMES) for threads, rate in SLOW)
    for seen in trials:
        progress(
            f"{seen.threads} × {seen.rate:,.0f}/s: {seen.cpu_cores:.3f} cores, "
            f"{_delay_ms(seen):.1f} ms"
        )
    # What disturbs a trial only makes tuples later.
    delay_ms = min(_delay_ms(each) for each in trials)
    explained = explain(trials, thread_cores)
    polling_cores = measure_polling(bench, explained, thread_cores)
    progress(f"of that {polling_cores:.4f} only while it waits for tuples")
    hop = _hop(explained, 0.0, delay_ms)
    progress(f"a hop takes {hop.delay_ms:.1f} ms, a buffer {hop.send_buffer_us:.0f} µs of CPU")
    return (
        Platform(
            slot_cpu=max(bench.idle.cpu_cores - thread_cores, 0.0),
            thread_cpu=thread_cores,
            polling_cpu=polling_cores,
            slot_memory_mb=bench.idle.memory_mb,
            in_slot=hop,
            in_node=hop,
            between_nodes=hop,
            flush_ms=FLUSH_MS,
            buffer_bytes=BUFFER_BYTES,
            record_kb=SMALL_BYTES / 1024,
            cores=bench.cores or 1.0,
        ),
        trials,
    )


def passing(bench: Bench, size_bytes: int) -> Case:
    """An operator that passes on records of about this size."""
    return Case(
        Operator(f"passing {size_bytes} bytes", "operator", 1.0, Logic(expr="value")),
        records(bench, size_bytes),
    )


def records(bench: Bench, size_bytes: int) -> Captured:
    file = bench.new_folder("records") / "records.jsonl"
    texts = (f"{number:08d}".ljust(size_bytes, "x") for number in range(100))
    file.write_text("".join(json.dumps({"value": text}) + "\n" for text in texts))
    return Captured(file, "value STRING", 100)


def explain(trials: Sequence[Trial], thread_cores: float = 0.0) -> Explained:
    """b and t from trials of an operator that emits what it gets, neither negative; `thread_cores`
    is i, which the first thread's part in an idle slot has already.

    Every trial counts alike, so that those at low rates, whose CPU is small, say what a buffer
    takes.
    """
    from scipy.optimize import nnls

    rows = [(buffers_per_s(each, SMALL_BYTES), each.rate) for each in trials]
    others = np.array([each.threads - 1 for each in trials])
    used = np.array([each.cpu_cores for each in trials])
    cores = np.maximum(used - others * thread_cores, 0.0)
    weights = 1 / np.maximum(used, 1e-3)
    found, _ = nnls(np.array(rows) * weights[:, None], cores * weights)
    return Explained(float(found[0]), float(found[1]))


def buffers_per_s(seen: Trial, record_bytes: int) -> float:
    """Buffers that the slot under test receives and sends: of a hop within it, both ends count."""
    platform = Platform(flush_ms=FLUSH_MS, buffer_bytes=BUFFER_BYTES, record_kb=record_bytes / 1024)
    pair_rates = np.array([seen.rate, seen.emitted_rate]) / seen.threads
    ends = np.array([2 if place == "slot" else 1 for place in (seen.source, seen.next_hop)])
    return float(seen.threads * ends @ platform.buffers_per_s(pair_rates))


def _hop(explained: Explained, per_kb_s: float, delay_ms: float) -> Hop:
    """A tuple costs its sender and its receiver half each."""
    return Hop(
        send_us=1e6 * explained.tuple_s / 2,
        receive_us=1e6 * explained.tuple_s / 2,
        per_kb_us=1e6 * per_kb_s,
        delay_ms=delay_ms,
        send_buffer_us=1e6 * explained.buffer_s,
        receive_buffer_us=1e6 * explained.buffer_s,
    )


def _per_kb_s(large: Trial, explained: Explained) -> float:
    """CPU that a larger record takes more, for one hop: a record passes two, half of each here."""
    of_buffers = buffers_per_s(large, LARGE_BYTES) * explained.buffer_s
    more = large.cpu_cores - of_buffers - large.rate * explained.tuple_s
    return max(more / large.rate / ((LARGE_BYTES - SMALL_BYTES) / 1024), 0.0)


def _delay_ms(seen: Trial) -> float:
    """Two hops, from the source to the operator and from there to its next hop."""
    return max((seen.latency_ms or 0.0) - (seen.service_ms or 0.0), 0.0) / 2


def _meter_s(bench: Bench, case: Case, progress: Callable[[str], None]) -> float:
    """CPU of the meters for a tuple: what a query takes more with them than without, at a rate at
    which that can be seen.
    """
    cores = [
        cpu_cores(bench, case, METERED_RATE, METERED_TIMES, meters=meters)
        for meters in (True, False)
    ]
    progress(f"with and without meters: {cores[0]:.3f} and {cores[1]:.3f} cores")
    return max(cores[0] - cores[1], 0.0) / METERED_RATE


def _end_s(
    seen: Callable[[Case, int, float], Trial], bench: Bench, kind: str, explained: Explained
) -> float:
    """CPU per tuple of a source or a sink, without its hop."""
    if kind == "sink":
        case = Case(
            Operator("sink", "sink"), records(bench, SMALL_BYTES), Grouping("shuffle"), emits=False
        )
    else:
        case = Case(
            Operator("source", "source", 1.0, Logic(options=(("payload", "text(92)"),))), None
        )
    found = seen(case, 1, HIGH_RATE)
    one_hop = found if kind == "sink" else replace(found, rate=0.0)
    of_buffers = buffers_per_s(one_hop, SMALL_BYTES) * explained.buffer_s
    left = found.cpu_cores - of_buffers - found.rate * explained.tuple_s / 2
    return max(left / found.rate, 0.0)
