"""Issuers of tokens: requests to them, their metadata and their key sets.

Requests are small, bounded in time, and follow no redirects; when one fails, a token is neither
valid nor invalid (`UnavailableError`). Metadata follows RFC 8414 and OpenID Connect Discovery 1.0,
key sets RFC 7517, section 5. Anybody can send tokens with invented key names, so an unknown name
makes us fetch the keys again, but at most every few seconds.
"""

from __future__ import annotations

import asyncio
import logging
import ssl
from collections.abc import Awaitable, Callable, Mapping
from typing import Any, Final, Protocol
from urllib.parse import urlencode, urlsplit

import msgspec

from accord.jsonrpc.protocol.codec import check_nesting
from accord.jsonrpc.protocol.errors import TransportError
from accord.mcp.server.auth.resource_url import trusted_url
from accord.mcp.server.auth.signatures import PublicKey, read_key
from accord.mcp.server.auth.verifier import UnavailableError
from accord.transports.http.requester import Requester
from accord.transports.options import Options
from accord.transports.urls import WebAddress

REQUEST_SECONDS: Final = 10.0
MAX_BODY: Final = 512 * 1024

_decode = msgspec.json.Decoder(dict[str, Any]).decode


async def get_document(address: WebAddress, tls: ssl.SSLContext | None) -> dict[str, Any]:
    """Return the JSON object at `address`.

    Raises UnavailableError.
    """
    return await _ask("GET", address, {}, None, tls)


async def post_form(
    address: WebAddress,
    form: Mapping[str, str],
    headers: Mapping[str, str],
    tls: ssl.SSLContext | None,
) -> dict[str, Any]:
    """Return the JSON object that answers a form.

    Raises UnavailableError.
    """
    fields = {"content-type": "application/x-www-form-urlencoded", **headers}
    return await _ask("POST", address, fields, urlencode(form).encode("ascii"), tls)


async def _ask(
    method: str,
    address: WebAddress,
    headers: Mapping[str, str],
    body: bytes | None,
    tls: ssl.SSLContext | None,
) -> dict[str, Any]:
    requester = Requester(Options(tls=tls, connect_seconds=REQUEST_SECONDS))
    fields = {"accept": "application/json", **headers}
    try:
        async with asyncio.timeout(REQUEST_SECONDS):
            response = await requester.request(method, address, fields, body)
            if response.status != 200:
                raise UnavailableError(f"{address} answered with status {response.status}")
            body = await response.read(MAX_BODY)
            check_nesting(body)
            return _decode(body)
    except TimeoutError:
        raise UnavailableError(f"{address} did not answer in time") from None
    except TransportError as error:
        raise UnavailableError(f"{address} cannot be asked: {error.message}") from error
    except (msgspec.DecodeError, UnicodeError):
        raise UnavailableError(f"{address} did not answer with a JSON object") from None
    finally:
        requester.close()


_OAUTH: Final = "/.well-known/oauth-authorization-server"
_OPENID: Final = "/.well-known/openid-configuration"


async def find_key_set(issuer: str, tls: ssl.SSLContext | None) -> WebAddress:
    """Return the address of an issuer's keys.

    Raises UnavailableError.
    """
    problem = UnavailableError(f"{issuer} has no metadata")
    for url in places_of(issuer):
        try:
            document = await get_document(trusted_url(url), tls)
        except UnavailableError as error:
            problem = error
            continue
        # RFC 8414, section 3.3: metadata that names another issuer must not be used
        if document.get("issuer") != issuer:
            problem = UnavailableError(f"{url} is the metadata of another issuer")
            continue
        try:
            return trusted_url(str(document.get("jwks_uri", "")))
        except ValueError as error:
            problem = UnavailableError(f"{url} names no keys: {error}")
    raise problem


def places_of(issuer: str) -> list[str]:
    """Return the metadata URLs of an issuer, in the order of lookup."""
    parts = urlsplit(issuer)
    host, path = f"{parts.scheme}://{parts.netloc}", parts.path.rstrip("/")
    found = [f"{host}{_OAUTH}{path}", f"{host}{_OPENID}{path}", f"{host}{path}{_OPENID}"]
    return list(dict.fromkeys(found))


log = logging.getLogger("accord.mcp.auth")

MAX_KEYS: Final = 100
MAX_TRIED: Final = 4
"""The limit of keys that are tried for a token without a key id."""
PAUSE_SECONDS: Final = 10.0
"""Minimum time between two fetches of keys."""
MAX_STALE_SECONDS: Final = 86_400.0
"""Maximum age of keys that cannot be fetched again."""


class KeySet(Protocol):
    """The keys of an issuer."""

    changes: int
    """A version that grows whenever the keys change."""

    def find(self, id: str | None, algorithm: str) -> list[PublicKey] | Awaitable[list[PublicKey]]:
        """Return the keys that a token may have been signed with.

        Raises UnavailableError.
        """


class FixedKeys:
    """Keys from the configuration."""

    def __init__(self, document: Any) -> None:
        """Raise ValueError if there is no usable key."""
        self.changes = 0
        self._keys = read_keys(document)
        if not self._keys:
            raise ValueError("among the keys is none that signatures can be checked with")

    def find(self, id: str | None, algorithm: str) -> list[PublicKey]:
        return suiting(self._keys, id, algorithm)


class RemoteKeys:
    """Keys that an issuer publishes, at `url` or at the URL in its metadata."""

    def __init__(
        self,
        issuer: str,
        url: str | None,
        *,
        cache_seconds: float,
        tls: ssl.SSLContext | None,
        now: Callable[[], float],
    ) -> None:
        """Raise ValueError for untrusted URLs."""
        self._issuer = issuer
        self._address = None if url is None else trusted_url(url)
        if url is None:
            trusted_url(issuer)
        self._cache_seconds = cache_seconds
        self._tls = tls
        self._now = now
        self._keys: list[PublicKey] | None = None
        self._fetched = self._tried = float("-inf")
        self._fetching: asyncio.Task[None] | None = None
        self.changes = 0

    def find(self, id: str | None, algorithm: str) -> list[PublicKey] | Awaitable[list[PublicKey]]:
        keys = self._keys
        found = [] if keys is None else suiting(keys, id, algorithm)
        if found and self._since(self._fetched) < self._cache_seconds:
            return found
        if self._since(self._tried) >= PAUSE_SECONDS or self._is_fetching:
            return self._find_anew(id, algorithm)
        return self._among_kept(id, algorithm)

    async def _find_anew(self, id: str | None, algorithm: str) -> list[PublicKey]:
        if not self._is_fetching:
            self._tried = self._now()
            self._fetching = asyncio.get_running_loop().create_task(self._fetch())
        assert self._fetching is not None
        # One waiting request may be cancelled; the others still need the keys.
        await asyncio.shield(self._fetching)
        return self._among_kept(id, algorithm)

    @property
    def _is_fetching(self) -> bool:
        task = self._fetching
        return (
            task is not None and not task.done() and task.get_loop() is asyncio.get_running_loop()
        )

    def _since(self, then: float) -> float:
        """Return the seconds since `then`; infinity if the clock went backwards."""
        passed = self._now() - then
        return passed if passed >= 0 else float("inf")

    def _among_kept(self, id: str | None, algorithm: str) -> list[PublicKey]:
        if self._keys is None or self._since(self._fetched) > MAX_STALE_SECONDS:
            raise UnavailableError(f"the keys of {self._issuer} are not known")
        return suiting(self._keys, id, algorithm)

    async def _fetch(self) -> None:
        try:
            address = self._address or await find_key_set(self._issuer, self._tls)
            keys = read_keys(await get_document(address, self._tls))
            if not keys:
                raise UnavailableError(f"{address} has no key that can be used")
        except UnavailableError as error:
            log.warning("the keys of %s were not fetched: %s", self._issuer, error)
            return
        if self._keys is None or [each.members for each in keys] != [
            each.members for each in self._keys
        ]:
            self.changes += 1
        self._keys = keys
        self._fetched = self._now()


def read_keys(document: Any) -> list[PublicKey]:
    """Return the usable keys of a set.

    Unusable ones are skipped (RFC 7517, section 5).
    """
    said = document.get("keys") if isinstance(document, dict) else document
    found = map(read_key, list(said)[:MAX_KEYS]) if isinstance(said, list | tuple) else ()
    return [key for key in found if key is not None]


def suiting(keys: list[PublicKey], id: str | None, algorithm: str) -> list[PublicKey]:
    """Return the keys with an id that fit the algorithm.

    For a token without a key id, return all that fit, up to a limit.
    """
    usable = [key for key in keys if key.suits(algorithm)]
    if id is None:
        return usable[:MAX_TRIED]
    return [key for key in usable if key.id == id][:MAX_TRIED]
