"""The runner of documented examples notices what is wrong with them."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.docs.runner import WrongExample, execute


@pytest.fixture(autouse=True)
def _in_a_folder_of_its_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def run(text: str, language: str = "console") -> int:
    page = Path("page.md")
    page.write_text(f"```{language}\n{text}\n```\n", encoding="utf-8")
    return execute(page)


@pytest.mark.parametrize(
    "text",
    [
        "$ slotwise examples\n...",
        "$ slotwise examples",
        "$ slotwise plan nosuch\n...\n$ echo $?\n1",
        "$ slotwise examples\n...\n$ echo $?\n0",
        "$ false # other commands are only shown",
    ],
)
def test_right_examples(text: str) -> None:
    assert run(text) == 1


def test_standard_output_into_a_file() -> None:
    assert run("$ slotwise examples > examples.txt") == 1
    assert "diamond" in Path("examples.txt").read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("$ slotwise plan nosuch\n...", "exits with 1, not 0"),
        ("$ slotwise plan nosuch", "exits with 1, not 0"),
        ("$ slotwise --nosuch\n...", "exits with 2, not 0"),
        ("$ slotwise examples\n...\n$ echo $?\n1", "exits with 0, not 1"),
        ("$ slotwise plan nosuch\n...\n$ slotwise examples\n...\n$ echo $?\n0", "exits with 1"),
        ("$ slotwise --version\nno version", "should print"),
    ],
)
def test_wrong_examples(text: str, says: str) -> None:
    with pytest.raises(WrongExample, match=says):
        run(text)


def test_wrong_python() -> None:
    with pytest.raises(WrongExample):
        run(">>> 1 + 1\n3", "python")
    with pytest.raises(ZeroDivisionError):
        run("1 / 0", "python")
