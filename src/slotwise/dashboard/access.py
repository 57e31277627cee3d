"""Who may read a page's server, and who may change a run through it.

Reading needs a request that was meant for this server: its Host is an address, localhost, or the
name that the server was bound to (bound to all addresses: a name of this machine). A page of
another site that resolves its own name to this machine fails at that. What changes something needs
the token as well, JSON, and no other page's Origin.
"""

from __future__ import annotations

import ipaddress
import os
import secrets
import socket
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from urllib.parse import urlsplit

from slotwise.model import SlotwiseError

VARIABLE = "SLOTWISE_TOKEN"
LOOPBACK = "127.0.0.1"
SHORTEST = 16
"""Characters of a token of one's own choice."""


@dataclass(frozen=True)
class Denied(Exception):
    """Why a request is not answered, and the status of HTTP for it."""

    status: int
    problem: str


@dataclass(frozen=True)
class Access:
    host: str
    """The name or address that the server is bound to."""
    token: str

    @classmethod
    def to(cls, host: str) -> Access:
        """With the token of the environment, or a new one. Raises SlotwiseError for an address that
        others can reach, if the token was not chosen by whoever shares it with them.
        """
        given = os.environ.get(VARIABLE, "")
        if given and len(given) < SHORTEST:
            raise SlotwiseError(f"{VARIABLE} is too short: use {SHORTEST} characters or more")
        if not all("!" <= letter <= "~" for letter in given):
            raise SlotwiseError(
                f"{VARIABLE} has a blank or another character that a header of HTTP cannot have: "
                "use ASCII letters, digits and punctuation"
            )
        if not given and not is_loopback(host):
            raise SlotwiseError(
                f"the page at {host} could be reached from other machines: set {VARIABLE} to a "
                f"secret of {SHORTEST} characters or more, or leave --host out"
            )
        return cls(host, given or secrets.token_urlsafe(24))

    def check_host(self, headers: Mapping[str, str]) -> None:
        """Raises Denied."""
        name = _host_name(headers.get("host", ""))
        if not _is_address(name) and name not in self._names:
            raise Denied(403, "the Host of the request is not this server's")

    @cached_property
    def _names(self) -> frozenset[str]:
        """By which a request may ask for this server."""
        machine = (socket.gethostname(), socket.getfqdn()) if is_any(self.host) else ()
        return frozenset(name.lower() for name in ("localhost", self.host, *machine))

    def check_change(self, headers: Mapping[str, str]) -> None:
        """Raises Denied for what may change nothing."""
        origin = headers.get("origin")
        if origin is not None and urlsplit(origin).netloc != headers.get("host", ""):
            raise Denied(403, "the request comes from a page of another site")
        if headers.get("sec-fetch-site", "same-origin") not in ("same-origin", "none"):
            raise Denied(403, "the request comes from a page of another site")
        if not self.has_token(headers):
            raise Denied(
                401, "the token is missing or wrong: it was printed with the page's address"
            )
        kind = headers.get("content-type", "").split(";")[0].strip().lower()
        if kind != "application/json":
            raise Denied(415, "expected Content-Type: application/json")

    def has_token(self, headers: Mapping[str, str]) -> bool:
        """Takes as long for a wrong token as for the right one."""
        scheme, _, given = headers.get("authorization", "").partition(" ")
        same = secrets.compare_digest(given.strip().encode(), self.token.encode())
        return same and scheme.lower() == "bearer"


def is_loopback(host: str) -> bool:
    if host == "localhost":
        return True
    return _is_address(host) and ipaddress.ip_address(host.strip("[]")).is_loopback


def is_any(host: str) -> bool:
    """All addresses of this machine."""
    return _is_address(host) and ipaddress.ip_address(host.strip("[]")).is_unspecified


def _host_name(host: str) -> str:
    """Without the port."""
    try:
        return (urlsplit(f"//{host}").hostname or "").lower()
    except ValueError:
        return ""


def _is_address(name: str) -> bool:
    try:
        ipaddress.ip_address(name.strip("[]"))
    except ValueError:
        return False
    return True
