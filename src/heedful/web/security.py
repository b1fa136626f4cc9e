"""Who may ask: a wall around the application that looks at every request before it does.

The server answers its own page and nobody else's. Another site could make a visitor's browser ask:
its requests carry its origin, and are refused. It could also give its own name this machine's
address (DNS rebinding): its requests then carry its name as host, and are refused. An address
written in numbers is no name that could be given away, so those are let through where the server
was started to listen beyond this machine; there a token is needed as well.
"""

import asyncio
import ipaddress
import json
import logging
import secrets
from collections.abc import Iterable
from dataclasses import dataclass, field
from urllib.parse import parse_qs, quote, unquote, urlsplit

from starlette.datastructures import Headers, MutableHeaders
from starlette.requests import cookie_parser
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from heedful.web.limits import Limits

logger = logging.getLogger(__name__)
COOKIE = "heedful_token"
POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; "
    "img-src 'self' data: blob:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
HEADERS = {
    "content-security-policy": POLICY,
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "referrer-policy": "no-referrer",
    "x-content-type-options": "nosniff",
    "x-frame-options": "DENY",
    "permissions-policy": "camera=(), geolocation=(), microphone=()",
}


@dataclass(frozen=True)
class Access:
    """From where and as whom one may ask."""

    token: str | None = None  # None: anyone on this machine is let in
    names: frozenset[str] = field(default_factory=lambda: frozenset({"localhost"}))
    is_beyond: bool = False  # whether it listens beyond this machine

    @classmethod
    def of(cls, host: str, names: Iterable[str] = (), token: str | None = None) -> "Access":
        """What suits the address that a server listens at."""
        is_beyond = not is_loopback(host)
        known = {"localhost", *map(str.lower, names)}
        if not _address(host):
            known.add(host.lower())
        if is_beyond and token is None:
            token = secrets.token_urlsafe(24)
        return cls(token, frozenset(known), is_beyond)

    def lets_host(self, header: str) -> bool:
        """Whether a request may carry this host."""
        if set(header) & set("@/?#\\"):
            return False
        try:
            name = urlsplit(f"//{header}").hostname or ""
        except ValueError:
            return False
        address = _address(name)
        if address is not None:
            return self.is_beyond or address.is_loopback
        return name.removesuffix(".") in self.names

    def knows(self, given: str | None) -> bool:
        """Whether it is the token."""
        if self.token is None:
            return True
        return given is not None and secrets.compare_digest(
            given.encode("utf-8", "replace"), self.token.encode()
        )


def is_loopback(host: str) -> bool:
    """Whether only this machine reaches an address."""
    address = _address(host)
    return host.lower() == "localhost" or (address is not None and address.is_loopback)


class Refused(Exception):
    """A request that does not get through, and why."""

    def __init__(self, status: int, message: str) -> None:
        super().__init__(message)
        self.status = status


class Guard:
    """The wall itself."""

    def __init__(self, app: ASGIApp, access: Access, limits: Limits) -> None:
        self.app = app
        self.access = access
        self.limits = limits

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Let a request through, or answer it here."""
        if scope["type"] != "http":
            if scope["type"] == "lifespan":
                await self.app(scope, receive, send)
            return
        is_begun = False

        async def send_guarded(message: Message) -> None:
            nonlocal is_begun
            if message["type"] == "http.response.start":
                is_begun = True
                _protect(MutableHeaders(scope=message), scope["path"])
            await send(message)

        try:
            headers = Headers(scope=scope)
            self._check_place(scope, headers)
            if (redirect := self._arrival(scope)) is not None:
                await _answer(send_guarded, 303, b"", redirect)
                return
            self._check_token(scope, headers)
            body = await self._read(headers, receive)
            await self.app(scope, _replay(body, receive), send_guarded)
        except Refused as refused:
            if not is_begun:
                await tell(send_guarded, refused.status, str(refused), "refused")
        except Exception as error:
            logger.exception("%s %s failed", scope["method"], scope["path"])
            if not is_begun:
                said = f"{type(error).__name__}: {error}"[:300]
                told = f"the request failed ({said}). Other texts and views still work."
                await tell(send_guarded, 500, told, "bug")

    def _check_place(self, scope: Scope, headers: Headers) -> None:
        host = headers.get("host", "")
        came_from = _address((scope.get("client") or ("",))[0])
        if self.access.token is None and came_from is not None and not came_from.is_loopback:
            raise Refused(
                403, "without a token, this server answers only requests from its own machine."
            )
        if not self.access.lets_host(host):
            raise Refused(
                421,
                f"this server does not answer to the name {host[:100]!r}. Open the address that "
                "it printed, or name this one with --name when it is started.",
            )
        origin = headers.get("origin")
        if origin is not None and origin != f"{scope['scheme']}://{host}":
            raise Refused(403, "this request was refused: it comes from a page of another site.")
        site = headers.get("sec-fetch-site", "none")
        # A link that a colleague sent is followed from elsewhere: the page alone may be.
        is_page = scope["path"] == "/" and headers.get("sec-fetch-mode") == "navigate"
        if site not in ("none", "same-origin") and not is_page:
            raise Refused(403, "this request was refused: it comes from a page of another site.")

    def _arrival(self, scope: Scope) -> list[tuple[bytes, bytes]] | None:
        """Who arrives with the token in the address keeps it as a cookie; the address loses it."""
        if self.access.token is None or scope["path"] != "/":
            return None
        given = parse_qs(scope.get("query_string", b"").decode("latin-1")).get("token", [None])[0]
        if given is None:
            return None
        if not self.access.knows(given):
            raise Refused(401, NO_TOKEN)
        name = _cookie_name(scope)
        cookie = f"{name}={quote(given, safe='')}; Path=/; HttpOnly; SameSite=Strict"
        return [(b"location", b"/"), (b"set-cookie", cookie.encode())]

    def _check_token(self, scope: Scope, headers: Headers) -> None:
        """The page itself holds nothing; what it asks for does."""
        if self.access.token is None or not scope["path"].startswith("/api"):
            return
        bearer = headers.get("authorization", "")
        given = bearer.removeprefix("Bearer ") if bearer.startswith("Bearer ") else None
        cookie = cookie_parser(headers.get("cookie", "")).get(_cookie_name(scope), "")
        if not self.access.knows(given or unquote(cookie)):
            raise Refused(401, NO_TOKEN)

    async def _read(self, headers: Headers, receive: Receive) -> bytes:
        """The whole body, if it is not too large and comes in time."""
        most = self.limits.body_bytes
        too_large = Refused(413, f"the request is too large: the limit is {most // 1024:,} KiB.")
        length = headers.get("content-length", "")
        if length.isascii() and length.isdigit() and int(length) > most:
            raise too_large
        parts, size = [], 0
        try:
            async with asyncio.timeout(self.limits.body_seconds):
                while True:
                    message = await receive()
                    if message["type"] == "http.disconnect":
                        raise Refused(
                            400, "the connection was closed before the whole request arrived."
                        )
                    parts.append(message.get("body", b""))
                    size += len(parts[-1])
                    if size > most:
                        raise too_large
                    if not message.get("more_body"):
                        return b"".join(parts)
        except TimeoutError:
            seconds = f"{self.limits.body_seconds:g}"
            raise Refused(408, f"the request did not arrive within {seconds} s.") from None


NO_TOKEN = (
    "this server requires a token, and this request has none or an old one. Open the address that "
    "the server printed when it started; programs send the token as Authorization: Bearer TOKEN."
)


async def tell(send: Send, status: int, message: str, kind: str) -> None:
    """A problem that the page can show."""
    body = json.dumps({"message": message, "kind": kind}).encode()
    await _answer(send, status, body, [(b"content-type", b"application/json")])


async def _answer(send: Send, status: int, body: bytes, headers: list[tuple[bytes, bytes]]) -> None:
    headers = [*headers, (b"content-length", str(len(body)).encode())]
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": body})


def _replay(body: bytes, receive: Receive) -> Receive:
    """The body that was read, then whatever comes: that the other side has left."""
    is_given = False

    async def replayed() -> Message:
        nonlocal is_given
        if is_given:
            return await receive()
        is_given = True
        return {"type": "http.request", "body": body, "more_body": False}

    return replayed


def _protect(headers: MutableHeaders, path: str) -> None:
    for name, value in HEADERS.items():
        headers[name] = value
    if "cache-control" not in headers:
        headers["cache-control"] = "no-store" if path.startswith("/api") else "no-cache"


def _cookie_name(scope: Scope) -> str:
    """Cookies know hosts but no ports: two servers on one machine need two names."""
    port = (scope.get("server") or ("", 0))[1]
    return f"{COOKIE}_{port}"


def _address(host: str) -> ipaddress.IPv4Address | ipaddress.IPv6Address | None:
    try:
        return ipaddress.ip_address(host.strip("[]"))
    except ValueError:
        return None
