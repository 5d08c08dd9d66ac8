"""`RpcApp`: operations over JSON-RPC at one path of HTTP, with the pages that describe them.

    POST                  authenticate ─▶ the dispatcher of `accord.jsonrpc` ─▶ responses
    GET below the path    openrpc.json, explore

Methods have the names of the operations, and params by name. In the state of the call's context,
`RpcApp` passes the caller to the method, and the method passes the allowance or the error back.

A single call that lacks permission is answered 403 with the JSON-RPC error in the body; in a
batch, which has one status for all, only the error states it.
"""

from __future__ import annotations

import logging
from collections.abc import Sequence
from functools import partial
from typing import Any, Final

from msgspec import UNSET, Struct, UnsetType

from accord.jsonrpc.methods.binding import Params
from accord.jsonrpc.methods.call_plan import Plan
from accord.jsonrpc.methods.context import Context, Observer
from accord.jsonrpc.methods.method import About, ErrorAbout, Method, members
from accord.jsonrpc.methods.router import Router
from accord.jsonrpc.protocol.channel import ChannelInfo, Limits
from accord.jsonrpc.protocol.errors import own_error
from accord.jsonrpc.protocol.messages import (
    Failure,
    Id,
    Invalid,
    InvalidMessageReply,
    Success,
    encode_failure,
)
from accord.jsonrpc.protocol.session import Statistics
from accord.jsonrpc.runtime.dispatcher import Dispatcher
from accord.openrpc.api import Api
from accord.operations.adapters.errors import kind_of, rpc_error, rpc_status
from accord.operations.adapters.rest_messages import (
    JSON,
    PRIVATE,
    allowance_lines,
    correlation_line,
    error_lines,
)
from accord.operations.arguments import decode
from accord.operations.auth.accounts import Accounts
from accord.operations.auth.authentication import RequestAuthenticator
from accord.operations.auth.credentials import Addresses, RequestCredentials
from accord.operations.context import Caller
from accord.operations.errors import KINDS, InvalidError, ServiceError, UnauthenticatedError
from accord.operations.operation import Operation, Preview
from accord.operations.runner import InternalOperationError, Runner
from accord.transports.http.admission import Admission, nothing_here
from accord.transports.http.heads import WebRequest
from accord.transports.http.replies import EXHAUSTED, Reply, failure_reply
from accord.transports.http.requests import count_unasked
from accord.transports.http.web_app import Exchange, LivingApp, Underway

CALLER: Final = "accord.caller"
"""The key of the caller in the state of a call's context."""
ALLOWANCE: Final = "accord.allowance"
"""The key of the caller's allowance in the state of a context, after the call."""
ERROR: Final = "accord.error"
"""The key of the error of a refused or failed call in the state of its context."""


def rpc_router(runner: Runner) -> Router:
    """Return a router with the operations of the runner's registry as methods."""
    router = Router()
    for operation in runner.registry:
        router.put(_method(operation, runner))
    return router


def _method(operation: Operation, runner: Runner) -> Method:
    plan = _plan(operation, runner)
    return Method(
        name=operation.name,
        function=operation.function,
        mode="async",
        deadline=UNSET,
        wants_context=True,
        parameters=operation.parameters,
        returns=operation.returns | Preview if operation.writes else operation.returns,
        doc=operation.description,
        about=About(
            summary=operation.title,
            description=operation.description,
            tags=(operation.tag,) if operation.tag else (),
            errors=tuple(_errors(operation)),
        ),
        protocol=False,
        invoke=plan,
        bind=lambda params, context: partial(plan, params, context),
        naming=members,
        function_mode="async",
    )


def _plan(operation: Operation, runner: Runner) -> Plan:
    def call(params: Params, context: Context | None) -> Any:
        assert context is not None
        # Copied, so that a long call does not keep the whole received message in memory.
        return _call(b"{}" if params is UNSET else bytes(params), context)

    async def _call(params: bytes, context: Context) -> Any:
        caller: Caller | None = context.state.get(CALLER)
        try:
            if caller is None:
                raise UnauthenticatedError
            outcome = await runner.run(operation, lambda: _arguments(operation, params), caller)
        except (ServiceError, InternalOperationError) as error:
            context.state[ERROR] = error
            correlation_id = "" if caller is None else caller.correlation_id
            raise rpc_error(error, correlation_id) from error
        context.state[ALLOWANCE] = outcome.allowance
        return outcome.result

    return call


def _arguments(operation: Operation, params: bytes) -> dict[str, Any]:
    if params.lstrip()[:1] == b"[":
        raise InvalidError("", "params are given by name, in an object")
    return decode(operation, params)


def _errors(operation: Operation) -> list[ErrorAbout]:
    names = ["validation_failed", "unauthenticated", "insufficient_permissions", "not_found"]
    if operation.writes:
        names.append("conflict")
    if any(each.name == "expected_version" for each in operation.parameters):
        names.append("version_mismatch")
    names.append("rate_limited")
    return [
        ErrorAbout(KINDS[name].rpc, KINDS[name].title, {"reason": name, "correlation_id": "…"})
        for name in names
    ]


log = logging.getLogger("accord.operations.rpc")

PATH: Final = "/rpc"


class RpcHead(Struct, frozen=True):
    """The head of a request before authentication."""

    request: WebRequest
    lines: bytes
    """Header lines for the response, such as those of CORS."""


class RpcApp(LivingApp[RpcHead]):
    """An application that serves operations at `path`; implements `LivingApp`.

    `url` is the public URL, for the OpenRPC document. `trusted_proxies` are networks of proxies
    whose `X-Forwarded-For` header is trusted; `origins` are other origins whose web pages may send
    requests. `plain_refusals` sends errors for missing permission with status 200, for clients that
    discard the body of a 403.
    """

    def __init__(
        self,
        runner: Runner,
        accounts: Accounts,
        *,
        title: str = "Accord",
        version: str = "1",
        path: str = PATH,
        url: str = "",
        trusted_proxies: Sequence[str] = (),
        origins: tuple[str, ...] | None = None,
        plain_refusals: bool = False,
        limits: Limits | None = None,
        observer: Observer | None = None,
    ) -> None:
        self._authenticator = RequestAuthenticator(accounts, "rpc", Addresses(trusted_proxies))
        api = Api(rpc_router(runner), title=title, version=version, check=False)
        api.place = url
        self._router = api.router
        self._limits = Limits() if limits is None else limits
        self._admission = Admission(max_body=None, origins=origins, pages=api.pages)
        self._nothing_here = nothing_here(path)
        self._plain_refusals = plain_refusals
        self._observer = observer
        self.statistics = Statistics()
        self._dispatcher: Dispatcher | None = None
        self._underway = Underway()

    # The interface of `LivingApp`

    def judge(self, request: WebRequest) -> Reply | RpcHead:
        if request.place is None or not self._admission.knows(request.place):
            return self._nothing_here
        cors = self._admission.origins.lines(request)
        reply = self._admission.reply(request, request.place)
        if reply is not None:
            return reply.adding(cors)
        return RpcHead(request, JSON + PRIVATE + cors)

    async def admit(self, judged: RpcHead, channel: ChannelInfo) -> Reply | RpcHead:
        credentials = self._authenticator.credentials(judged.request, channel)
        try:
            await self._authenticator.caller(credentials)
        except ServiceError as error:
            correlation_id = credentials.correlation_id
            body = encode_failure(None, rpc_error(error, correlation_id))
            lines = judged.lines + error_lines(error) + correlation_line(correlation_id)
            return Reply(kind_of(error).status, lines, body)
        return judged

    def exhausted(self, request: WebRequest) -> Reply:
        return EXHAUSTED.adding(self._admission.origins.lines(request))

    def too_large(self, request: WebRequest, most: int) -> Reply:
        why = f"the message is over the limit of {most:,} bytes"
        error = own_error("message_too_large", why, maxSize=most, unit="bytes")
        return failure_reply(413, error, self._admission.origins.lines(request))

    def handle(self, judged: RpcHead, body: bytes, exchange: Exchange) -> None:
        credentials = self._authenticator.credentials(judged.request, exchange.channel)
        call = RpcCall(self, judged, credentials, exchange, is_batch=body.lstrip()[:1] == b"[")
        if len(self._underway) >= self._limits.max_in_flight:
            error = own_error("busy", "too many requests are being answered: try again")
            call.send(encode_failure(None, error), 503, b"retry-after: 1\r\n")
            return
        self._underway.begin(self._serve(call, body))

    async def start(self) -> None:
        """Do nothing: there is nothing to prepare."""

    async def close(self, drain: float) -> None:
        """Wait up to `drain` seconds for the requests in flight."""
        await self._underway.close(drain)
        if self._dispatcher is not None:
            await self._dispatcher.drain(drain)

    @property
    def plain_refusals(self) -> bool:
        return self._plain_refusals

    async def _serve(self, call: RpcCall, body: bytes) -> None:
        try:
            call.state[CALLER] = await self._authenticator.caller(call.credentials)
            answer = self._dispatch().handle(body, call)
            if answer is None or isinstance(answer, bytes):
                call.answer(answer)
        except ServiceError as error:
            call.refuse(error)
        except Exception as error:
            log.exception(
                "a request could not be served",
                extra={"correlation_id": call.credentials.correlation_id},
            )
            call.refuse(error)

    def _dispatch(self) -> Dispatcher:
        if self._dispatcher is None:
            self._dispatcher = Dispatcher(
                self._router,
                limits=self._limits,
                statistics=self.statistics,
                observer=self._observer,
                shared=True,
            )
        return self._dispatcher


class RpcCall:
    """One HTTP request with a JSON-RPC message, which is a single call or a batch.

    Implements `RequestSource` of `accord.jsonrpc`: makes contexts for the calls, sends the answer.
    """

    __slots__ = ("_app", "_exchange", "_head", "_is_batch", "credentials", "state")

    def __init__(
        self,
        app: RpcApp,
        head: RpcHead,
        credentials: RequestCredentials,
        exchange: Exchange,
        *,
        is_batch: bool,
    ) -> None:
        self._app = app
        self._head = head
        self._exchange = exchange
        self._is_batch = is_batch
        self.credentials = credentials
        self.state: dict[str, Any] = {}

    def context(self, method: str, id: Id | UnsetType) -> Context:
        fields = self._head.request.fields
        return Context(method, id, channel=self._exchange.channel, headers=fields, state=self.state)

    def answer(self, data: bytes | None) -> None:
        if data is None:
            self.send(b"", 204)
            return
        if isinstance(data, InvalidMessageReply):
            self.send(data, 400)
            return
        error = self.state.get(ERROR)
        if error is None or self._is_batch:
            self.send(data, 200, allowance_lines(self.state.get(ALLOWANCE)))
            return
        status = rpc_status(error)
        plain = status == 403 and self._app.plain_refusals
        self.send(data, 200 if plain else status, error_lines(error))

    def settle(self, response: Success | Failure | Invalid) -> None:
        count_unasked(self._app.statistics, response)

    def refuse(self, error: Exception) -> None:
        """Answer a request that failed before a method was called."""
        failed = encode_failure(None, rpc_error(error, self.credentials.correlation_id))
        self.send(failed, kind_of(error).status, error_lines(error))

    def send(self, body: bytes, status: int, lines: bytes = b"") -> None:
        headers = self._head.lines + lines + correlation_line(self.credentials.correlation_id)
        self._exchange.reply(body, status=status, headers=headers)
