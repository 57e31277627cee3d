"""Where output goes: data to stdout, everything else to stderr, files whole or not at all."""

from __future__ import annotations

import json
import os
import sys
import tempfile
from pathlib import Path
from typing import Any

from rich.console import Console, RenderableType

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


def console(*, stderr: bool = False) -> Console:
    stream = sys.stderr if stderr else sys.stdout
    width = None if stream.isatty() or "COLUMNS" in os.environ else PIPED_COLUMNS
    return Console(stderr=stderr, width=width, markup=False, highlight=False, emoji=False)


def note(text: str) -> None:
    """A line on stderr."""
    print(text, file=sys.stderr)


def json_text(value: Any) -> str:
    """Strict JSON: a float without a finite value is an error here, and null in our data."""
    return json.dumps(value, indent=2, ensure_ascii=False, allow_nan=False) + "\n"


def write_file(path: Path, content: str | bytes) -> None:
    """All of `content` or nothing: written beside `path`, then renamed over it.

    A link stays a link. What is no regular file (/dev/stdout, a named pipe) is written to directly.
    """
    target = Path(os.path.realpath(path))
    if target.exists() and not target.is_file() and not target.is_dir():
        target.write_bytes(_bytes(content))
        return
    if target.is_dir():
        raise IsADirectoryError(21, "this is a directory: name a file in it", str(path))
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
