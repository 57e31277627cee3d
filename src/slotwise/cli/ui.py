"""`slotwise ui`: the page of runs that are kept."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Annotated

from cyclopts import Parameter

from slotwise.cli import DONE
from slotwise.cli.output import note
from slotwise.cli.showing import HOST, PORT, Host, Port, RunsFile


def ui(
    *run: Annotated[str, Parameter(help="Numbers of runs, or 'last'. Default: all.")],
    host: Host = HOST,
    port: Port = PORT,
    runs: RunsFile = None,
) -> int:
    """Serve the page until Ctrl-C."""
    from slotwise.cli.showing import served
    from slotwise.runs import Runs, usual_file

    path = runs or usual_file()
    with Runs.opened(path) as kept:
        only = tuple(kept.run(name).id for name in run) or None
    with served(path, host, port, only), _terminated_as_by_ctrl_c():
        note("press Ctrl-C to end")
        try:
            signal.pause()
        except KeyboardInterrupt:
            return DONE
    return DONE


@contextmanager
def _terminated_as_by_ctrl_c() -> Iterator[None]:
    """A signal to terminate ends it in order, too."""

    def interrupt(number: int, frame: FrameType | None) -> None:
        raise KeyboardInterrupt

    before = signal.signal(signal.SIGTERM, interrupt)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)
