"""What is wrong with a spec file, and where."""

from __future__ import annotations

from slotwise.model import SlotwiseError


class SpecError(SlotwiseError):
    """One sentence that starts with `file:line:column: ` and ends with what to write instead.

    Lines and columns count from 1. A file that cannot be read has no line: `file: …`.
    """

    def __init__(
        self, file: str, problem: str, line: int | None = None, column: int | None = None
    ) -> None:
        place = file if line is None else f"{file}:{line}:{column}"
        super().__init__(f"{place}: {problem}")
        self.file = file
        self.problem = problem
        self.line = line
        self.column = column
