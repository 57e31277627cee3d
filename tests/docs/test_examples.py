"""Every example in the README and in docs/ does what the text says."""

from __future__ import annotations

import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

from tests.docs.runner import WrongExample, blocks, execute

ROOT = Path(__file__).parents[2]
DOCUMENTS = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]


@pytest.fixture(autouse=True)
def empty_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "80")
    return tmp_path


ON_SPARK = [
    ROOT / "docs" / "how-to" / name
    for name in ("measure-profiles.md", "run-on-spark.md", "write-a-pipeline-in-python.md")
]


@pytest.mark.parametrize(
    "document",
    [
        pytest.param(
            file,
            id=str(file.relative_to(ROOT)),
            marks=[pytest.mark.cluster] if file in ON_SPARK else [],
        )
        for file in DOCUMENTS
    ],
)
def test_examples_are_true(document: Path) -> None:
    execute(document)


def document(folder: Path, *lines: str) -> Path:
    file = folder / "page.md"
    file.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return file


class TestRunner:
    def test_python_blocks_share_names_and_console_blocks_a_folder(self, tmp_path: Path) -> None:
        page = document(
            tmp_path,
            "```python",
            "import slotwise",
            "plan = slotwise.plan('linear', rate=100, allocator='mba', placer='sam')",
            "```",
            "- in a list:",
            "  ```python",
            "  >>> plan.slots",
            "  7",
            "  ```",
            "```yaml",
            "not: looked at",
            "```",
            "```yaml file=empty.yaml",
            "```",
            "```console",
            "$ pip install slotwise",
            "not looked at either",
            "$ slotwise init mine.yaml",
            "wrote mine.yaml: ...",
            "$ slotwise plan mine.yaml  # a comment",
            "page-views at 5,000 tuples/s, ...",
            "$ slotwise plan mine.yaml",
            "$ slotwise plan empty.yaml",
            "slotwise: empty.yaml:1:1: the spec is empty...",
            "$ echo $?",
            "1",
            "```",
        )
        assert execute(page) == 4
        assert (tmp_path / "mine.yaml").exists()

    @pytest.mark.parametrize(
        "lines",
        [
            ("```python", ">>> 1 + 1", "3", "```"),
            ("```console", "$ slotwise --version", "9.9.9", "```"),
            ("```console", "$ slotwise plan nosuch", "```"),
            ("```console", "$ slotwise plan nosuch", "...", "$ echo $?", "0", "```"),
        ],
    )
    def test_a_wrong_example_fails_with_its_place(
        self, tmp_path: Path, lines: tuple[str, ...]
    ) -> None:
        with pytest.raises(WrongExample, match=r"page\.md:4"):
            execute(document(tmp_path, "# A page", "", *lines))

    def test_a_package_is_gone_after_its_page_and_its_failing_test_is_told(
        self, tmp_path: Path
    ) -> None:
        page = document(
            tmp_path,
            "```toml file=pyproject.toml",
            "[project]",
            'name = "an-example"',
            'version = "1"',
            "[build-system]",
            'requires = ["hatchling"]',
            'build-backend = "hatchling.build"',
            "```",
            "```python file=an_example.py",
            "seen = 1",
            "```",
            "```python file=test_an_example.py",
            "def test_seen():",
            "    import an_example",
            "    assert an_example.seen == 2",
            "```",
            "```console",
            "$ pip install .",
            "```",
            "```python",
            ">>> import an_example",
            ">>> 'site-packages' in an_example.__file__",
            "True",
            "```",
            "```console",
            "$ pytest -q",
            "```",
        )
        with pytest.raises(WrongExample, match=r"page\.md:26\n.*pytest -q\nexits with 1"):
            execute(page)
        assert find_spec("an_example") is None
        assert "an_example" not in sys.modules

    def test_an_error_in_python_is_not_swallowed(self, tmp_path: Path) -> None:
        with pytest.raises(ZeroDivisionError):
            execute(document(tmp_path, "```python", "1 / 0", "```"))

    def test_blocks_know_their_line(self) -> None:
        (block,) = blocks("x.md", "a\n```console\n$ slotwise\n```\n")
        assert (block.place, block.language, block.text) == ("x.md:3", "console", "$ slotwise\n")
