"""In processes of their own: what is imported once stays."""

from __future__ import annotations

import subprocess
import sys

QUICKLY = "import sys; from slotwise.cli.starting import start_quickly; start_quickly()\n"


def _printed(program: str) -> str:
    command = [sys.executable, "-c", QUICKLY + program]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


def test_a_named_pair_is_planned_without_scipys_algebra() -> None:
    plan = "from slotwise.cli import run; run(['plan', 'diamond', '--allocator', 'mba', '--json'])"
    assert "False" in _printed(f"{plan}; print('scipy.linalg' in sys.modules)").splitlines()


def test_kernels_of_other_packages_find_scipys_algebra() -> None:
    kernel = """
import numpy as np
from numba import njit

@njit
def dot(one, other):
    return np.dot(one, other)

print(dot(np.eye(2), np.full((2, 2), 3.0)).tolist(), 'scipy.linalg' in sys.modules)
"""
    assert _printed(kernel).strip() == "[[3.0, 3.0], [3.0, 3.0]] True"
