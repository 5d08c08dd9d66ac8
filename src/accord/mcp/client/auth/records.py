"""What is kept of servers, clients and tokens, as the types that they are.

A token is kept under its issuer and its resource, a registration under its issuer: what one
authorization server gave is never shown to another. What cannot be read is as good as absent.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TypeVar

import msgspec
from msgspec import Struct

from accord.mcp.client.auth.errors import AuthorizationError
from accord.mcp.client.auth.keys import PrivateKey
from accord.mcp.client.auth.registrations import Registration
from accord.mcp.client.auth.storage import Storage
from accord.mcp.client.auth.tokens import Token

T = TypeVar("T")


class KnownServer(Struct, frozen=True):
    """The issuer and resource of the token for a server."""

    issuer: str
    resource: str


class Records:
    """Typed access to one storage."""

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
        """Return the authorization server at which a preregistered client was accepted."""
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
