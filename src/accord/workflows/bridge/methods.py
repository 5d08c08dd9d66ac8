"""Calls methods of JSON-RPC over HTTP. Addresses are asked by the same rules as those of agents.

A call that is made again has the same id, and the same Idempotency-Key.
"""

from __future__ import annotations

from typing import Any, Final

import msgspec
from msgspec import UNSET

from accord.a2a.client.exchange import Exchanger
from accord.a2a.protocol.addresses import AddressPolicy
from accord.a2a.protocol.answers import read_result
from accord.a2a.protocol.errors import RefusedError
from accord.jsonrpc.codec import encode
from accord.jsonrpc.messages import Request
from accord.workflows.bridge import logs
from accord.workflows.bridge.addresses import web_address
from accord.workflows.bridge.caller import Outcome, Progress, Succeeded, Terms
from accord.workflows.bridge.claimed import ClaimedTask
from accord.workflows.bridge.lines import MAX_ANSWER
from accord.workflows.bridge.message_ids import message_id_of
from accord.workflows.bridge.spans import Spans, span_of
from accord.workflows.core.events import CallMethod

TIMEOUT_SECONDS: Final = 30.0
POOL: Final = 64

_JSON: Final = {"accept": "application/json", "content-type": "application/json"}


class MethodCaller:
    """Does the tasks of kind method; implements `TaskCaller`. Belongs to one event loop."""

    def __init__(self, policy: AddressPolicy, *, spans: Spans | None = None) -> None:
        self._exchanger = Exchanger(
            policy=policy, tls=None, timeout=TIMEOUT_SECONDS, max_bytes=MAX_ANSWER, pool=POOL
        )
        self._spans = spans

    async def close(self) -> None:
        """End all connections."""
        self._exchanger.close()

    async def terms(self, target: str) -> Terms:
        web_address(target)
        return Terms()

    async def call(self, task: ClaimedTask, progress: Progress) -> Outcome:
        command = task.command
        assert isinstance(command, CallMethod)
        id = message_id_of(task)
        request = encode(Request(id, command.target.method, _params(command.input)))
        with span_of(self._spans, task) as traceparent:
            trace = logs.trace_of(task, traceparent)
            headers = {**trace.headers, **_JSON, "idempotency-key": id}
            address = web_address(command.target.url)
            if trace.tell is not None:
                trace.tell("sent", request)
            body = await self._exchanger.ask("POST", address, headers, request, id=id)
            if trace.tell is not None:
                trace.tell("received", body)
            return Succeeded(output=read_result(body, id, msgspec.json.decode))

    async def cancel(self, task: ClaimedTask) -> None:
        """The end of the connection said it."""


def _params(input: Any) -> Any:
    # JSON-RPC 2.0, section 4.2: params are a structured value, or left out
    if input is None:
        return UNSET
    if not isinstance(input, dict | list):
        raise RefusedError("params", "the input of a method is an object or a list")
    return input
