"""What all tests share."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from slotwise.runs.store import VARIABLE


@pytest.fixture(scope="session", autouse=True)
def runs_of_tests(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """Runs of tests are not kept among the user's."""
    path = tmp_path_factory.mktemp("runs") / "runs.db"
    os.environ[VARIABLE] = str(path)
    yield path
    del os.environ[VARIABLE]
