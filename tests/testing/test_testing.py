"""What a package from outside does with slotwise.testing: inherit, in three lines."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

import slotwise

SOURCE = Path(slotwise.__file__).parents[1]
CONTRACT = """
import hypothesis
hypothesis.settings.register_profile("unshrunk", phases=[hypothesis.Phase.generate])
hypothesis.settings.load_profile("unshrunk")  # any example will do

import pytest
from slotwise.{family}s.{module} import {algorithm}
from slotwise.testing.{family}s import {contract}

class Careless({algorithm}):
    def {verb}(self, *arguments):
        answer = super().{verb}(*arguments)
        object.__setattr__(answer, "{field}", {value})
        return answer

@pytest.mark.parametrize("{family}", [{algorithm}(), Careless()], ids=["good", "careless"])
class TestMine({contract}):
    examples = 5
"""


CARELESS = [
    {
        "family": "allocator",
        "module": "lsa",
        "algorithm": "Lsa",
        "contract": "AllocatorContract",
        "verb": "allocate",
        "field": "rate",
        "value": "0.5",
    },
    {
        "family": "provisioner",
        "module": "cheapest",
        "algorithm": "Cheapest",
        "contract": "ProvisionerContract",
        "verb": "provision",
        "field": "nodes",
        "value": "()",
    },
    {
        "family": "placer",
        "module": "round_robin",
        "algorithm": "RoundRobin",
        "contract": "PlacerContract",
        "verb": "place",
        "field": "algorithm",
        "value": "'x'",
    },
]


@pytest.mark.parametrize("case", CARELESS, ids=lambda case: case["family"])
def test_three_lines_find_a_careless_algorithm(tmp_path: Path, case: dict[str, str]) -> None:
    (tmp_path / "test_mine.py").write_text(CONTRACT.format(**case), encoding="utf-8")
    ran = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "--tb=line"],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(SOURCE)},
        capture_output=True,
        text=True,
    )
    failed = [line for line in ran.stdout.splitlines() if line.startswith("FAILED")]
    assert ran.returncode == 1, ran.stdout
    assert any("test_keeps_the_contract[careless]" in line for line in failed), ran.stdout
    assert not any("good" in line for line in failed), ran.stdout


@pytest.mark.parametrize("package", ["pytest", "hypothesis"])
def test_a_missing_package_is_named_with_the_extra_that_brings_it(package: str) -> None:
    code = f"import sys; sys.modules['{package}'] = None; import slotwise.testing.placers"
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert ran.stderr.splitlines()[-1] == (
        f"ModuleNotFoundError: slotwise.testing needs the package '{package}': "
        f"run pip install 'slotwise[testing]'"
    )
