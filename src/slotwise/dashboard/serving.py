"""A page's server, from the program that wants it: a process of its own at a lower priority.

It listens on a socket that is bound here, so that an address that cannot be used is an error before
anything starts. It ends with its owner, also when that is killed.
"""

from __future__ import annotations

import json
import select
import socket
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import quote

from slotwise.dashboard.access import LOOPBACK, Access, is_any
from slotwise.model import SlotwiseError

USUAL_PORT = 8642
START_S = 60.0
"""Many times what it takes on a machine with much to do."""
END_S = 5.0
READY = "ready"
"""What the process says when it can be asked."""
BACKLOG = 128


@dataclass(frozen=True)
class Address:
    """Where the page is."""

    host: str = LOOPBACK
    port: int = USUAL_PORT
    """0: one that is free."""


@dataclass(frozen=True)
class Page:
    """A page that is served."""

    url: str
    """With the token, as its fragment, which browsers do not send."""
    port: int
    token: str


def bound(address: Address) -> socket.socket:
    """Raises SlotwiseError for an address that cannot be used."""
    family = socket.AF_INET6 if ":" in address.host else socket.AF_INET
    made = socket.socket(family, socket.SOCK_STREAM)
    try:
        made.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        made.bind((address.host.strip("[]"), address.port))
        made.listen(BACKLOG)
    except OSError as error:
        made.close()
        raise SlotwiseError(
            f"{address.host}:{address.port} cannot be used for the page ({error.strerror}): use "
            "another --port, or --port 0 for one that is free"
        ) from None
    return made


@contextmanager
def serving(
    path: Path, address: Address, access: Access, only: Sequence[int] | None = None
) -> Iterator[Page]:
    """The page of the runs in a file, until the end of the block, even while browsers have it open.
    Raises SlotwiseError.
    """
    check_can_serve()
    with bound(address) as listening:
        port = int(listening.getsockname()[1])
        process = _started(listening, path, access, only)
    try:
        _await_ready(process)
        yield Page(url_of(address.host, port, access.token), port, access.token)
    finally:
        _end(process)


def url_of(host: str, port: int, token: str) -> str:
    """Of the page, for a browser."""
    name = _own_name() if is_any(host) else host
    return f"http://{_in_url(name)}:{port}/#token={quote(token, safe='')}"


def _own_name() -> str:
    """Of this machine; where nobody resolves it, the address that is right on it alone."""
    name = socket.gethostname()
    try:
        socket.getaddrinfo(name, None)
    except OSError:
        return LOOPBACK
    return name


def check_can_serve() -> None:
    """Raises SlotwiseError where the packages for it are not installed."""
    from importlib.util import find_spec

    needed = ("fastapi", "uvicorn", "prometheus_client")
    missing = [name for name in needed if find_spec(name) is None]
    if missing:
        raise SlotwiseError(f"the page needs {', '.join(missing)}: pip install 'slotwise[page]'")


def _started(
    listening: socket.socket, path: Path, access: Access, only: Sequence[int] | None
) -> subprocess.Popen[str]:
    process = subprocess.Popen(
        [sys.executable, "-m", "slotwise.dashboard"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        pass_fds=(listening.fileno(),),
    )
    given = {
        "socket": listening.fileno(),
        "path": str(path.resolve()),
        "host": access.host,
        "token": access.token,
        "only": None if only is None else list(only),
    }
    assert process.stdin is not None
    process.stdin.write(json.dumps(given) + "\n")
    process.stdin.flush()
    return process


def _await_ready(process: subprocess.Popen[str]) -> None:
    assert process.stdout is not None
    if not select.select([process.stdout], [], [], START_S)[0]:
        raise SlotwiseError(f"the page's server has not started within {START_S:g} s")
    if process.stdout.readline().strip() != READY:
        raise SlotwiseError(
            f"the page's server has ended with code {process.wait()}: the lines above say why"
        )


def _end(process: subprocess.Popen[str]) -> None:
    """The end of its input ends it; what does not end in time is killed."""
    assert process.stdin is not None
    assert process.stdout is not None
    with suppress(OSError):  # it is gone
        process.stdin.close()
    try:
        process.wait(END_S)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
    process.stdout.close()


def _in_url(host: str) -> str:
    return f"[{host}]" if ":" in host else host
