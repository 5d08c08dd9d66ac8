"""The HTTP application of the A2A agent, which offers runs as tasks.

    a message without a task id   starts a run; the run's id is derived from caller and message id
    a message with a task id      is a signal, an answer to an agent's question, or an approval
    get, cancel, follow           read a run, cancel it, stream its history

Each request runs operations, so it has the same rights, rate limits and audit records as a request
to another adapter. Both versions of the A2A format are supported.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import aclosing
from math import isfinite, nan
from typing import Any, Final

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from accord.a2a.protocol.card import (
    JSON,
    TEXT,
    WELL_KNOWN,
    AgentCard,
    Interface,
    Skill,
    bearer_scheme,
    card_wire,
    encode_card,
)
from accord.a2a.protocol.errors import failure
from accord.a2a.protocol.fields import VERSION, Wire
from accord.a2a.protocol.model import (
    TERMINAL,
    Answer,
    Event,
    ListQuery,
    Message,
    PushQuery,
    Send,
    Task,
    TaskPush,
    TaskState,
)
from accord.a2a.server.app import (
    BUSY,
    CHALLENGE,
    MAX_IN_FLIGHT,
    MISDIRECTED,
    AdmittedCall,
    RequestGate,
    RequestRunner,
    version_of,
)
from accord.a2a.server.backend import TaskPage
from accord.jsonrpc.protocol.channel import ChannelInfo
from accord.jsonrpc.protocol.errors import (
    InternalError,
    InvalidParamsError,
    InvalidRequestError,
    RpcError,
)
from accord.operations.adapters.rest_messages import allowance_lines, error_lines
from accord.operations.arguments import convert
from accord.operations.auth.accounts import Accounts
from accord.operations.auth.authentication import RequestAuthenticator
from accord.operations.auth.credentials import Addresses, RequestCredentials
from accord.operations.auth.storage import find_revoked
from accord.operations.context import Caller
from accord.operations.errors import (
    Allowance,
    ConflictError,
    ForbiddenError,
    InvalidError,
    MalformedRequestError,
    NotFoundError,
    RateLimitedError,
    ServiceError,
    UnauthenticatedError,
)
from accord.operations.operation import Operation
from accord.operations.registry import IDEMPOTENCY_KEY
from accord.operations.runner import InternalOperationError as OperationFailedError, Runner
from accord.store.store import ReadTransaction
from accord.transports.http.heads import WebRequest
from accord.transports.http.replies import Reply, failure_reply, text_reply
from accord.transports.http.web_app import SMALL_BODY, BodyLimit, Exchange, LivingApp
from accord.transports.urls import names_server
from accord.workflows.agent.operations import RunnableWorkflow, operations
from accord.workflows.agent.tasks import SKILL, A2ATask, a2a_task, task_events, task_of
from accord.workflows.operations.run_views import load_run_or_fail
from accord.workflows.storage.runs import read_conversation
from accord.workflows.watching import RunWatch

CANCEL_SECONDS: Final = 5.0
"""The maximum time that a request waits for a run to react to a cancellation or an answer."""
MAX_CONTEXT: Final = 200
"""The maximum length of a context id, in characters."""
_REFUSED: Final = (InvalidError, MalformedRequestError, NotFoundError)


class WorkflowBackend:
    """An A2A `Backend` that translates one caller's requests to operations on runs.

    The operations run with the rights of the authenticated `caller`.
    """

    takes_webhooks = False

    def __init__(self, runner: Runner, watch: RunWatch, caller: Caller) -> None:
        self._runner = runner
        self._watch = watch
        self._caller = caller
        self._allowance: Allowance | None = None

    def answer_lines(self) -> bytes:
        """Return the header lines that state the caller's remaining rate limit."""
        return allowance_lines(self._allowance)

    # Messages

    async def send(self, send: Send, caller: str) -> Answer:
        message = send.message
        if not message.message_id:
            raise InvalidParamsError("message.messageId must not be empty")
        if not message.parts:
            raise InvalidParamsError("message.parts must not be empty")
        if send.push is not None:
            raise failure("PUSH_NOTIFICATION_NOT_SUPPORTED")
        if message.task_id:
            return await self._continue(message)
        if len(message.context_id) > MAX_CONTEXT:
            raise InvalidParamsError(
                f"message.contextId has {len(message.context_id):,} characters, "
                f"over the limit of {MAX_CONTEXT}"
            )
        if send.blocking:
            self._require_read()  # before a run starts whose end the caller may not read
        arguments = {"message": message, "skill": send.metadata.get(SKILL)}
        return task_of(await self._run(operations["begin_task"], arguments))

    def _require_read(self) -> None:
        """Raise RpcError if the caller's token does not permit reading runs."""
        try:
            self._caller.require("read", "waiting for a task")
        except ForbiddenError as error:
            raise _rpc_error(error) from error

    async def _continue(self, message: Message) -> Task:
        """Answer the run whose id is the task id of the message; return its task."""
        task = await self._find(message.task_id)
        if message.context_id not in ("", task.context_id):
            raise InvalidParamsError("message.contextId is not that of the task")
        arguments = {
            "id": task.run.row.id,
            "message": message,
            # A repeated message gets the first answer, and changes nothing.
            IDEMPOTENCY_KEY: f"a2a/{message.message_id}",
        }
        await self._run(operations["continue_task"], arguments)
        return await self._after_answer(task)

    async def _after_answer(self, task: A2ATask) -> Task:
        """Wait until the run has recorded the client's message; return the run's task.

        After about `CANCEL_SECONDS`, return the task even if the message is not recorded yet.
        """
        run = task.run
        if run.state.phase != "running":
            return task_of(task)
        until = time.monotonic() + CANCEL_SECONDS
        async with aclosing(self._watch.follow(run.row.id, run.state.applied)) as following:
            async for events in following:
                if events or time.monotonic() > until:
                    break
        return await self._now(run.row.id)

    # Tasks

    async def get(self, task_id: str, caller: str) -> Task:
        return task_of(await self._find(task_id))

    async def cancel(self, task_id: str, caller: str) -> Task:
        run = await self._find(task_id)
        if task_of(run).status.state in TERMINAL:
            raise failure("TASK_NOT_CANCELABLE", "The task is over", taskId=task_id)
        operation = self._runner.registry["cancel_run"]
        await self._run(operation, convert(operation, {"run": task_id}))
        await self._watch.wait(task_id, CANCEL_SECONDS)
        return await self._now(task_id)

    async def follow(
        self, task_id: str, caller: str, until: frozenset[TaskState]
    ) -> AsyncGenerator[Event, None]:
        run = await self._find(task_id)
        task = task_of(run)
        yield task
        if task.status.state in until:
            return
        async with aclosing(self._watch.follow(task_id, run.run.state.applied)) as following:
            async for events in following:
                if not events and await self._is_revoked():
                    return
                if events:
                    now = await self._now(task_id)
                    for event in task_events(task, now):
                        yield event
                    task = now
                if task.status.state in until:
                    return

    async def _is_revoked(self) -> bool:
        """Return True if the caller's token or account has been revoked since the request began."""
        return self._caller in await self._runner.store.read(
            lambda db: find_revoked(db, [self._caller])
        )

    async def list(self, query: ListQuery, caller: str) -> TaskPage:
        def fits(run: A2ATask) -> bool:
            task = task_of(run)
            return query.state in (None, task.status.state) and (
                not query.updated_after or task.status.timestamp >= query.updated_after
            )

        arguments = {
            "context": query.context_id,
            "before": _page_place(query.page_token),
            "fits": fits,
            "limit": query.page_size,
        }
        found = await self._run(operations["list_tasks"], arguments)
        tasks = [task_of(run).with_history(query.history_length) for run in found.runs]
        if not query.include_artifacts:
            tasks = [msgspec.structs.replace(task, artifacts=()) for task in tasks]
        return TaskPage(tasks=tuple(tasks), next_page=_page_token(found.after), total=found.total)

    # Push notifications are not supported

    async def set_push(self, push: TaskPush, caller: str) -> TaskPush:
        raise failure("PUSH_NOTIFICATION_NOT_SUPPORTED")

    async def list_push(self, query: PushQuery, caller: str) -> Sequence[TaskPush]:
        raise failure("PUSH_NOTIFICATION_NOT_SUPPORTED")

    async def delete_push(self, query: PushQuery, caller: str) -> None:
        raise failure("PUSH_NOTIFICATION_NOT_SUPPORTED")

    async def close(self, drain: float) -> None:
        """Do nothing: a run continues when no client follows it."""

    # Operations

    async def _find(self, task_id: str) -> A2ATask:
        try:
            return await self._run_bare(operations["find_task"], {"id": task_id})  # type: ignore[no-any-return]
        except NotFoundError:
            raise failure("TASK_NOT_FOUND", taskId=task_id[:100]) from None
        except ServiceError as error:
            raise _rpc_error(error) from error

    async def _now(self, task_id: str) -> Task:
        """Return the current task of a run that is known to belong to the caller.

        The read bypasses the operations, so it is neither rate-limited nor audited.
        """

        async def read(db: ReadTransaction) -> A2ATask:
            run = await load_run_or_fail(self._runner.work(db, self._caller), task_id)
            return a2a_task(run, await read_conversation(db, task_id))

        return task_of(await self._runner.store.read(read, snapshot=True))

    async def _run(self, operation: Operation, arguments: Mapping[str, Any]) -> Any:
        try:
            return await self._run_bare(operation, arguments)
        except ServiceError as error:
            raise _rpc_error(error) from error
        except OperationFailedError as error:
            raise InternalError(str(error)) from error

    async def _run_bare(self, operation: Operation, arguments: Mapping[str, Any]) -> Any:
        try:
            outcome = await self._runner.run(operation, arguments, self._caller)
        except ServiceError as error:
            self._allowance = error.allowance or self._allowance
            raise
        self._allowance = outcome.allowance or self._allowance
        return outcome.result


def _rpc_error(error: ServiceError) -> RpcError:
    """Return the A2A error for an error of an operation.

    Temporary failures, such as an exceeded rate limit, become an A2A internal error.
    """
    if isinstance(error, _REFUSED):
        return InvalidParamsError(error.message)
    if isinstance(error, ForbiddenError):
        scope = error.data.get("required_scope")
        details = {"requiredScope": str(scope)} if scope else {}
        return failure("UNSUPPORTED_OPERATION", error.message, **details)
    if isinstance(error, ConflictError):
        return failure("UNSUPPORTED_OPERATION", error.message)
    return InternalError(error.message)


def _page_token(place: tuple[float, str] | None) -> str:
    return "" if place is None else f"{place[0]!r}/{place[1]}"


def _page_place(token: str) -> tuple[float, str] | None:
    """Decode a page token to a position in the list of runs; None if it is empty.

    Raise InvalidParamsError if the token is invalid.
    """
    if not token:
        return None
    number, _, id = token.partition("/")
    try:
        place = float(number)
    except ValueError:
        place = nan
    if not isfinite(place):
        raise InvalidParamsError("pageToken is none that was given here")
    return place, id


DESCRIPTION: Final = (
    "Runs workflows: message.metadata.skill names one. Send credentials with the request for this "
    "card to see which there are."
)
_ANY: Final = Skill(
    id="run",
    name="run a workflow",
    description="Which workflows there are is told to whoever sends credentials.",
    tags=("workflow",),
)


def workflow_card(
    url: str, *, name: str, version: str, offered: Sequence[RunnableWorkflow]
) -> AgentCard:
    """Return the agent card, with one skill for each active workflow."""
    return AgentCard(
        name=name,
        description=DESCRIPTION,
        version=version,
        interfaces=tuple(Interface(url=url, version=wire) for wire in (Wire.V10, Wire.V03)),
        skills=tuple(map(_skill, offered)) or (_ANY,),
        streaming=True,
        input_modes=(TEXT, JSON),
        output_modes=(TEXT, JSON),
        security_schemes={"bearer": bearer_scheme()},
    )


def _skill(offered: RunnableWorkflow) -> Skill:
    return Skill(
        id=offered.name,
        name=offered.name,
        description=offered.description or f"Runs the workflow {offered.name}.",
        tags=("workflow",),
    )


PATH: Final = "/a2a"
_CARD_HEADERS: Final = (
    b"content-type: application/json\r\ncache-control: private, no-cache\r\n"
    b"vary: authorization, " + VERSION.lower().encode() + b"\r\n"
)


class AgentHead(Struct, frozen=True):
    """The head of a request that `WorkflowAgentApp.judge` has admitted.

    `entered` has the facts about a JSON-RPC request; it is None for a request for the agent card.
    """

    request: WebRequest
    entered: AdmittedCall | None
    url: str = ""
    """The agent's URL, as stated in its card."""


class WorkflowAgentApp(LivingApp[AgentHead]):
    """The HTTP application of the A2A agent.

    It serves JSON-RPC requests at the path `/a2a`, and the agent card at
    `/.well-known/agent-card.json`.

    `url` is the agent's public URL, as stated in the card. If `url` is empty, the card states the
    address that the server is bound to, or the host that the request names, if `hosts` has it: the
    Host headers that are allowed in addition. A request for the card with any other Host header is
    rejected.
    """

    def __init__(
        self,
        runner: Runner,
        accounts: Accounts,
        watch: RunWatch,
        *,
        name: str,
        version: str,
        url: str = "",
        hosts: Sequence[str] = (),
        trusted_proxies: Sequence[str] = (),
    ) -> None:
        self._runner = runner
        self._watch = watch
        self._authenticator = RequestAuthenticator(accounts, "a2a", Addresses(trusted_proxies))
        self._described = {"name": name, "version": version}
        self._url = url
        self._hosts = frozenset(each.lower() for each in hosts)
        self._gate = RequestGate(lambda _bound: self._card((), url), None, has_url=True)
        self._answering = RequestRunner()
        self._under_way: set[asyncio.Task[None]] = set()

    # Hooks of `LivingApp`

    def judge(self, request: WebRequest) -> Reply | AgentHead:
        is_card = request.path == WELL_KNOWN or f"/{request.place}" == WELL_KNOWN
        url = self._card_url(request) if is_card else ""
        if url is None:
            return MISDIRECTED
        if is_card and request.method in ("GET", "HEAD"):
            return AgentHead(request, None, url)
        entered = self._gate.judge(request)
        return entered if isinstance(entered, Reply) else AgentHead(request, entered)

    def _card_url(self, request: WebRequest) -> str | None:
        """Return the agent's URL for the card; None if the request's Host header is not allowed."""
        if self._url:
            return self._url
        host = request.fields.get("host", "")
        if names_server(host, bound=request.bound):
            return f"{request.bound}{PATH}"
        if names_server(host, bound="", allowed=self._hosts):
            return f"{request.bound.partition('://')[0]}://{host}{PATH}"
        return None

    def body_limit(self, judged: AgentHead) -> BodyLimit:
        return SMALL_BODY if judged.entered is None else BodyLimit()

    async def admit(self, judged: AgentHead, channel: ChannelInfo) -> Reply | AgentHead:
        if judged.entered is not None:
            try:
                credentials = self._authenticator.credentials(judged.request, channel)
                await self._authenticator.caller(credentials)
            except ServiceError as error:
                return _refusal(error)
        return judged

    def too_large(self, request: WebRequest, most: int) -> Reply:
        why = f"the message is over the limit of {most:,} bytes"
        return failure_reply(413, InvalidRequestError(why))

    def handle(self, judged: AgentHead, body: bytes, exchange: Exchange) -> None:
        if len(self._under_way) >= MAX_IN_FLIGHT:
            _reply(exchange, BUSY)
            return
        credentials = self._authenticator.credentials(judged.request, exchange.channel)
        serving = self._serve(judged, credentials, body, exchange)
        task = asyncio.get_running_loop().create_task(serving)
        self._under_way.add(task)
        task.add_done_callback(self._under_way.discard)

    async def start(self) -> None:
        """Do nothing: there is nothing to prepare."""

    async def close(self, drain: float) -> None:
        """End all streams; the runs that they follow continue."""
        for task in tuple(self._under_way):
            task.cancel()
        await self._answering.close()

    # One request

    async def _serve(
        self, head: AgentHead, credentials: RequestCredentials, body: bytes, exchange: Exchange
    ) -> None:
        try:
            if head.entered is None:
                await self._send_card(head, credentials, exchange)
                return
            caller = await self._authenticator.caller(credentials)
        except ServiceError as error:
            _reply(exchange, _refusal(error))
            return
        backend = WorkflowBackend(self._runner, self._watch, caller)
        entered = replace(head.entered, correlation_id=credentials.correlation_id)
        self._answering.answer(backend, entered, body, exchange, backend.answer_lines)

    async def _send_card(
        self, head: AgentHead, credentials: RequestCredentials, exchange: Exchange
    ) -> None:
        """Reply with the agent card; list no workflows unless the caller may read them."""
        offered: Sequence[RunnableWorkflow] = ()
        lines = b""
        if credentials.token:
            caller = await self._authenticator.caller(credentials)
            if caller.may("read"):  # other callers may start runs, and need the card too
                outcome = await self._runner.run(operations["list_skills"], {}, caller)
                offered, lines = outcome.result, allowance_lines(outcome.allowance)
        card = self._card(offered, head.url)
        body = encode_card(card, card_wire(card, version_of(head.request)))
        exchange.reply(body, headers=_CARD_HEADERS + lines)

    def _card(self, offered: Sequence[RunnableWorkflow], url: str) -> AgentCard:
        return workflow_card(url, offered=offered, **self._described)


def _refusal(error: ServiceError) -> Reply:
    """Return the HTTP reply to a request whose authentication failed."""
    match error:
        case UnauthenticatedError():
            return text_reply(401, "credentials are missing or wrong", CHALLENGE)
        case RateLimitedError():
            return text_reply(429, error.message, error_lines(error))
        case _:
            return text_reply(error.kind.status, error.message)


def _reply(exchange: Exchange, reply: Reply) -> None:
    exchange.reply(reply.body, status=reply.status, headers=reply.headers)
