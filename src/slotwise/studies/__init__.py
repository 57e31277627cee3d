"""The papers' evaluations, and controllers, in simulation: study(effort) -> Study.

One file per study. A study does no I/O but reads the paper's own figures (paper_figures.yaml);
publish.py turns a Study into files. All the rest that is printed was computed in that run.
"""

from __future__ import annotations

import importlib
from collections.abc import Mapping
from typing import cast

from slotwise.model import SlotwiseError
from slotwise.studies.study import FULL, Effort, Study
from slotwise.suggestions import instead_of

__all__ = ["STUDIES", "Effort", "Study", "check_name", "run"]

STUDIES: Mapping[str, str] = {
    "model-driven": "slotwise.studies.model_driven",
    "adaptive": "slotwise.studies.adaptive",
    "p-deployer": "slotwise.studies.p_deployer",
    "pipeline": "slotwise.studies.pipeline",
    "drs": "slotwise.studies.drs",
    "controllers": "slotwise.studies.controllers",
}
IN_PARTS = ("controllers",)
"""Studies of many parts, which can be done in parallel and kept."""


def run(name: str, effort: Effort = FULL) -> Study:
    """The study of that name; raises SlotwiseError for an unknown one."""
    check_name(name)
    return cast("Study", importlib.import_module(STUDIES[name]).study(effort))


def check_name(name: str) -> None:
    if name not in STUDIES:
        raise SlotwiseError(f"unknown study '{name}': {instead_of(name, STUDIES)}")
