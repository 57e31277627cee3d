"""Independent parts of a topology: placed one after the other, each close together."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from slotwise.model import Allocation, Topology
from slotwise.model.allocation import TOLERANCE

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


@dataclass(frozen=True)
class Parts:
    """The parts of a topology (`Topology.parts`) in the order in which they are placed: the largest
    first, by CPU and memory, since it is the hardest to keep together; ties as declared.
    """

    turn: Ints
    """Per operator, the position of its part in that order."""
    cpu: Floats
    """Per part, what its operators are charged."""
    mem: Floats

    @classmethod
    def of(cls, topology: Topology, allocation: Allocation) -> Parts:
        part = np.empty(len(topology.operators), dtype=np.int64)
        for position, operators in enumerate(topology.parts):
            part[list(operators)] = position
        cpu = _sums(part, np.array([entry.cpu for entry in allocation]))
        mem = _sums(part, np.array([entry.mem for entry in allocation]))
        order = np.argsort(-(cpu + mem), kind="stable")
        return cls(np.argsort(order)[part], cpu[order], mem[order])

    @classmethod
    def as_one(cls, allocation: Allocation) -> Parts:
        """All operators as if they were one part."""
        turn = np.zeros(len(allocation.operators), dtype=np.int64)
        return cls(turn, np.array([allocation.cpu]), np.array([allocation.mem]))

    def __len__(self) -> int:
        return len(self.cpu)

    def ends(self, turns: Ints) -> Ints:
        """Where each part ends in a list of things that is sorted by their part's turn."""
        return np.searchsorted(turns, np.arange(len(self)), side="right")

    def steps(self, turn: int, cpu_left: Floats, mem_left: Floats, rack: Ints) -> tuple[Ints, Ints]:
        """The nodes in the order in which a part may use them, and where each step of them ends: a
        placer goes to the next step when something fits on no node of the steps before.

        1. The node that has room for the whole part, of several the one with the least CPU and
           memory left; no such step if there is none.
        2. That node's rack; else the rack that has room for the part, of several the one with the
           least left.
        3. The other racks one by one, the one with the most left first.

        A topology of one part may use all nodes in one step: there is nothing to keep it apart
        from, and the papers' rules decide alone. O(nodes · log nodes).
        """
        nodes = np.arange(len(rack))
        if len(self) == 1:
            return nodes, np.array([len(nodes)])
        rack_cpu, rack_mem = _sums(rack, cpu_left), _sums(rack, mem_left)
        need = float(self.cpu[turn]), float(self.mem[turn])
        node = _tightest(*need, cpu_left, mem_left)
        first = _tightest(*need, rack_cpu, rack_mem) if node is None else int(rack[node])
        step = 2 + np.argsort(np.argsort(-(rack_cpu + rack_mem), kind="stable"))[rack]
        if first is not None:
            step[rack == first] = 1
        if node is not None:
            step[node] = 0
        sequence = np.argsort(step, kind="stable")
        return sequence, np.flatnonzero(np.diff(step[sequence], append=-1)) + 1

    def reasons(self) -> tuple[str, ...]:
        """What a placement says of them: nothing if there is only one."""
        return (f"{len(self)} independent parts, one after the other",) if len(self) > 1 else ()


def _sums(group: Ints, values: Floats) -> Floats:
    return np.bincount(group, values).astype(np.float64)


def _tightest(cpu: float, mem: float, cpu_left: Floats, mem_left: Floats) -> int | None:
    """The place with the least left that holds both needs, the first of equals."""
    holds = np.flatnonzero((cpu_left >= cpu - TOLERANCE) & (mem_left >= mem - TOLERANCE))
    if not len(holds):
        return None
    return int(holds[np.argmin((cpu_left + mem_left)[holds])])
