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

from accord.a2a.client.client import Auth, Trace
from accord.a2a.client.exchange import Exchanger
from accord.a2a.protocol.addresses import AddressPolicy
from accord.a2a.protocol.answers import BOM, MAX_BODY_KEPT
from accord.a2a.protocol.errors import MalformedAnswerError
from accord.a2a.protocol.model import TERMINAL, TaskState, state_of
from accord.a2a.protocol.outcome import ResultError, TaskResult
from accord.jsonrpc.nesting import decode_json
from accord.workflows.bridge.addresses import web_address

MAX_ERROR: Final = 2_000
"""Characters of an error that is no text."""
NO_OUTPUT: Final = "the agent's answer has no output: the whole of it is the output"

_MEMBERS: Final = frozenset(("task_id", "status", "output", "error"))
_JSON: Final = {"accept": "application/json", "content-type": "application/json"}


class _Request(Struct, frozen=True):
    task_id: str
    input: Any


class PlainAnswer(Struct, frozen=True):
    """What an agent answered, and what is wrong with how it did."""

    result: TaskResult
    warning: str = ""


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

    async def call(self, input: Any, *, task_id: str, message_id: str, trace: Trace) -> PlainAnswer:
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


def read_answer(body: bytes, task_id: str) -> PlainAnswer:
    """Return the result in an answer. Raises MalformedAnswerError.

    The status may have other names, such as "done", and be missing where an output or an error
    says the same; work in progress is no answer, as there is nothing to follow. Of a success whose
    output is in another member the whole answer is the output.
    """
    try:
        answer = decode_json(body.removeprefix(BOM), dict[str, Any])
    except (ValueError, msgspec.DecodeError) as error:
        why = f"the agent's answer is not valid: {error}"
        raise MalformedAnswerError(why, body=body[:MAX_BODY_KEPT]) from None
    said, status, failure = answer.get("task_id"), answer.get("status"), answer.get("error")
    if said is None:
        why = "the agent's answer is not valid: Object missing required field `task_id`"
        raise MalformedAnswerError(why, body=body[:MAX_BODY_KEPT])
    if isinstance(said, bool) or str(said) != task_id:
        why = f"the answer is for task {str(said)[:80]!r}, not {task_id!r}"
        raise MalformedAnswerError(why, body=body[:MAX_BODY_KEPT])
    succeeded = _succeeded(answer, body)
    known = "success" if succeeded else "error"
    warning = "" if status == known else f"the status is {_shown(status)}: it is taken as {known!r}"
    if not succeeded:
        return PlainAnswer(TaskResult(task_id, "error", None, _error(failure)), warning)
    if "output" in answer or answer.keys() <= _MEMBERS:
        return PlainAnswer(TaskResult(task_id, "success", answer.get("output")), warning)
    warning = "; ".join(filter(None, (warning, NO_OUTPUT)))
    return PlainAnswer(TaskResult(task_id, "success", answer), warning)


def _succeeded(answer: dict[str, Any], body: bytes) -> bool:
    status = answer.get("status")
    if status in ("", None) and (answer.get("error") or answer.get("output") is not None):
        return not answer.get("error")
    state = state_of(status)
    if state is TaskState.COMPLETED:
        return True
    if state in TERMINAL:
        return False
    why = f"the agent's answer is not valid: the status is {_shown(status)}"
    raise MalformedAnswerError(f"{why}, not 'success' or 'error'", body=body[:MAX_BODY_KEPT])


def _error(said: Any) -> ResultError:
    """Return an error of an agent, which may also be a text."""
    error = said if isinstance(said, dict) else {"message": said}
    code: Any = error.get("code")
    message: Any = error.get("message") or (said if error is said else "")
    if message and not isinstance(message, str):
        message = msgspec.json.encode(message).decode()[:MAX_ERROR]
    is_code = isinstance(code, str | int) and not isinstance(code, bool)
    return ResultError(
        code if is_code else "agent_error", message or "the agent failed, and did not say why"
    )


def _shown(value: Any) -> str:
    return repr(str("" if value is None else value)[:40])
