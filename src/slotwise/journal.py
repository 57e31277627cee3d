"""What has been finished so far, in a file that survives whatever stops the work.

One JSON line per finished part: {"key": …, "row": …}, written at once and to the disk. A line cut
in the middle (killed, no room) does not count, and its part is done again.
"""

from __future__ import annotations

import fcntl
import json
import os
from pathlib import Path
from types import TracebackType
from typing import Any

from slotwise.model import SlotwiseError

START = b'{"key": '


class Journal:
    """Open it with `with`; nobody else can have it open at the same time."""

    def __init__(self, path: Path, work: str = "sweep") -> None:
        self.path = path
        self.work = work
        """What is done in parts."""
        self._file = -1

    def __enter__(self) -> Journal:
        try:
            if self.path.exists() and not self.path.is_file():
                raise SlotwiseError(f"{self.path} is not a regular file: use another --journal")
            self._file = os.open(self.path, os.O_RDWR | os.O_APPEND | os.O_CREAT, 0o666)
        except OSError as error:
            raise self._error(error) from None
        try:
            fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            os.close(self._file)
            raise SlotwiseError(
                f"{self.path}: another {self.work} is writing to it: wait, or use another --journal"
            ) from None
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        os.close(self._file)

    def rows(self) -> dict[str, dict[str, Any]]:
        """Per key the row that was written last. Ends a line that was cut, to append after it."""
        content = self.path.read_bytes()
        if not content.startswith(START[: len(content)]):
            raise SlotwiseError(
                f"{self.path} is not the journal of a {self.work}: use another --journal"
            )
        if content and not content.endswith(b"\n"):
            self._write(b"\n")
        return dict(filter(None, map(_entry, content.splitlines())))

    def add(self, key: str, row: dict[str, Any]) -> None:
        line = json.dumps({"key": key, "row": row}, ensure_ascii=False, allow_nan=False)
        self._write(line.encode() + b"\n")

    def _write(self, content: bytes) -> None:
        try:
            while content:
                content = content[os.write(self._file, content) :]
            os.fsync(self._file)
        except OSError as error:
            raise self._error(error) from None

    def _error(self, error: OSError) -> SlotwiseError:
        return SlotwiseError(
            f"{self.path}: the journal cannot be written ({error.strerror}): free disk space or "
            "use another --journal; what is finished is kept"
        )


def _entry(line: bytes) -> tuple[str, dict[str, Any]] | None:
    try:
        match json.loads(line):
            case {"key": str(key), "row": dict(row)}:
                return key, row
    except ValueError:
        pass
    return None
