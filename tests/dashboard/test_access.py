"""Who may read, who may change, and to what addresses the page is bound."""

from __future__ import annotations

import secrets
import socket

import pytest

from slotwise.dashboard.access import VARIABLE, Access, Denied, is_loopback
from slotwise.model import SlotwiseError

TOKEN = "a-token-of-24-characters"
ACCESS = Access("127.0.0.1", TOKEN)
JSON = {"content-type": "application/json", "host": "127.0.0.1:8642"}


@pytest.mark.parametrize(
    "host", ["127.0.0.1", "127.0.0.1:8642", "localhost:8642", "LOCALHOST", "[::1]:8642", "10.0.0.5"]
)
def test_a_request_for_an_address_is_answered(host: str) -> None:
    ACCESS.check_host({"host": host})


@pytest.mark.parametrize(
    "host", ["evil.example", "evil.example:8642", "", "127.0.0.1.evil.example"]
)
def test_a_name_that_somebody_resolves_to_this_machine_is_not(host: str) -> None:
    with pytest.raises(Denied) as denied:
        ACCESS.check_host({"host": host})
    assert denied.value.status == 403


def test_the_name_that_the_server_is_bound_to_is_answered() -> None:
    Access("runs.example", TOKEN).check_host({"host": "runs.example:8642"})


@pytest.mark.parametrize("host", ["0.0.0.0", "::"])
def test_at_all_addresses_the_names_of_this_machine_are_answered(
    host: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(socket, "gethostname", lambda: "Runner")
    monkeypatch.setattr(socket, "getfqdn", lambda: "runner.example")
    for name in ("runner:8642", "RUNNER.example:8642", "localhost", "10.0.0.5"):
        Access(host, TOKEN).check_host({"host": name})
    for bound, name in ((host, "evil.example"), (host, "example"), ("127.0.0.1", "runner")):
        with pytest.raises(Denied):
            Access(bound, TOKEN).check_host({"host": name})


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({"authorization": f"Bearer {TOKEN}", **JSON}, None),
        ({"authorization": f"Bearer {TOKEN}", "origin": "http://127.0.0.1:8642", **JSON}, None),
        ({"authorization": f"Bearer {TOKEN}", "sec-fetch-site": "same-origin", **JSON}, None),
        (JSON, 401),
        ({"authorization": "Bearer wrong", **JSON}, 401),
        ({"authorization": f"Basic {TOKEN}", **JSON}, 401),
        ({"authorization": TOKEN, **JSON}, 401),
        ({"authorization": "Bearer tökén", **JSON}, 401),
        ({"authorization": f"Bearer {TOKEN}", "origin": "http://evil.example", **JSON}, 403),
        ({"authorization": f"Bearer {TOKEN}", "origin": "http://127.0.0.1:9", **JSON}, 403),
        ({"authorization": f"Bearer {TOKEN}", "origin": "null", **JSON}, 403),
        ({"authorization": f"Bearer {TOKEN}", "sec-fetch-site": "cross-site", **JSON}, 403),
        ({"authorization": f"Bearer {TOKEN}", **JSON, "content-type": "text/plain"}, 415),
        ({"authorization": f"Bearer {TOKEN}", "host": "127.0.0.1:8642"}, 415),
    ],
)
def test_a_change_needs_the_token_json_and_no_other_site(
    headers: dict[str, str], status: int | None
) -> None:
    if status is None:
        ACCESS.check_change(headers)
        return
    with pytest.raises(Denied) as denied:
        ACCESS.check_change(headers)
    assert denied.value.status == status


def test_tokens_are_compared_in_constant_time(monkeypatch: pytest.MonkeyPatch) -> None:
    compared: list[bytes] = []

    def compare(one: bytes, other: bytes) -> bool:
        compared.append(one)
        return one == other

    monkeypatch.setattr(secrets, "compare_digest", compare)
    assert not ACCESS.has_token({"authorization": "Basic anything"})
    assert not ACCESS.has_token({})
    assert len(compared) == 2


def test_an_address_that_others_reach_needs_a_token_of_ones_own(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.delenv(VARIABLE, raising=False)
    assert len(Access.to("127.0.0.1").token) >= 24
    assert Access.to("127.0.0.1").token != Access.to("127.0.0.1").token
    for host in ("0.0.0.0", "10.1.2.3", "::", "runs.example"):
        with pytest.raises(SlotwiseError, match=f"set {VARIABLE}"):
            Access.to(host)
    monkeypatch.setenv(VARIABLE, "short")
    with pytest.raises(SlotwiseError, match="too short"):
        Access.to("0.0.0.0")
    for wrong in ("sixteen or more letters", "sechzehn-zeichen-ä", "a-token-with-a-tab\t"):
        monkeypatch.setenv(VARIABLE, wrong)
        with pytest.raises(SlotwiseError, match="has a blank or another character"):
            Access.to("0.0.0.0")
    monkeypatch.setenv(VARIABLE, TOKEN)
    assert Access.to("0.0.0.0") == Access("0.0.0.0", TOKEN)


def test_loopback_addresses() -> None:
    assert all(
        is_loopback(host) for host in ("localhost", "127.0.0.1", "127.9.9.9", "::1", "[::1]")
    )
    assert not any(is_loopback(host) for host in ("0.0.0.0", "::", "10.0.0.1", "localhost.evil"))
