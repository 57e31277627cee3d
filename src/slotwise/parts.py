"""Work in parts that do not depend on one another: here, in processes, or on Spark.

A part has a key, a hash of all that goes into it, so that what is in the journal needs not be done
again. Its row depends on nothing else, so neither the order nor the machine changes a number.
"""

from __future__ import annotations

import multiprocessing
import os
import signal
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from concurrent.futures.process import BrokenProcessPool
from typing import Any, Protocol, TypeVar

from slotwise.journal import Journal
from slotwise.model import SlotwiseError

Row = dict[str, Any]
"""One part's figures by its columns; None where there are none."""


class Part(Protocol):
    """A frozen value that other processes can be sent."""

    @property
    def key(self) -> str: ...

    @property
    def columns(self) -> Mapping[str, type]:
        """The keys of the row: float, int, str or bool each, or a list of floats (`list`)."""
        ...

    def row(self) -> Row: ...


P = TypeVar("P", bound=Part)
Runner = Callable[[Sequence[P]], Iterator[tuple[P, Row]]]
"""Does parts, in any order, and gives each with its row as soon as that is there."""


def finished(parts: Sequence[P], journal: Journal, runner: Runner[P]) -> Iterator[str]:
    """Do what the journal lacks; yields the key of every part when its row is in the journal."""
    done = journal.rows()
    yield from (part.key for part in parts if part.key in done)
    missing = [part for part in parts if part.key not in done]
    if missing:
        for part, row in runner(missing):
            journal.add(part.key, row)
            yield part.key


def run_here(parts: Sequence[P]) -> Iterator[tuple[P, Row]]:
    """One after the other, in this process."""
    return ((part, part.row()) for part in parts)


def run_in_processes(parts: Sequence[P]) -> Iterator[tuple[P, Row]]:
    """As many processes as there are cores. They end with this one, however it ends."""
    workers = min(len(parts), os.cpu_count() or 1)
    pool = ProcessPoolExecutor(
        workers, multiprocessing.get_context("spawn"), initializer=_end_with_parent
    )
    try:
        running = {pool.submit(_row, part): part for part in parts}
        for future in as_completed(running):
            yield running.pop(future), future.result()
    except BrokenProcessPool:
        raise SlotwiseError(
            "a process of this work was killed (out of memory?): what is finished is kept, "
            "run the same command again to continue"
        ) from None
    finally:
        pool.shutdown(cancel_futures=True)


def _row(part: Part) -> Row:
    return part.row()


def _end_with_parent() -> None:
    """Ctrl-C ends a worker without a word; a parent that is gone does not leave it waiting."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    parent = multiprocessing.parent_process()
    assert parent is not None

    def wait() -> None:
        parent.join()
        os._exit(1)

    threading.Thread(target=wait, daemon=True).start()
