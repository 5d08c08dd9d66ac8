"""The URL of a server: requests to it carry what the application adds, and credentials.

What bodies mean is not known here.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from typing import Any, Final, TypeAlias
from urllib.parse import urljoin

from msgspec.structs import replace

from accord.jsonrpc.errors import ConnectError, TransportError
from accord.mcp.client.auth_hook import Auth, AuthRequest
from accord.transports.http.requester import Requester, Response
from accord.transports.options import Options
from accord.transports.web_address import WebAddress, parse

MAX_CHALLENGES: Final = 5
"""How often one request may be sent again with other credentials."""
REDIRECTS: Final = frozenset((307, 308))
"""RFC 9110, sections 15.4.8 and 15.4.9: the same request, with its body, at another URL."""
MAX_REDIRECTS: Final = 5
"""How often one request may be redirected."""
MAX_DROPPED: Final = 64 * 1024
"""How much of the body of a challenge is read so that its connection can be used again."""

Around: TypeAlias = Callable[[Awaitable[bool]], Awaitable[bool]]
"""Awaits what the user may take a while for."""


class Endpoint:
    """Where a server is."""

    def __init__(
        self,
        url: str,
        *,
        headers: Mapping[str, str],
        auth: Auth | None,
        options: Options,
        credentials_changed: Callable[[], None],
    ) -> None:
        self.address = parse(url)
        self.max_bytes = options.limits.max_message_bytes
        self._headers = {name.lower(): value for name, value in headers.items()}
        self._auth = auth
        self._credentials_changed = credentials_changed
        self._requester = Requester(options)

    async def request(
        self,
        method: str,
        headers: Mapping[str, str],
        body: bytes | None = None,
        *,
        address: WebAddress | None = None,
        around: Around | None = None,
    ) -> Response:
        """Send a request, again after each challenge that the credentials' owner answers, and where
        a redirect within the server's origin points.

        Raises TransportError. A 401 or 403 that nobody answers is a response like any other.
        """
        address = self.address if address is None else address
        asked = AuthRequest(method=method, url=_url(address), server=_url(self.address))
        redirects = 0
        while True:
            credentials = {} if self._auth is None else await self._auth.headers(asked)
            fields = {**self._headers, **headers, **credentials}
            response = await self._requester.request(method, address, fields, body)
            if response.status in REDIRECTS and "location" in response.headers:
                await _drop(response)
                redirects += 1
                address = _redirected(address, response, redirects)
                asked = replace(asked, url=_url(address))
                continue
            if self._auth is None or response.status not in (401, 403):
                return response
            asked = replace(asked, headers=credentials)
            if asked.attempt >= MAX_CHALLENGES or not await self._again(asked, response, around):
                return response
            await _drop(response)
            self._credentials_changed()
            asked = replace(asked, attempt=asked.attempt + 1, headers={})

    async def _again(self, asked: AuthRequest, response: Response, around: Around | None) -> bool:
        assert self._auth is not None
        challenged: Any = self._auth.challenged(asked, response.status, dict(response.headers))
        try:
            return await (challenged if around is None else around(challenged))
        except BaseException:
            response.close()
            raise

    def close(self) -> None:
        self._requester.close()


def _redirected(address: WebAddress, response: Response, redirects: int) -> WebAddress:
    """Return where a redirect points. Raises TransportError for one that is not followed.

    Requests carry credentials and what a user says: no server decides which other one gets them.
    """
    status, about = response.status, {"status": response.status}
    if redirects > MAX_REDIRECTS:
        raise TransportError(
            f"the server redirected a request more than {MAX_REDIRECTS} times",
            recoverable=False,
            advice="Connect to the URL where the server answers.",
            data=about,
        )
    location = response.headers["location"]
    try:
        target = parse(urljoin(_url(address), location).partition("#")[0])
    except (ValueError, ConnectError) as error:
        raise TransportError(
            f"the server redirected a request to no URL of HTTP: {error}",
            recoverable=False,
            data=about,
        ) from None
    origin = target.scheme, target.host, target.port
    if origin != (address.scheme, address.host, address.port):
        raise TransportError(
            f"the server redirects to {target.scheme}://{target.authority}{target.path} (HTTP "
            f"{status}): another origin, which is not followed",
            recoverable=False,
            advice="Connect to that URL instead, if you trust it.",
            data=about,
        )
    return target


async def _drop(response: Response) -> None:
    size = 0
    while size <= MAX_DROPPED and (chunk := await response.receive()):
        size += len(chunk)
    response.close()


def _url(address: WebAddress) -> str:
    query = f"?{address.query}" if address.query else ""
    return f"{address.scheme}://{address.authority}{address.path}{query}"
