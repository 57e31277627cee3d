"""The papers' evaluations on Spark: study(lab) -> Study, on a cluster of this machine.

One file per paper. Slots are executors with a CPU quota, small enough for two cores. What is
measured is compared with what was planned, predicted and simulated for the same plans.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import cast

from slotwise.model import SlotwiseError
from slotwise.studies.study import Effort, Study
from slotwise.suggestions import instead_of

STUDIES: Mapping[str, str] = {
    "model-driven": "slotwise.studies.on_spark.model_driven",
    "adaptive": "slotwise.studies.on_spark.adaptive",
    "p-deployer": "slotwise.studies.on_spark.p_deployer",
    "drs": "slotwise.studies.on_spark.drs",
}


def run(name: str, effort: Effort, folder: Path, progress: Callable[[str], None]) -> Study:
    """The study of that name; trials that `folder` has already are not measured again."""
    check_name(name)
    from slotwise.studies.on_spark.lab import lab

    module = importlib.import_module(STUDIES[name])
    with lab(effort, folder, progress) as place:
        return cast("Study", module.study(place))


def check_name(name: str) -> None:
    if name not in STUDIES:
        raise SlotwiseError(f"study '{name}' does not run on Spark: {instead_of(name, STUDIES)}")
