"""Who may import whom (docs/design), read off the source; and what stays out until it is needed."""

from __future__ import annotations

import ast
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

import slotwise

ROOT = Path(slotwise.__file__).parent
FAMILIES = ("allocators", "provisioners", "placers", "prediction")
HEAVY = ("numba", "numpy", "ortools", "pydantic", "pymetis", "ruamel", "scipy", "pyspark")


def imports(file: Path) -> Iterator[str]:
    """Every module that `file` imports, anywhere in it, by its full name."""
    package = ["slotwise", *file.relative_to(ROOT).parent.parts]
    for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            base = package[: len(package) - node.level + 1] if node.level else []
            module = ".".join([*base, *([node.module] if node.module else [])])
            # `from slotwise import rates` imports slotwise.rates.
            yield from (f"{module}.{alias.name}" for alias in node.names)


def part_of(module: str) -> str | None:
    """The folder or file of slotwise that a module belongs to."""
    names = module.split(".")
    return names[1] if names[0] == "slotwise" and len(names) > 1 else None


def files_of(part: str) -> list[Path]:
    return sorted((ROOT / part).rglob("*.py"))


def imported_parts(part: str) -> dict[str, set[str]]:
    """Per file of `part`, the other parts of slotwise that it imports."""
    return {
        file.name: {found for name in imports(file) if (found := part_of(name))} - {part}
        for file in files_of(part)
    }


def test_the_model_knows_nobody() -> None:
    """But for how a plan and an observation look in a notebook, which asks for it."""
    found = {file: parts for file, parts in imported_parts("model").items() if parts}
    assert found == {"plan.py": {"report"}, "observation.py": {"report"}}


@pytest.mark.parametrize("family", FAMILIES)
def test_a_family_knows_the_model_rates_and_queueing(family: str) -> None:
    allowed = {"model", "rates", "queueing"} | ({"keys"} if family == "prediction" else set())
    wrong = {file: parts - allowed for file, parts in imported_parts(family).items()}
    assert {file: parts for file, parts in wrong.items() if parts} == {}


def test_a_controller_works_alike_in_simulation_and_on_spark() -> None:
    """It knows neither who runs it nor what it runs on."""
    runs = {"spark", "profilers", "adaptation", "cli", "report", "studies", "testing"}
    found = {file: parts & runs for file, parts in imported_parts("controllers").items()}
    assert {file: parts for file, parts in found.items() if parts} == {}


def test_testing_knows_the_families_by_their_bases() -> None:
    # Situations of controllers are plans that were simulated.
    allowed = {"model", "rates", "registry", "plugins", "testing", "planner", "simulation"}
    wrong = {
        (file.name, name)
        for file in files_of("testing")
        for name in imports(file)
        if (part := part_of(name)) and part not in allowed
        if not (part in (*FAMILIES, "controllers") and name.split(".")[2] == "base")
    }
    assert wrong == set()


def test_nobody_imports_testing() -> None:
    """It needs pytest and hypothesis, which users do not have."""
    importers = {
        file.relative_to(ROOT).parts[0]
        for file in ROOT.rglob("*.py")
        if any(part_of(n) == "testing" or n.split(".")[0] == "hypothesis" for n in imports(file))
    }
    assert importers == {"testing"}


@pytest.mark.parametrize("module", ["rates", "queueing"])
def test_rates_and_queueing_know_the_model_only(module: str) -> None:
    found = {part for name in imports(ROOT / f"{module}.py") if (part := part_of(name))}
    assert found <= {"model"}


def test_only_spark_and_profilers_import_pyspark() -> None:
    """And the logic of an example, a user's code, which is imported when it runs."""
    importers = {
        file.relative_to(ROOT)
        for file in ROOT.rglob("*.py")
        if any(name.split(".")[0] == "pyspark" for name in imports(file))
    }
    others = {file for file in importers if file.parts[0] not in ("spark", "profilers")}
    assert others == {Path("workloads", "patterns.py")}


def test_nobody_below_the_command_line_prints_tables() -> None:
    importers = {
        file.relative_to(ROOT).parts[0]
        for file in ROOT.rglob("*.py")
        if any(name.split(".")[0] in ("rich", "cyclopts") for name in imports(file))
    }
    assert importers <= {"cli", "report"}


def test_every_form_of_import_is_seen(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys.modules[__name__], "ROOT", tmp_path)
    file = tmp_path / "placers" / "new.py"
    file.parent.mkdir()
    file.write_text(
        "import slotwise.a\nfrom slotwise import b\nfrom slotwise.c import x\n"
        "from . import d\nfrom .. import e\nfrom ..f import y\n"
        "def later():\n    import slotwise.g as other\n"
    )
    parts = {part_of(name) for name in imports(file)}
    assert parts == {"a", "b", "c", "placers", "e", "f", "g"}


@pytest.mark.parametrize(
    "code",
    [
        "import slotwise",
        "import slotwise.cli",
        "from slotwise.cli import run; assert run(['--help']) == 0",
        "from slotwise.cli import run; assert run(['plan', '--help']) == 0",
    ],
)
def test_heavy_packages_stay_out(code: str) -> None:
    tail = f"; import sys; print('loaded', *(name for name in {HEAVY} if name in sys.modules))"
    done = subprocess.run([sys.executable, "-c", code + tail], capture_output=True, text=True)
    assert done.stdout.splitlines()[-1:] == ["loaded"], done.stdout + done.stderr
