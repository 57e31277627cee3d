"""The four bounds of minimal parallelism."""

from __future__ import annotations

import pytest

from slotwise.allocators.p_deployer import PDeployer
from slotwise.model import Allocation, Goals, Profiles, ServiceRate, TaskCosts
from tests.builders import topology


def entry(costs: TaskCosts, rate: float = 2000.0):
    profiles = Profiles({"in": ServiceRate(1e6), "a": costs, "b": ServiceRate(1e6)}, 1024.0)
    answer = PDeployer().allocate(topology("in>a", "a>b:0.5"), profiles, rate, Goals())
    assert isinstance(answer, Allocation)
    return answer.operators[1]


@pytest.mark.parametrize(
    ("costs", "bound", "threads"),
    [
        (TaskCosts(cpu_points=0.23), "cpu", 5),  # ⌈2000 · 0.23 / 100⌉
        (TaskCosts(transfer_points=0.023), "io", 5),  # ⌈2000 · 0.023 / (100 · 0.1)⌉
        (TaskCosts(sojourn_ms=10.0), "sojourn", 20),  # ⌈2000 · 0.010⌉
        (TaskCosts(memory_mb=1.0), "memory", 4),  # ⌈2000 · 1 / 512⌉
        (TaskCosts(cpu_points=0.23, sojourn_ms=10.0), "sojourn", 20),
    ],
)
def test_the_largest_bound_wins_and_is_named(costs: TaskCosts, bound: str, threads: int) -> None:
    found = entry(costs)
    assert found.threads == threads
    assert found.reason.startswith(f"{bound} bound")


def test_memory_counts_tuples_in_and_out_and_cpu_processing_only() -> None:
    found = entry(TaskCosts(cpu_points=0.1, transfer_points=0.02, memory_mb=0.1))
    assert found.mem == pytest.approx((2000 + 1000) * 0.1 / 1024)
    assert found.cpu == pytest.approx(2000 * 0.1 / 100)
    assert found.transfer_cpu == pytest.approx(0.0002)


def test_an_idle_operator_still_has_a_thread() -> None:
    assert entry(TaskCosts(cpu_points=0.001), rate=1.0).threads == 1
