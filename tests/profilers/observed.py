"""Observations of runs that nobody made."""

from __future__ import annotations

from collections.abc import Mapping

from slotwise.model import Observation, OperatorLoad, StreamLoad


def observation(
    operators: Mapping[str, Mapping[str, float | None]],
    selectivities: Mapping[tuple[str, str], float | None],
) -> Observation:
    """With these figures of the operators, and selectivities of the streams."""
    loads = tuple(
        OperatorLoad(
            name,
            arrival_rate=figures["arrival_rate"] or 0.0,
            emitted_rate=None,
            capacity=None,
            utilisation=0.5,
            waiting_ms=None,
            service_ms=figures["service_ms"],
            service_scv=figures["service_scv"],
            cpu=figures["cpu"],
        )
        for name, figures in operators.items()
    )
    return Observation(
        origin="measured",
        offered_rate=200.0,
        throughput=200.0,
        capacity=None,
        stable=True,
        bottleneck=None,
        latency_ms=None,
        sojourn_ms=None,
        network_ms=None,
        operators=loads,
        streams=tuple(
            StreamLoad(source, target, None, selectivity)
            for (source, target), selectivity in selectivities.items()
        ),
        slots=(),
        nodes=(),
        cost_per_hour=0.0,
        inter_slot_traffic=None,
        inter_node_traffic=None,
    )
