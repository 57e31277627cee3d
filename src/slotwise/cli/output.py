"""Where output goes: data to stdout, everything else to stderr, files whole or not at all."""

from __future__ import annotations

import csv
import io
import os
import sys
import tempfile
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from rich.console import Console, RenderableType

from slotwise.cli import DONE, ERROR, GOAL_MISSED

if TYPE_CHECKING:
    from slotwise.model import Observation, Verdict

T = TypeVar("T")

PIPED_COLUMNS = 120
"""The width of tables for a reader that has none, unless COLUMNS says otherwise."""


def show(renderable: RenderableType) -> None:
    """For people, on stdout: colours and the terminal's width if it is one, else plain."""
    to = console()
    if to.is_terminal:
        to.print(renderable)
        return
    with to.capture() as captured:
        to.print(renderable)
    # Tables pad their last column; files and documentation are better without.
    print("\n".join(line.rstrip() for line in captured.get().splitlines()))


def deliver(
    text: Callable[[], str],
    report: Callable[[], RenderableType],
    *,
    json: bool,
    output: Path | None,
) -> None:
    """JSON `text` to the file and, with --json, to stdout; otherwise the report there."""
    made = text() if json or output else ""
    if output:
        write_file(output, made)
        note(f"wrote {output}")
    if json:
        print(made, end="")
    else:
        show(report())


def console(*, stderr: bool = False) -> Console:
    stream = sys.stderr if stderr else sys.stdout
    width = None if stream.isatty() or "COLUMNS" in os.environ else PIPED_COLUMNS
    return Console(stderr=stderr, width=width, markup=False, highlight=False, emoji=False)


def note(text: str) -> None:
    """A line on stderr."""
    print(text, file=sys.stderr)


def note_verdicts(verdicts: Sequence[Verdict], seen: Observation | None = None) -> int:
    """A line on stderr for each goal that was missed or not tested, and for an unstable run that
    missed none; the exit code.
    """
    for verdict in verdicts:
        if verdict.outcome != "met":
            note(f"goal {verdict.outcome}: {verdict.reason}")
    if any(verdict.outcome == "missed" for verdict in verdicts):
        return GOAL_MISSED
    if seen is not None and seen.stable is False:
        note(f"slotwise: unstable at {seen.offered_rate:,g}/s: {seen.bottleneck} is the bottleneck")
        return ERROR
    return DONE


def with_progress(items: Iterable[T], what: str, /, total: int | None = None) -> Iterable[T]:
    """The items, with a progress bar on stderr while they are taken if that is a terminal."""
    if not sys.stderr.isatty():
        return items
    from rich.progress import track

    return track(items, what, total, console=console(stderr=True), transient=True)


def csv_text(rows: Sequence[Mapping[str, object]]) -> str:
    """At least one row; their keys are the columns. None is empty."""
    text = io.StringIO()
    writer = csv.DictWriter(text, list(rows[0]), lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    return text.getvalue()


def write_file(path: Path, content: str | bytes) -> None:
    """All of `content` or nothing: written beside `path`, then renamed over it.

    A link stays a link. Anything else (/dev/stdout, a named pipe) is written to directly.
    """
    target = Path(os.path.realpath(path))
    if target.exists() and not target.is_file() and not target.is_dir():
        target.write_bytes(_bytes(content))
        return
    if target.is_dir():
        raise IsADirectoryError(21, "is a directory: expected a file", str(path))
    try:
        handle, temporary = tempfile.mkstemp(prefix=f".{target.name}.", dir=target.parent)
    except OSError as error:
        raise type(error)(error.errno, f"cannot be written ({error.strerror})", str(path)) from None
    try:
        with open(handle, "wb") as file:
            file.write(_bytes(content))
        os.chmod(temporary, _mode(target))
        os.replace(temporary, target)
    except BaseException:
        os.unlink(temporary)
        raise


def _bytes(content: str | bytes) -> bytes:
    return content if isinstance(content, bytes) else content.encode()


def _mode(target: Path) -> int:
    """The rights the file has, or those a new one would get."""
    if target.exists():
        return target.stat().st_mode & 0o777
    mask = os.umask(0)
    os.umask(mask)
    return 0o666 & ~mask
