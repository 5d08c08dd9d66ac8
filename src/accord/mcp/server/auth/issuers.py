"""Issuers of tokens: requests to them, their metadata and key sets, and signatures of JWTs.

Requests are small, bounded in time, and follow no redirects. When a request fails, tokens cannot be
verified for now (`UnavailableError`). Metadata follows RFC 8414 and OpenID Connect Discovery 1.0,
key sets RFC 7517, section 5. A token with an unknown key id causes a new fetch of the keys, but at
most every 10 seconds, because anybody can send tokens with invented key ids.

PyJWT and cryptography check signatures, and are imported on first use.
"""

from __future__ import annotations

import asyncio
import logging
import ssl
from base64 import urlsafe_b64decode, urlsafe_b64encode
from collections.abc import Awaitable, Callable, Mapping
from functools import cache
from hashlib import sha256
from importlib import import_module
from typing import Any, Final, Protocol
from urllib.parse import urlencode, urlsplit

import msgspec
from msgspec import UNSET, Struct, UnsetType

from accord.jsonrpc.protocol.codec import check_nesting
from accord.jsonrpc.protocol.errors import TransportError
from accord.mcp.server.auth.authenticator import UnavailableError, trusted_url
from accord.transports.http.requester import Requester
from accord.transports.options import Options
from accord.transports.urls import WebAddress

ALGORITHMS: Final[Mapping[str, tuple[str, str]]] = {
    "ES256": ("EC", "P-256"),
    "ES384": ("EC", "P-384"),
    "ES512": ("EC", "P-521"),
    "EdDSA": ("OKP", "Ed25519"),
    "RS256": ("RSA", ""),
    "RS384": ("RSA", ""),
    "RS512": ("RSA", ""),
    "PS256": ("RSA", ""),
    "PS384": ("RSA", ""),
    "PS512": ("RSA", ""),
}
"""The accepted signature algorithms, each with the type and the curve of its keys. Neither `none`
nor HMACs are included: a key that verifies an HMAC can also create one, and a public key must never
be used as a secret."""
MIN_RSA_BITS: Final = 2048
"""The minimum size of an RSA key, in bits (RFC 7518, section 3.3)."""

_MEMBERS: Final = {
    "EC": ("crv", "kty", "x", "y"),
    "OKP": ("crv", "kty", "x"),
    "RSA": ("e", "kty", "n"),
}
"""The members of a public key that its thumbprint is computed from, in this order, by key type
(RFC 7638, section 3.2)."""


class JoseHeader(Struct):
    """The header parameters of a JWT that verification reads."""

    alg: str
    kid: str | UnsetType = UNSET
    typ: str | UnsetType = UNSET
    crit: Any = UNSET
    b64: Any = UNSET
    jwk: dict[str, Any] | UnsetType = UNSET


class PublicKey(Struct, frozen=True):
    """A public key for verifying signatures."""

    id: str | None
    kind: tuple[str, str]
    """The key's type and curve, such as EC and P-256; the curve of an RSA key is empty."""
    algorithm: str | None
    """The only algorithm that the key may be used with; None for all that fit the key."""
    members: dict[str, str]
    key: Any
    """The key as an object of the package cryptography."""

    def suits(self, algorithm: str) -> bool:
        return ALGORITHMS[algorithm] == self.kind and self.algorithm in (None, algorithm)

    @property
    def thumbprint(self) -> str:
        """The key's thumbprint (RFC 7638)."""
        return base64url(sha256(msgspec.json.encode(self.members)).digest())


_decode_header = msgspec.json.Decoder(JoseHeader).decode
_decode_payload = msgspec.json.Decoder(dict[str, Any]).decode


def read_header(token: str) -> JoseHeader | None:
    """Return the unverified header of a JWT; None if the header is invalid."""
    head, _, rest = token.partition(".")
    if rest.count(".") != 1:
        return None
    try:
        text = urlsafe_b64decode(head + "=" * (-len(head) % 4))
        check_nesting(text)
        header = _decode_header(text)
    except (msgspec.DecodeError, ValueError):
        return None
    # RFC 7515, section 4.1.11: what is critical and not understood makes a token invalid.
    return header if header.crit is UNSET and header.b64 is UNSET else None


def read_key(jwk: Any) -> PublicKey | None:
    """Return the public key in a JWK (RFC 7517); None for an unusable key.

    Private members are ignored.
    """
    kind, curve = (_text(jwk, "kty"), _text(jwk, "crv")) if isinstance(jwk, dict) else ("", "")
    names = _MEMBERS.get(kind, ())
    members = {name: _text(jwk, name) for name in names}
    algorithm = _text(jwk, "alg") if names else ""
    suiting = [name for name, keys in ALGORITHMS.items() if keys == (kind, curve)]
    if not suiting or not all(members.values()) or _text(jwk, "use") not in ("", "sig"):
        return None
    if algorithm and algorithm not in suiting:
        return None
    jwt = load_jwt()
    try:
        key = jwt.PyJWK(members, suiting[0]).key
    except (jwt.PyJWTError, ValueError, TypeError, OverflowError):
        return None
    if kind == "RSA" and key.key_size < MIN_RSA_BITS:
        return None
    return PublicKey(_text(jwk, "kid") or None, (kind, curve), algorithm or None, members, key)


def read_signed(token: str, key: PublicKey, algorithm: str) -> dict[str, Any] | None:
    """Return the claims of a JWT; None if `key` does not verify its signature."""
    if not key.suits(algorithm):
        return None
    jwt = load_jwt()
    try:
        found = _jws().decode_complete(token, key.key, algorithms=[algorithm])
        check_nesting(found["payload"])
        return _decode_payload(found["payload"])
    except (jwt.PyJWTError, msgspec.DecodeError, ValueError, TypeError):
        return None


@cache
def load_jwt() -> Any:
    """Return the module `jwt` of PyJWT.

    Raises ImportError with the hint to install `accord[auth]`.
    """
    try:
        import_module("cryptography")
        return import_module("jwt")
    except ImportError as error:
        raise ImportError(
            "verifying signatures needs PyJWT and cryptography: install accord[auth]"
        ) from error


@cache
def _jws() -> Any:
    return load_jwt().PyJWS()


def base64url(data: bytes) -> str:
    return urlsafe_b64encode(data).rstrip(b"=").decode("ascii")


def _text(jwk: dict[str, Any], name: str) -> str:
    value = jwk.get(name, "")
    return value if isinstance(value, str) else ""


REQUEST_SECONDS: Final = 10.0
MAX_BODY: Final = 512 * 1024

_decode = msgspec.json.Decoder(dict[str, Any]).decode


async def get_document(address: WebAddress, tls: ssl.SSLContext | None) -> dict[str, Any]:
    """Return the JSON object at `address`.

    Raises UnavailableError unless the server answers in time with status 200 and a JSON object.
    """
    return await _ask("GET", address, {}, None, tls)


async def post_form(
    address: WebAddress,
    form: Mapping[str, str],
    headers: Mapping[str, str],
    tls: ssl.SSLContext | None,
) -> dict[str, Any]:
    """Send a form to `address` and return the JSON object in the answer.

    Raises UnavailableError unless the server answers in time with status 200 and a JSON object.
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
    """Return the address of an issuer's key set, from the issuer's metadata.

    Raises UnavailableError if the metadata cannot be fetched, or names another issuer or no trusted
    address.
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
    """Return the URLs at which an issuer's metadata may be, in the order to try them."""
    parts = urlsplit(issuer)
    host, path = f"{parts.scheme}://{parts.netloc}", parts.path.rstrip("/")
    found = [f"{host}{_OAUTH}{path}", f"{host}{_OPENID}{path}", f"{host}{path}{_OPENID}"]
    return list(dict.fromkeys(found))


log = logging.getLogger("accord.mcp.auth")

MAX_KEYS: Final = 100
MAX_TRIED: Final = 4
"""The maximum number of keys that are tried for one token."""
PAUSE_SECONDS: Final = 10.0
"""Minimum time between two fetches of a key set."""
MAX_STALE_SECONDS: Final = 86_400.0
"""Maximum age of keys that stay in use because they cannot be fetched again."""


class KeySet(Protocol):
    """The keys of an issuer."""

    changes: int
    """The version number of the key set, which grows whenever the keys change."""

    def find(self, id: str | None, algorithm: str) -> list[PublicKey] | Awaitable[list[PublicKey]]:
        """Return the keys that may verify a token with this key id and algorithm.

        Raises UnavailableError if the keys cannot be fetched.
        """


class FixedKeys:
    """The keys of an issuer, from the configuration."""

    def __init__(self, document: Any) -> None:
        """Raise ValueError if the document has no usable key."""
        self.changes = 0
        self._keys = read_keys(document)
        if not self._keys:
            raise ValueError("among the keys is none that signatures can be checked with")

    def find(self, id: str | None, algorithm: str) -> list[PublicKey]:
        return suiting(self._keys, id, algorithm)


class RemoteKeys:
    """The published keys of an issuer, fetched from `url`.

    If `url` is None, the issuer's metadata names the URL.
    """

    def __init__(
        self,
        issuer: str,
        url: str | None,
        *,
        cache_seconds: float,
        tls: ssl.SSLContext | None,
        now: Callable[[], float],
    ) -> None:
        """Raise ValueError for a URL that is neither https nor on the loopback interface."""
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
    """Return the usable keys of a key set.

    Unusable keys are skipped (RFC 7517, section 5).
    """
    jwks = document.get("keys") if isinstance(document, dict) else document
    found = map(read_key, list(jwks)[:MAX_KEYS]) if isinstance(jwks, list | tuple) else ()
    return [key for key in found if key is not None]


def suiting(keys: list[PublicKey], id: str | None, algorithm: str) -> list[PublicKey]:
    """Return the keys with the key id `id` that fit the algorithm.

    If `id` is None, because the token has no key id, all keys that fit the algorithm qualify. At
    most `MAX_TRIED` keys are returned.
    """
    usable = [key for key in keys if key.suits(algorithm)]
    if id is None:
        return usable[:MAX_TRIED]
    return [key for key in usable if key.id == id][:MAX_TRIED]
