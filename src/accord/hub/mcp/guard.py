"""Every request is somebody's, and is on record: those that no operation serves are written down
here, cost something, and need the right to read where they tell what is stored."""

from __future__ import annotations

from collections.abc import Awaitable
from typing import Final

from accord.jsonrpc.errors import RpcError
from accord.mcp.server.incoming import Incoming
from accord.operations.audit.record import Record, Result
from accord.operations.caller import Caller
from accord.operations.errors import ForbiddenError, RateLimitedError, ServiceError
from accord.operations.faces.mapping import mcp_error
from accord.operations.faces.tools import told_to_programs
from accord.operations.faces.tools_caller import caller_in, keep_allowance
from accord.operations.runner import Runner

BY_OPERATIONS: Final = frozenset(("tools/call", "resources/read", "prompts/get"))
"""Methods served by operations; the operation runner records them."""
UNRECORDED: Final = frozenset(("ping",))
COST: Final = 1
"""The cost of such a request in the rate limit of its caller."""
READING: Final = frozenset(
    (
        "resources/list",
        "resources/subscribe",
        "prompts/list",
        "completion/complete",
        "subscriptions/listen",
    )
)
"""Methods that reveal stored data."""


class Guard:
    """A guard that authorizes, charges and records the requests of one hub."""

    def __init__(self, runner: Runner) -> None:
        self._runner = runner

    def __call__(self, incoming: Incoming) -> Awaitable[None] | None:
        """Raise RpcError for anonymous callers and those without the right to read."""
        method = incoming.method
        if method in BY_OPERATIONS:
            return None  # the operation authorizes the caller
        caller = caller_in(incoming)
        if method in UNRECORDED:
            return None
        try:
            if method in READING:
                caller.require("read", method)
        except ForbiddenError as error:
            self._record(caller, method, "denied", error.kind.code)
            raise _told(error, caller, incoming) from None
        return self._charge(caller, incoming)

    async def _charge(self, caller: Caller, incoming: Incoming) -> None:
        """Raise RpcError if the caller exceeds the rate limit."""
        try:
            keep_allowance(incoming, await self._runner.take(caller, COST))
        except RateLimitedError as error:
            keep_allowance(incoming, error.allowance)
            self._record(caller, incoming.method, "refused", error.kind.code)
            raise _told(error, caller, incoming) from None
        self._record(caller, incoming.method)

    def _record(
        self, caller: Caller, method: str, outcome: Result = "done", error: str = ""
    ) -> None:
        self._runner.trail.later(
            Record(
                id=self._runner.new_id(),
                time=self._runner.now(),
                actor_id=caller.user_id,
                actor=caller.username,
                via=caller.via,
                face=caller.face,
                token_id=caller.token_id,
                client=caller.client,
                address=caller.address,
                operation=method,
                target=method.partition("/")[0],
                outcome=outcome,
                error=error,
                correlation_id=caller.correlation_id,
            )
        )


def _told(error: ServiceError, caller: Caller, incoming: Incoming) -> RpcError:
    return mcp_error(error, caller.correlation_id, era=incoming.era, **told_to_programs(error))
