"""`completion/complete`: what an argument of a prompt or a template could be."""

from __future__ import annotations

from inspect import isawaitable
from typing import TYPE_CHECKING, Any, Final

from accord.jsonrpc.call_plan import Plan
from accord.mcp.protocol.params import CompleteParams
from accord.mcp.protocol.results import CompleteResult, Completion
from accord.mcp.server.core import Row
from accord.mcp.server.incoming import Incoming

if TYPE_CHECKING:
    from accord.mcp.server.core import Core

MAX_VALUES: Final = 100
"""2025-11-25, completion: at most so many values in one answer."""


def methods(core: Core) -> dict[str, Row]:
    return {"completion/complete": Row(CompleteParams, _Completion(core).complete)}


def notifications(core: Core) -> dict[str, Plan]:
    return {}


class _Completion:
    def __init__(self, core: Core) -> None:
        self._core = core

    def complete(self, params: CompleteParams, incoming: Incoming) -> Any:
        found = self._core.server.completions.complete(params, self._core.context(incoming))
        if isawaitable(found):
            return self._later(found, incoming)
        return self._result(found, incoming)

    async def _later(self, found: Any, incoming: Incoming) -> Any:
        return self._result(await found, incoming)

    def _result(self, found: Any, incoming: Incoming) -> Any:
        if not isinstance(found, Completion):
            values = list(found or ())
            found = Completion(
                values=values[:MAX_VALUES], total=len(values), has_more=len(values) > MAX_VALUES
            )
        return self._core.replies.finish(CompleteResult(completion=found), incoming)
