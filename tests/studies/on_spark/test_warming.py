"""The first query of a cluster."""

from __future__ import annotations

import pytest

pytest.importorskip("pyspark")

from slotwise.studies.on_spark.model_driven import cluster
from slotwise.studies.on_spark.warming import through_all_slots


def test_it_has_a_thread_in_every_slot() -> None:
    plan = through_all_slots(cluster())
    assert plan.placement.used_slots.tolist() == list(range(cluster().slots))
    assert len(plan.placement.slots) == sum(plan.threads.values())
