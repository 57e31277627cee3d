"""Why a query failed, in one sentence."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pyspark.sql.streaming.query import StreamingQuery

LOST = re.compile(r"ExecutorLostFailure \(executor (\S+) exited[^)]*\) Reason: (.*)")


def why(query: StreamingQuery) -> str:
    """The innermost cause that says something; of a lost executor, which one and how it ended."""
    error = query.exception()
    return "it was stopped" if error is None else reason(str(error))


def reason(text: str) -> str:
    r"""
    >>> reason("Job aborted.\nCaused by: java.io.IOException: No space left on device\n at x")
    'No space left on device'
    """
    if lost := LOST.search(text):
        return f"executor {lost[1]} was lost ({lost[2].strip().rstrip('.')})"
    causes = re.findall(r"^\s*Caused by: (?:[\w.$]+: )?(.+)$", text, re.M)
    found = causes[-1] if causes else _first_line(text)
    found = re.sub(r"^\[[\w.]+\] ", "", found.strip())
    return found.partition(" SQLSTATE")[0].strip().rstrip(".")


def _first_line(text: str) -> str:
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    return lines[0] if lines else "no reason was given"
