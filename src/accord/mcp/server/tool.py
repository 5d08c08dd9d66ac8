"""A tool as a server has it, whoever runs it: its definition, its conditions, its call."""

from __future__ import annotations

import logging
import re
from collections.abc import Awaitable
from operator import is_not
from typing import Any, Final, TypedDict

import msgspec
from msgspec import UNSET, Raw, UnsetType

from accord.jsonrpc.codec import encode
from accord.jsonrpc.errors import RegistrationError
from accord.jsonrpc.msgspec_types import REFUSALS
from accord.mcp.protocol.codes import Profile
from accord.mcp.protocol.content import Icon
from accord.mcp.protocol.definitions import TaskSupport, Tool, ToolAnnotations
from accord.mcp.protocol.meta import Meta
from accord.mcp.protocol.results import CallToolResult
from accord.mcp.protocol.versions import Era
from accord.mcp.server.context import Context
from accord.mcp.server.permission import Allow, check_allow
from accord.mcp.server.registry import Enabled

log = logging.getLogger("accord.mcp")

_NAME: Final = re.compile(r"[A-Za-z0-9_./-]{1,128}")
"""2025-11-25, tools: what names should be made of."""


class ToolError(Exception):
    """A failure that the model should read: its text is the tool's result."""


class ToolOptions(TypedDict, total=False):
    """What can be said about a tool beside its function."""

    title: str
    """Its name for people."""
    description: str | None
    """What the model is told of it; the docstring by default."""
    annotations: ToolAnnotations | None
    """Hints on what it does to the world."""
    icons: tuple[Icon, ...]
    meta: Meta | None
    """`_meta` of its definition."""
    inline: bool
    """For plain functions that are quick: run on the loop and not in a thread."""
    timeout: float | None
    """Seconds that a call may take, None for as long as it likes; else the server's limit."""
    concurrency: int | None
    """How many calls may run at once, None for any number; else the server's limit."""
    scopes: tuple[str, ...]
    """What the principal of a client needs to see and to call it."""
    allow: Allow | None
    """Decides beside the scopes who may see and call it: `lambda principal: …`."""
    enabled: Enabled | None
    """Decides for each request whether its client sees it."""
    task: TaskSupport
    """Whether calls may, or must, run as tasks."""
    starts_task: bool
    """Whether the function says itself when the task begins, by `context.start_task()`."""
    input_schema: dict[str, Any] | None
    """A hand-written schema. The function then takes all arguments as one dict."""
    output_schema: dict[str, Any] | None
    """A hand-written schema, which results are checked by."""
    structured: bool
    """Whether results are sent as structured content, where their type allows it."""


class ServedTool:
    """One tool of a server. Subclasses say how it is called."""

    __slots__ = (
        "allow",
        "concurrency",
        "definition",
        "enabled",
        "is_quick",
        "running",
        "scopes",
        "starts_task",
        "task_support",
        "timeout",
        "wants_context",
    )

    def __init__(
        self,
        definition: Tool,
        *,
        scopes: tuple[str, ...] | frozenset[str] = (),
        allow: Allow | None = None,
        enabled: Enabled | None = None,
        task: TaskSupport = "forbidden",
        starts_task: bool = False,
    ) -> None:
        self.definition = definition
        self.scopes = frozenset(scopes)
        self.allow = check_allow(allow)
        self.enabled = enabled
        self.task_support: TaskSupport = task
        """Whether calls of it may, or must, run as tasks."""
        self.starts_task = starts_task
        """Whether its function says itself when the task begins, by `context.start_task()`."""
        self.timeout: float | None | UnsetType = UNSET
        """Seconds that a call may take; UNSET for the server's limit."""
        self.concurrency: int | None | UnsetType = UNSET
        """How many calls may run at once; UNSET for the server's limit."""
        self.is_quick = False
        """Whether `call` gives the result itself."""
        self.wants_context = True
        """Whether calls look at a context; one that does not can ask nobody."""
        self.running = 0
        """How many calls are being served."""

    def output_schema(self, era: Era) -> dict[str, Any] | None:
        """The schema of its structured content, as a client of that era is told."""
        return self.definition.output_schema

    def call(
        self,
        arguments: Raw | UnsetType,
        context: Context,
        era: Era,
        profile: Profile = "standard",
    ) -> CallToolResult | Awaitable[CallToolResult]:
        """The result of a quick tool, or else a coroutine that gives it."""
        raise NotImplementedError

    def call_alone(
        self,
        arguments: Raw | UnsetType,
        context: None,
        era: Era,
        profile: Profile = "standard",
    ) -> CallToolResult | Awaitable[CallToolResult]:
        """`call` for a tool that looks at no context."""
        raise NotImplementedError


def check_name(noun: str, name: Any) -> str:
    """The name of a tool or prompt. Raises RegistrationError for what is none."""
    if not isinstance(name, str) or not name or name == "<lambda>":
        raise RegistrationError(f"a {noun} needs a name, a string that is not empty")
    if not _NAME.fullmatch(name):
        log.warning(
            "%s name %r: clients expect 1 to 128 letters, digits and _ - . /", noun, name[:200]
        )
    return name


def whole_numbers(arguments: bytes | Raw) -> bytes | None:
    """Return arguments with 3 where 3.0 stands, for those who take integers; None if there is none.

    JSON Schema, section 6.1.1: a number without a fraction is an integer, however it is written,
    and some models write 3.0. What decodes types does not take it for one.
    """
    data = bytes(arguments)
    if sum(map(data.count, (b",", b"[", b"{"))) > _MAX_WALKED:
        again = _without_zeros(data)
        return None if again == data else again
    if b"." not in data and b"e" not in data.lower():
        return None
    try:
        found = msgspec.json.decode(data)
    except REFUSALS:
        return None
    whole = _whole(found)
    return None if whole is found else encode(whole)


def _without_zeros(data: bytes) -> bytes:
    """Return JSON with 3 in place of 3.0, found in the text, where that does not take too long.

    Walking through a million values in Python would take five times as long as serving them.
    """
    if b".0" not in data or b"\0" in data or b"\1" in data:  # in no JSON are those two bytes
        return data
    # Between quotes stands text, which is kept. The two bytes take the place of escapes.
    parts = data.replace(b"\\\\", b"\0").replace(b'\\"', b"\1").split(b'"')
    outside = b'"'.join(parts[::2])
    zeros = outside.count(b".0")
    if zeros == data.count(b".0"):  # no text has any
        return _cut_zeros(data)
    if not zeros or len(parts) > _MAX_TEXTS:
        return data
    parts[::2] = _cut_zeros(outside).split(b'"')
    return b'"'.join(parts).replace(b"\1", b'\\"').replace(b"\0", b"\\\\")


def _cut_zeros(data: bytes) -> bytes:
    for after in (b",", b"]", b"}", b" ", b"\n", b"\r", b"\t"):
        data = data.replace(b".0" + after, after)
    return data


def _whole(value: Any) -> Any:
    """Return `value`, the same object where nothing in it is a float without a fraction."""
    match value:
        case float() if value.is_integer() and abs(value) < _EXACT:
            return int(value)
        case dict():
            members = {name: _whole(each) for name, each in value.items()}
            changed = any(members[name] is not each for name, each in value.items())
            return members if changed else value
        case list():
            items = [_whole(each) for each in value]
            return items if any(map(is_not, items, value)) else value
        case _:
            return value


_EXACT: Final = 2.0**53
"""From here on floats are not exact."""
_MAX_TEXTS: Final = 200
"""Most parts between quotes that are put together again."""
_MAX_WALKED: Final = 64
"""Most values that are looked at one by one, which finds 1e2 and 3.00 too."""
