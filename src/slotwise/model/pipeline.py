"""Everything the planner knows: the content of one spec file."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from slotwise.model.cluster import Cluster, VmType
from slotwise.model.errors import ModelError
from slotwise.model.goals import Goals
from slotwise.model.limits import check_range, not_negative, set_fields
from slotwise.model.platform import Platform
from slotwise.model.profiles import Profiles
from slotwise.model.topology import Topology

Engine = Literal["auto", "real-time", "micro-batch"]


@dataclass(frozen=True)
class NetworkDelays:
    """How long a tuple travels, by how far apart its two threads are."""

    slot_ms: float = 0.0
    node_ms: float = 0.1
    rack_ms: float = 0.5
    cluster_ms: float = 1.0

    def __post_init__(self) -> None:
        for name in ("slot_ms", "node_ms", "rack_ms", "cluster_ms"):
            path = ("network", name)
            delay_ms = not_negative(getattr(self, name), f"network {name}", path=path)
            check_range(delay_ms, f"network {name}", path=path)
            set_fields(self, **{name: delay_ms})


@dataclass(frozen=True)
class Choice:
    """An algorithm by name, with the options that differ from its defaults."""

    name: str
    options: Mapping[str, float | int | str] = field(default_factory=dict)

    def __str__(self) -> str:
        """As it is written on the command line: `topology:alpha=0.2`."""
        options = ",".join(f"{name}={value}" for name, value in self.options.items())
        return f"{self.name}:{options}" if options else self.name


@dataclass(frozen=True)
class Scheduler:
    """The algorithms a pipeline is planned with.

    `auto` leaves the choice to the planner: it searches all allocators and placers that are not
    named, and buys at the least price. Beside a named allocator and a named placer, the `auto`
    provisioner is `largest-first`, as in paper 1.
    """

    allocator: Choice = Choice("auto")
    provisioner: Choice = Choice("auto")
    placer: Choice = Choice("auto")


@dataclass(frozen=True)
class Pipeline:
    """A topology with its profiles, where it may run, and what it must reach.

    Machines are bought from `catalog`, or they are the fixed `cluster`; exactly one is given.
    """

    topology: Topology
    profiles: Profiles
    catalog: tuple[VmType, ...] = ()
    cluster: Cluster | None = None
    goals: Goals = field(default_factory=Goals)
    network: NetworkDelays = NetworkDelays()
    scheduler: Scheduler = Scheduler()
    engine: Engine = "auto"
    """How Spark runs it: `auto` takes real-time mode if every operator and source can run in it."""
    platform: Platform = field(default_factory=Platform)
    """What the engine itself takes."""
    packages: tuple[str, ...] = ()
    """Maven coordinates of Java libraries that a run needs."""
    jars: tuple[str, ...] = ()
    """Files and folders with such libraries."""
    conf: tuple[tuple[str, str], ...] = ()
    """Settings of Spark for a run, beside Slotwise's own."""

    def __post_init__(self) -> None:
        if bool(self.catalog) == (self.cluster is not None):
            raise ModelError("expected either a 'catalog' of machine types or a fixed 'cluster'")
        names = {operator.name for operator in self.topology.operators}
        for name in self.profiles.by_operator:
            if name not in names:
                raise ModelError(
                    f"there is a profile for '{name}', but no such operator", ("profiles", name)
                )
        for operator in self.topology.operators:
            if operator.name not in self.profiles.by_operator:
                raise ModelError(
                    f"operator '{operator.name}' has no profile: add one under 'profiles'",
                    ("topology", "operators", operator.name),
                )
        self._check_catalog()

    def _check_catalog(self) -> None:
        seen = set()
        for position, vm_type in enumerate(self.catalog):
            if vm_type.name in seen:
                raise ModelError(f"duplicate machine type '{vm_type.name}'", ("catalog", position))
            seen.add(vm_type.name)

    @property
    def slot_memory_gb(self) -> float:
        """The memory of the reference slot, in which profiles and capacities are counted."""
        return self.profiles.slot_memory_mb / 1024
