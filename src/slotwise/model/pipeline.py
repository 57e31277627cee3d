"""Everything the planner is told: the content of one spec file."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from slotwise.model.cluster import Cluster, VmType
from slotwise.model.errors import ModelError
from slotwise.model.profile import Profiles
from slotwise.model.topology import Topology

Engine = Literal["auto", "real-time", "micro-batch"]


@dataclass(frozen=True)
class Goals:
    """What the pipeline must reach. None: no such goal."""

    rate: float | None = None
    """Input tuples/s."""
    latency_ms: float | None = None
    machines: int | None = None
    """The most nodes that may be used."""

    def __post_init__(self) -> None:
        for name in ("rate", "latency_ms", "machines"):
            value = getattr(self, name)
            if value is not None and not (math.isfinite(value) and value > 0):
                raise ModelError(f"goal {name} is {value}: write a number above 0", ("goals", name))


@dataclass(frozen=True)
class NetworkDelays:
    """How long a tuple travels, by how far apart its two threads are."""

    slot_ms: float = 0.0
    node_ms: float = 0.1
    rack_ms: float = 0.5
    cluster_ms: float = 1.0

    def __post_init__(self) -> None:
        for name in ("slot_ms", "node_ms", "rack_ms", "cluster_ms"):
            value = getattr(self, name)
            if not (math.isfinite(value) and value >= 0):
                raise ModelError(f"network {name} is {value}: write 0 or more", ("network", name))


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
    """The algorithms a pipeline is planned with."""

    allocator: Choice = Choice("mba")
    provisioner: Choice = Choice("largest-first")
    placer: Choice = Choice("sam")


@dataclass(frozen=True)
class Pipeline:
    """A topology with its profiles, where it may run, and what it must reach.

    Machines are bought from `catalog`, or they are the fixed `cluster`; exactly one is given.
    """

    topology: Topology
    profiles: Profiles
    catalog: tuple[VmType, ...] = ()
    cluster: Cluster | None = None
    goals: Goals = Goals()
    network: NetworkDelays = NetworkDelays()
    scheduler: Scheduler = Scheduler()
    engine: Engine = "auto"
    """How Spark runs it: `auto` takes real-time mode unless an operator is Python code."""

    def __post_init__(self) -> None:
        if bool(self.catalog) == (self.cluster is not None):
            raise ModelError("give either a 'catalog' of machine types or a fixed 'cluster'")
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
                raise ModelError(
                    f"two machine types are called '{vm_type.name}'", ("catalog", position)
                )
            seen.add(vm_type.name)

    @property
    def slot_memory_gb(self) -> float:
        """The memory of the reference slot, in which profiles and capacities are counted."""
        return self.profiles.slot_memory_mb / 1024
