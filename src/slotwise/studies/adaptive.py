"""Paper 2, adaptive online scheduling: latency and traffic under three schedulers.

The reference chain against stages (Figures 4 to 7) and α (8, 9), latency over time with the online
scheduler's change in mid-run (3), and the soccer query (10).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import slotwise
from slotwise.model import NetworkDelays
from slotwise.simulation import Keys
from slotwise.studies.given import rate_of
from slotwise.studies.paper import paper
from slotwise.studies.schedulers import (
    CHANGE_AT_S,
    SCHEDULERS,
    Results,
    Timeline,
    Workload,
    steady,
    timeline,
)
from slotwise.studies.study import FULL, Chart, Comparison, Effort, Line, Study, Table
from slotwise.workloads.adaptive import SENSORS, SOCCER_THREADS, chain, chain_threads

STAGES_TITLE = "Chain: latency and traffic between nodes against stages"
ALPHA_TITLE = "Chain of 5 stages, 5 times replicated: against α"
SOCCER_TITLE = "Soccer query"
SHARE_TITLE = "Online against default, by the delay between nodes"


def study(effort: Effort = FULL) -> Study:
    stage_points = [
        (replication, stages)
        for replication in (2, 4)
        for stages in effort.pick((3, 4, 5, 6, 7, 8, 9, 10), (3, 6))
    ]
    by_stages = {
        (replication, stages): steady(_chain(stages, replication, 100.0), 0.0, effort)
        for replication, stages in effort.each(stage_points, "stages")
    }
    alphas = effort.pick((0.0, 0.05, 0.1, 0.15, 0.2), (0.0, 0.2))
    by_alpha = {
        alpha: steady(_chain(5, 5, 1000.0), alpha, effort) for alpha in effort.each(alphas, "α")
    }
    delays = effort.pick((0.1, 0.25, 0.5, 1.0, 2.0), (0.1, 1.0))
    by_delay = {
        delay: steady(_with_delay(_chain(5, 4, 100.0), delay), 0.0, effort)
        for delay in effort.each(delays, "delay between nodes")
    }
    timelines = {
        name: timeline(workload, effort)
        for name, workload in effort.each(
            [("chain", _uneven_chain()), ("soccer", _soccer())], "change in mid-run"
        )
    }
    soccer_seen = steady(_soccer(), 0.0, effort)
    return Study(
        name="adaptive",
        title="Adaptive online scheduling: latency and traffic under three schedulers",
        citation=paper("adaptive").citation,
        quick=effort.quick,
        seed=effort.seed,
        assumptions=_ASSUMPTIONS,
        comparisons=_comparisons(by_stages, by_alpha, soccer_seen),
        tables=(
            _stages_table(by_stages),
            against(ALPHA_TITLE, "α", by_alpha),
            against(SOCCER_TITLE, "query", {"first, reduced": soccer_seen}),
            against(SHARE_TITLE, "delay ms", by_delay),
        ),
        charts=(
            *_stage_charts(by_stages),
            *_alpha_charts(by_alpha),
            *(_timeline_chart(name, lines) for name, lines in timelines.items()),
        ),
        remarks=(
            *_remarks(by_stages, by_alpha, by_delay, soccer_seen),
            *(_timeline_remark(name, seen) for name, seen in timelines.items()),
        ),
    )


_ASSUMPTIONS = (
    "The paper gives no service times or delays: a bolt takes 0.2 ms (0.1 ms in the soccer query), "
    "exponential; a tuple travels 0.3 ms to another worker of its node and 1 ms to another node.",
    "8 workers; a slot has one core, a busy bolt takes all of it. The paper's nodes have 2 cores "
    "for 5 slots.",
    "Online: traffic and load are measured for 40 s under the default schedule, then the schedule "
    "is computed from them. In mid-run the controller `traffic` computes one every 40 s from the "
    "last 10 s, and moves threads if that saves 10 % of the traffic between nodes; a change pauses "
    "all threads for 10 s, as in Figure 3.",
)


def _chain(stages: int, replication: int, rate_per_spout: float) -> Workload:
    pipeline = chain(stages)
    threads = chain_threads(pipeline, replication, replication, replication)
    return Workload(pipeline, threads, replication * rate_per_spout, Keys(forwarded=0.5))


def _uneven_chain() -> Workload:
    """Figure 3: 7 stages, 4 spouts, 3 threads for shuffled and 2 for grouped bolts."""
    pipeline = chain(7)
    return Workload(pipeline, chain_threads(pipeline, 3, 2, 4), 4 * 100.0, Keys(forwarded=0.5))


def _soccer() -> Workload:
    query = slotwise.load("soccer")
    return Workload(query, SOCCER_THREADS, rate_of(query), Keys(number=SENSORS))


def _with_delay(workload: Workload, delay_ms: float) -> Workload:
    network = NetworkDelays(0.0, 0.3 * delay_ms, delay_ms, delay_ms)
    return replace(workload, pipeline=replace(workload.pipeline, network=network))


def below(results: Results, scheduler: str) -> float:
    """Percent that the scheduler's latency is below the default's."""
    return 100 * (1 - results[scheduler].latency_ms / results["default"].latency_ms)


def less_traffic(results: Results, scheduler: str) -> float:
    """Percent of the default's tuples between nodes that the scheduler does not send there."""
    return 100 * (1 - results[scheduler].traffic / results["default"].traffic)


def mean(values: Sequence[float]) -> float:
    return sum(values) / len(values)


def _figures(results: Results) -> tuple[float, ...]:
    return (
        *(results[name].latency_ms for name in SCHEDULERS),
        *(results[name].traffic for name in SCHEDULERS),
        below(results, "online"),
    )


_COLUMNS = (
    *(f"{name} ms" for name in SCHEDULERS),
    *(f"{name} tuples/s between nodes" for name in SCHEDULERS),
    "online below default %",
)


def _stages_table(by_stages: Mapping[tuple[int, int], Results]) -> Table:
    return Table(
        STAGES_TITLE,
        ("replication", "stages", *_COLUMNS),
        tuple((*point, *_figures(results)) for point, results in by_stages.items()),
    )


def against(title: str, what: str, found: Mapping[float, Results] | Mapping[str, Results]) -> Table:
    """A row per point: latency and traffic under each scheduler."""
    rows = tuple((point, *_figures(results)) for point, results in found.items())
    return Table(title, (what, *_COLUMNS), rows)


def _two_charts(
    name: str, title: str, x_label: str, points: Mapping[float, Results], log_y: bool = False
) -> tuple[Chart, Chart]:
    x = tuple(float(point) for point in points)

    def lines(pick: str) -> tuple[Line, ...]:
        return tuple(
            Line(who, x, tuple(getattr(results[who], pick) for results in points.values()))
            for who in SCHEDULERS
        )

    return (
        Chart(
            f"{name}-latency",
            f"{title}: latency",
            x_label,
            "ms",
            lines("latency_ms"),
            log_y=log_y,
        ),
        Chart(
            f"{name}-traffic",
            f"{title}: traffic between nodes",
            x_label,
            "tuples/s",
            lines("traffic"),
        ),
    )


def _stage_charts(by_stages: Mapping[tuple[int, int], Results]) -> tuple[Chart, ...]:
    charts: list[Chart] = []
    for replication in (2, 4):
        points = {float(s): found for (r, s), found in by_stages.items() if r == replication}
        title = f"Chain, {replication} times replicated"
        charts += _two_charts(f"stages-{replication}", title, "stages", points)
    return tuple(charts)


def _alpha_charts(by_alpha: Mapping[float, Results]) -> tuple[Chart, ...]:
    return _two_charts("alpha", "Chain of 5 stages", "α", by_alpha, log_y=True)


def _timeline_chart(name: str, seen: Mapping[str, Timeline]) -> Chart:
    seconds = tuple(n + 0.5 for n in range(len(seen["default"].latency_ms)))
    return Chart(
        f"time-{name}",
        f"{name.capitalize()}: latency over time, the controller `traffic` from {CHANGE_AT_S:g} s "
        "on",
        "second",
        "ms",
        tuple(Line(who, seconds, each.latency_ms) for who, each in seen.items()),
        log_y=True,
        from_zero=False,
    )


def _timeline_remark(name: str, seen: Mapping[str, Timeline]) -> str:
    """How much the last 30 s differ."""
    last = {who: mean([ms for ms in each.latency_ms[-30:] if ms]) for who, each in seen.items()}
    changes = ", ".join(f"{at_s:.0f} s" for at_s in seen["online"].changes_s) or "never"
    saved = 100 * (1 - last["online"] / last["default"])
    return (
        f"In mid-run ({name}) the controller `traffic` changes the placement at {changes}. In the "
        f"last 30 s the latency is {saved:.0f} % below the default's."
    )


def _comparisons(
    by_stages: Mapping[tuple[int, int], Results],
    by_alpha: Mapping[float, Results],
    soccer_seen: Results,
) -> tuple[Comparison, ...]:
    cited = paper("adaptive")
    chains = list(by_stages.values())
    four = [results for (replication, _), results in by_stages.items() if replication == 4]
    two = [results for (replication, _), results in by_stages.items() if replication == 2]
    best_alpha = min(by_alpha, key=lambda alpha: by_alpha[alpha]["online"].latency_ms)
    size = (
        "How much a local hop saves depends on the bolts' service times and the network's delay, "
        "which the paper does not give: see the table by delay."
    )
    return (
        cited.against("online-chain", mean([below(each, "online") for each in chains]), size),
        cited.against("online-soccer", below(soccer_seen, "online"), size),
        cited.against("offline-share-2", mean([local_gain(each) for each in two]), _OFFLINE),
        cited.against("offline-share-4", mean([local_gain(each) for each in four]), _OFFLINE),
        cited.against("best-alpha", best_alpha, _ALPHA),
    )


def local_gain(results: Results) -> float:
    """Percent of the tuples between nodes that the offline scheduler makes local."""
    return less_traffic(results, "offline")


_OFFLINE = (
    "1/F is what the paper reasons, and as an upper end: α = 0 keeps workers so small that not "
    "every thread finds a place beside one that feeds it."
)
_ALPHA = (
    "In Storm one thread per worker sends all its tuples, and makes large workers slow; ours has "
    "no such thread. But a slot has one core, which busy threads fill before a large α limits "
    "their number, and threads that share one take longer for a tuple: so α changes little."
)


def _remarks(
    by_stages: Mapping[tuple[int, int], Results],
    by_alpha: Mapping[float, Results],
    by_delay: Mapping[float, Results],
    soccer_seen: Results,
) -> tuple[str, ...]:
    chains = list(by_stages.values())
    ordered = sum(
        each["online"].traffic <= each["offline"].traffic <= each["default"].traffic
        for each in chains
    )
    within = [delay for delay, each in by_delay.items() if 20 <= below(each, "online") <= 30]
    gains = {delay: below(each, "online") for delay, each in by_delay.items()}
    share = (
        f"At a delay of {within[0]:g} ms the gain is the paper's."
        if within
        else f"It is {gains[min(gains)]:.0f} % at {min(gains):g} ms and {gains[max(gains)]:.0f} % "
        f"at {max(gains):g} ms."
    )
    return (
        f"Traffic between nodes is online ≤ offline ≤ default at {ordered} of {len(chains)} points "
        "of the chain, the order that the paper's text gives.",
        f"The online scheduler saves {mean([less_traffic(e, 'online') for e in chains]):.0f} % "
        "of the traffic between nodes in the mean over the chain, the offline one "
        f"{mean([less_traffic(e, 'offline') for e in chains]):.0f} %. The online "
        f"one buys that by using fewer nodes: {min(e['online'].nodes for e in chains)} to "
        f"{max(e['online'].nodes for e in chains)} in place of the default's "
        f"{max(e['default'].nodes for e in chains)}. At these rates the CPU of our nodes does not "
        "forbid it; the paper's nodes, with fewer cores, may have.",
        f"The latency saved grows with the network's share: {share}",
        _alpha_remark(by_alpha),
        _overload_remark(by_alpha),
        "In mid-run, tuples that arrive during the pause wait for its end: our sources do not "
        "stop, so the latency has a peak as long as the pause before it falls below the default's.",
        f"Soccer query: online is {below(soccer_seen, 'online'):.0f} % below default, offline "
        f"{below(soccer_seen, 'offline'):.0f} %.",
    )


def _alpha_remark(by_alpha: Mapping[float, Results]) -> str:
    last = max(by_alpha)
    large, small = by_alpha[last]["online"], by_alpha[0.0]["online"]
    return (
        f"At α = {last:g} the online scheduler sends {large.slot_traffic:,.0f} tuples/s between "
        f"slots and {large.traffic:,.0f} between nodes, against {small.slot_traffic:,.0f} and "
        f"{small.traffic:,.0f} at α = 0, with {large.latency_ms:,.2f} ms against "
        f"{small.latency_ms:,.2f} ms. {_ALPHA}"
    )


def _overload_remark(by_alpha: Mapping[float, Results]) -> str:
    over = {
        name: [f"{alpha:g}" for alpha, seen in by_alpha.items() if seen[name].overloaded]
        for name in SCHEDULERS
    }
    said = [f"{name} at α = {', '.join(alphas)}" for name, alphas in over.items() if alphas]
    if not said:
        return "No scheduler overloads a slot, whatever α."
    return (
        f"A slot is asked for more than its core by {' and by '.join(said)}: there the latency "
        "grows with the run's length. The offline scheduler does not look at load, which may do "
        "less harm in the paper: a worker there may use all cores of its node."
    )
