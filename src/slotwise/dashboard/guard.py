"""In front of every request: who may ask what, and the headers that every answer has."""

from __future__ import annotations

import base64
import hashlib
import re
from collections.abc import Iterable

from starlette.datastructures import Headers, MutableHeaders
from starlette.responses import JSONResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from slotwise.dashboard.access import Access, Denied

MOST_BYTES = 64 * 1024
"""Of a request's body."""
_INLINE = re.compile(r"<script(?![^>]*\bsrc=)[^>]*>(.*?)</script>", re.DOTALL)


class Guard:
    """An ASGI application around another one."""

    def __init__(self, application: ASGIApp, access: Access, policy: str) -> None:
        self.application = application
        self.access = access
        self.headers = {
            "Content-Security-Policy": policy,
            "X-Content-Type-Options": "nosniff",
            "X-Frame-Options": "DENY",
            "Referrer-Policy": "no-referrer",
            "Cross-Origin-Resource-Policy": "same-origin",
            "Cross-Origin-Opener-Policy": "same-origin",
            "Cache-Control": "no-store",
        }

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan":
            await self.application(scope, receive, send)
            return

        async def send_with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                MutableHeaders(scope=message).update(self.headers)
            await send(message)

        try:
            self._check(scope)
        except Denied as denied:
            answer = JSONResponse({"problem": denied.problem}, denied.status)
            await answer(scope, receive, send_with_headers)
            return
        await self.application(scope, receive, send_with_headers)

    def _check(self, scope: Scope) -> None:
        """Raises Denied."""
        if scope["type"] != "http":
            raise Denied(403, "only HTTP is answered")
        headers = Headers(scope=scope)
        self.access.check_host(headers)
        if scope["method"] in ("GET", "HEAD"):
            return
        self.access.check_change(headers)
        length = headers.get("content-length", "")
        if not length.isdecimal():
            raise Denied(411, "the request has no Content-Length")
        if int(length) > MOST_BYTES:
            raise Denied(413, f"the request is longer than {MOST_BYTES:,} bytes")


def policy(page: str) -> str:
    """The Content-Security-Policy for a page: scripts of this server only, and those that the page
    itself has inside; nothing from outside.
    """
    scripts = " ".join(["'self'", *_hashes(_INLINE.findall(page))])
    return (
        f"default-src 'none'; script-src {scripts}; style-src 'self' 'unsafe-inline'; "
        "img-src 'self' data: blob:; connect-src 'self'; font-src 'self'; "
        "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
    )


def _hashes(scripts: Iterable[str]) -> list[str]:
    digests = (hashlib.sha256(script.encode()).digest() for script in scripts)
    return [f"'sha256-{base64.b64encode(digest).decode()}'" for digest in digests]
