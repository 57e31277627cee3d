"""Which thread runs in which slot."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from slotwise.model.words import counted


@dataclass(frozen=True)
class CommunicationSchedule:
    """Paper 4's stepwise communication: in each step every node receives from one node only.

    `senders[step, node]` is the node that sends to `node` in that step. Stage l of the pipeline
    (the streams into the operators that are l + 1 streams away from the sources) does the same
    steps one time slot later than stage l - 1.
    """

    senders: NDArray[np.int64]
    stall_steps: int = 0
    """Extra steps per round because several threads of a node feed one thread in the same step."""
    stages: int = 1

    def step(self, time_slot: int, stage: int) -> int | None:
        """The step that `stage` does in a time slot (paper 4, Algorithm 3); None: not yet any."""
        return (time_slot - stage) % len(self.senders) if time_slot >= stage else None

    def __eq__(self, other: object) -> bool:
        return (
            isinstance(other, CommunicationSchedule)
            and self.stall_steps == other.stall_steps
            and self.stages == other.stages
            and np.array_equal(self.senders, other.senders)
        )

    __hash__ = None  # type: ignore[assignment]


@dataclass(frozen=True)
class Placement:
    """Every thread's slot: `slots[thread]`, threads numbered as in the Allocation, slots as in
    the Cluster. The array is read-only.
    """

    algorithm: str
    threads: tuple[int, ...]
    """Threads per operator, in the topology's order."""
    slots: NDArray[np.int64]
    reasons: tuple[str, ...] = ()
    schedule: CommunicationSchedule | None = None
    proven_bound: int | None = None
    """Fewest slots that any placement needs, where the placer proved it."""

    def __post_init__(self) -> None:
        slots = np.ascontiguousarray(self.slots, dtype=np.int64)
        if len(slots) != sum(self.threads):
            given = counted(len(slots), "slot")
            raise ValueError(f"{given} given for {counted(sum(self.threads), 'thread')}")
        slots = slots.copy() if slots is self.slots else slots
        slots.setflags(write=False)
        object.__setattr__(self, "slots", slots)

    def __eq__(self, other: object) -> bool:
        return (
            isinstance(other, Placement)
            and self.algorithm == other.algorithm
            and self.threads == other.threads
            and self.reasons == other.reasons
            and self.schedule == other.schedule
            and self.proven_bound == other.proven_bound
            and np.array_equal(self.slots, other.slots)
        )

    __hash__ = None  # type: ignore[assignment]

    @cached_property
    def thread_operator(self) -> NDArray[np.int64]:
        """Per thread, the position of its operator."""
        return np.repeat(np.arange(len(self.threads)), self.threads)

    @cached_property
    def used_slots(self) -> NDArray[np.int64]:
        """The slots that hold at least one thread, ascending."""
        return np.unique(self.slots)

    @cached_property
    def groups(self) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]:
        """(operator, slot, threads): how many threads of each operator are in each slot it uses.

        Ordered by operator, then slot.
        """
        width = int(self.slots.max(initial=0)) + 1
        keys, counts = np.unique(self.thread_operator * width + self.slots, return_counts=True)
        return keys // width, keys % width, counts
