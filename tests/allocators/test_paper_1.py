"""LSA and MBA on paper 1's micro-DAGs: the figures the paper prints, with the errata."""

from __future__ import annotations

import pytest

import slotwise
from slotwise.allocators.lsa import Lsa
from slotwise.allocators.mba import Mba
from slotwise.model import (
    Allocation,
    Goals,
    Profiles,
    Refusal,
    ServiceRate,
    ThreadRow,
    ThreadTable,
)
from tests.builders import topology


def allocate(algorithm: Lsa | Mba, example: str, rate: float) -> Allocation:
    pipeline = slotwise.load(example)
    answer = algorithm.allocate(pipeline.topology, pipeline.profiles, rate, pipeline.goals)
    assert isinstance(answer, Allocation)
    return answer


@pytest.mark.parametrize(
    ("algorithm", "example", "slots"),
    [
        (Mba(), "linear", [4, 7, 15]),
        (Lsa(), "linear", [7, 13, 25]),
        (Mba(), "diamond", [5, 10, 20]),
        (Lsa(), "diamond", [7, 13, 26]),
        (Mba(), "star", [5, 10, 20]),
    ],
)
def test_slots_at_50_100_and_200(algorithm: Lsa | Mba, example: str, slots: list[int]) -> None:
    assert [allocate(algorithm, example, rate).slots for rate in (50, 100, 200)] == slots


@pytest.mark.parametrize(
    ("algorithm", "operator", "threads"),
    [
        (Lsa(), "azure-blob", [25, 50, 100]),
        (Mba(), "azure-blob", [80, 170, 330]),
        (Lsa(), "azure-table", [17, 34, 67]),
        (Mba(), "azure-table", [70, 160, 300]),
    ],
)
def test_threads_at_50_100_and_200(algorithm: Lsa | Mba, operator: str, threads: list[int]) -> None:
    for rate, expected in zip((50, 100, 200), threads, strict=True):
        entries = {entry.operator: entry for entry in allocate(algorithm, "linear", rate)}
        assert entries[operator].threads == expected


def test_the_highest_rate_planned_on_20_slots() -> None:
    def highest(algorithm: Lsa | Mba) -> int:
        return max(r for r in range(10, 400, 10) if allocate(algorithm, "linear", r).slots <= 20)

    assert highest(Mba()) == 280
    assert highest(Lsa()) == 160
    blob = {entry.operator: entry for entry in allocate(Mba(), "linear", 280)}["azure-blob"]
    assert [bundle.threads for bundle in blob.bundles] == [50] * 9 + [20]


def test_a_remainder_of_one_thread_is_charged_in_proportion() -> None:
    entries = {entry.operator: entry for entry in allocate(Mba(), "linear", 100)}
    parse = entries["parse-xml"]
    assert parse.threads == 1
    assert parse.cpu == pytest.approx(0.8469 * 100 / 310)


def test_a_rate_that_is_a_whole_number_of_bundles_has_no_remainder() -> None:
    table = ThreadTable((ThreadRow(1, 0.1, 0.2, 0.2), ThreadRow(4, 0.3, 0.5, 0.5)))
    chain = topology("in>a")
    profiles = Profiles({"in": ServiceRate(1000.0), "a": table}, 1024)
    answer = Mba().allocate(chain, profiles, 0.9, Goals())  # 0.9 / 0.3 is 3.0000000000000004
    assert isinstance(answer, Allocation)
    assert [bundle.threads for bundle in answer.operators[1].bundles] == [4, 4, 4]


def test_a_profile_that_cannot_reach_the_rate_is_refused() -> None:
    slow = Profiles({"in": ServiceRate(1e9), "a": ServiceRate(1e-6)}, 1024)
    for algorithm in (Lsa(), Mba()):
        answer = algorithm.allocate(topology("in>a"), slow, 1e6, Goals())
        assert isinstance(answer, Refusal)
        assert answer.operator == "a"
        assert "above the limit of 1,000,000 threads in a plan" in answer.reason
