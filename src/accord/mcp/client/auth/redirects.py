"""Taking the user to the authorization server, and the answer back.

The answer comes as a request of the user's browser to this machine. Anybody can make such
requests: only the one that brings the `state` of the attempt ends the wait.
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
"""Takes the user to a URL, and gives back the one that the authorization server sent them to."""

MAX_PARAMETERS: Final = 50
CLOSE_SECONDS: Final = 2.0

_HEADERS: Final = (
    b"content-type: text/html; charset=utf-8\r\n"
    b"cache-control: no-store\r\n"
    b"referrer-policy: no-referrer\r\n"  # the address of the page holds the code
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
    """Where answers arrive during one attempt."""

    def __init__(self, uri: str, take: Callable[[str, str], Awaitable[str]]) -> None:
        self.uri = uri
        self._take = take
        """Takes the user to a URL with a state; where the answer sent them."""

    @staticmethod
    def handled(uri: str, handler: RedirectHandler) -> Redirect:
        """A redirect that the application takes care of."""
        return Redirect(uri, lambda url, state: handler(url))

    async def authorize(self, url: str, state: str, seconds: float) -> dict[str, str]:
        """Take the user to `url`; the parameters of the answer, whose state is the right one.

        Raises AuthorizationError, also when the user takes longer than that.
        """
        try:
            async with asyncio.timeout(seconds):
                answer = parameters_of(await self._take(url, state))
        except TimeoutError:
            raise AuthorizationError(
                f"nobody answered within {seconds:g} seconds", recoverable=True
            ) from None
        # 2026-07-28, open redirection: answers with another state are discarded.
        if not same_state(answer, state):
            raise UntrustedError("the answer of the authorization server has another state")
        return answer


@asynccontextmanager
async def listening(uri: str, opener: Opener | None) -> AsyncIterator[Redirect]:
    """A redirect to a page of this program: `uri` on the loopback interface, port 0 for any.

    Raises ConnectError when nothing can listen there.
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
            # A browser keeps connections that it may never use.
            async with asyncio.timeout(CLOSE_SECONDS):
                await listener.close()


def loopback(uri: str) -> WebAddress:
    """The address of a redirect URI on this machine. Raises ValueError for any other."""
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
    """`uri` with the port that it had when the client was registered, if it may have any."""
    address = parse(uri)
    if address.port != 0 or not registered:
        return uri
    before = parse(registered)
    same = replace(before, port=0) == address
    return f"{base_of(before)}{before.path}" if same else uri


def parameters_of(url: str) -> dict[str, str]:
    """The parameters of an answer. Raises UntrustedError for one that says something twice."""
    try:
        pairs = parse_qsl(
            urlsplit(url).query, keep_blank_values=True, max_num_fields=MAX_PARAMETERS
        )
    except ValueError:
        raise UntrustedError("the answer of the authorization server is malformed") from None
    parameters = dict(pairs)
    # RFC 6749, section 3.1: no parameter more than once.
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
    """Answers the browser; implements `WebApp`."""

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
        """Nothing is needed."""

    async def close(self, drain: float) -> None:
        """Nothing is under way for long."""
