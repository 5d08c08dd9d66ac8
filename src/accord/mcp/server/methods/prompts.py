"""`prompts/list` and `prompts/get`."""

from __future__ import annotations

from inspect import isawaitable
from typing import TYPE_CHECKING, Any

from msgspec import UNSET

from accord.jsonrpc.call_plan import Plan
from accord.mcp.protocol.codes import failure
from accord.mcp.protocol.params import GetPromptParams, ListParams
from accord.mcp.server.core import Row
from accord.mcp.server.incoming import Incoming
from accord.mcp.server.versions_seen import definition_in

if TYPE_CHECKING:
    from accord.mcp.server.core import Core


def methods(core: Core) -> dict[str, Row]:
    prompts = _Prompts(core)
    return {
        "prompts/list": Row(ListParams, prompts.list),
        "prompts/get": Row(GetPromptParams, prompts.get),
    }


def notifications(core: Core) -> dict[str, Plan]:
    return {}


class _Prompts:
    def __init__(self, core: Core) -> None:
        self._core = core
        self._server = core.server
        self._prompts = core.server.prompts
        self._list = core.server.ready_list("prompts", core.replies)

    def list(self, params: ListParams, incoming: Incoming) -> Any:
        view = self._server.view(self._prompts, incoming)
        return self._list.page(
            incoming,
            params.cursor,
            version=self._prompts.version,
            seen_as=view.key,
            scope=self._server.cache_scope(),
            items=lambda: [
                definition_in(incoming.version, it.definition) for it in view.components()
            ],
        )

    def get(self, params: GetPromptParams, incoming: Incoming) -> Any:
        prompt = self._prompts.get(params.name)
        if prompt is None:
            raise failure(
                "prompt_not_found",
                f"Unknown prompt: {params.name[:100]}",
                era=incoming.era,
                profile=self._server.codes,
                name=params.name[:100],
            )
        self._server.check_scopes(prompt.scopes, incoming)
        arguments = {} if params.arguments is UNSET else params.arguments
        missing = prompt.missing(arguments)
        if missing:
            raise failure(
                "prompt_argument_missing",
                f"Invalid params: argument '{missing[0]}' of prompt '{params.name}' is missing",
                era=incoming.era,
                profile=self._server.codes,
                argument=missing[0],
            )
        context = self._core.context(incoming, params)
        result = prompt.get(arguments, context)
        finish = self._core.replies.finish
        if isawaitable(result):
            return self._core.answer(result, context, incoming, lambda it: finish(it, incoming))
        return finish(result, incoming)
