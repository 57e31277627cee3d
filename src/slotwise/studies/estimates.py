"""DRS: what the model estimates for a division of processors, beside what the simulation shows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from slotwise.model import Observation
from slotwise.prediction import predict
from slotwise.simulation import Routing, simulate
from slotwise.studies import accuracy
from slotwise.studies.divisions import (
    ONE_QUEUE,
    Application,
    Division,
    division_name,
    with_bursts,
)
from slotwise.studies.given import sojourn_ms
from slotwise.studies.study import Chart, Effort, Line, Table

OWN_QUEUES = Routing(selectivity="random")
"""What engines do: every thread has its queue, tuples are dealt out in turn."""
SIX = "Six divisions of 22 processors"


@dataclass(frozen=True)
class Estimate:
    """One division: the model's estimate, and what two ways of queueing show."""

    division: Division
    estimated_ms: float
    with_network_ms: float
    with_bursts_ms: float
    """With the network and the bursts in which tuples arrive."""
    one_queue: Observation
    own_queues: Observation


def estimated(app: Application, division: Division, effort: Effort) -> Estimate:
    plan = app.plan(division)
    assert plan.predicted is not None

    def seen(routing: Routing) -> Observation:
        tuples = effort.pick(150_000, 15_000)
        return simulate(plan, app.rate, routing=routing, tuples=tuples, seed=effort.seed)

    return Estimate(
        division,
        plan.predicted.shared_queue_sojourn_ms - (plan.predicted.network_ms or 0.0),
        plan.predicted.shared_queue_sojourn_ms,
        predict(with_bursts(plan)).shared_queue_sojourn_ms,
        seen(ONE_QUEUE),
        seen(OWN_QUEUES),
    )


def best(points: Sequence[Estimate]) -> Division:
    return min(points, key=lambda point: sojourn_ms(point.one_queue)).division


def errors_percent(points: Sequence[Estimate]) -> tuple[float, float, float]:
    """The largest error in percent, of the estimate and of its two corrections."""
    plain, network, bursts = (
        max(100 * abs(getattr(p, way) / sojourn_ms(p.one_queue) - 1) for p in points)
        for way in ("estimated_ms", "with_network_ms", "with_bursts_ms")
    )
    return plain, network, bursts


def rank_correlation(points: Sequence[Estimate], way: str = "estimated_ms") -> float:
    """Rank correlation of estimated and simulated sojourn times."""
    simulated = [sojourn_ms(point.one_queue) for point in points]
    return accuracy.rank_correlation([getattr(point, way) for point in points], simulated)


def order_why(points: Sequence[Estimate]) -> str:
    return (
        "The model knows nothing of bursts, which divisions with few detectors take worst. With "
        f"bursts added the rank correlation is {rank_correlation(points, 'with_bursts_ms'):.2f}."
    )


def six_table(six: Mapping[str, Sequence[Estimate]]) -> Table:
    return Table(
        SIX,
        (
            *("application", "division", "estimated ms", "network added ms"),
            *(
                "network and bursts added ms",
                "simulated ms, one queue",
                "± ms",
                "simulated ms, own queues",
            ),
        ),
        tuple(
            (
                *(name, division_name(point.division), point.estimated_ms, point.with_network_ms),
                point.with_bursts_ms,
                *(sojourn_ms(point.one_queue), point.one_queue.sojourn_margin_ms),
                sojourn_ms(point.own_queues),
            )
            for name, points in six.items()
            for point in points
        ),
    )


def estimate_chart(name: str, points: Sequence[Estimate]) -> Chart:
    x = tuple(division_name(point.division) for point in points)
    return Chart(
        f"estimates-{name.lower()}",
        f"{name}: estimated and simulated sojourn time of six divisions",
        "processors",
        "ms",
        (
            Line("estimated", x, tuple(point.estimated_ms for point in points)),
            Line("network, bursts added", x, tuple(p.with_bursts_ms for p in points)),
            Line("simulated, one queue", x, tuple(sojourn_ms(p.one_queue) for p in points)),
            Line("simulated, own queues", x, tuple(sojourn_ms(p.own_queues) for p in points)),
        ),
        "bars",
        log_y=max(sojourn_ms(p.own_queues) / p.estimated_ms for p in points) > 5,
    )
