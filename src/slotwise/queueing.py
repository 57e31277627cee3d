"""Queues with k servers: Erlang's formulas and their generalisation by Allen and Cunneen.

Plain functions on numbers, so that a kernel can compile them (`njit(erlang_b)`). Rates are per
second, times in seconds.
"""

from __future__ import annotations

import math


def erlang_b(servers: int, offered: float) -> float:
    """Probability that all `servers` are busy where nobody waits; `offered` = λ/μ.

    By its recursion, O(servers): factorials would overflow.

    >>> round(erlang_b(2, 1.0), 6)
    0.2
    """
    blocked = 1.0
    for server in range(1, servers + 1):
        blocked = erlang_b_next(server, offered, blocked)
    return blocked


def erlang_b_next(servers: int, offered: float, blocked: float) -> float:
    """Erlang B at `servers`, given its value at one server less."""
    return offered * blocked / (servers + offered * blocked)


def mean_wait(
    servers: int, arrival_rate: float, service_rate: float, variation: float, blocked: float
) -> float:
    """Mean wait in queue; `blocked` is Erlang B at `servers`, `variation` (ca² + cs²)/2.

    Exact for M/M/k (variation 1), Allen and Cunneen's approximation for G/G/k. Infinite when the
    servers cannot keep up.

    >>> round(mean_wait(1, 1.0, 2.0, 1.0, erlang_b(1, 0.5)), 6)  # M/M/1: 1/(μ - λ) - 1/μ
    0.5
    """
    spare = servers * service_rate - arrival_rate
    if spare <= 0.0:
        return math.inf
    idle = spare / (servers * service_rate)
    queued = blocked / (blocked + idle * (1.0 - blocked))
    return variation * queued / spare


def sojourn(
    servers: int, arrival_rate: float, service_rate: float, variation: float = 1.0
) -> tuple[float, float]:
    """(mean wait, mean service) in seconds; the wait is 0 where nothing arrives. O(servers)."""
    if arrival_rate <= 0.0:
        return 0.0, 1.0 / service_rate
    blocked = erlang_b(servers, arrival_rate / service_rate)
    wait = mean_wait(servers, arrival_rate, service_rate, variation, blocked)
    return wait, 1.0 / service_rate
