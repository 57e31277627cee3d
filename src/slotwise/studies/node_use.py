"""CPU and memory of every VM, predicted and simulated, as in paper 1's scatter plots (section 8.5).

The paper predicts with the rate and the routing that its model expects; we also predict as shuffle
grouping routes. Both are compared with a simulation at the highest stable rate.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from slotwise.model import SlotLoad
from slotwise.prediction import predict
from slotwise.studies.accuracy import r_squared
from slotwise.studies.cases import PAIRS, Observed, routed_by_weights
from slotwise.studies.study import Chart, Line, Table

ACCURACY = "Accuracy of CPU and memory per VM"
USE = "CPU and memory per VM, simulated at the highest stable rate"
PAPERS, SHUFFLE = "predicted, paper's routing", "predicted, shuffle"
RESOURCES = {"CPU": "cpu", "memory": "mem"}


@dataclass(frozen=True)
class NodeUse:
    """One VM under one pair; parts of its CPU and memory."""

    dag: str
    pair: str
    simulated: SlotLoad
    predicted: dict[str, SlotLoad]
    """By way of predicting: each at the rate that it predicts."""


def node_use(observed: Sequence[Observed]) -> list[NodeUse]:
    return [node for each in observed for node in _of(each)]


def _of(observed: Observed) -> list[NodeUse]:
    case = observed.case
    ways = {
        PAPERS: predict(routed_by_weights(case.plan), case.predicted.proportional_capacity).nodes,
        SHUFFLE: predict(case.plan, case.predicted.capacity).nodes,
    }
    return [
        NodeUse(case.dag, case.pair, simulated, {way: nodes[n] for way, nodes in ways.items()})
        for n, simulated in enumerate(observed.peak.nodes)
    ]


def accuracy_table(nodes: Sequence[NodeUse]) -> Table:
    """R², and the mean distance in percent of a VM; DAG by DAG, as the paper does."""
    sets = {"all DAGs": list(nodes)}
    sets |= {dag: [n for n in nodes if n.dag == dag] for dag in dict.fromkeys(n.dag for n in nodes)}
    rows = []
    for points, chosen in sets.items():
        for resource in RESOURCES:
            seen = _percent(resource, [node.simulated for node in chosen])
            for way in (PAPERS, SHUFFLE):
                foreseen = _percent(resource, [node.predicted[way] for node in chosen])
                error = float(np.mean(np.abs(np.subtract(foreseen, seen))))
                rows.append((points, resource, way, r_squared(foreseen, seen), error))
    return Table(
        ACCURACY, ("points", "resource", "way", "R²", "mean error, % of a VM"), tuple(rows)
    )


def use_table(nodes: Sequence[NodeUse]) -> Table:
    """The lowest, mean and highest VM of each pair."""
    rows = []
    for dag, pair in dict.fromkeys((node.dag, node.pair) for node in nodes):
        mine = [node.simulated for node in nodes if (node.dag, node.pair) == (dag, pair)]
        cpu, memory = (_percent(resource, mine) for resource in RESOURCES)
        rows.append((dag, pair, *_range(cpu), *_range(memory)))
    which = ("lowest", "mean", "highest")
    columns = [f"{resource} %, {each}" for resource in RESOURCES for each in which]
    return Table(USE, ("DAG", "pair", *columns), tuple(rows))


def _range(values: Sequence[float]) -> tuple[float, float, float]:
    return min(values), float(np.mean(values)), max(values)


def use_charts(nodes: Sequence[NodeUse]) -> tuple[Chart, ...]:
    """The paper's scatter plots: a point for every VM, the model's way of predicting."""
    return tuple(_chart(resource, nodes) for resource in RESOURCES)


def _chart(resource: str, nodes: Sequence[NodeUse]) -> Chart:
    lines = []
    for pair in ("+".join(pair) for pair in PAIRS):
        mine = [node for node in nodes if node.pair == pair]
        seen = _percent(resource, [node.simulated for node in mine])
        foreseen = _percent(resource, [node.predicted[PAPERS] for node in mine])
        lines.append(Line(pair, tuple(seen), tuple(foreseen)))
    return Chart(
        f"node-{resource.lower()}",
        f"{resource[0].upper()}{resource[1:]} per VM, predicted with the paper's routing, all DAGs",
        f"simulated {resource} %",
        f"predicted {resource} %",
        tuple(lines),
        "points",
        diagonal=True,
    )


def use_remarks(accuracy: Table, use: Table) -> tuple[str, str]:
    r2 = {row[1:3]: row[3] for row in accuracy.rows if row[0] == "all DAGs"}
    placers = dict.fromkeys(placer for _, placer in PAIRS)
    spread = {placer: _spread(use, f"+{placer}") for placer in placers}
    widest = max(spread, key=lambda placer: spread[placer])
    return (
        "CPU and memory per VM: R² of the model, used as in the paper, is "
        f"{r2['CPU', PAPERS]:.2f} for CPU and {r2['memory', PAPERS]:.2f} for memory. In the paper "
        "memory is predicted less well than CPU; its values are lost in our text. With the "
        "routing of shuffle grouping, which the paper names as an improvement, R² is "
        f"{r2['CPU', SHUFFLE]:.2f} and {r2['memory', SHUFFLE]:.2f}. The simulator charges CPU and "
        "memory by the same thread tables, in proportion to how busy a thread is: this tests the "
        "effects of placement and routing, not the tables.",
        f"LSA's plans use {_mean_cpu(use, 'lsa+'):.0f} % of a VM's CPU in the mean, MBA's "
        f"{_mean_cpu(use, 'mba+'):.0f} %; in the paper, LSA underuses the VMs. The CPU "
        f"of the five VMs differs most under {widest}, by {spread[widest]:.0f} points in the mean; "
        "in the paper under R-Storm.",
    )


def _percent(resource: str, loads: Sequence[SlotLoad]) -> list[float]:
    values = [getattr(load, RESOURCES[resource]) for load in loads]
    return [100 * value for value in values]


def _mean_cpu(use: Table, begins: str) -> float:
    cells = zip(use.column("pair"), use.column("CPU %, mean"), strict=True)
    return float(np.mean([cpu for pair, cpu in cells if str(pair).startswith(begins)]))


def _spread(use: Table, ends: str) -> float:
    """Highest less lowest CPU, in the mean over the pairs whose name ends so."""
    columns = (use.column(name) for name in ("pair", "CPU %, lowest", "CPU %, highest"))
    ranges = [
        np.subtract(high, low)
        for pair, low, high in zip(*columns, strict=True)
        if str(pair).endswith(ends)
    ]
    return float(np.mean(ranges))
