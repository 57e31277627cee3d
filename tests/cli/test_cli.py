"""Exit codes, and that every failure is one sentence on stderr."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

import slotwise
from slotwise import cli

from .conftest import Run

ENTRY_POINT = "from slotwise.cli import main; main()"


def script(*arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
    """The command line in a process of its own."""
    return subprocess.run(
        [sys.executable, "-c", ENTRY_POINT, *arguments],
        capture_output=True,
        encoding="utf-8",
        env=os.environ | environment,
    )


def test_help_lists_every_command(run: Run) -> None:
    ran = run("--help")
    assert ran.status == 0
    assert all(command in ran.out for command in cli.COMMANDS)
    assert ran.err == ""


@pytest.mark.parametrize("command", cli.COMMANDS)
def test_every_command_has_help(run: Run, command: str) -> None:
    ran = run(command, "--help")
    assert ran.status == 0
    assert f"Usage: slotwise {command}" in ran.out


def test_version(run: Run) -> None:
    assert run("--version").out.strip() == slotwise.__version__


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["frobnicate"], "frobnicate"),
        (["plan"], "SPEC"),
        (["plan", "linear", "--rat", "5"], "Did you mean --rate?"),
        (["plan", "linear", "another"], "another"),
        (["plan", "linear", "--rate", "many"], "invalid value 'many': expected a number > 0"),
        (["plan", "linear", "--rate", "0"], "invalid value '0': expected a number > 0"),
        (["plan", "linear", "--rate", "-5"], "invalid value '-5': expected a number > 0"),
        (["plan", "linear", "--rate", "nan"], "invalid value 'nan': expected a number > 0"),
        (["plan", "linear", "--rate", "inf"], "invalid value 'inf': expected a number > 0"),
        (["compare", "linear", "--rates", "50,,100"], "invalid value '': expected a number > 0"),
        (["compare", "linear", "--rates", "50,x"], "invalid value 'x': expected a number > 0"),
        (["compare", "linear", "--placers", "sam,"], "empty name in 'sam,'"),
        (["compare", "linear", "--json", "--csv"], "--json, --csv"),
    ],
)
def test_wrong_usage_is_2_and_says_what_to_write(
    run: Run, arguments: list[str], says: str, tmp_path: Path
) -> None:
    ran = run(*arguments)
    assert ran.status == 2
    assert ran.out == ""
    assert says in ran.err
    assert "--help'" in ran.err
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["plan", "nosuch"], "no such file"),
        (["plan", "linear", "--rate", "1", "--placer", "samm"], "did you mean 'sam'?"),
        (["plan", "linear", "--rate", "1", "--placer", "sam:x=1"], "no option 'x'"),
        (["plan", "linear", "--rate", "1", "--allocator", "mba:x"], "expected NAME:OPTION=VALUE"),
        (["plan", "linear", "--rate", "1e300"], "the rate is 1e+300: expected a number from 1e-12"),
        (["plan", "linear", "--rate", "1e12"], "above the limit of 1,000,000 threads in a plan"),
        (["compare", "linear", "--rates", "1", "--allocators", "x"], "unknown allocator 'x'"),
        (["examples", "--show", "nosuch"], "unknown example 'nosuch'"),
    ],
)
def test_an_error_is_1_and_one_sentence(
    run: Run, arguments: list[str], says: str, tmp_path: Path
) -> None:
    ran = run(*arguments)
    assert ran.status == 1
    assert ran.out == ""
    assert says in ran.err
    assert ran.err.startswith("slotwise: ")
    assert ran.err.count("\n") == 1
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("content", "says"),
    [
        (b"", "the spec is empty"),
        (b"topology: [", "bad.yaml:1:"),
        (b"topology:\n\tname: x", "bad.yaml:2:1: a tab is not allowed here in YAML"),
        (bytes(range(256)) * 40, "bad.yaml:"),
        (b"# more\n" * 1_500_000, "expected at most 2 MB"),
        (b"topology: {name: x, operators: {a: {kind: sauce}}}", "bad.yaml:1:"),
    ],
)
def test_a_bad_spec_is_1_with_its_place_and_writes_nothing(
    run: Run, content: bytes, says: str, tmp_path: Path
) -> None:
    (tmp_path / "bad.yaml").write_bytes(content)
    ran = run("plan", "bad.yaml", "--rate", "100", "--output", "plan.json")
    assert (ran.status, ran.out) == (1, "")
    assert says in ran.err
    assert ran.err.count("\n") == 1
    assert os.listdir(tmp_path) == ["bad.yaml"]


@pytest.mark.parametrize(
    ("error", "says"),
    [
        (PermissionError(13, "Permission denied", "there"), "slotwise: there: Permission denied"),
        (ZeroDivisionError("on\ntwo lines"), "(ZeroDivisionError: on two lines): please report"),
    ],
)
def test_the_unexpected(
    run: Run, monkeypatch: pytest.MonkeyPatch, error: Exception, says: str
) -> None:
    monkeypatch.setattr(slotwise, "load", lambda _: _raise(error))
    ran = run("plan", "linear")
    assert (ran.status, ran.out) == (1, "")
    assert says in ran.err
    assert ran.err.count("\n") == 1
    monkeypatch.setenv("SLOTWISE_DEBUG", "1")
    assert "Traceback" in run("plan", "linear").err


def test_interrupted_is_130(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(slotwise, "load", lambda _: _raise(KeyboardInterrupt()))
    ran = run("plan", "linear")
    assert (ran.status, ran.err) == (130, "slotwise: interrupted\n")


def _raise(error: BaseException) -> None:
    raise error


def test_a_reader_that_stops_is_no_error() -> None:
    reading, writing = os.pipe()
    os.close(reading)
    with os.fdopen(writing, "w") as closed_pipe:
        done = subprocess.run(
            [sys.executable, "-c", ENTRY_POINT, "schema"],
            stdout=closed_pipe,
            stderr=subprocess.PIPE,
            text=True,
        )
    assert (done.returncode, done.stderr) == (141, "")


def test_an_output_that_cannot_show_a_character_gets_a_question_mark() -> None:
    pair = ("--allocator", "mba", "--placer", "sam")
    done = script("plan", "linear", "--rate", "100", *pair, PYTHONIOENCODING="ascii")
    assert done.returncode == 99, done.stderr
    assert "azure-blob?50" in done.stdout


def test_piped_output_has_no_colours_and_no_blanks_at_line_ends() -> None:
    done = script("plan", "linear", "--rate", "100")
    assert "\x1b" not in done.stdout
    assert all(line == line.rstrip() for line in done.stdout.splitlines())


def test_completion_scripts_know_the_commands() -> None:
    completion = cli.app.generate_completion(shell="bash")
    assert "compare" in completion
    assert "--placer" in completion
