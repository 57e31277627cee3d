"""Tests that need a Spark of their own run in a program of their own: a module of this package that
prints one line of JSON when it is done.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[2]


LONGEST_S = 300
"""Of a program that hangs; they take less than two minutes."""


def told_by(module: str, folder: Path) -> Any:
    """What the module prints. Its errors are in a file of `folder`."""
    paths = os.pathsep.join(str(path) for path in (ROOT, ROOT / "src"))
    errors = folder / "errors"
    with errors.open("w") as written:
        ran = subprocess.Popen(
            [sys.executable, "-m", f"tests.spark.{module}"],
            stdout=subprocess.PIPE,
            stderr=written,
            text=True,
            env={**os.environ, "PYTHONPATH": paths},
            cwd=ROOT,
            start_new_session=True,
        )
    try:
        told, _ = ran.communicate(timeout=LONGEST_S)
    except subprocess.TimeoutExpired:
        os.killpg(ran.pid, signal.SIGKILL)  # its driver, too
        ran.communicate()
        pytest.fail(f"{module} has not ended in {LONGEST_S} s: {errors.read_text()}")
    assert ran.returncode == 0, errors.read_text()
    return json.loads(told)
