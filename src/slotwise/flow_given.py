"""What a flow takes beside its operators, as a spec has it beside its topology."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields
from pathlib import Path
from typing import Any

from slotwise.model import (
    Cluster,
    Goals,
    Node,
    Pipeline,
    Profile,
    Profiles,
    SlotwiseError,
    Topology,
)
from slotwise.suggestions import instead_of

MB_PER_GB = 1024
SLOT_MEMORY_MB = 512
"""Of an executor, where nothing else is said; profiles are measured in such a slot."""
GIVEN = (
    *(each.name for each in fields(Pipeline) if each.name not in ("topology", "goals")),
    "slot_memory_gb",
    *(each.name for each in fields(Goals)),
)
"""What a Flow takes beside its operators: see docs/reference/python.md."""
MACHINES = ("catalog", "cluster", "slot_memory_gb")


def checked(given: Mapping[str, Any]) -> dict[str, Any]:
    for name in given:
        if name not in GIVEN:
            raise SlotwiseError(f"a flow has no '{name}': {instead_of(name, GIVEN)}")
    return dict(given)


def pipeline_of(
    topology: Topology,
    profiles: Mapping[str, Profile],
    own: Mapping[str, Any],
    given: Mapping[str, Any],
) -> Pipeline:
    """With what a flow has of its `own`, and what is `given` in place of that or beside it.

    Raises SlotwiseError for what a pipeline cannot be.
    """
    has_machines = "cluster" in given or "catalog" in given
    kept = {k: v for k, v in own.items() if not (has_machines and k in MACHINES)}
    chosen = kept | checked(given)
    slot_memory_gb, cluster, catalog = machines(chosen)
    goals = {each.name: chosen[each.name] for each in fields(Goals) if each.name in chosen}
    done = (*MACHINES, "profiles", *goals)
    return Pipeline(
        topology,
        Profiles(
            {o.name: profiles[o.name] for o in topology.operators}, slot_memory_gb * MB_PER_GB
        ),
        catalog=catalog,
        cluster=cluster,
        goals=Goals(**goals),
        **{name: value for name, value in chosen.items() if name not in done},
    )


def profiles_of(given: Mapping[str, Profile] | str | Path | None) -> dict[str, Profile]:
    """As they are, or of a file that specs include."""
    if not isinstance(given, str | Path):
        return dict(given or {})
    from slotwise.spec.build_profiles import profiles_of as profiles_in
    from slotwise.spec.including import read_included

    return dict(profiles_in(read_included(str(given)).profiles))


def machines(given: Mapping[str, Any]) -> tuple[float, Cluster | None, tuple[Any, ...]]:
    """(memory of the slot that profiles count in, the cluster, the catalog); see spec.md."""
    cluster, catalog = given.get("cluster"), tuple(given.get("catalog", ()))
    if cluster is None and not catalog:
        from slotwise.machine import describe

        cores, slot_gb = describe().cores, SLOT_MEMORY_MB / MB_PER_GB
        cluster = [Node("this-machine", cores, cores * slot_gb)]
    if isinstance(cluster, Cluster):
        return cluster.slot_memory_gb, cluster, catalog
    machines = [*(cluster or ()), *catalog]
    slot_gb = given.get("slot_memory_gb") or min(m.memory_gb / m.slots for m in machines)
    return slot_gb, Cluster(tuple(cluster), slot_gb) if cluster else None, catalog
