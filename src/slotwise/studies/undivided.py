"""Examples as papers have them: an operator that keeps state has any number of threads."""

from __future__ import annotations

from dataclasses import replace

from slotwise.model import Pipeline
from slotwise.model.limits import MOST


def undivided(pipeline: Pipeline) -> Pipeline:
    """With as many key groups as a plan may have threads: simulated, they cost nothing."""
    topology = pipeline.topology
    operators = tuple(
        replace(each, logic=replace(each.logic, key_groups=MOST)) for each in topology.operators
    )
    return replace(pipeline, topology=replace(topology, operators=operators))
