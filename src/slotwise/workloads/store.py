"""A store of objects and table rows behind HTTP, as slow as those of a cloud: paper 1's services.

    GET /blob/NAME      an object of 64 kB
    GET /table/KEY      a row, {"key": …, "size": …, "factor": …}, as JSON

What is returned, and how long that takes, depend on the address alone: latencies are log-normal
over the addresses, so that the same requests take the same times in every run. Requests do not wait
for one another.
"""

from __future__ import annotations

import json
import math
import sys
import time
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from statistics import NormalDist
from threading import Thread
from typing import Any

BLOB_BYTES = 65_536


@dataclass(frozen=True)
class Latency:
    """A log-normal distribution."""

    median_ms: float
    spread: float = 0.5
    """The standard deviation of the logarithm: one request in 40 takes 2.7 times the median."""

    def seconds(self, address: str) -> float:
        quantile = (zlib.crc32(address.encode()) + 0.5) / 2**32
        return self.median_ms / 1000 * math.exp(self.spread * NormalDist().inv_cdf(quantile))


BLOB = Latency(400)
"""With the spread, 2.2 requests/s by one thread: paper 1's model of the blob task has 2."""
TABLE = Latency(270)
"""With the spread, 3.3 requests/s by one thread: paper 1's model of the table task has 3."""


def blob(name: str) -> bytes:
    """An object's content."""
    pattern = f"{name}:{zlib.crc32(name.encode()):08x};".encode()
    return (pattern * (BLOB_BYTES // len(pattern) + 1))[:BLOB_BYTES]


def row(key: str) -> dict[str, object]:
    """A row of the table."""
    number = zlib.crc32(key.encode())
    return {"key": key, "size": number % 1000, "factor": 0.5 + number % 101 / 100}


@contextmanager
def serving(host: str = "127.0.0.1", blobs: Latency = BLOB, rows: Latency = TABLE) -> Iterator[str]:
    """The store at work on a free port; gives its address, such as http://127.0.0.1:40123."""
    server = _Server((host, 0), _Handler)
    server.latencies = {"blob": blobs, "table": rows}
    thread = Thread(target=server.serve_forever, name="store", daemon=True)
    thread.start()
    try:
        yield f"http://{host}:{server.server_port}"
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    block_on_close = False
    """A client may keep its connection: nobody waits for that."""
    request_queue_size = 1024
    latencies: dict[str, Latency]

    def handle_error(self, request: Any, client_address: Any) -> None:
        """A client that has gone, as at the end of a run, is no error."""
        if not isinstance(sys.exception(), ConnectionError):
            super().handle_error(request, client_address)


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: _Server

    def do_GET(self) -> None:
        kind, _, name = self.path.lstrip("/").partition("/")
        latency = self.server.latencies.get(kind)
        if latency is None or not name:
            self._answer(404, f"no {self.path}: expected /blob/NAME or /table/KEY\n".encode())
            return
        time.sleep(latency.seconds(self.path))
        self._answer(200, blob(name) if kind == "blob" else json.dumps(row(name)).encode())

    def _answer(self, status: int, body: bytes) -> None:
        self.send_response(status)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *arguments: object) -> None:
        """Nothing: the run has its own reports."""
