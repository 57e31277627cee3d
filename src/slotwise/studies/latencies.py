"""The latency of paper 1's five pairs on its micro-DAGs (section 8.6, the violin plots)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import numpy as np

from slotwise.model import Observation
from slotwise.studies.cases import PAIRS, Observed
from slotwise.studies.paper import paper
from slotwise.studies.study import Chart, Comparison, Line, Table

LATENCY = "Latency at the highest stable rate, and at 90 % of it"
BELOW = 0.9
PERCENTILES = ("p50", "p95", "p99")
FASTEST_FIRST = ("diamond", "star", "linear")
"""The paper's order, by the length of the critical path."""
PAPERS_RANKS = {
    "mba+round-robin": 1.0,
    "lsa+round-robin": 2.5,
    "mba+r-storm": 2.5,
    "lsa+r-storm": 4.0,
    "mba+sam": 5.0,
}
"""Median latencies, lowest first; two are not told apart in the text."""
Medians = Mapping[tuple[str, str], float]
"""By DAG and pair."""


def latency_table(observed: Sequence[Observed]) -> Table:
    return Table(
        LATENCY,
        (
            *("DAG", "pair", "rate/s"),
            *(f"{which} ms" for which in PERCENTILES),
            *(f"{which} ms at 90 %" for which in PERCENTILES),
        ),
        tuple(
            (
                *(each.case.dag, each.case.pair, each.case.simulated),
                *_percentiles(each.peak),
                *_percentiles(each.below),
            )
            for each in observed
        ),
    )


def latency_chart(observed: Sequence[Observed]) -> Chart:
    names = tuple(f"{each.case.dag}\n{each.case.pair}" for each in observed)
    rows = [_percentiles(each.peak) for each in observed]
    return Chart(
        "latency",
        "Latency at the highest stable rate",
        "DAG and pair",
        "ms",
        tuple(
            Line(which, names, tuple(row[n] for row in rows)) for n, which in enumerate(PERCENTILES)
        ),
        "bars",
        log_y=True,
    )


def latency_comparisons(observed: Sequence[Observed]) -> Iterator[Comparison]:
    cited, medians = paper("model-driven"), _medians(observed)
    ordered = sum(_in_papers_order(medians, "+".join(pair)) for pair in PAIRS)
    yield cited.against("latency-dags", ordered)
    dags = list(dict.fromkeys(dag for dag, _ in medians))
    ranks = [_rank_correlation(medians, dag) for dag in dags]
    yield cited.against("latency-pairs", float(np.mean(ranks)), _ORDER)


_ORDER = (
    "At its highest stable rate every plan has fully busy threads, and the length of their queues "
    "decides the median; the rates of the pairs differ several times, as in the paper. In our "
    "simulation a thread that shares its slot is slower, so that MBA's, up to 60 in a slot, take "
    "several times as long for a tuple as LSA's; the engine's own queues are not simulated."
)


def latency_remark(observed: Sequence[Observed]) -> str:
    medians = _medians(observed)
    by_dag = {
        dag: _rank_correlation(medians, dag) for dag in dict.fromkeys(dag for dag, _ in medians)
    }
    correlations = ", ".join(f"{dag} {value:+.2f}" for dag, value in by_dag.items())
    return (
        "Latency: rank correlation of the five pairs' medians with the paper's order: "
        f"{correlations}. At the highest stable rate the upper percentiles grow with the length of "
        "the run, because some threads are fully busy; at 90 % they do not. There p99 is "
        f"{_tail(observed, 'mba+'):.0f} times p50 for MBA's plans in the mean, "
        f"{_tail(observed, 'lsa+'):.0f} times for LSA's; the paper reports long tails for MBA."
    )


def _tail(observed: Sequence[Observed], begins: str) -> float:
    """p99 ÷ p50, in the mean over the pairs whose name begins so."""
    ratios = []
    for each in observed:
        if each.case.pair.startswith(begins):
            p50, _, p99 = _percentiles(each.below)
            assert p50 is not None
            assert p99 is not None
            ratios.append(p99 / p50)
    return float(np.mean(ratios))


def _percentiles(seen: Observation) -> tuple[float | None, ...]:
    return (seen.latency_p50_ms, seen.latency_p95_ms, seen.latency_p99_ms)


def _medians(observed: Sequence[Observed]) -> dict[tuple[str, str], float]:
    found = {}
    for each in observed:
        assert each.peak.latency_p50_ms is not None
        found[each.case.dag, each.case.pair] = each.peak.latency_p50_ms
    return found


def _in_papers_order(medians: Medians, pair: str) -> bool:
    mine = [medians[dag, pair] for dag in FASTEST_FIRST if (dag, pair) in medians]
    return mine == sorted(mine)


def _rank_correlation(medians: Medians, dag: str) -> float:
    from scipy.stats import spearmanr

    mine = [medians[dag, pair] for pair in PAPERS_RANKS]
    return float(spearmanr(mine, list(PAPERS_RANKS.values())).statistic)
