"""The server as it runs beside a run: a process of its own, with real browsers' connections."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import closing, contextmanager
from http.client import HTTPConnection, HTTPResponse
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit
from urllib.request import urlopen

import psutil
import pytest

from slotwise.clock import await_condition
from slotwise.dashboard import serving as module
from slotwise.dashboard.access import Access
from slotwise.dashboard.news import QUIET_S
from slotwise.dashboard.serving import Address, Page, serving, url_of
from slotwise.model import SlotwiseError

from .large import large_plan
from .live import WAIT_S, live_run, orders

TOKEN = "a-token-of-24-characters"
ACCESS = Access("127.0.0.1", TOKEN)
FREE = Address(port=0)


@contextmanager
def stream(page: Page, run: int, after: int = 0) -> Iterator[HTTPResponse]:
    connection = HTTPConnection("127.0.0.1", page.port, timeout=WAIT_S)
    connection.request("GET", f"/api/runs/{run}/events?after={after}")
    with closing(connection), connection.getresponse() as response:
        yield response


def events(response: HTTPResponse) -> Iterator[tuple[str, Any]]:
    """Name and data of each, until the stream ends. A stream that has no news for long fails."""
    name, quiet = "", 0
    for line in response:
        key, _, value = line.decode().rstrip("\n").partition(": ")
        if key == "event":
            name, quiet = value, 0
        elif value and not key:
            quiet += 1
            assert quiet * QUIET_S < WAIT_S, "there was no news"
        elif key == "data":
            yield name, json.loads(value)


def get(page: Page, path: str) -> Any:
    with closing(HTTPConnection("127.0.0.1", page.port, timeout=WAIT_S)) as connection:
        connection.request("GET", path)
        return json.loads(connection.getresponse().read())


def post(page: Page, path: str, body: dict[str, object]) -> Any:
    headers = {"Authorization": f"Bearer {TOKEN}", "Content-Type": "application/json"}
    with closing(HTTPConnection("127.0.0.1", page.port, timeout=WAIT_S)) as connection:
        connection.request("POST", path, json.dumps(body), headers)
        answer = connection.getresponse()
        found = json.loads(answer.read())
        assert answer.status == 200, found
        return found


def test_twenty_pages_follow_a_run_to_its_end(tmp_path: Path) -> None:
    """Each sees the first plan, the new one before it is named, and the end."""
    seen: list[list[tuple[str, Any]]] = [[] for _ in range(20)]
    with (
        live_run(tmp_path, orders(), "threshold:seconds=10", factor=2) as run,
        serving(run.path, FREE, ACCESS, (run.id,)) as page,
    ):

        def follow(events_seen: list[tuple[str, Any]]) -> None:
            with stream(page, run.id) as response:
                events_seen.extend(events(response))

        threads = [threading.Thread(target=follow, args=(each,)) for each in seen]
        for thread in threads:
            thread.start()

        def all_follow() -> bool:
            run.period()
            return all(len(each) >= 2 for each in seen)

        assert await_condition(all_follow, WAIT_S, poll_s=0.0)
        for _ in range(8):
            run.period()
        run.recorder.end()
        for thread in threads:
            thread.join(WAIT_S)
    last_s = run.loop.deployment.now_s()
    for each in seen:
        names = [name for name, _ in each]
        assert names[-1] == "end"
        assert each[-1][1]["state"] == "ended"
        known = set()
        for name, data in each:
            if name == "plan":
                known.add(data["number"])
            elif name == "observation":
                assert data["plan"] in known
        observed = [data["at_s"] for name, data in each if name == "observation"]
        assert observed == sorted(set(observed))
        assert observed[-1] == pytest.approx(last_s, abs=3.1)
        assert any(name == "decision" for name in names)
        assert any(name == "mark" for name in names)


MUCH = 10_000_000
"""Bytes that another page is sent meanwhile."""
KERNEL = int(Path("/proc/sys/net/ipv4/tcp_wmem").read_text(encoding="utf-8").split()[2])
"""What the kernel keeps at most of what a page does not read."""


def not_reading(page: Page, run: int) -> socket.socket:
    slow = socket.socket()
    slow.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
    slow.settimeout(WAIT_S)
    slow.connect(("127.0.0.1", page.port))
    slow.sendall(f"GET /api/runs/{run}/events HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n".encode())
    return slow


def size_until(quick: Iterator[tuple[str, Any]], at_s: float) -> int:
    """Bytes of all events until the observation of that second."""
    size = 0
    for name, data in quick:
        size += len(json.dumps(data))
        if name == "observation" and data["at_s"] == at_s:
            break
    return size


def test_a_page_that_does_not_read_holds_nobody_up_and_nothing_is_kept_for_it(
    tmp_path: Path,
) -> None:
    with live_run(tmp_path, large_plan()) as run:
        with serving(run.path, FREE, ACCESS, (run.id,)) as page:
            slow = not_reading(page, run.id)
            with stream(page, run.id) as response:
                quick, sent = events(response), 0
                while sent < MUCH:
                    run.period()
                    sent += size_until(quick, run.seen_s)
            received, newest = b"", f'"at_s": {run.seen_s}, "observation"'.encode()
            while newest not in received[-400_000:]:
                received += (part := slow.recv(100_000))
                assert part, "the stream has ended"
            assert len(received) < KERNEL + MUCH / 10
        # The server has ended with the connection still open.
        slow.close()


def test_a_stream_goes_on_from_where_it_was(tmp_path: Path) -> None:
    with live_run(tmp_path, orders(), "threshold:seconds=10", factor=2) as run:
        for _ in range(8):
            run.period()
    with serving(run.path, FREE, ACCESS) as page:
        with stream(page, run.id, after=0) as response:
            whole = [name for name, _ in events(response)]
        cursor = get(page, f"/api/runs/{run.id}")["cursor"]
        with stream(page, run.id, after=int(cursor)) as response:
            rest = [name for name, _ in events(response)]
    assert whole.count("plan") == 2
    assert "decision" in whole
    assert rest == ["observation", "control", "end"]


def test_a_hold_of_one_page_is_seen_by_the_others(tmp_path: Path) -> None:
    with live_run(tmp_path, orders()) as run, serving(run.path, FREE, ACCESS) as page:
        run.period()
        with stream(page, run.id) as response:
            found = events(response)
            first = next(data for name, data in found if name == "control")
            assert first["hold"] is False
            assert post(page, f"/api/runs/{run.id}/control", {"hold": True})["hold"] is True
            then = next(data for name, data in found if name == "control")
            assert then["hold"] is True


def test_a_what_if_is_answered_by_another_process(tmp_path: Path) -> None:
    before = psutil.Process().children(recursive=True)
    with live_run(tmp_path, orders()) as run, serving(run.path, FREE, ACCESS) as page:
        assert post(page, f"/api/runs/{run.id}/what-if", {"rate": 60})["plan"]["rate"] == 60
        own = set(psutil.Process().children(recursive=True)) - set(before)
        assert len(own) > 1
    # All of them have ended with the block.
    assert psutil.wait_procs(own, timeout=WAIT_S)[1] == []


_OWNER = """
import sys
from pathlib import Path
from slotwise.dashboard.access import Access
from slotwise.dashboard.serving import Address, serving
access = Access("127.0.0.1", "a-token-of-24-characters")
with serving(Path(sys.argv[1]), Address(port=0), access) as page:
    print(page.port, flush=True)
    sys.stdin.read()
"""


def test_the_server_ends_with_its_owner_even_if_that_is_killed(tmp_path: Path) -> None:
    with live_run(tmp_path, orders()) as run:
        run.period()
    owner = subprocess.Popen(
        [sys.executable, "-c", _OWNER, str(run.path)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert owner.stdout is not None
    assert owner.stdin is not None
    assert int(owner.stdout.readline()) > 0
    servers = psutil.Process(owner.pid).children(recursive=True)
    assert servers
    os.kill(owner.pid, signal.SIGKILL)
    owner.wait()
    owner.stdin.close()
    owner.stdout.close()
    assert psutil.wait_procs(servers, timeout=WAIT_S)[1] == []


def test_ctrl_c_is_for_the_run_and_not_for_its_page(tmp_path: Path) -> None:
    with live_run(tmp_path, orders()) as run, serving(run.path, FREE, ACCESS) as page:
        (server,) = (
            child
            for child in psutil.Process().children()
            if "slotwise.dashboard" in " ".join(child.cmdline())
        )
        server.send_signal(signal.SIGINT)
        assert get(page, "/healthz")["status"] == "ok"
        assert server.nice() > 0


@pytest.mark.parametrize("token", ["letters-and-digits-1", "a+b%20c&d=e#f/g?h;i+j"])
def test_the_token_in_the_address_is_the_one_that_the_page_reads(token: str) -> None:
    fragment = urlsplit(url_of("127.0.0.1", 8642, token)).fragment
    assert parse_qs(fragment) == {"token": [token]}


def test_the_address_of_a_page_at_all_addresses_is_one_that_is_answered(tmp_path: Path) -> None:
    with live_run(tmp_path, orders()) as run:
        run.period()
    access = Access("0.0.0.0", TOKEN)
    with serving(run.path, Address("0.0.0.0", 0), access, (run.id,)) as page:
        name = urlsplit(page.url).hostname
        assert name not in (None, "0.0.0.0")
        with urlopen(f"http://{name}:{page.port}/healthz", timeout=WAIT_S) as answer:
            assert answer.status == 200


def test_a_server_that_does_not_start_in_time_is_one_sentence(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(module, "START_S", 0.1)
    process = subprocess.Popen(
        [sys.executable, "-c", "import sys; sys.stdin.read()"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    with pytest.raises(SlotwiseError, match=r"not started within 0\.1 s"):
        module._await_ready(process)
    module._end(process)


def test_a_port_in_use_is_one_sentence(tmp_path: Path) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        with (
            pytest.raises(SlotwiseError, match="use another --port"),
            serving(tmp_path / "runs.db", Address(port=port), ACCESS),
        ):
            pass
