"""The machines: nodes with slots, and the catalog of types they can be bought from."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from slotwise.model.errors import ModelError
from slotwise.model.limits import check_range, count, not_negative, positive, set_fields


@dataclass(frozen=True)
class VmType:
    """A kind of machine on offer. Each slot has one core and an even share of the memory."""

    name: str
    slots: int
    memory_gb: float
    price_per_hour: float = 0.0
    speed: float = 1.0

    def __post_init__(self) -> None:
        _check_machine(self)

    @property
    def slot_memory_gb(self) -> float:
        return self.memory_gb / self.slots


@dataclass(frozen=True)
class Node:
    """One machine. `speed` is how fast one of its cores is against the profiles' core (1.0)."""

    name: str
    slots: int
    memory_gb: float
    price_per_hour: float = 0.0
    speed: float = 1.0
    rack: str = "rack-1"
    type: str | None = None

    def __post_init__(self) -> None:
        _check_machine(self)


@dataclass(frozen=True)
class Slot:
    """A worker process with one core: slot `index` of `node`."""

    node: str
    index: int

    def __str__(self) -> str:
        return f"{self.node}/{self.index}"


@dataclass(frozen=True)
class Cluster:
    """Nodes in a fixed order; slots are numbered through, node by node.

    `slot_memory_gb` is the reference slot: a demand of 1.0 memory means that much. Capacities are
    in reference slots, so a slot of speed 2 has CPU capacity 2.

    >>> two = Cluster((Node("a", 2, 7.0), Node("b", 1, 3.5)), slot_memory_gb=3.5)
    >>> two.slots, two.slot_node.tolist(), str(two.slot(2))
    (3, [0, 0, 1], 'b/0')
    """

    nodes: tuple[Node, ...]
    slot_memory_gb: float

    def __post_init__(self) -> None:
        if not self.nodes:
            raise ModelError("the cluster has no nodes", ("cluster",))
        seen = set()
        for position, node in enumerate(self.nodes):
            if node.name in seen:
                raise ModelError(f"duplicate node name '{node.name}'", ("cluster", position))
            seen.add(node.name)
        memory_gb = positive(self.slot_memory_gb, "slot_memory_gb", path=("slot_memory_gb",))
        check_range(memory_gb, "slot_memory_gb", path=("slot_memory_gb",))
        set_fields(self, slot_memory_gb=memory_gb)

    @property
    def slots(self) -> int:
        return len(self.slot_node)

    @cached_property
    def slot_node(self) -> NDArray[np.int64]:
        """Per slot, the position of its node."""
        return np.repeat(np.arange(len(self.nodes)), [node.slots for node in self.nodes])

    @cached_property
    def first_slot(self) -> NDArray[np.int64]:
        """Per node, its first slot; one more entry at the end, the number of slots."""
        return np.concatenate(([0], np.cumsum([node.slots for node in self.nodes])))

    @cached_property
    def node_rack(self) -> NDArray[np.int64]:
        """Per node, the position of its rack, in order of first appearance."""
        racks: dict[str, int] = {}
        return np.array([racks.setdefault(node.rack, len(racks)) for node in self.nodes])

    @cached_property
    def slot_cpu(self) -> NDArray[np.float64]:
        """Per slot, its CPU in reference slots: the node's speed."""
        return np.array([node.speed for node in self.nodes])[self.slot_node]

    @cached_property
    def slot_memory(self) -> NDArray[np.float64]:
        """Per slot, its memory in reference slots."""
        share = [node.memory_gb / node.slots / self.slot_memory_gb for node in self.nodes]
        return np.array(share)[self.slot_node]

    @property
    def price_per_hour(self) -> float:
        return math.fsum(node.price_per_hour for node in self.nodes)

    @cached_property
    def slot_list(self) -> tuple[Slot, ...]:
        """All of them, in order."""
        return tuple(Slot(node.name, number) for node in self.nodes for number in range(node.slots))

    @cached_property
    def slot_names(self) -> tuple[str, ...]:
        return tuple(map(str, self.slot_list))

    def slot(self, position: int) -> Slot:
        return self.slot_list[position]

    def first(self, slots: int) -> Cluster:
        """The same cluster with only its first `slots` slots; what is cut keeps its memory."""
        if slots >= self.slots:
            return self
        kept = []
        for node in self.nodes:
            taken = min(node.slots, slots)
            if taken == 0:
                break
            memory = node.memory_gb * taken / node.slots
            whole = taken == node.slots
            kept.append(node if whole else replace(node, slots=taken, memory_gb=memory))
            slots -= taken
        return Cluster(tuple(kept), self.slot_memory_gb)


def _check_machine(machine: VmType | Node) -> None:
    name = machine.name
    if not name:
        raise ModelError("a machine has an empty name")
    set_fields(
        machine,
        slots=count(machine.slots, "slots", name),
        memory_gb=positive(machine.memory_gb, "memory_gb", name),
        price_per_hour=not_negative(machine.price_per_hour, "price_per_hour", name),
        speed=positive(machine.speed, "speed", name),
    )
    # Per slot, because a machine may be cut to some of its slots.
    check_range(machine.memory_gb / machine.slots, "memory_gb per slot", name)
    check_range(machine.price_per_hour, "price_per_hour", name)
    check_range(machine.speed, "speed", name)
