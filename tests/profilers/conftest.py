"""One bench for all tests that measure on Spark."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from slotwise.model import SlotwiseError

pytest.importorskip("pyspark")

from slotwise.profilers.bench import Bench
from slotwise.profilers.experiment import Slot, prepared

CORES = 0.8


@pytest.fixture(scope="package")
def bench() -> Iterator[Bench]:
    try:
        with prepared(Slot(cores=CORES)) as made:
            yield made
    except SlotwiseError as error:
        if "CPU quota" not in str(error):
            raise
        pytest.skip(str(error))
