"""Run the command line in this process."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest

from slotwise import cli


@dataclass(frozen=True)
class Ran:
    """What a command did."""

    status: int
    out: str
    err: str


Run = Callable[..., Ran]


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Run:
    """run("plan", "linear") in an empty folder, as if piped, 80 columns wide."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "80")
    monkeypatch.delenv("SLOTWISE_DEBUG", raising=False)

    def command(*arguments: str) -> Ran:
        status = cli.run(arguments)
        captured = capsys.readouterr()
        return Ran(status, captured.out, captured.err)

    return command
