"""Tests that need a Spark of their own run in a program of their own: a module of this package that
prints one line of JSON when it is done.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[2]


def told_by(module: str, folder: Path) -> Any:
    """What the module prints. Its errors are in a file of `folder`."""
    paths = os.pathsep.join(str(path) for path in (ROOT, ROOT / "src"))
    errors = folder / "errors"
    with errors.open("w") as written:
        ran = subprocess.run(
            [sys.executable, "-m", f"tests.spark.{module}"],
            stdout=subprocess.PIPE,
            stderr=written,
            text=True,
            env={**os.environ, "PYTHONPATH": paths},
            cwd=ROOT,
        )
    assert ran.returncode == 0, errors.read_text()
    return json.loads(ran.stdout)
