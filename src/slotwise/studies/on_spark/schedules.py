"""Paper 2's schedulers on Spark: what was measured of their plans, and what that says."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from slotwise.model import Plan
from slotwise.studies import accuracy
from slotwise.studies.adaptive import against, below, less_traffic, local_gain, mean
from slotwise.studies.on_spark.holding import Held
from slotwise.studies.on_spark.hops import Hops
from slotwise.studies.paper import paper
from slotwise.studies.schedulers import SCHEDULERS, Results, Seen
from slotwise.studies.study import Cell, Chart, Comparison, Effort, Line, Study, Table

LATENCY = "Latency and traffic between nodes: predicted, simulated, measured"
DETAILS = "What was measured of each plan"
ACCURACY = "Accuracy, against what was measured"
CHANGED = "A change in mid-run, from the default to the online schedule"


@dataclass(frozen=True)
class Measured:
    """One scheduler's plan, and what was measured of it in each round."""

    plan: Plan
    quota: float
    """Cores of a slot."""
    rounds: tuple[Held, ...]

    def mean(self, figure: str) -> float:
        """Of a field of Held, over the rounds."""
        return mean([getattr(each, figure) for each in self.rounds])

    @property
    def seen(self) -> Seen:
        return Seen(
            self.mean("latency_ms"),
            self.mean("inter_node_traffic"),
            len(set(self.plan.cluster.slot_node[self.plan.placement.slots].tolist())),
            self.mean("inter_slot_traffic"),
            any(each.stable is False for each in self.rounds),
        )

    @property
    def cores(self) -> float:
        """In use, all slots of the cluster together."""
        return self.quota * self.mean("cpu")


@dataclass(frozen=True)
class Scheduled:
    """One workload under all schedulers."""

    measured: Mapping[str, Measured]
    predicted: Results
    predicted_cores: Mapping[str, float]
    simulated: Results
    """With its own online schedule, from simulated traffic."""

    @property
    def seen(self) -> Results:
        return {who: each.seen for who, each in self.measured.items()}

    @property
    def ways(self) -> dict[str, Results]:
        return {"predicted": self.predicted, "simulated": self.simulated, "measured": self.seen}


@dataclass(frozen=True)
class Changed:
    """A run under the default placement that goes on as the online scheduler says."""

    workload: str
    before: Held
    after: Held
    at_s: float
    pause_s: float
    latency_ms: tuple[tuple[float, float], ...]
    """(second of the run, mean of the tuples that ended in that second)."""


def told(results: Mapping[str, Scheduled], hops: Hops, change: Changed, effort: Effort) -> Study:
    accuracies = accuracy_table(results)
    return Study(
        name="adaptive",
        title="Adaptive online scheduling on Spark: latency and traffic under three schedulers",
        citation=paper("adaptive").citation,
        quick=effort.quick,
        seed=effort.seed,
        assumptions=_ASSUMPTIONS,
        comparisons=_comparisons(results),
        tables=(
            against(LATENCY, "workload", _by_way(results)),
            details_table(results),
            accuracies,
            hops.table(),
            change_table(change),
        ),
        charts=(*_bars(results), _scatter(results), _timeline(change)),
        remarks=remarks(results, hops, change, accuracies),
        on_spark=True,
    )


_ASSUMPTIONS = (
    "The chain is the bundled one, five stages, and the soccer query the bundled one at 400 "
    "tuples/s, with operators that burn 0.1 ms of CPU for a tuple beside their logic; what its "
    "aggregate takes is not predicted. 8 workers on 4 nodes with two slots each, and a slot has a "
    "CPU quota of 0.2 cores.",
    "All nodes are on one machine, and tuples between them go through its loopback interface, "
    "which has no delay of its own. So the latency that a network adds in the paper is missing; "
    "what is left is Spark's own work for a hop.",
    "The executors of the paper's spouts emit at different rates; here all emit alike.",
    "Predicted: with the delays and the CPU of hops that were measured on a chain of single "
    "threads. Simulated: with the same, and the whole loop in simulation, so that the online "
    "schedule is made from simulated traffic.",
    "Each plan is measured in two rounds, in turn and back; figures are the means.",
)


def _by_way(results: Mapping[str, Scheduled]) -> dict[str, Results]:
    return {
        f"{name}, {way}": found
        for name, each in results.items()
        for way, found in each.ways.items()
    }


def details_table(results: Mapping[str, Scheduled]) -> Table:
    columns = (
        *("workload", "scheduler", "nodes", "tuples/s between nodes", "between slots"),
        *("mean ms", "median ms", "p99 ms", "cores in use", "cores predicted", "stable"),
    )
    rows: list[tuple[Cell, ...]] = []
    for name, each in results.items():
        for who in SCHEDULERS:
            found, seen = each.measured[who], each.seen[who]
            latencies = [found.mean(f"latency_{part}ms") for part in ("", "p50_", "p99_")]
            cores = (found.cores, each.predicted_cores[who])
            stable = "no" if seen.overloaded else "yes"
            traffic = (seen.nodes, seen.traffic, seen.slot_traffic)
            rows.append((name, who, *traffic, *latencies, *cores, stable))
    return Table(DETAILS, columns, tuple(rows))


def accuracy_table(results: Mapping[str, Scheduled]) -> Table:
    """All workloads and schedulers together; the simulation knows no cores of Spark."""
    rows: list[tuple[Cell, ...]] = []
    for what, figure in (("tuples/s between nodes", "traffic"), ("mean ms", "latency_ms")):
        seen = _figures(results, "measured", figure)
        for way in ("predicted", "simulated"):
            foreseen = _figures(results, way, figure)
            rows.append((what, way, *_accuracies(foreseen, seen)))
    cores = [each.measured[who].cores for each in results.values() for who in SCHEDULERS]
    foreseen = [each.predicted_cores[who] for each in results.values() for who in SCHEDULERS]
    rows.append(("cores in use", "predicted", *_accuracies(foreseen, cores)))
    return Table(ACCURACY, ("what", "way", "R²", "mean error %"), tuple(rows))


def _figures(results: Mapping[str, Scheduled], way: str, figure: str) -> list[float]:
    return [getattr(each.ways[way][who], figure) for each in results.values() for who in SCHEDULERS]


def _accuracies(foreseen: Sequence[float], seen: Sequence[float]) -> tuple[float, float]:
    return accuracy.r_squared(foreseen, seen), accuracy.mean_error(foreseen, seen)


def change_table(change: Changed) -> Table:
    def row(when: str, seen: Held) -> tuple[Cell, ...]:
        return (
            *(change.workload, when, seen.latency_ms, seen.latency_p99_ms),
            *(seen.inter_node_traffic, seen.inter_slot_traffic),
        )

    columns = (
        *("workload", "when", "mean ms", "p99 ms"),
        *("tuples/s between nodes", "between slots"),
    )
    return Table(CHANGED, columns, (row("before", change.before), row("after", change.after)))


def _bars(results: Mapping[str, Scheduled]) -> tuple[Chart, Chart]:
    x = tuple(results)

    def lines(figure: str) -> tuple[Line, ...]:
        return tuple(
            Line(who, x, tuple(getattr(each.seen[who], figure) for each in results.values()))
            for who in SCHEDULERS
        )

    return (
        Chart("latency", "Measured latency", "workload", "ms", lines("latency_ms"), "bars"),
        Chart(
            "traffic",
            "Measured traffic between nodes",
            "workload",
            "tuples/s",
            lines("traffic"),
            "bars",
        ),
    )


def _scatter(results: Mapping[str, Scheduled]) -> Chart:
    x = tuple(_figures(results, "measured", "traffic"))
    return Chart(
        "scatter",
        "Traffic between nodes, foreseen against measured",
        "measured tuples/s",
        "foreseen tuples/s",
        tuple(
            Line(way, x, tuple(_figures(results, way, "traffic")))
            for way in ("predicted", "simulated")
        ),
        "points",
        diagonal=True,
    )


def _timeline(change: Changed) -> Chart:
    x, y = zip(*change.latency_ms, strict=True) if change.latency_ms else ((), ())
    return Chart(
        "time",
        f"{change.workload}: latency over time, the online schedule is in effect at "
        f"{change.at_s:.0f} s",
        "second of the run",
        "ms",
        (Line("measured", tuple(x), tuple(y)),),
        "points",
        from_zero=False,
    )


def _comparisons(results: Mapping[str, Scheduled]) -> tuple[Comparison, ...]:
    cited = paper("adaptive")
    seen = {name: each.seen for name, each in results.items()}
    chain = [each for name, each in seen.items() if name.startswith("chain")]
    rows = [cited.against("online-chain", mean([below(each, "online") for each in chain]), _SIZE)]
    if "soccer" in seen:
        rows.append(cited.against("online-soccer", below(seen["soccer"], "online"), _SIZE))
    for name, each in seen.items():
        if (key := f"offline-share-{name.rpartition(' ')[2]}") in cited.figures:
            rows.append(cited.against(key, local_gain(each), _SHARE))
    return tuple(rows)


_SIZE = (
    "On one machine a hop between nodes takes hardly longer than one within a slot: Spark holds a "
    "tuple back for its send buffer in both cases, and the network adds nothing."
)
_SHARE = (
    "1/F is the paper's upper end. With as many workers as threads leave room for, not every "
    "thread finds a place beside one that feeds it."
)


def remarks(
    results: Mapping[str, Scheduled], hops: Hops, change: Changed, accuracies: Table
) -> tuple[str, ...]:
    seen = [each.seen for each in results.values()]
    ordered = sum(e["online"].traffic <= e["offline"].traffic <= e["default"].traffic for e in seen)
    gains = {name: below(each.seen, "online") for name, each in results.items()}
    cores = {
        name: 100 * (1 - each.measured["online"].cores / each.measured["default"].cores)
        for name, each in results.items()
    }
    delays, cpu = hops.delay_ms, hops.cpu_us
    found = {(row[0], row[1]): row[2:] for row in accuracies.rows}
    return (
        f"Traffic between nodes is online ≤ offline ≤ default for {ordered} of {len(seen)} "
        "workloads. The online scheduler saves "
        f"{mean([less_traffic(each, 'online') for each in seen]):.0f} % of it in the mean, the "
        f"offline one {mean([less_traffic(each, 'offline') for each in seen]):.0f} %.",
        f"Latency of the online schedule below the default's: {_listed(gains)}. CPU that it "
        f"saves: {_listed(cores)}.",
        "A hop takes "
        + ", ".join(f"{delays[far]:.1f} ms {far} ({cpu[far]:.0f} µs of CPU)" for far in delays)
        + ". A tuple waits up to 5 ms for its send buffer, however near its next thread is, so "
        "that little latency is saved where nodes share one machine.",
        f"Traffic is predicted with a mean error of {_error(found, 'tuples/s between nodes')}, "
        f"latency of {_error(found, 'mean ms')}, CPU of {_error(found, 'cores in use')}. "
        "Predictions divide a stream evenly over its threads; that half of the values are "
        "constants, which makes some pairs exchange more, only the measurement and the simulation "
        "show.",
        f"In mid-run ({change.workload}) the online schedule is in effect from a batch's end on, "
        f"after a pause of {change.pause_s:.1f} s; the paper's Figure 3 shows about 10 s.",
    )


def _listed(percent: Mapping[str, float]) -> str:
    return ", ".join(f"{value:.0f} % ({name})" for name, value in percent.items())


def _error(found: Mapping[tuple[Cell, Cell], Sequence[Cell]], what: str) -> str:
    value = found[what, "predicted"][1]
    assert isinstance(value, float)
    return f"{value:.0f} %"
