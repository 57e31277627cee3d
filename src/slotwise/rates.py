"""Arrival rates of operators and streams: λ = λ_ext + Sᵀ λ, loops included.

Sources emit at their share of the input rate; any other operator gets, per stream that enters
it, the upstream operator's rate times the stream's selectivity. `all` grouping delivers every
tuple to every thread, so there the target's thread count multiplies.

One pass in topological order, O(operators + streams); a loop is solved for as one, in the cube of
its operators.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import rustworkx
from numpy.typing import NDArray

from slotwise.model import ModelError, Topology
from slotwise.model.limits import check_range, positive

FEWEST = 1e-30
"""Tuples of an operator per input tuple."""


@dataclass(frozen=True)
class ArrivalRates:
    """Tuples/s, in the topology's order of operators and of streams."""

    operators: NDArray[np.float64]
    """Reaching each operator; for a source, what it emits."""
    streams: NDArray[np.float64]
    """Delivered on each stream, every copy counted."""
    external: float
    """Emitted by all sources together: DRS's λ0."""

    def scaled(self, factor: float) -> ArrivalRates:
        """The same topology at `factor` times the input rate: rates are linear in it."""
        return ArrivalRates(self.operators * factor, self.streams * factor, self.external * factor)


def arrival_rates(
    topology: Topology, rate: float, threads: Sequence[int] | NDArray[np.int64] | None = None
) -> ArrivalRates:
    """Rates at `rate` input tuples/s; `threads` per operator matter for `all` grouping only.

    Without `threads`, one thread each. Raises ModelError if a loop multiplies its tuples
    (gain ≥ 1): no finite rate solves it; and if the selectivities on the way to an operator leave
    it with less than FEWEST or more than 1 / FEWEST tuples per input tuple.
    """
    check_range(positive(rate, "the rate"), "the rate")
    factors = _stream_factors(topology, threads)
    external = np.array([rate * o.share if o.kind == "source" else 0.0 for o in topology.operators])
    with np.errstate(over="ignore", invalid="ignore"):
        if topology.has_loops:
            _check_loop_gains(topology, factors)
            operators = _solve(topology, factors, external)
        else:
            operators = propagated(topology, external, factors)
    _check_rates(topology, operators / rate)
    sending = np.array([source for source, _ in topology.edges], dtype=np.int64)
    return ArrivalRates(operators, operators[sending] * factors, float(external.sum()))


def _check_rates(topology: Topology, per_input: NDArray[np.float64]) -> None:
    """Refuse rates that floats could not be divided by any more."""
    for operator, rate in zip(topology.operators, per_input.tolist(), strict=True):
        if not FEWEST <= rate <= 1 / FEWEST:
            compared, change = ("fewer than", "raise") if rate < 1 else ("more than", "reduce")
            limit = FEWEST if rate < 1 else 1 / FEWEST
            raise ModelError(
                f"operator '{operator.name}' would get {compared} {limit:g} tuples per input "
                f"tuple: {change} the selectivities on the way to it",
                ("topology", "operators", operator.name),
            )


def sent_per_tuple(
    topology: Topology, threads: Sequence[int] | NDArray[np.int64]
) -> NDArray[np.float64]:
    """Per operator, the tuples that it sends for each that it handles, every copy counted."""
    sending = np.array([source for source, _ in topology.edges], dtype=np.int64)
    factors = _stream_factors(topology, threads)
    return np.bincount(sending, factors, len(topology.operators)).astype(np.float64)


def propagated(
    topology: Topology, external: NDArray[np.float64], factors: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Per operator, the rate that reaches it in a topology without loops.

    `external` is what each source emits, 0 for other operators; `factors` has, per stream, tuples
    delivered per tuple that its source handles.
    """
    operators = external.copy()
    for position in topology.order:
        for stream in topology.inputs[position]:
            operators[position] += operators[topology.edges[stream][0]] * factors[stream]
    return operators


def _stream_factors(
    topology: Topology, threads: Sequence[int] | NDArray[np.int64] | None
) -> NDArray[np.float64]:
    """Per stream, tuples delivered per tuple its source handles."""
    copies = [
        threads[target] if threads is not None and stream.grouping.kind == "all" else 1
        for stream, (_, target) in zip(topology.streams, topology.edges, strict=True)
    ]
    return np.array([s.selectivity for s in topology.streams]) * np.array(copies, dtype=np.float64)


def _solve(
    topology: Topology, factors: NDArray[np.float64], external: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Part after part from the sources on: only the operators of a loop are solved for together."""
    operators = external.copy()
    for members in _parts(topology):
        inside = set(members)
        for position in members:
            for stream in topology.inputs[position]:
                source = topology.edges[stream][0]
                if source not in inside:
                    operators[position] += operators[source] * factors[stream]
        flow = _flow_inside(topology, factors, members)
        if flow.any():
            rest = np.identity(len(members)) - flow
            operators[members] = np.linalg.solve(rest, operators[members])
    return operators


def _check_loop_gains(topology: Topology, factors: NDArray[np.float64]) -> None:
    """Refuse every strongly connected part whose spectral radius is 1 or more."""
    for members in _parts(topology):
        flow = _flow_inside(topology, factors, members)
        growth = float(np.abs(np.linalg.eigvals(flow)).max())
        if growth >= 1 - 1e-12:
            # Growth is per step; in a plain loop, a round takes as many steps as members.
            plain = np.count_nonzero(flow) == len(members)
            gain = math.prod([growth] * len(members)) if plain else growth
            names = " → ".join(_loop_names(topology, members))
            position = next(
                i
                for i, stream in enumerate(topology.streams)
                if stream.loop and set(topology.edges[i]) <= set(members)
            )
            raise ModelError(
                f"the loop {names} multiplies its tuples by {gain:.3g} each round: "
                f"lower its selectivities until that is below 1",
                ("topology", "streams", position),
            )


def _parts(topology: Topology) -> list[list[int]]:
    """The strongly connected parts, those that feed others first: loops, and single operators."""
    graph: rustworkx.PyDiGraph[int, None] = rustworkx.PyDiGraph()
    graph.add_nodes_from(range(len(topology.operators)))
    graph.add_edges_from_no_data(list(topology.edges))
    # They come by Tarjan's algorithm, the last ones of the flow first.
    return [sorted(part) for part in reversed(rustworkx.strongly_connected_components(graph))]


def _flow_inside(
    topology: Topology, factors: NDArray[np.float64], members: list[int]
) -> NDArray[np.float64]:
    """[target, source]: tuples delivered between members per tuple that the source handles."""
    inside = {position: i for i, position in enumerate(members)}
    flow = np.zeros((len(members), len(members)))
    for position, i in inside.items():
        for stream in topology.inputs[position]:
            source = topology.edges[stream][0]
            if source in inside:
                flow[i, inside[source]] += factors[stream]
    return flow


def _loop_names(topology: Topology, members: list[int]) -> list[str]:
    """The members in topological order, the first one again at the end."""
    ordered = [position for position in topology.order if position in set(members)]
    return [topology.operators[position].name for position in [*ordered, ordered[0]]]
