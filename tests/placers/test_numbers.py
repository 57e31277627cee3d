"""Integers where floats are meant make no difference to any placer."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import slotwise
from slotwise import registry
from slotwise.model import (
    Bundle,
    Choice,
    Cluster,
    FixedLoad,
    Node,
    Pipeline,
    Placement,
    Profiles,
    ServiceRate,
)
from slotwise.placers.base import PlacementProblem
from slotwise.testing.strategies import allocations, topologies
from tests import builders

OPTIONS = {"exact": {"effort": 0.01}}


def either(draw: st.DrawFn, figure: int) -> Any:
    """The figure, as an integer or as a float."""
    return draw(st.sampled_from([int, float]))(figure)


@st.composite
def problems(draw: st.DrawFn) -> tuple[PlacementProblem, PlacementProblem]:
    """The same problem twice: with floats only, and with integers here and there."""
    of = draw(topologies(largest=4))
    given = draw(allocations(of))
    figures = draw(
        st.lists(
            st.tuples(*(st.integers(1, most) for most in (4, 8, 3, 3))), min_size=1, max_size=4
        )
    )
    exact, mixed = (
        Cluster(
            tuple(
                Node(f"n{n}", slots, *(kind(figure) for figure in machine))
                for n, (slots, *machine) in enumerate(figures)
            ),
            kind(2),
        )
        for kind in (float, lambda figure: either(draw, figure))
    )
    entries = tuple(
        replace(entry, bundles=tuple(_whole(draw, bundle) for bundle in entry.bundles))
        for entry in given
    )
    return (
        PlacementProblem(of, given, exact),
        PlacementProblem(of, replace(given, operators=entries), mixed),
    )


def _whole(draw: st.DrawFn, bundle: Bundle) -> Bundle:
    """With integers where its figures are whole."""
    cpu, mem = (
        either(draw, int(figure)) if figure == int(figure) else figure
        for figure in (bundle.cpu, bundle.mem)
    )
    return replace(bundle, cpu=cpu, mem=mem)


@pytest.mark.parametrize("name", registry.PLACERS)
@settings(max_examples=25, deadline=None)
@given(pair=problems())
def test_integers_are_placed_as_floats(
    name: str, pair: tuple[PlacementProblem, PlacementProblem]
) -> None:
    placer = registry.placer(Choice(name, OPTIONS.get(name, {})))
    exact, mixed = (placer.place(problem) for problem in pair)
    assert exact == mixed


@pytest.mark.parametrize("name", registry.PLACERS)
def test_a_node_of_integers_is_planned(name: str) -> None:
    profiles = Profiles({"in": FixedLoad(), "a": ServiceRate(100, 1)}, 3584)
    nodes = tuple(Node(f"n{n}", 8, 28, 1, 1) for n in range(2))
    pipeline = Pipeline(builders.topology("in>a"), profiles, cluster=Cluster(nodes, 3.5))
    plan = slotwise.plan(pipeline, 250, allocator="lsa", placer=Choice(name, OPTIONS.get(name, {})))
    assert isinstance(plan.placement, Placement)
