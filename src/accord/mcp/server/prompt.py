"""A prompt as a server has it, whoever fills it in."""

from __future__ import annotations

from collections.abc import Awaitable, Mapping, Sequence
from typing import Any, TypedDict

from msgspec import UNSET, UnsetType

from accord.jsonrpc.errors import InvalidParamsError
from accord.mcp.protocol.content import Icon
from accord.mcp.protocol.definitions import Prompt
from accord.mcp.protocol.meta import Meta
from accord.mcp.protocol.params import CompleteParams
from accord.mcp.protocol.results import GetPromptResult, PromptMessage
from accord.mcp.server.completions import Completions
from accord.mcp.server.context import Context
from accord.mcp.server.permission import Allow, check_allow
from accord.mcp.server.registry import Enabled
from accord.mcp.server.tool_results import block_of


class PromptOptions(TypedDict, total=False):
    """What can be said about a prompt beside its function."""

    title: str
    """Its name for people."""
    description: str | None
    """What it is for; the docstring by default."""
    icons: tuple[Icon, ...]
    meta: Meta | None
    """`_meta` of its definition."""
    inline: bool
    """For plain functions that are quick: run on the loop and not in a thread."""
    timeout: float | None
    """Seconds that it may take, None for as long as it likes; else the server's limit."""
    scopes: tuple[str, ...]
    """What the principal of a client needs to see and to get it."""
    allow: Allow | None
    """Decides beside the scopes who may see and get it: `lambda principal: …`."""
    enabled: Enabled | None
    """Decides for each request whether its client sees it."""


class WrongArgumentsError(InvalidParamsError):
    """Arguments of a prompt that are not of their parameters' types."""


class ServedPrompt:
    """One prompt of a server. Subclasses say how it is filled in."""

    __slots__ = ("allow", "choices", "definition", "enabled", "scopes", "timeout")

    def __init__(
        self,
        definition: Prompt,
        *,
        scopes: tuple[str, ...] | frozenset[str] = (),
        allow: Allow | None = None,
        enabled: Enabled | None = None,
        timeout: float | None | UnsetType = UNSET,
        choices: Mapping[str, Sequence[str]] | None = None,
    ) -> None:
        self.definition = definition
        self.scopes = frozenset(scopes)
        self.allow = check_allow(allow)
        self.enabled = enabled
        self.timeout = timeout
        self.choices: Mapping[str, Sequence[str]] = choices or {}
        """What arguments can be, where that is known without asking anybody."""

    def missing(self, arguments: Mapping[str, str]) -> list[str]:
        """The required arguments that are not given."""
        return [
            each.name
            for each in self.definition.arguments
            if each.required and each.name not in arguments
        ]

    def get(
        self, arguments: Mapping[str, str], context: Context
    ) -> GetPromptResult | Awaitable[GetPromptResult]:
        """The messages, or a coroutine that gives them. Raises what whoever gives them raises."""
        raise NotImplementedError

    @property
    def completes(self) -> bool:
        """Whether it knows by itself what completes it."""
        return bool(self.choices)

    def complete(self, params: CompleteParams, context: Context, by: Completions) -> Any:
        """What an argument could be, or a coroutine of it."""
        return by.complete(params, context, self.choices)


def user_message(content: Any) -> PromptMessage:
    """What the user says: a text, content, or a value that is told as JSON."""
    return PromptMessage("user", block_of(content))


def assistant_message(content: Any) -> PromptMessage:
    """What the assistant says."""
    return PromptMessage("assistant", block_of(content))
