"""`open_store`: from a URL to an open store."""

from __future__ import annotations

from collections.abc import Generator
from pathlib import Path
from types import TracebackType
from typing import Any, Final
from urllib.parse import unquote, urlsplit

from accord.store.store import Store, StoreUnavailableError

SQLITE: Final = "sqlite"
POSTGRES: Final = ("postgresql", "postgres")

_MISSING: Final = "PostgreSQL needs asyncpg: pip install 'accord[postgres]'"


class open_store:  # noqa: N801 - reads as the verb it is: `async with open_store(url) as store`
    """Open the store at `url`: use it as `async with open_store(url) as store`, or await it.

    `sqlite:///var/lib/shop.db` is the file /var/lib/shop.db, created if missing; `sqlite:shop.db`
    is relative to the working directory. `postgresql://user:password@host/database` needs
    `accord[postgres]`. Without `durable`, commits are faster, but the last ones may be lost when
    the machine fails, not just the program.

    Raises ValueError for any other URL, StoreError if the database cannot be opened.
    """

    def __init__(self, url: str, *, durable: bool = True) -> None:
        scheme = urlsplit(url).scheme
        if scheme != SQLITE and scheme not in POSTGRES:
            raise ValueError(f"{_shown(url)!r} is neither sqlite:///PATH nor postgresql://…")
        self._url = url
        self._is_file = scheme == SQLITE
        self._durable = durable
        self._store: Store | None = None

    def __await__(self) -> Generator[Any, None, Store]:
        return self._open().__await__()

    async def _open(self) -> Store:
        if self._is_file:
            from accord.store.sqlite import open_sqlite

            return await open_sqlite(_path(self._url), durable=self._durable)
        try:
            from accord.store.postgres import open_postgres
        except ModuleNotFoundError as error:
            raise StoreUnavailableError(_MISSING) from error

        return await open_postgres(self._url, durable=self._durable)

    async def __aenter__(self) -> Store:
        self._store = await self._open()
        return self._store

    async def __aexit__(
        self,
        exc_type: type[BaseException] | None,
        exc: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        assert self._store is not None
        await self._store.close()


def _path(url: str) -> Path:
    parts = urlsplit(url)
    if parts.netloc or not parts.path or parts.path == "/":
        raise ValueError(f"{_shown(url)!r} names no file: write sqlite:///PATH")
    return Path(unquote(parts.path))


def _shown(url: str) -> str:
    """Return a URL without secrets: without credentials and query, for messages."""
    parts = urlsplit(url)
    return parts._replace(netloc=parts.netloc.rpartition("@")[2], query="").geturl()
