"""Finds the examples in a Markdown file and executes them; says file and line of a wrong one."""

from __future__ import annotations

import contextlib
import doctest
import io
import re
import shlex
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from slotwise import cli

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
    status = cli.DONE
    for part in re.split(r"^(?=\$ )", block.text, flags=re.MULTILINE):
        command, _, expected = part.partition("\n")
        if command == "$ echo $?" and expected.strip() != f"{status}":
            raise WrongExample(f"{block.place}\n{command}\nshould print: {status}")
        if not command.startswith("$ slotwise"):
            continue
        status, printed = _run(command.removeprefix("$ slotwise"))
        if not expected.strip():
            if status != cli.DONE:
                raise WrongExample(f"{block.place}\n{command}\nexits {status}:\n{printed}")
        elif not doctest.OutputChecker().check_output(expected.strip(), printed.strip(), _SAME):
            raise WrongExample(
                f"{block.place}\n{command}\nshould print:\n{expected}\nbut prints:\n{printed}"
            )


def _run(arguments: str) -> tuple[int, str]:
    """Exit code, and stdout and stderr as a terminal would mix them."""
    output = io.StringIO()
    with contextlib.redirect_stdout(output), contextlib.redirect_stderr(output):
        status = cli.run(shlex.split(arguments, comments=True))
    return status, output.getvalue()
