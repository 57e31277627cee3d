"""Inside the page's process: the server, until whoever started it says so or is gone.

It gets one line of JSON on its input: the socket to listen on, the file of runs, and who may do
what. The end of the input ends it.
"""

from __future__ import annotations

import asyncio
import json
import os
import signal
import socket
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import uvicorn

from slotwise.dashboard.access import Access
from slotwise.dashboard.application import Server, application
from slotwise.dashboard.serving import READY

NICENESS = 10
"""A run on the same machine goes first."""
GRACE_S = 2
"""For answers that are under way at the end."""


def main() -> None:
    # Ctrl-C is for the run; it ends this process when it ends.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    os.nice(NICENESS)
    given = json.loads(sys.stdin.readline())
    only = None if given["only"] is None else tuple(given["only"])
    server = Server(Path(given["path"]), Access(given["host"], given["token"]), only)
    config = uvicorn.Config(
        application(server),
        log_level="warning",
        access_log=False,
        server_header=False,
        timeout_graceful_shutdown=GRACE_S,
        timeout_keep_alive=30,
    )
    asyncio.run(_serve(_Uvicorn(config), server, socket.socket(fileno=given["socket"])))


class _Uvicorn(uvicorn.Server):
    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        """The process has its own handlers."""
        yield

    async def startup(self, sockets: Any = None) -> None:
        await super().startup(sockets)
        print(READY, flush=True)


async def _serve(serving: uvicorn.Server, server: Server, listening: socket.socket) -> None:
    loop = asyncio.get_running_loop()

    async def end() -> None:
        await server.newsroom.finish()
        serving.should_exit = True

    def wait() -> None:
        sys.stdin.read()
        asyncio.run_coroutine_threadsafe(end(), loop)

    threading.Thread(target=wait, daemon=True).start()
    await serving.serve([listening])
