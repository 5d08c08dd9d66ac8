"""Workflows as an agent over HTTP: the card, and JSON-RPC in both formats."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Final

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
from accord.a2a.protocol.fields import VERSION, Wire
from accord.a2a.server.app import (
    BUSY,
    CHALLENGE,
    MAX_IN_FLIGHT,
    MISDIRECTED,
    AdmittedRequest,
    RequestGate,
    RequestRunner,
    version_of,
)
from accord.jsonrpc.protocol.channel import ChannelInfo
from accord.jsonrpc.protocol.errors import InvalidRequestError
from accord.operations.adapters.responses import allowance_lines, error_lines
from accord.operations.auth.accounts import Accounts
from accord.operations.auth.authentication import RequestAuthenticator
from accord.operations.auth.credentials import Addresses, Credentials
from accord.operations.errors import RateLimitedError, ServiceError, UnauthenticatedError
from accord.operations.runner import Runner
from accord.transports.http.replies import Reply, failure_reply, text_reply
from accord.transports.urls import names_server
from accord.transports.web.app import SMALL_BODY, BodyLimit, Exchange, LivingApp, WebRequest
from accord.workflows.agent.backend import WorkflowBackend
from accord.workflows.agent.operations import RunnableWorkflow, operations
from accord.workflows.watching import RunWatch

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
    """Return the card, with a skill for each active workflow."""
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
    """The head of an admitted request; `entered` is None if it is for the card."""

    request: WebRequest
    entered: AdmittedRequest | None
    url: str = ""
    """The URL that the card names."""


class WorkflowAgentApp(LivingApp[AgentHead]):
    """Serves workflows, at `PATH` and for its card at `WELL_KNOWN`; implements `LivingApp`.

    `url` is where clients find it. Without one the card has the address that a request reached, or
    the host that it names if that is one of `hosts`; it is not shown to those who name another.
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
        self._gate = RequestGate(lambda bound: self._card((), url), None, has_url=True)
        self._answering = RequestRunner()
        self._under_way: set[asyncio.Task[None]] = set()

    # What carries this application asks: see `LivingApp`

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
        """Return the URL for the card; None for a host that anybody could have made up."""
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
        """End streams; runs go on without them."""
        for task in tuple(self._under_way):
            task.cancel()
        await self._answering.close()

    # One request

    async def _serve(
        self, head: AgentHead, credentials: Credentials, body: bytes, exchange: Exchange
    ) -> None:
        try:
            if head.entered is None:
                await self._show(head, credentials, exchange)
                return
            caller = await self._authenticator.caller(credentials)
        except ServiceError as error:
            _reply(exchange, _refusal(error))
            return
        backend = WorkflowBackend(self._runner, self._watch, caller)
        entered = replace(head.entered, correlation_id=credentials.correlation_id)
        self._answering.answer(backend, entered, body, exchange, backend.answer_lines)

    async def _show(self, head: AgentHead, credentials: Credentials, exchange: Exchange) -> None:
        """Answer with the card; without credentials it lists no skills."""
        offered: Sequence[RunnableWorkflow] = ()
        lines = b""
        if credentials.token:
            caller = await self._authenticator.caller(credentials)
            if caller.may("read"):  # others may start runs all the same, and need a card
                outcome = await self._runner.run(operations["list_skills"], {}, caller)
                offered, lines = outcome.result, allowance_lines(outcome.allowance)
        card = self._card(offered, head.url)
        body = encode_card(card, card_wire(card, version_of(head.request)))
        exchange.reply(body, headers=_CARD_HEADERS + lines)

    def _card(self, offered: Sequence[RunnableWorkflow], url: str) -> AgentCard:
        return workflow_card(url, offered=offered, **self._described)


def _refusal(error: ServiceError) -> Reply:
    """Return the answer to a request without valid credentials."""
    match error:
        case UnauthenticatedError():
            return text_reply(401, "credentials are missing or wrong", CHALLENGE)
        case RateLimitedError():
            return text_reply(429, error.message, error_lines(error))
        case _:
            return text_reply(error.kind.status, error.message)


def _reply(exchange: Exchange, reply: Reply) -> None:
    exchange.reply(reply.body, status=reply.status, headers=reply.headers)
