"""Tokens and registrations: their types, token responses, and storage between runs of a program.

A token is stored under its issuer and resource, a registration under its issuer. To store them in
a keyring, a database or an encrypted file, implement the three methods of `Storage`.
"""

from __future__ import annotations

import asyncio
import os
import tempfile
import time
from base64 import b64encode
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from secrets import token_urlsafe
from typing import Final, Literal, Protocol, TypeVar
from urllib.parse import quote_plus

import msgspec
from msgspec import Struct

from accord.mcp.client.auth.dpop import PrivateKey
from accord.mcp.client.auth.web import AuthorizationError, Reply, UntrustedError, oauth_error

Method = Literal["none", "client_secret_basic", "client_secret_post", "private_key_jwt"]

ASSERTION_TYPE: Final = "urn:ietf:params:oauth:client-assertion-type:jwt-bearer"
ASSERTION_SECONDS: Final = 60


class Registration(Struct, frozen=True, kw_only=True):
    """A client as registered with one authorization server."""

    client_id: str
    """Empty for a client that is identified by its assertion alone."""
    client_secret: str | None = None
    method: Method | None = None
    """Authentication method; None to choose one that the server supports."""
    key: PrivateKey | None = None
    redirect_uri: str = ""
    """The registered redirect URI; empty if the client did not register itself."""
    scopes: tuple[str, ...] = ()
    """The registered scopes."""
    expires_at: float = 0.0
    """Time at which the secret expires; 0 for never."""

    def __repr__(self) -> str:
        return f"Registration({self.client_id!r}, …)"


class Proof(Struct, frozen=True):
    """Client authentication in a token request: form fields and headers.

    This is not a DPoP proof.
    """

    form: dict[str, str]
    headers: dict[str, str]


def prove(client: Registration, issuer: str, supported: Sequence[str] | None) -> Proof:
    """Return the form fields and headers that authenticate `client` at `issuer`.

    The authentication method is that of the client's registration. If the registration has none, a
    method is chosen from `supported`, the methods of the authorization server.
    """
    method = client.method or choose_method(client, supported)
    if method == "private_key_jwt":
        return Proof(_assertion(client, issuer), {})
    if method == "client_secret_basic" and client.client_secret is not None:
        # RFC 6749, section 2.3.1: id and secret are form-encoded before base64.
        pair = f"{quote_plus(client.client_id)}:{quote_plus(client.client_secret)}"
        return Proof({}, {"authorization": f"Basic {b64encode(pair.encode()).decode()}"})
    if method == "client_secret_post" and client.client_secret is not None:
        return Proof({"client_id": client.client_id, "client_secret": client.client_secret}, {})
    return Proof({"client_id": client.client_id} if client.client_id else {}, {})


def choose_method(client: Registration, supported: Sequence[str] | None) -> Method:
    """Return the best authentication method that client and server support."""
    if client.key is not None:
        return "private_key_jwt"
    if client.client_secret is None:
        return "none"
    # RFC 8414, section 2: the default is client_secret_basic.
    if supported and "client_secret_basic" not in supported and "client_secret_post" in supported:
        return "client_secret_post"
    return "client_secret_basic"


def method_to_register(supported: Sequence[str] | None) -> Method:
    """Return the authentication method to register: `none` or one with a secret.

    `none` is preferred. If the server does not list its methods, the method is
    `client_secret_basic`.
    """
    methods = ("client_secret_basic",) if supported is None else tuple(supported)
    preferred: tuple[Method, ...] = ("none", "client_secret_basic", "client_secret_post")
    return next((method for method in preferred if method in methods), "none")


def _assertion(client: Registration, issuer: str) -> dict[str, str]:
    assert client.key is not None
    now = int(time.time())
    claims = {
        "iss": client.client_id,
        "sub": client.client_id,
        # Use the issuer as the only audience: another server could claim a token endpoint's URL as
        # its own.
        "aud": issuer,
        "jti": token_urlsafe(16),
        "iat": now,
        "exp": now + ASSERTION_SECONDS,
    }
    return {
        "client_assertion_type": ASSERTION_TYPE,
        "client_assertion": client.key.sign(claims),
    }


class Storage(Protocol):
    """A store of secret values. Several clients may use it concurrently."""

    async def get(self, key: str) -> bytes | None: ...

    async def set(self, key: str, value: bytes) -> None: ...

    async def delete(self, key: str) -> None:
        """Delete a key; a missing key is no error."""


class MemoryStorage:
    """A store in memory, until the program ends."""

    def __init__(self) -> None:
        self._values: dict[str, bytes] = {}

    async def get(self, key: str) -> bytes | None:
        return self._values.get(key)

    async def set(self, key: str, value: bytes) -> None:
        self._values[key] = value

    async def delete(self, key: str) -> None:
        self._values.pop(key, None)


class FileStorage:
    """A store in one file that only its owner can read.

    The file is replaced atomically, under a lock, so that several programs may share it.

    Raises OSError if the file cannot be read or written, PermissionError if other users could read
    it, ValueError if its content is malformed, and RuntimeError on systems without POSIX locks and
    modes.
    """

    def __init__(self, path: str | os.PathLike[str]) -> None:
        if os.name != "posix":
            raise RuntimeError("FileStorage needs a POSIX system: give the client another Storage")
        self._path = Path(path).expanduser()

    async def get(self, key: str) -> bytes | None:
        return (await asyncio.to_thread(self._read)).get(key)

    async def set(self, key: str, value: bytes) -> None:
        await asyncio.to_thread(self._change, lambda values: values.update({key: value}))

    async def delete(self, key: str) -> None:
        await asyncio.to_thread(self._change, lambda values: values.pop(key, None))

    def _read(self) -> dict[str, bytes]:
        try:
            with open(self._path, "rb") as file:
                if os.fstat(file.fileno()).st_mode & 0o077:
                    raise PermissionError(f"{self._path} holds secrets, and others can read it")
                return msgspec.json.decode(file.read(), type=dict[str, bytes])
        except FileNotFoundError:
            return {}
        except msgspec.DecodeError:
            raise ValueError(f"{self._path} is not a file of tokens") from None

    def _change(self, change: Callable[[dict[str, bytes]], object]) -> None:
        import fcntl  # POSIX only

        self._path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        lock = self._path.with_name(f"{self._path.name}.lock")
        with open(os.open(lock, os.O_RDWR | os.O_CREAT, 0o600), "rb+") as locked:
            fcntl.flock(locked, fcntl.LOCK_EX)
            values = self._read()
            change(values)
            self._write(msgspec.json.encode(values))

    def _write(self, data: bytes) -> None:
        # mkstemp creates a file that only its owner can open.
        handle, name = tempfile.mkstemp(dir=self._path.parent, prefix=f".{self._path.name}.")
        try:
            with open(handle, "wb") as file:
                file.write(data)
            os.replace(name, self._path)
        except BaseException:
            os.unlink(name)
            raise


MAX_TOKEN: Final = 16 * 1024
LEEWAY_SECONDS: Final = 30.0
"""Tokens are renewed at most this many seconds before they expire."""
LEEWAY_SHARE: Final = 0.1
"""Short-lived tokens are renewed when this share of their lifetime is left."""


class Token(Struct, frozen=True, kw_only=True):
    """An access token with everything needed to use and renew it."""

    access_token: str
    scheme: str
    """Authorization scheme: Bearer or DPoP."""
    issuer: str
    resource: str
    client_id: str
    requested: tuple[str, ...]
    granted: tuple[str, ...]
    refresh_token: str | None = None
    stale_at: float | None = None
    """Time to renew the token, in seconds since 1970; None if it has no known expiry."""

    def __repr__(self) -> str:
        return f"Token(…, issuer={self.issuer!r}, resource={self.resource!r})"

    @property
    def authorization(self) -> str:
        return f"{self.scheme} {self.access_token}"

    def is_stale(self, now: float) -> bool:
        return self.stale_at is not None and now >= self.stale_at


class TokenResponse(Struct, frozen=True, kw_only=True):
    """The successful response of a token endpoint (RFC 6749, section 5.1)."""

    access_token: str
    token_type: str
    expires_in: float | str | None = None
    """Lifetime in seconds, which some servers send as a string."""
    refresh_token: str | None = None
    scope: str | None = None
    issued_token_type: str | None = None

    def __repr__(self) -> str:
        return f"TokenResponse(…, token_type={self.token_type!r})"


class _Refusal(Struct, frozen=True):
    error: str
    error_description: str = ""


def read_response(reply: Reply, where: str) -> TokenResponse:
    """Decode the response of a token endpoint.

    Raises AuthorizationError for an error, and for a response without a usable token.
    """
    if reply.status == 200:
        response = reply.read(TokenResponse)
        if response is None or not _is_token(response.access_token):
            raise AuthorizationError(f"{where} answered without a usable token")
        return response
    raise refusal(reply, where)


def refusal(reply: Reply, where: str) -> AuthorizationError:
    """Return the exception for an error response of an authorization server."""
    refused = reply.read(_Refusal)
    if refused is not None and 400 <= reply.status < 500:
        return oauth_error(where, refused.error, refused.error_description)
    return AuthorizationError(f"{where} answered HTTP {reply.status}", recoverable=True)


def scheme_of(response: TokenResponse, *, bound: bool) -> str:
    """Return the authorization scheme of a token.

    Raises UntrustedError if the token should be bound to the client's key and is not, and
    AuthorizationError for an unexpected token type.
    """
    kind = response.token_type.lower()
    if bound and kind != "dpop":
        # RFC 9449, section 5: a client that requires binding discards such a response.
        raise UntrustedError("the token is not bound to this client's key, which was asked for")
    if kind not in ("bearer", "dpop") or (kind == "dpop" and not bound):
        raise AuthorizationError(f"the token is of the unknown type {response.token_type[:40]!r}")
    return "DPoP" if bound else "Bearer"


def stale_at(response: TokenResponse, now: float) -> float | None:
    try:
        seconds = float(response.expires_in)  # type: ignore[arg-type]
    except (TypeError, ValueError):
        return None
    if not 0 <= seconds < 1e10:
        return None
    return now + seconds - min(LEEWAY_SECONDS, seconds * LEEWAY_SHARE)


def scopes_in(text: str | None, otherwise: tuple[str, ...]) -> tuple[str, ...]:
    """Return the scopes in a token response; `otherwise` if the response names none.

    The granted scopes are then usually the requested ones (RFC 6749, section 5.1).
    """
    return otherwise if text is None else tuple(dict.fromkeys(text.split()))


def _is_token(text: str) -> bool:
    """Return whether the text can be sent as a token in a header."""
    return 0 < len(text) <= MAX_TOKEN and text.isascii() and text.isprintable() and " " not in text


T = TypeVar("T")


class KnownServer(Struct, frozen=True):
    """The storage key of the token for one MCP server: its issuer and resource."""

    issuer: str
    resource: str


class Records:
    """Typed access to the tokens, registrations and keys in one storage."""

    def __init__(self, storage: Storage) -> None:
        self._storage = storage

    async def token_for(self, server: str) -> Token | None:
        known = await self._get(f"server {server}", KnownServer)
        return None if known is None else await self.token(known.issuer, known.resource)

    async def token(self, issuer: str, resource: str) -> Token | None:
        return await self._get(_token_key(issuer, resource), Token)

    async def keep(self, server: str, token: Token) -> None:
        await self._set(_token_key(token.issuer, token.resource), token)
        await self._set(f"server {server}", KnownServer(token.issuer, token.resource))

    async def forget(self, token: Token) -> None:
        await self._delete(_token_key(token.issuer, token.resource))

    async def registration(self, issuer: str) -> Registration | None:
        return await self._get(f"client {issuer}", Registration)

    async def keep_registration(self, issuer: str, client: Registration) -> None:
        await self._set(f"client {issuer}", client)

    async def forget_registration(self, issuer: str) -> None:
        await self._delete(f"client {issuer}")

    async def issuer_of(self, client_id: str) -> str | None:
        """Return the stored issuer that accepted a client registered in advance."""
        return await self._get(f"issuer {client_id}", str)

    async def keep_issuer(self, client_id: str, issuer: str) -> None:
        await self._set(f"issuer {client_id}", issuer)

    async def key(self) -> PrivateKey | None:
        return await self._get("key", PrivateKey)

    async def keep_key(self, key: PrivateKey) -> None:
        await self._set("key", key)

    async def _get(self, key: str, kind: type[T]) -> T | None:
        with _explained():
            value = await self._storage.get(key)
        try:
            return None if value is None else msgspec.json.decode(value, type=kind)
        except msgspec.DecodeError:
            return None

    async def _set(self, key: str, value: object) -> None:
        with _explained():
            await self._storage.set(key, msgspec.json.encode(value))

    async def _delete(self, key: str) -> None:
        with _explained():
            await self._storage.delete(key)


@contextmanager
def _explained() -> Iterator[None]:
    try:
        yield
    except (OSError, ValueError) as error:
        raise AuthorizationError(
            f"tokens cannot be kept: {error}", advice="Give another storage, or correct this one."
        ) from error


def _token_key(issuer: str, resource: str) -> str:
    return f"token {issuer} {resource}"
