"""Resources and prompts that are kept elsewhere, such as rows of a database, and so in no registry.

A source gives definitions page by page, each place in a form of its own. Pages are kept as ready
bytes for as long as the source says that nothing has changed.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from typing import Any, Final, Generic, Protocol, TypeVar

from msgspec import UNSET, Raw, Struct, UnsetType

from accord.jsonrpc.codec import encode
from accord.mcp.protocol.codes import Profile, failure
from accord.mcp.protocol.definitions import Prompt, Resource
from accord.mcp.protocol.results import CacheScope
from accord.mcp.protocol.versioned import in_version
from accord.mcp.protocol.versions import Era
from accord.mcp.server.incoming import Incoming
from accord.mcp.server.prompt import ServedPrompt

MAX_KEPT: Final = 64
"""The limit of cached pages."""
MAX_CURSOR: Final = 1_000

D = TypeVar("D", bound=Struct)


class Listed(Struct, Generic[D], frozen=True):
    """A page of a source."""

    definitions: Sequence[D]
    after: str = ""
    """The cursor of the next page; empty on the last."""


class Source(Protocol[D]):
    """A source of definitions."""

    @property
    def version(self) -> int:
        """Grows when any page may have changed."""

    async def page(self, after: str) -> Listed[D]:
        """Return the page after a cursor; the first page for an empty one.

        Raises ValueError for an invalid cursor.
        """


class ResourceSource(Source[Resource], Protocol):
    """Resources in addition to those of the registry.

    Templates in the registry read them.
    """


class PromptSource(Source[Prompt], Protocol):
    """Prompts in addition to those of the registry."""

    async def find(self, name: str) -> ServedPrompt | None:
        """Return the prompt of that name."""


class SourcedList:
    """A list of registry components, continued by a source.

    All components of the registry are on the first page.
    """

    def __init__(
        self,
        member: str,
        *,
        ttl_ms: int,
        profile: Profile,
        finish: Callable[[bytes], bytes],
    ) -> None:
        self._member = member.encode()
        self._ttl_ms = ttl_ms
        self._profile: Profile = profile
        self._finish = finish
        self._kept: dict[Any, Raw] = {}
        self._version: Any = None

    def page(
        self,
        source: Source[Any],
        incoming: Incoming,
        cursor: str | UnsetType,
        *,
        version: int,
        seen_as: Any,
        scope: CacheScope,
        items: Callable[[], Sequence[Struct]],
    ) -> Raw | Awaitable[Raw]:
        """Return the result of a list request.

        `version`, `seen_as` and `items` are those of the registry. Raises RpcError for an invalid
        cursor.
        """
        versions = (source.version, version)
        if versions != self._version:
            self._version = versions
            self._kept.clear()
        key = (incoming.version, cursor, seen_as, scope)
        found = self._kept.get(key)
        if found is not None:
            return found
        first = items() if cursor is UNSET else ()
        return self._make(source, incoming, "" if cursor is UNSET else cursor, key, scope, first)

    async def _make(
        self,
        source: Source[Any],
        incoming: Incoming,
        after: str,
        key: Any,
        scope: CacheScope,
        first: Sequence[Struct],
    ) -> Raw:
        versions = self._version
        try:
            if len(after) > MAX_CURSOR:
                raise ValueError("longer than any cursor")
            listed = await source.page(after)
        except ValueError:
            raise failure(
                "invalid_cursor",
                "Invalid params: the cursor is none that this list gave",
                era=incoming.era,
                profile=self._profile,
            ) from None
        body = self._encoded(incoming, [*first, *listed.definitions], listed.after, scope)
        # What changed while the source was asked may not be on the page.
        if versions == self._version and source.version == versions[0]:
            if len(self._kept) >= MAX_KEPT:
                self._kept.clear()
            self._kept[key] = body
        return body

    def _encoded(
        self, incoming: Incoming, definitions: list[Any], after: str, scope: CacheScope
    ) -> Raw:
        page = [in_version(incoming.version, each) for each in definitions]
        parts = [b'{"%b":%b' % (self._member, encode(page))]
        if after:
            parts.append(b',"nextCursor":%b' % encode(after))
        if incoming.era is Era.STATELESS:
            parts.append(b',"ttlMs":%d,"cacheScope":"%b"' % (self._ttl_ms, scope.encode()))
        body = b"".join((*parts, b"}"))
        return Raw(self._finish(body) if incoming.era is Era.STATELESS else body)
