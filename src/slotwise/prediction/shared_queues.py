"""Paper 5's times at operators: the threads of an operator share one queue.

E[T_i](k_i) is Erlang's formula for k_i threads, or Allen and Cunneen's where the profile gives the
variation. Any idle thread takes the next tuple, which engines that deal tuples out do not do: the
figure is a lower bound there, and it is what DRS sizes for.
"""

from __future__ import annotations

import math

from slotwise.model import Pipeline
from slotwise.prediction.groups import Groups
from slotwise.prediction.latency import Work
from slotwise.queueing import sojourn
from slotwise.rates import ArrivalRates


def shared_queue_times_ms(
    pipeline: Pipeline, groups: Groups, work: Work, rates: ArrivalRates
) -> list[float]:
    """Per operator, waiting and service; infinite where a group of its threads cannot keep up,
    however idle the others are, and 0 for a fixed load. O(groups + threads).
    """
    stuck = work.stuck(groups).tolist()
    threads = groups.operator_threads.astype(int).tolist()
    capacity = groups.per_operator(work.capacity).tolist()
    times = []
    for i, operator in enumerate(pipeline.topology.operators):
        profiles, name = pipeline.profiles, operator.name
        variation = (profiles.arrival_scv(name) + profiles.service_scv(name)) / 2
        if stuck[i]:
            times.append(math.inf)
        elif math.isinf(capacity[i]):
            times.append(0.0)
        else:
            rate = float(rates.operators[i])
            times.append(1000 * sum(sojourn(threads[i], rate, capacity[i] / threads[i], variation)))
    return times
