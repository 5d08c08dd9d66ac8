"""Encoded lists of components, and sources of components outside the registries.

A list is encoded once per change, not once per request: once for each protocol version, page and
set of visible components. A page begins after the last component of the page before, so pages do
not move when the list changes.

A source, such as a database table, returns definitions page by page, with its own cursors. Encoded
pages are cached until the version of the source changes.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Awaitable, Callable, Sequence
from operator import itemgetter
from typing import Any, Final, Generic, Protocol, TypeAlias, TypeVar

from msgspec import UNSET, Raw, Struct, UnsetType
from msgspec.structs import replace

from accord.jsonrpc.protocol.messages import encode
from accord.mcp.protocol.definitions import Prompt, Resource, ResourceTemplate, Tool, ToolExecution
from accord.mcp.protocol.messages import CacheScope, Profile, failure
from accord.mcp.protocol.opaque_state import decode_cursor, encode_cursor
from accord.mcp.protocol.versioned import in_version
from accord.mcp.protocol.versions import Era, era
from accord.mcp.server.components.prompts import ServedPrompt
from accord.mcp.server.components.resources import ServedResource
from accord.mcp.server.components.tools import ServedTool
from accord.mcp.server.session import Incoming


def tool_in(version: str, tool: ServedTool) -> Tool:
    """Return the definition of a tool for clients of a protocol version."""
    execution = None
    if tool.task_support != "forbidden":
        execution = ToolExecution(task_support=tool.task_support)
    output = tool.output_schema(era(version))
    whole = replace(tool.definition, output_schema=output, execution=execution)
    return in_version(version, whole)


def definition_in(
    version: str, component: ServedResource | ServedPrompt
) -> Resource | ResourceTemplate | Prompt:
    """Return a component's definition in the form that a protocol version requires."""
    return in_version(version, component.definition)


MAX_CACHED_LISTS: Final = 256
"""The maximum number of encoded pages cached for one list."""

Numbered: TypeAlias = Sequence[tuple[int, Any]]
"""A list of components, each with its number in the registry, in ascending order."""


class ReadyList:
    """The list of one kind of components, such as tools, with cached encoded pages."""

    def __init__(
        self,
        member: str,
        *,
        page_size: int,
        ttl_ms: int,
        profile: Profile,
        finish: Callable[[bytes], bytes],
        define: Callable[[str, Any], Any],
    ) -> None:
        self._member = member.encode()
        self._page_size = page_size
        self._ttl_ms = ttl_ms
        self._profile: Profile = profile
        self._finish = finish
        self._define = define
        """Returns the definition of a component for a protocol version."""
        self._kept: dict[Any, Raw] = {}
        self._version = -1

    def page(
        self,
        incoming: Incoming,
        cursor: str | UnsetType,
        *,
        version: int,
        last: int,
        seen_as: Any,
        scope: CacheScope,
        items: Callable[[], Numbered],
    ) -> Raw:
        """Return one page as the result of a list request.

        `version` is the version of the registry, and `last` its highest component number. `items`
        returns the components that the client sees; `seen_as` is equal for clients that see the
        same components, and is part of the cache key. Raises RpcError for an invalid cursor.
        """
        if version != self._version:
            self._version = version
            self._kept.clear()
        key = (incoming.version, cursor, seen_as, scope)
        found = self._kept.get(key)
        if found is None:
            after = self._after(incoming, cursor, last)
            found = self._make(incoming, scope, items(), after)
            if len(self._kept) >= MAX_CACHED_LISTS:
                self._kept.clear()
            self._kept[key] = found
        return found

    def _make(self, incoming: Incoming, scope: CacheScope, items: Numbered, after: int) -> Raw:
        start = bisect_right(items, after, key=itemgetter(0))
        end = start + self._page_size
        page = [self._define(incoming.version, each) for _, each in items[start:end]]
        parts = [b'{"%b":%b' % (self._member, encode(page))]
        if end < len(items):
            parts.append(b',"nextCursor":"%b"' % encode_cursor(items[end - 1][0]).encode())
        if incoming.era is Era.STATELESS:
            parts.append(b',"ttlMs":%d,"cacheScope":"%b"' % (self._ttl_ms, scope.encode()))
        parts.append(b"}")
        body = b"".join(parts)
        return Raw(self._finish(body) if incoming.era is Era.STATELESS else body)

    def _after(self, incoming: Incoming, cursor: str | UnsetType, last: int) -> int:
        if cursor is UNSET:
            return 0
        after = decode_cursor(cursor)
        if after is None or not 0 < after <= last:
            raise failure(
                "invalid_cursor",
                "Invalid params: the cursor is none that this list gave",
                era=incoming.era,
                profile=self._profile,
            )
        return after


MAX_CACHED_PAGES: Final = 64
"""The maximum number of encoded pages cached for one list with a source."""
MAX_CURSOR: Final = 1_000

D = TypeVar("D", bound=Struct)


class SourcePage(Struct, Generic[D], frozen=True):
    """A page of definitions from a `ComponentSource`."""

    definitions: Sequence[D]
    after: str = ""
    """The cursor after which the next page begins; empty on the last page."""


class ComponentSource(Protocol[D]):
    """A source of component definitions outside the registry, such as a table."""

    @property
    def version(self) -> int:
        """The version of the source, which grows when any page may have changed."""

    async def page(self, after: str) -> SourcePage[D]:
        """Return the page after a cursor; the first page for an empty cursor.

        Raises ValueError for an invalid cursor.
        """


class ResourceSource(ComponentSource[Resource], Protocol):
    """A source of resources in addition to those of the registry.

    Clients read the source's resources through templates in the registry.
    """


class PromptSource(ComponentSource[Prompt], Protocol):
    """A source of prompts in addition to those of the registry."""

    async def find(self, name: str) -> ServedPrompt | None:
        """Return the prompt of that name; None if there is none."""


class SourcedList:
    """A list of registry components, followed by the definitions of a source.

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
        source: ComponentSource[Any],
        incoming: Incoming,
        cursor: str | UnsetType,
        *,
        version: int,
        seen_as: Any,
        scope: CacheScope,
        items: Callable[[], Sequence[Struct]],
    ) -> Raw | Awaitable[Raw]:
        """Return one page as the result of a list request.

        `version` is the version of the registry. `seen_as` identifies the set of its components
        that the client sees, and `items` returns their definitions. Raises RpcError for an invalid
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
        source: ComponentSource[Any],
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
        # Do not cache a page that may lack changes during the request to the source.
        if versions == self._version and source.version == versions[0]:
            if len(self._kept) >= MAX_CACHED_PAGES:
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
