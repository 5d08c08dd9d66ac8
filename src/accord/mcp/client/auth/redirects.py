"""The redirect to the authorization server, and the response from there.

The response arrives as a request of the user's browser to this machine. Any web page can send such
requests, so that only one with the `state` of this authorization ends the wait.
"""

from __future__ import annotations

import asyncio
import hmac
import webbrowser
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager, suppress
from inspect import isawaitable
from typing import Final, TypeAlias
from urllib.parse import parse_qsl, urlsplit

from msgspec.structs import replace

from accord.jsonrpc.errors import ConnectError
from accord.jsonrpc.limits import Limits
from accord.mcp.client.auth.errors import AuthorizationError, UntrustedError
from accord.mcp.client.auth.trust import base_of, is_local
from accord.transports.http.replies import Reply
from accord.transports.options import Options
from accord.transports.web.app import SMALL_BODY, BodyLimit, Exchange, LivingApp, WebRequest
from accord.transports.web.server import listen_web
from accord.transports.web_address import WebAddress, parse

Opener: TypeAlias = Callable[[str], Awaitable[None] | None]
"""Shows a URL to the user."""
RedirectHandler: TypeAlias = Callable[[str], Awaitable[str]]
"""Opens a URL for the user; returns the URL that the server redirected to."""

MAX_PARAMETERS: Final = 50
CLOSE_SECONDS: Final = 2.0

_HEADERS: Final = (
    b"content-type: text/html; charset=utf-8\r\n"
    b"cache-control: no-store\r\n"
    b"referrer-policy: no-referrer\r\n"  # the URL of the page contains the code
    b"x-content-type-options: nosniff\r\n"
    b"content-security-policy: default-src 'none'; style-src 'unsafe-inline'\r\n"
)
_PAGE: Final = """<!doctype html>
<html lang="en"><meta charset="utf-8"><meta name="viewport" content="width=device-width">
<title>%s</title>
<style>body{font:1.1rem/1.5 system-ui,sans-serif;max-width:32rem;margin:20vh auto;padding:0 1rem}
@media(prefers-color-scheme:dark){body{background:#16181c;color:#e8e8e8}}</style>
<h1>%s</h1><p>%s</p>
"""


def _page(title: str, text: str) -> bytes:
    return (_PAGE % (title, title, text)).encode()


_DONE: Final = _page("Back to your program", "It has got the answer. You can close this page.")
_STRANGE: Final = _page("Nothing to see here", "This is not an answer that is waited for.")


class Redirect:
    """Receives the authorization response at one redirect URI."""

    def __init__(self, uri: str, take: Callable[[str, str], Awaitable[str]]) -> None:
        self.uri = uri
        self._take = take
        """Opens a URL with a state; returns the URL of the response."""

    @staticmethod
    def handled(uri: str, handler: RedirectHandler) -> Redirect:
        """Return a redirect that the application handles."""
        return Redirect(uri, lambda url, state: handler(url))

    async def authorize(self, url: str, state: str, seconds: float) -> dict[str, str]:
        """Open `url`, and return the parameters of the response with the same state.

        Raises AuthorizationError, also after `seconds`.
        """
        try:
            async with asyncio.timeout(seconds):
                answer = parameters_of(await self._take(url, state))
        except TimeoutError:
            raise AuthorizationError(
                f"nobody answered within {seconds:g} seconds", recoverable=True
            ) from None
        # 2026-07-28, open redirection: discard responses with another state.
        if not same_state(answer, state):
            raise UntrustedError("the answer of the authorization server has another state")
        return answer


@asynccontextmanager
async def listening(uri: str, opener: Opener | None) -> AsyncIterator[Redirect]:
    """Serve a redirect URI on the loopback interface; port 0 means any port.

    Raises ConnectError if the port cannot be bound.
    """
    pages = _Pages()
    listener = await listen_web(uri, pages, Options(limits=Limits(max_message_bytes=1024)))
    at = parse(listener.url)

    async def take(url: str, state: str) -> str:
        pages.state = state
        await _open(opener, url)
        return f"{uri}?{await pages.answered}"

    try:
        yield Redirect(f"{base_of(at)}{at.path}", take)
    finally:
        with suppress(TimeoutError):
            # Browsers keep idle connections open, so the listener is closed with a timeout.
            async with asyncio.timeout(CLOSE_SECONDS):
                await listener.close()


def loopback(uri: str) -> WebAddress:
    """Return the address of a loopback redirect URI. Raise ValueError for others."""
    try:
        address = parse(uri)
    except ConnectError as error:
        raise ValueError(f"the redirect URI is not a URL: {error.message}") from error
    if address.scheme != "http" or not is_local(address) or address.query:
        raise ValueError(
            f"cannot wait for answers at {uri!r}: give an http URL on the loopback interface, "
            "such as http://127.0.0.1:0/callback, or a redirect_handler"
        )
    return address


def with_port_of(uri: str, registered: str) -> str:
    """Return `uri` with the port of the registered URI, if `uri` allows any port."""
    address = parse(uri)
    if address.port != 0 or not registered:
        return uri
    before = parse(registered)
    same = replace(before, port=0) == address
    return f"{base_of(before)}{before.path}" if same else uri


def parameters_of(url: str) -> dict[str, str]:
    """Return the parameters of a response. Raise UntrustedError if one is repeated."""
    try:
        pairs = parse_qsl(
            urlsplit(url).query, keep_blank_values=True, max_num_fields=MAX_PARAMETERS
        )
    except ValueError:
        raise UntrustedError("the answer of the authorization server is malformed") from None
    parameters = dict(pairs)
    # RFC 6749, section 3.1: parameters must not be repeated.
    if len(parameters) != len(pairs):
        raise UntrustedError("the answer of the authorization server says something twice")
    return parameters


def same_state(answer: Mapping[str, str], state: str) -> bool:
    return hmac.compare_digest(answer.get("state", "").encode(), state.encode())


async def _open(opener: Opener | None, url: str) -> None:
    if opener is not None:
        opened = opener(url)
        if isawaitable(opened):
            await opened
    elif not await asyncio.to_thread(webbrowser.open, url):
        raise AuthorizationError(
            "no browser could be opened for the user to log in",
            advice="Give OAuth an open_browser that shows the URL to the user.",
        )


class _Pages(LivingApp[str]):
    """The page that the browser is redirected to; implements `WebApp`."""

    def __init__(self) -> None:
        self.state = ""
        self.answered: asyncio.Future[str] = asyncio.get_running_loop().create_future()

    def judge(self, request: WebRequest) -> Reply | str:
        if request.method != "GET" or request.place != "":
            return Reply(404, _HEADERS, _STRANGE)
        return request.query

    def body_limit(self, judged: str) -> BodyLimit:
        return SMALL_BODY

    def too_large(self, request: WebRequest, most: int) -> Reply:
        return Reply(413, _HEADERS, _STRANGE)

    def handle(self, judged: str, body: bytes, exchange: Exchange) -> None:
        if self._is_answer(judged):
            if not self.answered.done():
                self.answered.set_result(judged)
            exchange.reply(_DONE, headers=_HEADERS)
        else:
            exchange.reply(_STRANGE, status=400, headers=_HEADERS)

    def _is_answer(self, query: str) -> bool:
        if not self.state:
            return False
        try:
            return same_state(parameters_of(f"?{query}"), self.state)
        except UntrustedError:
            return False

    async def start(self) -> None:
        """Do nothing: there is nothing to start."""

    async def close(self, drain: float) -> None:
        """Do nothing: no request takes long."""
