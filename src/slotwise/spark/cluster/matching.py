"""The nodes of a plan on the hosts that a cluster gives: which is which.

A node that has the name of a host is that host. The others are any hosts with room for them.

A cluster manager deals out executors as it likes, often evenly. So if nodes differ, more executors
are asked for than there are slots, until every node has a host with as many as it has slots; what
is left over is given back.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass, field

from slotwise.model import Node, SlotwiseError, counted

MOST_MORE = 3
"""At most so many times the executors that are needed are asked for in addition."""


def hosts_of(nodes: Sequence[Node], executors: Collection[str]) -> tuple[str, ...]:
    """The host of each node, given the hosts of all executors: of its name, or else the node with
    most slots goes to the host with most executors, and so on. Raises SlotwiseError if one has too
    few.
    """
    found = {}
    for node, host, count in _paired(nodes, executors):
        if count < nodes[node].slots:
            is_named = host == nodes[node].name
            which = "the host of its name" if is_named else f"{host}, the largest host left"
            raise SlotwiseError(
                f"node '{nodes[node].name}' has {counted(nodes[node].slots, 'slot')}, and {which}, "
                f"has {counted(count, 'executor')} "
                f"({len(executors)} on {counted(len(set(executors)), 'host')})"
            )
        found[node] = host
    return tuple(found[node] for node in range(len(nodes)))


def missing(nodes: Sequence[Node], executors: Collection[str]) -> int:
    """How many executors there would have to be in addition, on the right hosts."""
    return sum(max(0, nodes[node].slots - count) for node, _, count in _paired(nodes, executors))


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


def _paired(nodes: Sequence[Node], executors: Collection[str]) -> Iterator[tuple[int, str, int]]:
    """Each node with the host it would go to, and how many of the executors that has."""
    counts = Counter(executors)
    named = [node for node, each in enumerate(nodes) if each.name in counts]
    for node in named:
        yield node, nodes[node].name, counts.pop(nodes[node].name)
    hosts = sorted(counts.items(), key=lambda item: (-item[1], item[0]))
    others = sorted(set(range(len(nodes))) - {*named}, key=lambda node: (-nodes[node].slots, node))
    hosts += [("no host", 0)] * len(others)
    for node, (host, count) in zip(others, hosts, strict=False):
        yield node, host, count
