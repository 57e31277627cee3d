"""Paper 4, pipeline-based linear scheduling: latency, buffers, balance and throughput.

Random and linear topologies against the default scheduler (Figures 8 to 15), a diamond and a
tapering chain against R-Storm as well (17, 18). Placement and stepwise communication are kept
apart: the paper's scheme is both. What the paper leaves open is in conditions.py; sensitivity.py
says which of it decides.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from slotwise.model import Observation, Plan
from slotwise.studies import sensitivity
from slotwise.studies.conditions import (
    ASSUMED,
    DEFAULT,
    IN_ORDER,
    OVERLOAD,
    PIPELINE,
    R_STORM,
    SCHEDULERS,
    TRANSFER_MS,
    UNSTEPPED,
    USUAL,
    Trial,
    buffered,
    held,
    latency_ms,
    sent_again,
    throughput,
)
from slotwise.studies.paper import paper
from slotwise.studies.sensitivity import Sensitivity
from slotwise.studies.study import FULL, Chart, Comparison, Effort, Line, Study, Table
from slotwise.workloads.pipeline import diamond, linear, random_topology, tapering

LOADS = "Latency and tuples held, by load"
BUFFERS = "Receive buffers"
RATES = "Throughput under overload"
BALANCE = "Load per node"


def study(effort: Effort = FULL) -> Study:
    trials = [Trial.of(case) for case in (random_topology(), linear(), diamond(), tapering())]
    loads = effort.pick((0.05, USUAL, 0.2, 0.5, 0.9), (USUAL, 0.5))
    wanted = [
        (trial, scheduler, load)
        for trial in trials
        for scheduler in SCHEDULERS
        for load in (*loads, OVERLOAD)
    ]
    seen = {
        (trial.case.name, scheduler, load): trial.seen(
            scheduler, load, _tuples(load, effort), effort
        )
        for trial, scheduler, load in effort.each(wanted, "topologies, schedulers and loads")
    }
    found = Found(trials, loads, seen, Sensitivity.of(trials[:2], effort))
    return Study(
        name="pipeline",
        title="Pipeline-based linear scheduling: latency, buffers, balance, throughput",
        citation=paper("pipeline").citation,
        quick=effort.quick,
        seed=effort.seed,
        assumptions=_ASSUMPTIONS,
        comparisons=_comparisons(found),
        tables=(
            found.sensitivity.table(),
            _loads_table(found),
            _buffers_table(found),
            _rates_table(found),
            _balance_table(found),
        ),
        charts=(
            *(_latency_chart(found, trial) for trial in trials),
            *found.sensitivity.charts(),
            _rates_chart(found),
            *(_balance_chart(found, trial) for trial in trials[:2]),
        ),
        remarks=_remarks(found),
    )


def _tuples(load: float, effort: Effort) -> int:
    """Under overload so many that the default's receive buffers fill up."""
    return effort.pick(200_000 if load == OVERLOAD else 50_000, 10_000)


_ASSUMPTIONS = (
    "Links of 100 Mbps and tuples of 8 KB (the paper's '8Kb', read as kilobytes since its smaller "
    f"tuples have 1 KB): {TRANSFER_MS:.2f} ms a tuple, so that the network is what limits. Each "
    "node has one link out and one in; tuples queue for both.",
    f"A node's receive buffer, before its link in, holds {ASSUMED.node_buffer:,} tuples: the "
    "paper's 4K of a task, for the tasks of four slots. What finds it full is dropped, and sent "
    f"again after {ASSUMED.resend_ms:g} ms (the paper: 'a short period'), over the same links. "
    "What waits for a link out is not bounded.",
    "A time slot of the pipeline has a turn for each stage, and a turn room for one tuple; a tuple "
    "is sent only if it gets to the other node before the next turn's can, so that a node receives "
    "from one node at a time.",
    "A bolt takes 0.25 ms, exponential; Poisson arrivals. Nodes of other racks are 0.4 ms away, "
    "those of the same rack 0.2 ms.",
    f"Load 1 is the input rate at which the default schedule's busiest link is full; latencies are "
    f"compared at load {USUAL:g}, throughput and buffers at load {OVERLOAD:g}: the paper gives no "
    "rates.",
    "Tuples held: all that wait at a thread, for a link or for their turn, by Little's law. In use "
    "of receive buffers: the fullest node's, in the mean over time.",
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
    sensitivity: Sensitivity

    def latency_ms(self, case: str, scheduler: str, load: float) -> float:
        return latency_ms(self.seen[case, scheduler, load])

    def buffer_use(self, case: str, scheduler: str, load: float = OVERLOAD) -> float:
        """Percent of the fullest node's receive buffer."""
        return 100 * buffered(self.seen[case, scheduler, load]) / ASSUMED.node_buffer

    def throughput(self, case: str, scheduler: str) -> float:
        """Tuples/s that all bolts together finish under overload."""
        return throughput(self.seen[case, scheduler, OVERLOAD])

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

    def saved(self, case: str, scheduler: str = PIPELINE) -> float:
        """Percent that its latency is below the default's, at the usual load."""
        ours, theirs = (self.latency_ms(case, who, USUAL) for who in (scheduler, DEFAULT))
        return 100 * (1 - ours / theirs)

    def buffers_saved(self, case: str) -> float:
        """Percent that the pipeline's receive buffers hold less than the default's."""
        return 100 * (1 - self.buffer_use(case, PIPELINE) / self.buffer_use(case, DEFAULT))


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
                *(held(found.seen[trial.case.name, who, load]) for who in SCHEDULERS),
            )
            for trial in found.trials
            for load in (*found.loads, OVERLOAD)
        ),
    )


def _buffers_table(found: Found) -> Table:
    return Table(
        BUFFERS,
        (
            "topology",
            "load",
            *(f"{who} % in use" for who in SCHEDULERS),
            *(f"{who}: sent again per input" for who in SCHEDULERS),
        ),
        tuple(
            (
                *(trial.case.name, load),
                *(found.buffer_use(trial.case.name, who, load) for who in SCHEDULERS),
                *(sent_again(found.seen[trial.case.name, who, load]) for who in SCHEDULERS),
            )
            for trial in found.trials
            for load in (max(found.loads), OVERLOAD)
        ),
    )


def _rates_table(found: Found) -> Table:
    return Table(
        RATES,
        (
            *("topology", *(f"{who} tuples/s" for who in SCHEDULERS)),
            *(f"pipeline over {who} %" for who in SCHEDULERS[:3]),
            *(f"no steps over {who} %" for who in SCHEDULERS[:3]),
        ),
        tuple(
            (
                trial.case.name,
                *(found.throughput(trial.case.name, who) for who in SCHEDULERS),
                *(found.gain(trial.case.name, who) for who in SCHEDULERS[:3]),
                *(found.gain(trial.case.name, who, UNSTEPPED) for who in SCHEDULERS[:3]),
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
    cited = paper("pipeline")
    tapered = found.trials[3].case.name
    buffers = float(np.mean([found.buffers_saved(case) for case in ("random", "linear")]))
    return (
        cited.against("latency-random", found.saved("random"), _LATENCY),
        cited.against("latency-linear", found.saved("linear"), _LATENCY),
        cited.against("buffers", buffers, _BUFFERS),
        cited.against("memory-default", found.buffer_use("random", DEFAULT), _MEMORY),
        cited.against("memory-random", found.buffer_use("random", PIPELINE), _BUFFERS),
        cited.against("memory-linear", found.buffer_use("linear", PIPELINE), _BUFFERS),
        cited.against("balance-random", found.imbalance("random", PIPELINE), _BALANCE),
        cited.against("throughput-random", found.gain("random", DEFAULT), _THROUGHPUT),
        cited.against("throughput-linear", found.gain("linear", DEFAULT), _THROUGHPUT),
        cited.against("throughput-diamond", found.gain("diamond", R_STORM), _R_STORM),
        cited.against("throughput-tapering", found.gain(tapered, R_STORM), _R_STORM),
    )


_LATENCY = (
    "A tuple waits half a round for its turn however idle the links are, and a receive buffer of "
    "the paper's size drops nothing that the default sends at this load. With a buffer of one "
    "tuple, no stalls and all nodes equally far, the paper's gain comes out: see the table of "
    "assumptions."
)
_BUFFERS = (
    "With turns a node receives from one node at a time, so that its buffer never holds more than "
    "a tuple; what the turns cannot carry waits at the senders instead."
)
_MEMORY = "How full the default's buffers get is a matter of how long the overload lasts."
_BALANCE = (
    "How many bolt threads a node has decides: 24 on 9 nodes, and bolt-4 gets twice the tuples of "
    "the others. The paper counts tuples after losses on the way."
)
_THROUGHPUT = (
    "A node may send to another in one turn of a round only, and in most turns there is nothing to "
    "send; the paper does not count what a link carries. The default loses tuples only where links "
    "in are busy all the time, so that sending them again costs it little."
)
_R_STORM = (
    "R-Storm packs threads onto as few nodes as CPU and memory allow and does not look at "
    "bandwidth, so that few links carry all; turns cost the pipeline most of what it gains by that."
)


def _remarks(found: Found) -> tuple[str, ...]:
    names = [trial.case.name for trial in found.trials]
    asked = found.sensitivity
    return (
        "Receive buffers decide about latency. Of the default's at load "
        f"{USUAL:g}, the pipeline saves {asked.saved(sensitivity.BASE)} as assumed: buffers of the "
        "paper's size lose nothing then, and a tuple waits for its turn. With room for two tuples "
        f"it saves {asked.saved(sensitivity.TWO_TUPLES)}, with room for one "
        f"{asked.saved(sensitivity.ONE_TUPLE)}, and if moreover nothing stalls and all nodes are "
        f"equally far {asked.saved(sensitivity.PREMISE)} (the paper: 25 and 40 %). So what decides "
        "is whether a tuple that comes while another is being received is kept or lost.",
        "Buffer memory is saved as in the paper, and more: under overload the fullest node's "
        "receive buffer is in use, default and pipeline: "
        + _listed(
            f"{name} {found.buffer_use(name, DEFAULT):.2g} and "
            f"{found.buffer_use(name, PIPELINE):.2g} %"
            for name in names
        )
        + ". What the turns do not carry waits at the senders. Where nodes send as much as they "
        "receive, as in the linear topology, tuples wait for links out in any case.",
        "Steps decide about throughput. Against Storm's default, which goes round the nodes: "
        + _listed(f"{name} {found.gain(name, DEFAULT):+.0f} %" for name in names)
        + "; without steps "
        + _listed(f"{name} {found.gain(name, DEFAULT, UNSTEPPED):+.0f} %" for name in names)
        + ". Against one that fills nodes slot by slot, without steps: "
        + _listed(f"{name} {found.gain(name, IN_ORDER, UNSTEPPED):+.0f} %" for name in names)
        + ". The paper's text describes the first. Part of a round's turns in which there is "
        "something to send: "
        + _listed(f"{t.case.name} {100 * t.turns_used:.0f} %" for t in found.trials)
        + ".",
        "Nodes that the pipeline uses: "
        + _listed(
            f"{trial.case.name} {_nodes_used(trial.plans[PIPELINE])} of "
            f"{len(trial.plans[PIPELINE].cluster.nodes)} (default "
            f"{_nodes_used(trial.plans[DEFAULT])})"
            for trial in found.trials
        )
        + ". With fewer components than nodes the rest of its square is dummies.",
    )


def _listed(parts: Iterable[str]) -> str:
    return ", ".join(parts)


def _nodes_used(plan: Plan) -> int:
    return len(np.unique(plan.cluster.slot_node[plan.placement.slots]))
