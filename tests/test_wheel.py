"""The wheel has all that a user needs: nothing is built or fetched after `pip install`."""

from __future__ import annotations

import json
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
BUILD = ["-m", "pip", "wheel", "--quiet", "--no-deps", "--no-build-isolation"]

pytestmark = pytest.mark.cluster  # Java is compiled


def test_the_page_with_its_third_party_files_and_the_jar_are_in_the_wheel(tmp_path: Path) -> None:
    subprocess.run(
        [sys.executable, *BUILD, "--wheel-dir", str(tmp_path), str(ROOT)], check=True, cwd=tmp_path
    )
    (wheel,) = tmp_path.glob("slotwise-*.whl")
    with zipfile.ZipFile(wheel) as packed:
        names = set(packed.namelist())
    assert "slotwise/spark/jars/slotwise-spark.jar" in names
    assert "slotwise/dashboard/grafana.json" in names
    third_party = json.loads((ROOT / "npm.json").read_text(encoding="utf-8"))["page"]
    named = [name for package in third_party for name in package["files"].values()]
    assert named
    page = "slotwise/dashboard/page"
    assert {f"{page}/vendor/{name}" for name in named} <= names
    own = ROOT / "src" / "slotwise" / "dashboard" / "page"
    assert {f"{page}/{file.name}" for file in own.iterdir() if file.is_file()} <= names
