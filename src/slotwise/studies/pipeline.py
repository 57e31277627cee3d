"""Paper 4, pipeline-based linear scheduling: latency, buffers, balance and throughput.

Random and linear topologies against the default scheduler (Figures 8 to 15), a diamond and a
tapering chain against R-Storm as well (17, 18). Placement and stepwise communication are told
apart: the paper's scheme is both.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from slotwise.model import Observation, Plan
from slotwise.placers._base import Placer
from slotwise.placers.pipeline import Pipeline
from slotwise.placers.r_storm import RStorm
from slotwise.placers.round_robin import RoundRobin
from slotwise.simulation import Buffers, Network, simulate
from slotwise.studies.given import given_threads, placed
from slotwise.studies.paper import paper
from slotwise.studies.study import FULL, Chart, Comparison, Effort, Line, Study, Table
from slotwise.workloads.pipeline import (
    BANDWIDTH_MB_PER_S,
    BUFFER_TUPLES,
    TUPLE_BYTES,
    Case,
    diamond,
    linear,
    random_topology,
    tapering,
)

DEFAULT, IN_ORDER, R_STORM = "default", "slot by slot", "r-storm"
PIPELINE, UNSTEPPED = "pipeline", "pipeline, no steps"
SCHEDULERS = (DEFAULT, IN_ORDER, R_STORM, PIPELINE, UNSTEPPED)
TRANSFER_MS = TUPLE_BYTES / (BANDWIDTH_MB_PER_S * 1000)
"""One tuple on one link: the length of a step."""
USUAL, OVERLOAD = 0.7, 1.5
"""Parts of the rate at which the default's busiest link is full."""
LOADS = "Latency and tuples held, by load"
RATES = "Throughput under overload"
BALANCE = "Load per node"


@dataclass(frozen=True)
class Trial:
    """One topology under all schedulers."""

    case: Case
    plans: Mapping[str, Plan]
    full: float
    """The input rate at which the default's busiest link is full."""

    def seen(self, scheduler: str, load: float, effort: Effort) -> Observation:
        return simulate(
            self.plans[scheduler],
            load * self.full,
            network=Network(
                tuple_bytes=TUPLE_BYTES,
                bandwidth_mb_per_s=BANDWIDTH_MB_PER_S,
                stepwise=scheduler == PIPELINE,
                step_ms=TRANSFER_MS,
            ),
            buffers=Buffers(BUFFER_TUPLES, "lose", resend_after_ms=100.0),
            tuples=effort.pick(100_000, 10_000),
            seed=effort.seed,
        )


def study(effort: Effort = FULL) -> Study:
    trials = [_trial(case) for case in (random_topology(), linear(), diamond(), tapering())]
    loads = effort.pick((0.3, 0.5, USUAL, 0.8, 0.9, 0.95), (0.3, USUAL))
    wanted = [
        (trial, scheduler, load)
        for trial in trials
        for scheduler in SCHEDULERS
        for load in (*loads, OVERLOAD)
    ]
    seen = {
        (trial.case.name, scheduler, load): trial.seen(scheduler, load, effort)
        for trial, scheduler, load in effort.each(wanted, "topologies, schedulers and loads")
    }
    found = Found(trials, loads, seen)
    return Study(
        name="pipeline",
        title="Pipeline-based linear scheduling: latency, buffers, balance, throughput",
        citation=paper("pipeline").citation,
        quick=effort.quick,
        seed=effort.seed,
        assumptions=_ASSUMPTIONS,
        comparisons=_comparisons(found),
        tables=(_loads_table(found), _rates_table(found), _balance_table(found)),
        charts=(
            *(_latency_chart(found, trial) for trial in trials),
            _rates_chart(found),
            *(_balance_chart(found, trial) for trial in trials[:2]),
        ),
        remarks=_remarks(found),
    )


_ASSUMPTIONS = (
    "Links of 100 Mbps and tuples of 8 KB (the paper's '8Kb', read as kilobytes since its smaller "
    f"tuples have 1 KB): {TRANSFER_MS:.2f} ms a tuple, so that the network is what limits. Each "
    "node has one link out and one in; tuples queue for both.",
    "A bolt takes 0.25 ms, exponential; Poisson arrivals; a step of the pipeline takes as long as "
    "a tuple on a link.",
    f"Load 1 is the input rate at which the default schedule's busiest link is full; throughput is "
    f"measured at load {OVERLOAD:g}.",
    "Tuples held: all that wait at a thread, for a link or for their step, by Little's law.",
    "Default goes round the nodes, as Storm does and the paper says (M_init). Slot by slot fills "
    "one node's slots before the next node's, as paper 1's default mapping does.",
    "In the tapering chain (16-16-8-4-1) every stage passes on what the next can take.",
)


@dataclass(frozen=True)
class Found:
    """Everything that was simulated."""

    trials: Sequence[Trial]
    loads: Sequence[float]
    seen: Mapping[tuple[str, str, float], Observation]

    def latency_ms(self, case: str, scheduler: str, load: float) -> float:
        latency = self.seen[case, scheduler, load].sink_latency_ms
        assert latency is not None
        return latency

    def held(self, case: str, scheduler: str, load: float) -> float:
        """Tuples waiting or under way: rate × time, by Little's law."""
        observation = self.seen[case, scheduler, load]
        return sum(
            o.arrival_rate * (o.waiting_ms + o.network_ms) / 1000 for o in observation.operators
        )

    def throughput(self, case: str, scheduler: str) -> float:
        """Tuples/s that all bolts together finish under overload."""
        series = self.seen[case, scheduler, OVERLOAD].series
        assert series is not None
        bolts = [name for name in series.throughput if name != "spout"]
        windows = len(series.input_rate)
        return float(
            sum(np.mean(series.throughput[bolt][windows // 5 : windows]) for bolt in bolts)
        )

    def node_rates(self, case: str, scheduler: str) -> dict[str, float]:
        """Tuples/s that the bolts of each node handle, at the usual load."""
        trial = next(trial for trial in self.trials if trial.case.name == case)
        rates = {node.name: 0.0 for node in trial.plans[scheduler].cluster.nodes}
        for thread in self.seen[case, scheduler, USUAL].threads:
            if thread.operator != "spout":
                rates[thread.slot.rpartition("/")[0]] += thread.arrival_rate
        return rates

    def imbalance(self, case: str, scheduler: str) -> float:
        """Mean distance of a node's load from the mean, in percent of the mean."""
        rates = np.array(list(self.node_rates(case, scheduler).values()))
        return float(100 * np.mean(np.abs(rates - rates.mean())) / rates.mean())

    def gain(self, case: str, over: str, scheduler: str = PIPELINE) -> float:
        """Percent more throughput than `over`."""
        return 100 * (self.throughput(case, scheduler) / self.throughput(case, over) - 1)

    def saved(self, case: str, load: float) -> float:
        """Percent that the pipeline's latency is below the default's."""
        ours, theirs = (self.latency_ms(case, who, load) for who in (PIPELINE, DEFAULT))
        return 100 * (1 - ours / theirs)

    def held_less(self, case: str, than: str, load: float = USUAL) -> float:
        """Percent that the pipeline holds fewer tuples."""
        return 100 * (1 - self.held(case, PIPELINE, load) / self.held(case, than, load))


def _trial(case: Case) -> Trial:
    """All schedulers' plans; the loads are relative to the default's."""
    allocation = given_threads(case.pipeline, 1000.0, case.threads)
    cluster = case.pipeline.cluster
    assert cluster is not None
    placers: dict[str, Placer] = {
        DEFAULT: RoundRobin(workers=cluster.slots),  # goes round the nodes, as Storm does
        IN_ORDER: RoundRobin(),
        R_STORM: RStorm(),
        PIPELINE: Pipeline(),
        UNSTEPPED: Pipeline(),
    }
    plans = {name: placed(case.pipeline, allocation, placer) for name, placer in placers.items()}
    return Trial(case, plans, _full_rate(plans[DEFAULT]))


def _full_rate(plan: Plan) -> float:
    """Tuples between nodes are proportional to the input: a short run without limits tells."""
    traffic = simulate(plan, plan.rate, tuples=20_000).node_traffic
    assert traffic is not None
    nodes = len(plan.cluster.nodes)
    apart = traffic.senders != traffic.receivers
    links = [
        np.bincount(ends[apart], traffic.rates[apart], nodes).max()
        for ends in (traffic.senders, traffic.receivers)
    ]
    return plan.rate * 1000 / TRANSFER_MS / float(max(links))


def _loads_table(found: Found) -> Table:
    return Table(
        LOADS,
        (
            "topology",
            "load",
            *(f"{who} ms" for who in SCHEDULERS),
            *(f"{who} held" for who in SCHEDULERS),
        ),
        tuple(
            (
                *(trial.case.name, load),
                *(found.latency_ms(trial.case.name, who, load) for who in SCHEDULERS),
                *(found.held(trial.case.name, who, load) for who in SCHEDULERS),
            )
            for trial in found.trials
            for load in (*found.loads, OVERLOAD)
        ),
    )


def _rates_table(found: Found) -> Table:
    return Table(
        RATES,
        (
            *("topology", *(f"{who} tuples/s" for who in SCHEDULERS)),
            *(f"pipeline over {who} %" for who in SCHEDULERS[:3]),
        ),
        tuple(
            (
                trial.case.name,
                *(found.throughput(trial.case.name, who) for who in SCHEDULERS),
                *(found.gain(trial.case.name, who) for who in SCHEDULERS[:3]),
            )
            for trial in found.trials
        ),
    )


def _balance_table(found: Found) -> Table:
    return Table(
        BALANCE,
        ("topology", *(f"{who}: mean distance from the mean %" for who in SCHEDULERS)),
        tuple(
            (trial.case.name, *(found.imbalance(trial.case.name, who) for who in SCHEDULERS))
            for trial in found.trials
        ),
    )


def _latency_chart(found: Found, trial: Trial) -> Chart:
    name = trial.case.name
    return Chart(
        f"latency-{name.split()[-1].replace('16-16-8-4-1', 'tapering')}",
        f"{name.capitalize()}: latency by load",
        "load (1: the default's busiest link is full)",
        "ms",
        tuple(
            Line(
                who,
                tuple(found.loads),
                tuple(found.latency_ms(name, who, load) for load in found.loads),
            )
            for who in SCHEDULERS
        ),
        log_y=True,
        from_zero=False,
    )


def _rates_chart(found: Found) -> Chart:
    names = tuple(trial.case.name.replace(" ", "\n") for trial in found.trials)
    return Chart(
        "throughput",
        f"Throughput at load {OVERLOAD:g}, all bolts",
        "topology",
        "tuples/s",
        tuple(
            Line(who, names, tuple(found.throughput(t.case.name, who) for t in found.trials))
            for who in SCHEDULERS
        ),
        "bars",
    )


def _balance_chart(found: Found, trial: Trial) -> Chart:
    name = trial.case.name
    lines = []
    for who in (DEFAULT, IN_ORDER, R_STORM, PIPELINE):
        rates = found.node_rates(name, who)
        nodes = tuple(node.removeprefix("node-") for node in rates)
        lines.append(Line(who, nodes, tuple(rates.values())))
    return Chart(
        f"balance-{name}",
        f"{name.capitalize()}: tuples handled per node",
        "node",
        "tuples/s",
        tuple(lines),
        "bars",
    )


def _comparisons(found: Found) -> tuple[Comparison, ...]:
    told = paper("pipeline")
    tapered = found.trials[3].case.name
    held = [found.held_less(case, DEFAULT) for case in ("random", "linear")]
    return (
        told.against("latency-random", found.saved("random", USUAL), _LATENCY),
        told.against("latency-linear", found.saved("linear", USUAL), _LATENCY),
        told.against("buffers", float(np.mean(held)), _LATENCY),
        told.against("balance-random", found.imbalance("random", PIPELINE), _BALANCE),
        told.against("throughput-random", found.gain("random", DEFAULT), _THROUGHPUT),
        told.against("throughput-linear", found.gain("linear", DEFAULT), _THROUGHPUT),
        told.against("throughput-diamond", found.gain("diamond", R_STORM), _R_STORM),
        told.against("throughput-tapering", found.gain(tapered, R_STORM), _R_STORM),
    )


_LATENCY = (
    "A tuple waits half a round for its step however idle the links are. Queues lose nothing in "
    "our simulator, so sending in turn saves nothing; the paper's default loses tuples and sends "
    "them again."
)
_BALANCE = (
    "How many bolt threads a node has decides: 24 on 9 nodes, and bolt-4 gets twice the tuples of "
    "the others. The paper counts tuples after losses on the way."
)
_THROUGHPUT = (
    "The refinement brings components that talk to each other into one block of nodes: less "
    "traffic, but on fewer links. Against a default that fills nodes slot by slot the gain is the "
    "paper's: see the remarks."
)
_R_STORM = (
    "R-Storm packs threads onto as few nodes as CPU and memory allow and does not look at "
    "bandwidth, so that few links carry all."
)


def _remarks(found: Found) -> tuple[str, ...]:
    names = [trial.case.name for trial in found.trials]
    low = min(found.loads)
    steps = [
        found.latency_ms(name, PIPELINE, low) / found.latency_ms(name, UNSTEPPED, low)
        for name in names
    ]
    changed = [found.gain(name, UNSTEPPED) for name in names]
    return (
        "Against Storm's default, which goes round the nodes, the paper's gains do not come out: "
        + _listed(f"{name} {found.gain(name, DEFAULT):+.0f} %" for name in names)
        + " throughput under overload. Against one that fills nodes slot by slot they do, and "
        "more: "
        + _listed(f"{name} {found.gain(name, IN_ORDER):+.0f} %" for name in names)
        + ", with "
        + _listed(f"{name} {found.held_less(name, IN_ORDER, OVERLOAD):.0f} %" for name in names)
        + " fewer tuples held. The paper's text describes the first.",
        "Nodes that the pipeline uses: "
        + _listed(
            f"{trial.case.name} {_nodes_used(trial.plans[PIPELINE])} of "
            f"{len(trial.plans[PIPELINE].cluster.nodes)} (default "
            f"{_nodes_used(trial.plans[DEFAULT])})"
            for trial in found.trials
        )
        + ". With fewer components than nodes the rest of its square is dummies.",
        f"Stepwise communication by itself costs: at load {low:g} the latency is {min(steps):.1f} "
        f"to {max(steps):.1f} times that of the same placement without steps, and under overload "
        f"it changes the throughput by {min(changed):+.1f} to {max(changed):+.1f} %. {_LATENCY}",
    )


def _listed(parts: Iterable[str]) -> str:
    return ", ".join(parts)


def _nodes_used(plan: Plan) -> int:
    return len(np.unique(plan.cluster.slot_node[plan.placement.slots]))
