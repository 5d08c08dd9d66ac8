"""`prompts/list` and `prompts/get`."""

from __future__ import annotations

from collections.abc import Mapping
from inspect import isawaitable
from typing import Any

from msgspec import UNSET

from accord.mcp.protocol.messages import (
    GetPromptParams,
    GetPromptResult,
    ListParams,
    ListPromptsResult,
    failure,
)
from accord.mcp.server.components.lists import definition_in
from accord.mcp.server.components.prompts import ServedPrompt, WrongArgumentsError
from accord.mcp.server.context import Context
from accord.mcp.server.core import Core, MethodRow
from accord.mcp.server.incoming import Incoming


def prompt_methods(core: Core) -> dict[str, MethodRow]:
    prompts = _Prompts(core)
    return {
        "prompts/list": MethodRow(ListParams, prompts.list, result=ListPromptsResult),
        "prompts/get": MethodRow(GetPromptParams, prompts.get),
    }


class _Prompts:
    def __init__(self, core: Core) -> None:
        self._runner = core.runner
        self._server = core.server
        self._access = core.access
        self._prompts = core.server.prompts
        self._list = core.access.ready_list("prompts", definition_in)
        self._sourced = core.access.sourced_list("prompts")

    def list(self, params: ListParams, incoming: Incoming) -> Any:
        source = self._server.prompt_source
        if source is not None:
            return self._access.sourced_page(self._sourced, source, self._prompts, params, incoming)
        return self._access.page(self._list, self._prompts, params, incoming)

    async def get(self, params: GetPromptParams, incoming: Incoming) -> Any:
        prompt = await self._find(params, incoming)
        context = self._runner.context(incoming, params)
        messages = self._messages(prompt, params, context, incoming)
        return await self._runner.answer(messages, context, incoming)

    async def _messages(
        self,
        prompt: ServedPrompt,
        params: GetPromptParams,
        context: Context,
        incoming: Incoming,
    ) -> GetPromptResult:
        arguments = {} if params.arguments is UNSET else params.arguments
        try:
            result = prompt.get(arguments, context)
            if not isawaitable(result):
                return result
            late = self._access.too_late(f"prompt '{params.name}'", incoming)
            seconds = self._access.seconds_for(prompt.timeout)
            return await self._runner.deadlines.keep(result, seconds, late, context.is_asking)
        except WrongArgumentsError as error:
            raise failure(
                "invalid_prompt_arguments",
                error.message,
                era=incoming.era,
                profile=self._server.codes,
                **{name: each for name, each in error.data.items() if name != "reason"},
            ) from None
        except Exception as error:
            named = self._runner.unforeseen(error, "prompt_render_failed", incoming)
            if named is None:
                raise
            raise named from error

    async def _find(self, params: GetPromptParams, incoming: Incoming) -> ServedPrompt:
        """Return the requested prompt.

        Raises RpcError.
        """
        prompt = await self._server.find_prompt(params.name)
        if prompt is None or not self._access.is_enabled(prompt, incoming):
            raise failure(
                "prompt_not_found",
                f"Unknown prompt: {params.name[:100]}",
                era=incoming.era,
                profile=self._server.codes,
                name=params.name[:100],
            )
        self._access.check_permission(prompt, incoming)
        arguments: Mapping[str, str] = {} if params.arguments is UNSET else params.arguments
        missing = prompt.missing(arguments)
        if missing:
            raise failure(
                "prompt_argument_missing",
                f"Invalid params: argument '{missing[0]}' of prompt '{params.name}' is missing",
                era=incoming.era,
                profile=self._server.codes,
                argument=missing[0],
            )
        return prompt
