"""Operations as MCP tools, and their callers.

The list of tools is the same for everybody, on one page, in the order of the registry. A tool reads
the arguments, runs the operation as the caller, and renders the outcome: a model gets errors that
it can correct as results, while missing permissions and exceeded rate limits are errors of the
protocol. `TokenAuthenticator` puts the `Caller` among the claims of a request's principal.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from datetime import datetime
from typing import Any, Final, TypeAlias

from msgspec import UNSET, Raw, UnsetType
from msgspec.structs import replace

from accord.jsonrpc.protocol.channel import ChannelInfo
from accord.jsonrpc.protocol.messages import encode, encode_failure
from accord.mcp.protocol.definitions import Implementation, Tool, ToolAnnotations
from accord.mcp.protocol.headers import VERSION
from accord.mcp.protocol.messages import CallToolResult, Profile, failure
from accord.mcp.protocol.versions import Era, era
from accord.mcp.server.auth.authenticator import (
    MalformedCredentials,
    PresentedToken,
    Refusal,
    UnavailableError as UnverifiableError,
    credentials_in,
)
from accord.mcp.server.auth.bearer import BearerAuth
from accord.mcp.server.components.tools import ServedTool, whole_numbers
from accord.mcp.server.context import Context
from accord.mcp.server.server import Server
from accord.mcp.server.session import Incoming, Principal
from accord.operations.adapters.errors import is_for_models, mcp_error
from accord.operations.adapters.mcp_results import MAX_ITEMS, Results, TooManyItemsError
from accord.operations.adapters.mcp_schemas import input_schema, output_schema
from accord.operations.adapters.rest_messages import allowance_lines, error_lines
from accord.operations.arguments import argument_set
from accord.operations.auth.accounts import Accounts
from accord.operations.auth.authentication import RequestAuthenticator
from accord.operations.auth.credentials import Addresses, RequestCredentials, bearer
from accord.operations.context import Caller, client_name, new_id
from accord.operations.errors import (
    Allowance,
    ForbiddenError,
    InvalidError,
    RateLimitedError,
    ServiceError,
    ServiceUnavailableError,
    UnauthenticatedError,
)
from accord.operations.operation import Abilities, Operation, Outcome, abilities
from accord.operations.runner import Arguments, InternalOperationError, Runner
from accord.telemetry.observers import current_traceparent
from accord.transports.http.heads import WebRequest

CALLER: Final = "caller"
"""The claim of a principal that contains the `Caller`."""
ALLOWANCE: Final = "allowance"
"""The claim of a principal that contains the caller's `Allowance`, once a call was counted."""

_BEARER: Final = PresentedToken("bearer", "")
"""A token without text; challenges of refusals name its scheme, bearer."""


class TokenAuthenticator(BearerAuth):
    """An authenticator of MCP requests by access tokens and tokens of login sessions.

    `Accounts` checks the token, as for every other adapter; the refusals are those of `BearerAuth`.
    """

    repeatable = True

    def __init__(self, accounts: Accounts, addresses: Addresses | None = None) -> None:
        self._authenticator = RequestAuthenticator(accounts, "mcp", addresses)
        self._tokens = _Tokens(self._authenticator)
        super().__init__(self._tokens)

    def refusal(self, request: WebRequest) -> Refusal | None:
        """Return None, so that `authenticate` refuses the request.

        Only `authenticate` knows the client's address, which the audit record needs.
        """
        return None

    def authenticate(
        self, request: WebRequest, channel: ChannelInfo | None = None
    ) -> Principal | Refusal | Awaitable[Principal | Refusal]:
        credentials = self._authenticator.credentials(request, channel)
        in_url = request.once(_token_in_url)
        if in_url is not None or not credentials.bearer:
            self._authenticator.refused("missing" if in_url is None else "malformed", credentials)
            return self._refuse(in_url, request)
        caller = self._authenticator.caller_now(credentials)
        if caller is not None:
            return _principal(caller)
        return self._later(self._tokens.identify(credentials), _BEARER, request)

    def answer_lines(self, principal: Principal) -> bytes:
        return allowance_lines(principal.claims.get(ALLOWANCE))

    async def _later(
        self, principal: Awaitable[Principal | None], found: PresentedToken, request: WebRequest
    ) -> Principal | Refusal:
        try:
            return await super()._later(principal, found, request)
        except RateLimitedError as error:
            spoken = era(request.fields.get(VERSION, ""))
            limited = failure(
                "rate_limited", error.message, era=spoken, retryAfter=error.retry_after
            )
            return Refusal(429, error_lines(error), encode_failure(None, limited))


class _Tokens:
    """A token verifier backed by `Accounts`; implements `Verifier`."""

    def __init__(self, authenticator: RequestAuthenticator) -> None:
        self._authenticator = authenticator

    async def verify(self, token: str) -> Principal | None:
        # For `Verifier` only: `authenticate` passes the address and the client as well.
        return await self.identify(replace(bearer(token), face="mcp"))

    async def identify(self, credentials: RequestCredentials) -> Principal | None:
        try:
            return _principal(await self._authenticator.caller(credentials))
        except UnauthenticatedError:
            return None
        except ServiceUnavailableError as error:
            raise UnverifiableError(str(error)) from error


def _token_in_url(request: WebRequest) -> MalformedCredentials | None:
    found = credentials_in(request) if request.query else None
    return found if isinstance(found, MalformedCredentials) and found.in_url else None


def _principal(caller: Caller) -> Principal:
    return Principal(
        subject=caller.user_id,
        client_id=caller.token_id,
        scopes=caller.scopes,
        claims={CALLER: caller},
        expires=_seconds(caller.expires_at),
    )


def _seconds(time: str) -> float:
    """Convert a stored time to seconds since 1970."""
    return datetime.fromisoformat(time).timestamp()


def caller_of(context: Context) -> Caller:
    """Return the caller of the tool call that has this context.

    Raises RpcError if the request is not authenticated.
    """
    return caller_in(context.incoming)


def caller_in(incoming: Incoming) -> Caller:
    """Return the caller in the principal of an MCP request.

    The client, the correlation id and the trace are those of the request. Raises RpcError if the
    request is not authenticated.
    """
    known = known_caller(incoming.link.principal)
    if known is None:
        raise failure("authentication_failed", "A valid token is required", era=incoming.era)
    return replace(
        known,
        face="mcp",
        client=_client(incoming, known),
        correlation_id=known.correlation_id or new_id(),
        traceparent=current_traceparent() or known.traceparent,
    )


async def run_for(
    incoming: Incoming,
    runner: Runner,
    operation: Operation,
    arguments: Arguments,
    caller: Caller,
) -> Outcome:
    """Run an operation, and store the caller's allowance for the headers of the response.

    Raises the exceptions of `Runner.run`.
    """
    try:
        outcome = await runner.run(operation, arguments, caller)
    except ServiceError as error:
        keep_allowance(incoming, error.allowance)
        raise
    keep_allowance(incoming, outcome.allowance)
    return outcome


def keep_allowance(incoming: Incoming, allowance: Allowance | None) -> None:
    """Store the caller's allowance for the headers of the response."""
    principal = incoming.link.principal
    if allowance is not None and principal is not None:
        principal.claims[ALLOWANCE] = allowance


def recorded_client(client: Implementation) -> Implementation:
    """Return the name and version of a client, safe to record."""
    return Implementation(name=client_name(client.name), version=client_name(client.version))


def known_caller(principal: Principal | None) -> Caller | None:
    """Return the caller that an authenticator stored in a principal, if any."""
    known = None if principal is None else principal.claims.get(CALLER)
    return known if isinstance(known, Caller) else None


def _client(incoming: Incoming, known: Caller) -> str:
    """Return the client's name: from its MCP client info, else from its user agent."""
    info = incoming.client_info
    if info is not None:
        return client_name(f"{info.name}/{info.version}")
    return known.client or client_name(incoming.context.headers.get("user-agent", ""))


ArgumentReader: TypeAlias = Callable[[], dict[str, Any]]

MAX_CHARACTERS: Final = 39_700
"""The limit of all tool definitions, so that no list of tools exceeds 40,000 characters.

Output schemas are included as long as the definitions stay below this limit.
"""
_NOTHING: Final = b"{}"


def add_tools(
    server: Server,
    runner: Runner,
    *,
    rest: str = "",
    forbidden: Mapping[str, int] | None = None,
) -> None:
    """Add a tool to `server` for every operation that is offered to assistants.

    `rest` is a sentence for models: how to get the whole of a result that was cut. `forbidden` maps
    tags of operations to their codes for missing permission; see `mcp_error`.
    """
    tools = [
        OperationTool(operation, runner, rest=rest, forbidden=(forbidden or {}).get(operation.tag))
        for operation in runner.registry
        if operation.tool
    ]
    for tool in with_output_schemas(tools):
        server.add_tool(tool)


class OperationTool(ServedTool):
    """One operation as a tool."""

    __slots__ = ("_decode", "_forbidden", "_results", "_runner", "operation")

    def __init__(
        self, operation: Operation, runner: Runner, *, rest: str = "", forbidden: int | None = None
    ) -> None:
        super().__init__(
            Tool(
                name=operation.name,
                description=" ".join(operation.description.split()),
                input_schema=input_schema(operation),
                annotations=_annotations(operation, abilities(operation, runner.registry)),
            )
        )
        self.operation = operation
        self._runner = runner
        self._forbidden = forbidden
        self._results = Results(operation, rest)
        self._decode = argument_set(operation).decode

    async def call(
        self,
        arguments: Raw | UnsetType,
        context: Context,
        era: Era,
        profile: Profile = "standard",
    ) -> CallToolResult:
        """Run the operation.

        Raises RpcError for missing permission and exceeded rate limits.
        """
        caller = caller_of(context)
        body = _NOTHING if arguments is UNSET else bytes(arguments)
        try:
            return await self._run(lambda: self._given(body), caller, context)
        except ServiceError as error:
            return self._refused(error, caller, era, profile)
        except InternalOperationError as error:
            return self._results.of_failure(error.correlation_id)

    def _given(self, body: bytes) -> dict[str, Any]:
        """Decode the arguments of a call; 1.0 may stand for the integer 1.

        Raises InvalidError for invalid arguments.
        """
        try:
            return self._decode(body)
        except InvalidError:
            again = whole_numbers(body)
            if again is None:
                raise
            return self._decode(again)

    async def _run(
        self, arguments: ArgumentReader, caller: Caller, context: Context
    ) -> CallToolResult:
        incoming = context.incoming
        outcome = await run_for(incoming, self._runner, self.operation, arguments, caller)
        try:
            return self._results.of(outcome)
        except TooManyItemsError as too_many:
            values = arguments()
            fewer = too_many.count or values[MAX_ITEMS] // 2
            if fewer < 1:
                return self._results.of(outcome, can_have_less=False)
            # Listed again, as only the operation can make the cursor after the last item that fits.
            return await self._run(lambda: {**values, MAX_ITEMS: fewer}, caller, context)

    def _refused(
        self, error: ServiceError, caller: Caller, era: Era, profile: Profile
    ) -> CallToolResult:
        is_argument = isinstance(error, InvalidError)
        if is_argument and profile == "extended" and era is Era.HANDSHAKE:
            raise failure("invalid_tool_arguments", error.message, era=era, profile=profile)
        if is_for_models(error) or error.kind.code == "unavailable":
            return self._results.of_error(error, caller.correlation_id)
        raise mcp_error(
            error,
            caller.correlation_id,
            era=era,
            profile=profile,
            forbidden=self._forbidden,
            **header_data(error),
        )


def header_data(error: ServiceError) -> dict[str, Any]:
    """Return the error data that the MCP endpoint turns into response headers.

    For example, `retryAfter` becomes `Retry-After`.
    """
    if isinstance(error, RateLimitedError):
        return {"retryAfter": error.retry_after}
    if isinstance(error, ForbiddenError) and "required_scope" in error.data:
        return {"scopes": [error.data["required_scope"]]}
    return {}


def with_output_schemas(tools: list[OperationTool]) -> list[OperationTool]:
    """Add output schemas to reading tools, shortest first, up to `MAX_CHARACTERS`."""
    room = MAX_CHARACTERS - sum(len(encode(tool.definition).decode()) + 1 for tool in tools)
    schemas = [
        (encode(schema).decode(), tool, schema)
        for tool in tools
        if not tool.operation.writes and (schema := output_schema(tool.operation)) is not None
    ]
    for text, tool, schema in sorted(schemas, key=lambda each: len(each[0])):
        room -= len(text) + len(',"outputSchema":')
        if room < 0:
            break
        tool.definition = replace(tool.definition, output_schema=schema)
    return tools


def _annotations(operation: Operation, able: Abilities) -> ToolAnnotations:
    """Return the annotations of a tool.

    An ability that the operation does not declare is left out: clients then assume that the tool is
    destructive and reaches any system (2025-11-25, tools).
    """
    if not operation.writes:
        return ToolAnnotations(
            title=operation.title, read_only_hint=True, open_world_hint=able.open_world
        )
    return ToolAnnotations(
        title=operation.title,
        destructive_hint=able.destructive,
        idempotent_hint=able.idempotent or None,
        open_world_hint=able.open_world,
    )
