"""Finds the examples in a Markdown file and executes them; says file and line of a wrong one."""

from __future__ import annotations

import contextlib
import doctest
import io
import re
import shlex
from dataclasses import dataclass
from itertools import zip_longest
from pathlib import Path
from typing import Any, TextIO

from slotwise import cli
from tests.docs import packages

_FENCE = re.compile(r"^( *)```(\w*)([^\n]*)\n(.*?)^\1```", re.MULTILINE | re.DOTALL)
_SAME = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE


class WrongExample(AssertionError):
    """An example that does not do what the text says."""


@dataclass(frozen=True)
class Block:
    """A fenced block: where its first line stands, the file it shows, if any, and its text."""

    place: str
    line: int
    language: str
    file: str | None
    text: str


def blocks(name: str, markdown: str) -> list[Block]:
    """All fenced blocks, of any language."""
    found = []
    for match in _FENCE.finditer(markdown):
        line = markdown.count("\n", 0, match.start(4)) + 1
        text = re.sub(f"^{match[1]}", "", match[4], flags=re.MULTILINE)
        file = re.search(r"\bfile=(\S+)", match[3])
        found.append(Block(f"{name}:{line}", line, match[2], file and file[1], text))
    return found


def execute(file: Path) -> int:
    """Run every python and console block in turn, in the current folder; return how many.

    A block with `file=NAME` after its language is written to that file instead.
    """
    with packages.forgotten_afterwards():
        return _execute(file)


def _execute(file: Path) -> int:
    namespace: dict[str, Any] = {"__name__": "__example__"}
    executed = 0
    for block in blocks(file.name, file.read_text(encoding="utf-8")):
        if block.file is not None:
            Path(block.file).write_text(block.text, encoding="utf-8")
        elif block.language == "python":
            _execute_python(block, namespace)
        elif block.language == "console":
            _execute_console(block)
        else:
            continue
        executed += 1
    return executed


def _execute_python(block: Block, namespace: dict[str, Any]) -> None:
    if ">>>" not in block.text:
        # Blank lines first, so that a traceback has the line of the Markdown file.
        text = "\n" * (block.line - 1) + block.text
        with contextlib.redirect_stdout(io.StringIO()):
            exec(compile(text, block.place, "exec", dont_inherit=True), namespace)
        return
    example = doctest.DocTestParser().get_doctest(
        block.text, namespace, block.place, block.place, block.line - 1
    )
    report = io.StringIO()
    runner = doctest.DocTestRunner(optionflags=doctest.ELLIPSIS)
    if runner.run(example, out=report.write, clear_globs=False).failed:
        raise WrongExample(f"{block.place}\n{report.getvalue()}")
    namespace.update(example.globs)


def _execute_console(block: Block) -> None:
    """A command must exit with 0, unless `$ echo $?` follows with another code."""
    texts = re.split(r"^(?=\$ )", block.text, flags=re.MULTILINE)
    parts = [text.partition("\n")[::2] for text in texts]
    for (command, expected), following in zip_longest(parts, parts[1:], fillvalue=("", "")):
        ran = _run(command)
        if ran is None:
            continue
        status, printed = ran
        shown = following[1].strip() if following[0] == "$ echo $?" else f"{cli.DONE}"
        if f"{status}" != shown:
            raise WrongExample(
                f"{block.place}\n{command}\nexits with {status}, not {shown}:\n{printed}"
            )
        same = doctest.OutputChecker().check_output(expected.strip(), printed.strip(), _SAME)
        if expected.strip() and not same:
            raise WrongExample(
                f"{block.place}\n{command}\nshould print:\n{expected}\nbut prints:\n{printed}"
            )


def _run(command: str) -> tuple[int, str] | None:
    """Exit code and output of a command; None for one that is only shown."""
    if command == "$ pip install .":
        return packages.install()
    match shlex.split(command, comments=True):
        case ["$", "slotwise", *arguments, ">", file]:
            with open(file, "w", encoding="utf-8") as output:
                return _run_slotwise(arguments, output)
        case ["$", "slotwise", *arguments]:
            return _run_slotwise(arguments)
        case ["$", "pytest", *arguments]:
            return packages.run_pytest(arguments)
    return None


def _run_slotwise(arguments: list[str], into: TextIO | None = None) -> tuple[int, str]:
    """Exit code, and stdout and stderr as a terminal would mix them; or stdout goes `into`."""
    output = io.StringIO()
    with contextlib.redirect_stdout(into or output), contextlib.redirect_stderr(output):
        status = cli.run(arguments)
    return status, output.getvalue()
