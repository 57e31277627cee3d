"""Round robin: paper 1's example, and Storm's Even with a number of workers."""

from __future__ import annotations

import numpy as np
import pytest

from slotwise.model import Placement, Refusal, Topology
from slotwise.placers.base import PlacementProblem
from slotwise.placers.round_robin import RoundRobin
from tests import builders

COLOURS = ("blue>orange", "blue>yellow", "orange>green", "yellow>green")
THREADS = {"blue": 5, "orange": 4, "yellow": 3, "green": 5}


def place(topology: Topology, nodes: int, slots: int, **options: int) -> Placement | Refusal:
    allocation = builders.allocation(topology, THREADS)
    return RoundRobin(**options).place(
        PlacementProblem(topology, allocation, builders.cluster(nodes, slots))
    )


def test_the_papers_example() -> None:
    """Section 7.1: blue on the first five slots, orange from the sixth on, and so round."""
    placement = place(builders.topology(*COLOURS), nodes=3, slots=2)
    assert isinstance(placement, Placement)
    blue, orange, yellow, green = np.split(placement.slots, [5, 9, 12])
    assert blue.tolist() == [0, 1, 2, 3, 4]
    assert orange.tolist() == [5, 0, 1, 2]
    assert yellow.tolist() == [3, 4, 5]
    assert green.tolist() == [0, 1, 2, 3, 4]


def test_workers_are_spread_evenly_over_the_nodes() -> None:
    placement = place(builders.topology(*COLOURS, workers=4), nodes=3, slots=2)
    assert isinstance(placement, Placement)
    assert placement.slots[:5].tolist() == [0, 2, 4, 1, 0]
    assert np.bincount(placement.slots, minlength=6).tolist() == [5, 4, 4, 0, 4, 0]


def test_workers_beyond_the_threads_stay_unused() -> None:
    placement = place(builders.topology(*COLOURS, workers=20), nodes=5, slots=4)
    assert isinstance(placement, Placement)
    assert len(placement.used_slots) == 17


def test_the_option_goes_before_the_topology() -> None:
    placement = place(builders.topology(*COLOURS, workers=6), nodes=3, slots=2, workers=2)
    assert isinstance(placement, Placement)
    assert placement.used_slots.tolist() == [0, 2]


def test_more_workers_than_slots_are_refused_with_the_numbers() -> None:
    refusal = place(builders.topology(*COLOURS, workers=9), nodes=3, slots=2)
    assert isinstance(refusal, Refusal)
    assert (refusal.resource, refusal.missing, refusal.final) == ("slots", 3.0, False)
    assert "9 workers" in refusal.reason
    assert "6 slots" in refusal.reason


def test_a_number_of_workers_below_one_is_an_error() -> None:
    with pytest.raises(ValueError, match="workers: invalid value '0': expected an integer ≥ 1"):
        RoundRobin(workers=0)
