"""Agents of the older plain format: one POST, and the answer when the work is done.

    POST {"task_id": "…", "input": …}
    200  {"task_id": "…", "status": "success" | "error", "output": …, "error": {"code", "message"}}

There is nothing to follow and nothing to cancel: who waits no longer ends the connection.
"""

from __future__ import annotations

from types import TracebackType
from typing import Any, Final

import msgspec
from msgspec import Struct

from accord.a2a.client.auth import Auth
from accord.a2a.client.exchange import Exchanger
from accord.a2a.client.trace import Trace
from accord.a2a.protocol.addresses import AddressPolicy
from accord.a2a.protocol.answers import BOM, MAX_KEPT
from accord.a2a.protocol.errors import MalformedAnswerError
from accord.a2a.protocol.outcome import ResultError, TaskResult
from accord.a2a.protocol.state_words import state_of
from accord.a2a.protocol.states import TERMINAL, TaskState
from accord.jsonrpc.nesting import decode_json
from accord.workflows.bridge.addresses import web_address

_JSON: Final = {"accept": "application/json", "content-type": "application/json"}


class _Request(Struct, frozen=True):
    task_id: str
    input: Any


class _Error(Struct, frozen=True):
    message: str = ""
    code: str | int = "agent_error"


class _Answer(Struct, frozen=True):
    task_id: str
    status: str = ""
    output: Any = None
    error: _Error | str | None = None


class PlainClient:
    """Calls one agent of the older format, while it is entered."""

    def __init__(
        self,
        url: str,
        *,
        auth: Auth | None,
        policy: AddressPolicy,
        timeout: float,
        max_bytes: int,
        pool: int,
    ) -> None:
        self._address = web_address(url)
        self._auth = {} if auth is None else auth.headers
        self._settings: dict[str, Any] = {
            "policy": policy,
            "tls": None,
            "timeout": timeout,
            "max_bytes": max_bytes,
            "pool": pool,
        }
        self._exchanger: Exchanger

    async def __aenter__(self) -> PlainClient:
        self._exchanger = Exchanger(**self._settings)
        return self

    async def __aexit__(
        self,
        exc_type: type[BaseException] | None,
        exc: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self._exchanger.close()

    async def call(self, input: Any, *, task_id: str, message_id: str, trace: Trace) -> TaskResult:
        """What the agent made of `input`. A message that is sent again has the same
        Idempotency-Key. Raises CallError."""
        request = msgspec.json.encode(_Request(task_id, input))
        headers = {**trace.headers, **_JSON, "idempotency-key": message_id, **self._auth}
        if trace.tell is not None:
            trace.tell("sent", request)
        body = await self._exchanger.ask("POST", self._address, headers, request)
        if trace.tell is not None:
            trace.tell("received", body)
        return read_answer(body, task_id)

    async def ping(self) -> None:
        """Whether something answers there, whatever it says to a GET. Raises CallError."""
        await self._exchanger.ask("GET", self._address, {**self._auth, "accept": "*/*"})


def read_answer(body: bytes, task_id: str) -> TaskResult:
    """Return the result in an answer. Raises MalformedAnswerError.

    The status may have other names, such as "done", and be missing where an output or an error
    says the same; work in progress is no answer, as there is nothing to follow.
    """
    try:
        answer = decode_json(body.removeprefix(BOM), _Answer)
    except (ValueError, msgspec.DecodeError) as error:
        why = f"the agent's answer is not valid: {error}"
        raise MalformedAnswerError(why, body=body[:MAX_KEPT]) from None
    if answer.task_id != task_id:
        why = f"the answer is for task {answer.task_id[:80]!r}, not {task_id!r}"
        raise MalformedAnswerError(why, body=body[:MAX_KEPT])
    if _succeeded(answer, body):
        return TaskResult(task_id, "success", answer.output)
    said = _Error(answer.error) if isinstance(answer.error, str) else answer.error or _Error()
    told = ResultError(said.code, said.message or "the agent failed, and did not say why")
    return TaskResult(task_id, "error", None, told)


def _succeeded(answer: _Answer, body: bytes) -> bool:
    if not answer.status and (answer.error or answer.output is not None):
        return not answer.error
    state = state_of(answer.status)
    if state is TaskState.COMPLETED:
        return True
    if state in TERMINAL:
        return False
    why = f"the agent's answer is not valid: the status is {answer.status[:40]!r}"
    raise MalformedAnswerError(f"{why}, not 'success' or 'error'", body=body[:MAX_KEPT])
