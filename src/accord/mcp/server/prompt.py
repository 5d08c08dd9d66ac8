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
    """Options of a prompt."""

    title: str
    """Its name for people."""
    description: str | None
    """Its purpose; the docstring by default."""
    icons: tuple[Icon, ...]
    meta: Meta | None
    """`_meta` of its definition."""
    inline: bool
    """For quick plain functions: run on the event loop instead of a thread."""
    timeout: float | None
    """Time limit in seconds, None for unlimited; by default the server's limit."""
    scopes: tuple[str, ...]
    """The scopes that a principal needs to see and get it."""
    allow: Allow | None
    """A further condition on principals that see and get it: `lambda principal: …`."""
    enabled: Enabled | None
    """Decides for each request if its client sees it."""


class WrongArgumentsError(InvalidParamsError):
    """Arguments of a prompt that are not of their parameters' types."""


class ServedPrompt:
    """One prompt of a server, filled in by a subclass."""

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
        """Known values of arguments."""

    def missing(self, arguments: Mapping[str, str]) -> list[str]:
        """Return the required arguments that are missing."""
        return [
            each.name
            for each in self.definition.arguments
            if each.required and each.name not in arguments
        ]

    def get(
        self, arguments: Mapping[str, str], context: Context
    ) -> GetPromptResult | Awaitable[GetPromptResult]:
        """Return the messages, or a coroutine of them.

        Raises the exceptions of the code that fills in the prompt.
        """
        raise NotImplementedError

    @property
    def completes(self) -> bool:
        """True if it has suggestions of its own."""
        return bool(self.choices)

    def complete(self, params: CompleteParams, context: Context, by: Completions) -> Any:
        """Return suggestions for an argument, or a coroutine of them."""
        return by.complete(params, context, self.choices)


def user_message(content: Any) -> PromptMessage:
    """Return a message of the user: a text, content, or a value as JSON."""
    return PromptMessage("user", block_of(content))


def assistant_message(content: Any) -> PromptMessage:
    """Return a message of the assistant."""
    return PromptMessage("assistant", block_of(content))
