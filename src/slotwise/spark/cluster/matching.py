"""The nodes of a plan on the hosts that a cluster gives: which is which.

A cluster manager deals out executors as it likes, often evenly. So if nodes differ, more executors
are asked for than there are slots, until every node has a host with as many as it has slots; what
is left over is given back.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, field

from slotwise.model import Node, SlotwiseError, counted

MOST_MORE = 3
"""At most so many times the executors that are needed are asked for in addition."""


def hosts_of(nodes: Sequence[Node], executors: Collection[str]) -> tuple[str, ...]:
    """The host of each node, given the hosts of all executors: the node with most slots goes to the
    host with most executors, and so on. Raises SlotwiseError if one has too few.
    """
    hosts = _ranked(executors)
    found = {}
    for rank, node in enumerate(_largest_first(nodes)):
        host, count = hosts[rank] if rank < len(hosts) else ("no host", 0)
        if count < nodes[node].slots:
            raise SlotwiseError(
                f"node '{nodes[node].name}' has {counted(nodes[node].slots, 'slot')}, and {host}, "
                f"the largest host left, has {counted(count, 'executor')} "
                f"({len(executors)} on {counted(len(hosts), 'host')})"
            )
        found[node] = host
    return tuple(found[node] for node in range(len(nodes)))


def missing(nodes: Sequence[Node], executors: Collection[str]) -> int:
    """How many executors there would have to be in addition, on the right hosts."""
    counts = [count for _, count in _ranked(executors)] + [0] * len(nodes)
    slots = (nodes[node].slots for node in _largest_first(nodes))
    return sum(max(0, slots - count) for slots, count in zip(slots, counts, strict=False))


@dataclass
class Matching:
    """Hosts for some nodes, found by asking for more executors where that is needed."""

    nodes: Sequence[Node]
    ask: Callable[[int], None]
    """Asks for so many executors more than the nodes have slots; the first time for none."""
    more: int = field(default=0, init=False)
    hosts: tuple[str, ...] = field(default=(), init=False)
    """Of each node, when they were found."""
    refusal: str = field(default="", init=False)
    """Why they were not, the last time."""

    def matches(self, executors: Collection[str]) -> bool:
        """Whether living executors on these hosts are enough; if not, as many as are missing are
        asked for, once those that were asked for before are there.
        """
        slots = sum(node.slots for node in self.nodes)
        try:
            self.hosts = hosts_of(self.nodes, executors)
        except SlotwiseError as error:
            self.refusal = str(error)
            if len(executors) >= slots + self.more and self.more < MOST_MORE * slots:
                self.more += missing(self.nodes, executors)
                self.ask(self.more)
            return False
        return True


def _ranked(executors: Collection[str]) -> list[tuple[str, int]]:
    """Hosts and how many of the executors they have, most first."""
    return sorted(Counter(executors).items(), key=lambda item: (-item[1], item[0]))


def _largest_first(nodes: Sequence[Node]) -> list[int]:
    return sorted(range(len(nodes)), key=lambda node: (-nodes[node].slots, node))
