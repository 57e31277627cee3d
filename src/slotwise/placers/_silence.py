"""Standard output closed to C libraries that print what their caller did not ask for."""

from __future__ import annotations

import ctypes
import os
from collections.abc import Iterator
from contextlib import contextmanager
from threading import Lock

_STDOUT = 1
_lock = Lock()
"""Two threads that swapped the descriptor at the same time would leave it swapped."""


@contextmanager
def silenced_stdout() -> Iterator[None]:
    """What C code prints to standard output inside the block is lost; Python's own is not delayed.

    The descriptor is swapped, not `sys.stdout`, which C does not know. C buffers what it prints, so
    its buffers are flushed before each swap. Keep the block short: other threads that write to
    standard output meanwhile lose it, too. Without a standard output there is nothing to do.
    """
    c_library = ctypes.CDLL(None)
    with _lock:
        try:
            kept = os.dup(_STDOUT)
        except OSError:
            yield
            return
        nowhere = os.open(os.devnull, os.O_WRONLY)
        c_library.fflush(None)
        os.dup2(nowhere, _STDOUT)
        try:
            yield
        finally:
            c_library.fflush(None)
            os.dup2(kept, _STDOUT)
            os.close(nowhere)
            os.close(kept)
