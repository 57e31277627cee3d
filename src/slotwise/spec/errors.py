"""What is wrong with a spec file, and where."""

from __future__ import annotations

import re

from slotwise.model import SlotwiseError

_CONTROL = re.compile("[\x00-\x1f\x7f-\x9f\u2028\u2029]")


class SpecError(SlotwiseError):
    """One sentence that starts with `file:line:column: ` and ends with what to write instead.

    Lines and columns count from 1. A file that cannot be read has no line: `file: …`.
    """

    def __init__(
        self, file: str, problem: str, line: int | None = None, column: int | None = None
    ) -> None:
        place = file if line is None else f"{file}:{line}:{column}"
        super().__init__(one_line(f"{place}: {problem}"))
        self.file = file
        self.problem = problem
        self.line = line
        self.column = column


def one_line(text: str) -> str:
    """Names from a file may hold line breaks and worse: show them escaped, as in Python."""
    return _CONTROL.sub(lambda found: ascii(found[0])[1:-1], text)
