"""Runs handlers for the methods of the protocol: contexts, results, time limits and errors."""

from __future__ import annotations

import asyncio
import logging
import secrets
from collections.abc import Awaitable, Callable
from typing import Any

from msgspec import UNSET

from accord.jsonrpc.catalogue import CATALOGUE
from accord.jsonrpc.errors import RpcError
from accord.jsonrpc.failures import is_foreseen
from accord.mcp.protocol.codes import failure
from accord.mcp.protocol.params import AnswerableParams
from accord.mcp.protocol.versions import Era
from accord.mcp.server.context import Context
from accord.mcp.server.deadlines import Deadlines
from accord.mcp.server.incoming import Incoming
from accord.mcp.server.replies import Replies
from accord.mcp.server.resource import ResourceNotFoundError
from accord.mcp.server.server_state import ServerState

log = logging.getLogger("accord.mcp")


class HandlerRunner:
    """Runs the handlers of one server."""

    def __init__(self, server: ServerState) -> None:
        self.server = server
        self._asker = server.asker
        self.replies = Replies(
            server.info, max_bytes=server.limits.max_result_bytes, profile=server.codes
        )
        self.deadlines = Deadlines()

    def context(self, incoming: Incoming, params: AnswerableParams | None = None) -> Context:
        """Return the context of a handler; with `params`, one that may ask the client.

        Raises RpcError for params with the answers of another request.
        """
        if incoming.shared is not None:
            shared: Context = incoming.shared
            return shared
        context = Context(incoming, self.server.lifespan_value, self._asker, params)
        if params is not None and params.request_state is not UNSET:
            context.prepare_asking()  # state that is not the request's own is refused, used or not
        return context

    async def answer(
        self,
        work: Awaitable[Any],
        context: Context,
        incoming: Incoming,
        make: Callable[[Any], Any] | None = None,
    ) -> Any:
        """Return the encoded result of a handler, after `make` if given.

        If the handler asked unanswered questions, return those. Ends the context in any case.
        """
        try:
            result = await work
        except BaseException as error:
            if context.asking is None or _must_leave(error):
                raise
            required = await context.asking.required()
            if required is None:
                raise
            return self.replies.finish(required, incoming)
        else:
            required = None if context.asking is None else await context.asking.required()
            if required is None and make is not None:
                return make(result)
            return self.replies.finish(result if required is None else required, incoming)
        finally:
            context.end()

    def unforeseen(self, error: Exception, case: str, incoming: Incoming) -> RpcError | None:
        """Return the extended profile's error for a function that failed.

        None for errors that are sent as they are, and in the standard profile, which has one
        internal error for all failures.
        """
        extended = self.server.codes == "extended" and incoming.era is Era.HANDSHAKE
        if not extended or is_foreseen(error) or isinstance(error, ResourceNotFoundError):
            return None
        correlation_id = secrets.token_hex(8)
        log.error("%s failed [%s]", incoming.method, correlation_id, exc_info=error)
        message = CATALOGUE.named(case).message
        return failure(
            case,
            message,
            era=incoming.era,
            profile=self.server.codes,
            correlationId=correlation_id,
        )


def _must_leave(error: BaseException) -> bool:
    """Return whether the caller no longer waits for a result."""
    if isinstance(error, asyncio.CancelledError):
        task = asyncio.current_task()
        return task is not None and task.cancelling() > 0
    return isinstance(error, KeyboardInterrupt | SystemExit)
