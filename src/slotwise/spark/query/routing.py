"""Which thread of the next operator a tuple goes to, as Spark SQL.

A tuple's turn is a number in [0, 2³²): its id times an irrational step, modulo 1 (a Weyl
sequence). Consecutive ids spread over the threads within a fraction of a percent of their shares,
whatever subset of ids arrives, and a replay after a failure takes the same way again. Each stream
has a step of its own: with one step for all, the ids that a thread gets by their turn would all go
to one thread of the next level.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from slotwise.model import Plan
from slotwise.spark.query.levels import Layout
from slotwise.spark.query.names import literal

TURNS = 2**32
COPY_STEP = 2654435769
"""Turns between the copies of one tuple: 2³² over the golden ratio."""
OWN_SALT = -1
"""The salt of what is aggregated; what only passes an aggregate's level has another."""
POSITION = "_position"
"""The column that numbers the tuples which a `flat` operator makes of one."""


@dataclass(frozen=True)
class Routes:
    """All ways out of the operators of a plan, at the places where the plan has the threads."""

    plan: Plan
    layout: Layout

    def candidates(self, operator: int, has_positions: bool) -> Iterator[str]:
        """One SQL struct (operator, thread, hop) for each tuple that one output tuple may become.

        A candidate that is NULL is not sent.
        """
        topology = self.plan.pipeline.topology
        outputs = topology.outputs[operator]
        if not outputs and not self.layout.is_last(self.layout.level[operator]):
            yield self._struct(operator, operator, "0")
        for stream in outputs:
            target = topology.edges[stream][1]
            for thread, condition in self._threads(stream, has_positions):
                route = self._struct(operator, target, thread)
                yield f"IF({condition}, {route}, NULL)" if condition else route

    def onward(self, level: int) -> str:
        """The way of a tuple that only passes `level`: the same target, one hop on."""
        cases = [
            f"WHEN {target} THEN {self._hop(level, target, '_thread')}"
            for target in self.layout.passing(level)
        ]
        hop = f"CASE _operator {' '.join(cases)} END"
        return f"named_struct('operator', _operator, 'thread', _thread, 'hop', {hop})"

    def keys(self, stream: int) -> dict[str, str]:
        """Column -> the key in it: what the stream's grouping needs to know of the sender's output
        tuple. See `keys`.
        """
        grouping = self.plan.pipeline.topology.streams[stream].grouping
        keys = ("thread",) if grouping.kind == "direct" else grouping.fields
        return {f"_key{stream}_{number}": key for number, key in enumerate(keys)}

    @cached_property
    def salts(self) -> tuple[int, ...]:
        """Per key group, a grouping key that Spark's hash sends there."""
        partitions = self.layout.key_groups
        assert partitions is not None
        found: dict[int, int] = {}
        for salt in itertools.count():
            found.setdefault(hash_of_int(salt) % partitions, salt)
            if len(found) == partitions:
                return tuple(found[partition] for partition in range(partitions))
        raise AssertionError

    def _threads(self, stream: int, has_positions: bool) -> Iterator[tuple[str, str | None]]:
        """(thread, condition) in SQL, for each copy of a tuple that may be sent on the stream."""
        copies = sent_per_output(self.layout, stream)
        is_written = self.layout.topology.edges[stream][1] in self.layout.links
        if self.layout.topology.streams[stream].grouping.kind == "all" and not is_written:
            yield from ((str(thread), None) for thread in range(round(copies)))
            return
        for copy in range(math.ceil(copies)):
            turn = _turn(_step(2 * stream), copy, has_positions)
            condition = None
            if copies - copy < 1:
                share = round((copies - copy) * TURNS)
                condition = f"{_turn(_step(2 * stream + 1), 0, has_positions)} < {share}"
            yield self._thread(stream, turn), condition

    def _thread(self, stream: int, turn: str) -> str:
        topology = self.plan.pipeline.topology
        each, (source, target) = topology.streams[stream], topology.edges[stream]
        threads, keys = self.layout.threads[target], self.keys(stream)
        if target in self.layout.keyed:
            return self._key_group(target, keys)
        if target in self.layout.links:  # near some task that reads it
            return _evenly(turn, self.layout.tasks[target])
        match self.plan.routing(each):
            case "fields":
                return f"pmod(hash({', '.join(keys)}), {threads})"
            case "global":
                return "0"
            case "direct":
                (thread,) = keys
                return _direct(thread, topology.operators[target].name, threads)
            case "weighted":
                return _by_weights(turn, self.plan.weights[topology.operators[target].name])
            case "local-or-shuffle":
                return self._local_or_shuffle(source, target, turn)
        return _evenly(turn, threads)

    def _key_group(self, target: int, keys: Iterable[str]) -> str:
        """The keyed operator's task to which Spark's own hash partitioning will send the tuple."""
        level = self.layout.level[target]
        salt = [str(OWN_SALT)] if self.layout.passing(level) else []
        return f"pmod(hash({', '.join([*salt, *keys])}), {self.layout.partitions[level]})"

    def _local_or_shuffle(self, source: int, target: int, turn: str) -> str:
        """Threads in the sender's slot take turns; a sender that has none there shuffles."""
        slots, cases = self._slots(target), []
        for k, slot in enumerate(self._slots(source)):
            local = np.flatnonzero(slots == slot)
            if len(local):
                chosen = f"element_at(array({_listed(local)}), 1 + {_evenly(turn, len(local))})"
                cases.append(f"WHEN {self.layout.first_partition[source] + k} THEN {chosen}")
        anywhere = _evenly(turn, self.layout.threads[target])
        if not cases:
            return anywhere
        return f"CASE spark_partition_id() {' '.join(cases)} ELSE {anywhere} END"

    def _struct(self, source: int, target: int, thread: str) -> str:
        hop = self._hop(self.layout.level[source], target, thread)
        return f"named_struct('operator', {target}, 'thread', {thread}, 'hop', {hop})"

    def _hop(self, level: int, target: int, thread: str) -> str:
        """The partition of level + 1 that a tuple goes to on its way to a task of `target`."""
        if self.layout.level[target] == level + 1:
            first = self.layout.first_partition[target]
            return f"{first} + {thread}" if first else thread
        carriers = [self._carrier(level + 1, target, k) for k in range(self.layout.tasks[target])]
        if len(set(carriers)) == 1:
            return str(carriers[0])
        return f"element_at(array({_listed(carriers)}), 1 + {thread})"

    def _carrier(self, level: int, target: int, task: int) -> int:
        """The partition of `level` that passes on what is for a task of a later level.

        One in that task's slot, else on its node, else any: no detour over the network.
        """
        cluster = self.plan.cluster
        wanted = self._slots(target)[task]
        slots = np.array(self.layout.slots(self.plan.placement)[level])
        near = np.flatnonzero(slots == wanted)
        if not len(near):
            near = np.flatnonzero(cluster.slot_node[slots] == cluster.slot_node[wanted])
        if not len(near):
            near = np.arange(len(slots))
        return int(near[task % len(near)])

    def _slots(self, operator: int) -> NDArray[np.int64]:
        """Per task of the operator."""
        first, last = self.layout.first_task[operator : operator + 2]
        return self.plan.placement.slots[self.layout.task_thread[first:last]]


def sent_per_output(layout: Layout, stream: int) -> float:
    """Tuples that one output tuple of the stream's source becomes on the stream, in the mean.

    With `all` grouping, one per thread of the target. An operator with logic has put out as many
    tuples as it wanted, so each is sent once; for one without, the routes multiply its tuples by
    the stream's selectivity.
    """
    topology = layout.topology
    source, target = topology.edges[stream]
    if topology.streams[stream].grouping.kind == "all" and target not in layout.links:
        return float(layout.threads[target])
    return (
        topology.streams[stream].selectivity if topology.operators[source].logic.is_empty else 1.0
    )


def hash_of_int(value: int, seed: int = 42) -> int:
    """Spark's hash() of one INT: 32-bit Murmur 3, as a signed number.

    >>> hash_of_int(0), hash_of_int(1)
    (933211791, -559580957)
    """
    mixed = _rotated(value * 0xCC9E2D51, 15) * 0x1B873593
    mixed = _rotated(seed ^ (mixed & 0xFFFFFFFF), 13) * 5 + 0xE6546B64
    mixed = (mixed & 0xFFFFFFFF) ^ 4
    mixed = (mixed ^ mixed >> 16) * 0x85EBCA6B & 0xFFFFFFFF
    mixed = (mixed ^ mixed >> 13) * 0xC2B2AE35 & 0xFFFFFFFF
    mixed ^= mixed >> 16
    return mixed - TURNS if mixed >= TURNS // 2 else mixed


def _rotated(value: int, bits: int) -> int:
    value &= 0xFFFFFFFF
    return (value << bits | value >> (32 - bits)) & 0xFFFFFFFF


def _turn(step: int, copy: int, has_positions: bool) -> str:
    # 31 bits of the id times 32 of the step stay below 2⁶³, where Spark's BIGINT would overflow.
    turn = f"(id & 2147483647) * {step}"
    offset = copy * COPY_STEP % TURNS
    if has_positions:
        offset_sql = f" + ({POSITION} & 1048575) * {COPY_STEP} + {offset}"
        return f"((({turn} & 4294967295){offset_sql}) & 4294967295)"
    return (
        f"((({turn} & 4294967295) + {offset}) & 4294967295)" if offset else f"({turn} & 4294967295)"
    )


def _step(number: int) -> int:
    """An odd part of 2³²: the fraction of the square root of the prime at `number`."""
    primes = (n for n in itertools.count(2) if all(n % d for d in range(2, math.isqrt(n) + 1)))
    prime = next(itertools.islice(primes, number, None))
    return int(math.sqrt(prime) % 1 * TURNS) | 1


def _evenly(turn: str, threads: int) -> str:
    return "0" if threads == 1 else f"CAST(shiftright({turn} * {threads}, 32) AS INT)"


def _by_weights(turn: str, weights: tuple[float, ...]) -> str:
    """Thread k takes the turns of its share: one interval of [0, 2³²) after the other."""
    if len(weights) == 1:
        return "0"
    ends = np.cumsum(weights) / math.fsum(weights) * TURNS
    cases = [f"WHEN {turn} < {round(end)} THEN {k}" for k, end in enumerate(ends[:-1])]
    return f"CASE {' '.join(cases)} ELSE {len(weights) - 1} END"


def _direct(thread: str, sent_to: str, threads: int) -> str:
    text = literal(f"no such thread of {sent_to}: ")
    problem = f"raise_error(concat({text}, {thread}, '; it has {threads}'))"
    return f"CAST(IF({thread} BETWEEN 0 AND {threads - 1}, {thread}, {problem}) AS INT)"


def _listed(numbers: object) -> str:
    return ", ".join(str(int(number)) for number in numbers)  # type: ignore[attr-defined]
