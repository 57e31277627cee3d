"""The store: what it returns, how long that takes, and that nobody waits for others."""

from __future__ import annotations

import json
import statistics
from concurrent.futures import ThreadPoolExecutor
from threading import Barrier
from urllib.error import HTTPError, URLError
from urllib.request import urlopen

import pytest

from slotwise.workloads import store

QUICK = store.Latency(1)


def get(address: str) -> bytes:
    with urlopen(address, timeout=30) as answer:
        body: bytes = answer.read()
    return body


def test_objects_and_rows() -> None:
    with store.serving(blobs=QUICK, rows=QUICK) as address:
        assert get(f"{address}/blob/map-7") == store.blob("map-7")
        assert json.loads(get(f"{address}/table/v12")) == store.row("v12")
        for wrong in ("/", "/blob/", "/file/x"):
            with pytest.raises(HTTPError, match="404"):
                get(address + wrong)
    with pytest.raises(URLError):
        get(f"{address}/blob/map-7")


def test_contents_depend_on_the_name() -> None:
    assert len(store.blob("a")) == store.BLOB_BYTES
    assert store.blob("a") != store.blob("b")
    assert store.row("a") != store.row("b")


def test_latencies_are_log_normal_over_the_addresses() -> None:
    latency = store.Latency(100, spread=0.5)
    seconds = [latency.seconds(f"/blob/{n}") for n in range(4000)]
    assert latency.seconds("/blob/7") == seconds[7]
    assert statistics.median(seconds) == pytest.approx(0.1, rel=0.05)
    assert statistics.quantiles(seconds, n=40)[-1] == pytest.approx(0.267, rel=0.1)


class Together(store.Latency):
    """Nobody is answered before all are there."""

    meeting = Barrier(60, timeout=30)

    def seconds(self, address: str) -> float:
        self.meeting.wait()
        return 0.0


def test_60_requests_wait_at_the_same_time() -> None:
    with store.serving(blobs=Together(1)) as address, ThreadPoolExecutor(60) as clients:
        bodies = list(clients.map(get, [f"{address}/blob/{n}" for n in range(60)]))
    assert bodies == [store.blob(str(n)) for n in range(60)]
