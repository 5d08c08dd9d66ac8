"""What calling a tool gave: content for people and models, and a value for programs."""

from __future__ import annotations

from typing import Any, Generic, TypeVar

from msgspec import UNSET

from accord.jsonrpc.errors import AccordError
from accord.mcp.protocol.content import Content, TextContent
from accord.mcp.protocol.meta import Meta

T = TypeVar("T")


class ToolFailedError(AccordError):
    """The tool ran and reports a failure; the message is its text."""


class ToolResult(Generic[T]):
    """The result of one call. `is_error` says that the tool failed, and the content how."""

    __slots__ = ("_structured", "content", "is_error", "meta")

    def __init__(
        self, content: list[Content], structured: Any, *, is_error: bool, meta: Meta | None
    ) -> None:
        self.content = content
        self.is_error = is_error
        self.meta = meta
        self._structured = structured

    def __repr__(self) -> str:
        return f"ToolResult(content={self.content!r}, is_error={self.is_error})"

    @property
    def text(self) -> str:
        """All text in the content, a line each."""
        return "\n".join(each.text for each in self.content if isinstance(each, TextContent))

    @property
    def has_structured(self) -> bool:
        return self._structured is not UNSET

    @property
    def structured(self) -> T:
        """The value for programs, None where there is none. Raises ToolFailedError where there
        is none because the tool failed."""
        if self._structured is UNSET:
            if self.is_error:
                raise ToolFailedError(self.text)
            return None  # type: ignore[return-value]  # nothing, and T is what was hoped for
        return self._structured  # type: ignore[no-any-return]
