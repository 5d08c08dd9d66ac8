"""`completion/complete`: suggestions for an argument of a prompt or a template."""

from __future__ import annotations

from inspect import isawaitable
from typing import Any, Final

from accord.mcp.protocol.messages import (
    CompleteParams,
    CompleteResult,
    Completion,
    PromptReference,
    failure,
)
from accord.mcp.server.components.prompts import ServedPrompt
from accord.mcp.server.components.resources import ServedResource
from accord.mcp.server.core import Core, MethodRow
from accord.mcp.server.handler_runner import never
from accord.mcp.server.incoming import Incoming

MAX_VALUES: Final = 100
"""2025-11-25, completion: the limit of values in one answer."""


def completion_methods(core: Core) -> dict[str, MethodRow]:
    return {"completion/complete": MethodRow(CompleteParams, _Completion(core).complete)}


class _Completion:
    def __init__(self, core: Core) -> None:
        self._runner = core.runner
        self._server = core.server
        self._access = core.access

    async def complete(self, params: CompleteParams, incoming: Incoming) -> Any:
        component = await self._find(params, incoming)
        context = self._runner.context(incoming)
        try:
            found = component.complete(params, context, self._server.completions)
            if isawaitable(found):
                late = self._access.too_late("the completion", incoming)
                seconds = self._server.limits.call_seconds
                found = await self._runner.deadlines.keep(found, seconds, late, never)
        except Exception as error:
            named = self._runner.unforeseen(error, "completion_failed", incoming)
            if named is None:
                raise
            raise named from error
        finally:
            context.end()
        return self._runner.replies.finish(CompleteResult(completion=_completion(found)), incoming)

    async def _find(
        self, params: CompleteParams, incoming: Incoming
    ) -> ServedPrompt | ServedResource:
        """Return the prompt or resource with the argument.

        Raises RpcError (2025-11-25, completion: -32602 for a prompt or a resource that does not
        exist).
        """
        component: ServedPrompt | ServedResource | None
        if isinstance(params.ref, PromptReference):
            name = params.ref.name
            component = await self._server.find_prompt(name)
        else:
            name = params.ref.uri
            component = self._server.resources.get(name)
        if component is None or not self._access.is_enabled(component, incoming):
            raise failure(
                "completion_invalid_reference",
                f"Invalid params: there is nothing to complete at '{name[:200]}'",
                era=incoming.era,
                profile=self._server.codes,
            )
        self._access.check_permission(component, incoming)
        return component


def _completion(found: Any) -> Completion:
    if isinstance(found, Completion):
        return found
    values = list(found or ())
    return Completion(
        values=values[:MAX_VALUES], total=len(values), has_more=len(values) > MAX_VALUES
    )
