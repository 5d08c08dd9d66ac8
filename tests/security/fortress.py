"""The whole system behind https, and the ways in which strangers and people reach it."""

from __future__ import annotations

import asyncio
import ssl
from typing import Any
from urllib.parse import urlsplit

import httpx

from tests.patience import PATIENCE as PATIENCE
from tests.web.house import ADMIN, House


class Fortress:
    """A system that runs, and somebody outside of it."""

    def __init__(self, house: House, nobody: httpx.AsyncClient, trusted: ssl.SSLContext) -> None:
        self.house = house
        self.nobody = nobody
        """Who has not signed in."""
        self._trusted = trusted

    async def bearer(self, username: str = ADMIN) -> dict[str, str]:
        """The header by which somebody is known who has signed in."""
        return {"Authorization": f"Bearer {await self.house.session(username)}"}

    async def call(self, verb: str, path: str, **options: Any) -> httpx.Response:
        """What the administrator is answered over REST."""
        headers = options.pop("headers", {}) | await self.bearer()
        return await self.nobody.request(verb, f"/api/v1{path}", headers=headers, **options)

    async def raw(self, *sent: bytes) -> list[bytes]:
        """All that is answered to some bytes until the connection ends, each over one of its own."""
        return await asyncio.gather(*map(self._raw, sent))

    async def _raw(self, sent: bytes) -> bytes:
        parts = urlsplit(self.house.url)
        reader, writer = await asyncio.open_connection(
            parts.hostname, parts.port, ssl=self._trusted
        )
        try:
            writer.write(sent)
            async with asyncio.timeout(PATIENCE):
                return await reader.read()
        finally:
            writer.close()
