from __future__ import annotations

import pytest

from slotwise.studies.given import given_threads
from slotwise.workloads.adaptive import chain, chain_threads


def test_each_thread_of_a_fixed_load_is_charged_what_its_profile_says() -> None:
    """As the simulation lets it use: 0.1 of a slot per spout."""
    pipeline = chain(3)
    allocation = given_threads(pipeline, 400.0, chain_threads(pipeline, 4, 4, 4))
    spouts = allocation.thread_cpu[allocation.thread_operator == 0]
    assert spouts.tolist() == pytest.approx([0.1] * 4)
