"""One system behind https for all tests here, and whoever attacks it."""

from __future__ import annotations

import ssl
from collections.abc import AsyncIterator
from pathlib import Path

import httpx
import pytest
import pytest_asyncio

from tests.security.fortress import Fortress
from tests.transports.conftest import certificate as certificate
from tests.web.house import housed, make


@pytest_asyncio.fixture(loop_scope="session", scope="session")
async def fortress(
    certificate: tuple[Path, Path], tmp_path_factory: pytest.TempPathFactory
) -> AsyncIterator[Fortress]:
    folder = tmp_path_factory.mktemp("fortress")
    await make(folder / "made", demo=False)
    cert, key = (str(each) for each in certificate)
    async with housed(folder / "made", folder / "data", tls_certificate=cert, tls_key=key) as house:
        trusted = ssl.create_default_context(cafile=cert)
        async with httpx.AsyncClient(
            base_url=house.url, verify=trusted, timeout=30, trust_env=False
        ) as nobody:
            yield Fortress(house, nobody, trusted)
