"""How many threads each operator gets, and what they are charged."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from slotwise.model.limits import set_fields

TOLERANCE = 1e-9
"""Sums of fractions may pass a whole number by this much and still count as that number."""


def whole(value: float) -> int:
    """`value` rounded up, not fooled by rounding errors: whole(3.0000000001) is 3."""
    return math.ceil(value - TOLERANCE)


@dataclass(frozen=True)
class Bundle:
    """Threads of one operator that are charged together and belong in one slot.

    A `full` bundle fills a slot by itself, whatever it is charged.
    """

    threads: int
    cpu: float
    mem: float
    full: bool = False

    def __post_init__(self) -> None:
        set_fields(self, cpu=float(self.cpu), mem=float(self.mem))


@dataclass(frozen=True)
class OperatorAllocation:
    """An operator's threads, as bundles: thread 0 is the first thread of the first bundle."""

    operator: str
    arrival_rate: float
    """Tuples/s that reach the operator at the planned input rate."""
    bundles: tuple[Bundle, ...]
    reason: str
    """Why so many threads: the rule or bound that decided."""
    transfer_cpu: float = 0.0
    """CPU (slots) that one tuple/s costs when it crosses to another node, at either end."""

    def __post_init__(self) -> None:
        figures = float(self.arrival_rate), float(self.transfer_cpu)
        set_fields(self, arrival_rate=figures[0], transfer_cpu=figures[1])

    @cached_property
    def threads(self) -> int:
        return sum(bundle.threads for bundle in self.bundles)

    @cached_property
    def cpu(self) -> float:
        return math.fsum(bundle.cpu for bundle in self.bundles)

    @cached_property
    def mem(self) -> float:
        return math.fsum(bundle.mem for bundle in self.bundles)


@dataclass(frozen=True)
class Allocation:
    """One entry per operator, in the topology's order of declaration.

    Threads are numbered through, operator by operator: `first_thread[i] + k` is thread k of
    operator i.
    """

    algorithm: str
    rate: float
    """The input rate the allocation is for, tuples/s."""
    operators: tuple[OperatorAllocation, ...]

    def __iter__(self) -> Iterator[OperatorAllocation]:
        return iter(self.operators)

    @cached_property
    def threads(self) -> NDArray[np.int64]:
        """Threads per operator."""
        return np.array([entry.threads for entry in self.operators], dtype=np.int64)

    @cached_property
    def first_thread(self) -> NDArray[np.int64]:
        """Per operator, its first thread; one more entry at the end, the number of threads."""
        return np.concatenate(([0], np.cumsum(self.threads)))

    @cached_property
    def thread_operator(self) -> NDArray[np.int64]:
        """Per thread, the position of its operator."""
        return np.repeat(np.arange(len(self.operators)), self.threads)

    @cached_property
    def thread_cpu(self) -> NDArray[np.float64]:
        """Per thread, an even share of its operator's CPU."""
        per_operator = np.array([entry.cpu / entry.threads for entry in self.operators])
        return per_operator[self.thread_operator]

    @cached_property
    def thread_mem(self) -> NDArray[np.float64]:
        """Per thread, an even share of its operator's memory."""
        per_operator = np.array([entry.mem / entry.threads for entry in self.operators])
        return per_operator[self.thread_operator]

    @property
    def total_threads(self) -> int:
        return int(self.first_thread[-1])

    @property
    def cpu(self) -> float:
        return math.fsum(entry.cpu for entry in self.operators)

    @property
    def mem(self) -> float:
        return math.fsum(entry.mem for entry in self.operators)

    @property
    def slots(self) -> int:
        """The slots the allocation pays for: whole slots of CPU or of memory, whichever is more."""
        return max(1, whole(self.cpu), whole(self.mem))
