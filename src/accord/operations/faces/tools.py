"""Operations as MCP tools: the same list for everybody, one page, in the order of the registry.

A tool decides nothing. It reads the arguments, has the operation run as whoever called, and says
what came of it: a model is told in a result what it can correct by itself, whoever lacks a
permission or calls too often gets an error of the protocol.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final, TypeAlias

from msgspec import UNSET, Raw, UnsetType
from msgspec.structs import replace

from accord.jsonrpc.codec import encode
from accord.mcp.protocol.definitions import Tool, ToolAnnotations
from accord.mcp.protocol.messages import CallToolResult, Profile, failure
from accord.mcp.protocol.versions import Era
from accord.mcp.server.components.tools import ServedTool, whole_numbers
from accord.mcp.server.context import Context
from accord.mcp.server.server import Server
from accord.operations.abilities import Abilities, abilities
from accord.operations.arguments import all_of
from accord.operations.caller import Caller
from accord.operations.errors import ForbiddenError, InvalidError, RateLimitedError, ServiceError
from accord.operations.faces.mapping import is_for_models, mcp_error
from accord.operations.faces.tools_caller import caller_of, run_for
from accord.operations.faces.tools_results import MOST_ITEMS, Results, TooManyItemsError
from accord.operations.faces.tools_schema import input_schema, output_schema
from accord.operations.operation import Operation
from accord.operations.runner import InternalError, Runner

Arguments: TypeAlias = Callable[[], dict[str, Any]]

MAX_CHARACTERS: Final = 39_700
"""Of the definitions of all tools: output schemas are there as long as they stay below that, so
that no list of tools is over 40,000."""
_NOTHING: Final = b"{}"


def add_tools(
    server: Server,
    runner: Runner,
    *,
    rest: str = "",
    forbidden: Mapping[str, int] | None = None,
) -> None:
    """Add a tool for every operation of the runner that assistants have.

    `rest` tells a model where it finds the whole of what was cut. `forbidden` has codes of its own
    for want of permission, by tag of the operation, in the handshake era.
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
        self._decode = all_of(operation).decode

    async def call(
        self,
        arguments: Raw | UnsetType,
        context: Context,
        era: Era,
        profile: Profile = "standard",
    ) -> CallToolResult:
        """Raises RpcError for a call that its caller may not make, or not now."""
        caller = caller_of(context)
        body = _NOTHING if arguments is UNSET else bytes(arguments)
        try:
            return await self._run(lambda: self._given(body), caller, context)
        except ServiceError as error:
            return self._refused(error, caller, era, profile)
        except InternalError as error:
            return self._results.of_failure(error.correlation_id)

    def _given(self, body: bytes) -> dict[str, Any]:
        """The arguments. Raises InvalidError."""
        try:
            return self._decode(body)
        except InvalidError:
            again = whole_numbers(body)
            if again is None:
                raise
            return self._decode(again)

    async def _run(self, arguments: Arguments, caller: Caller, context: Context) -> CallToolResult:
        incoming = context.incoming
        outcome = await run_for(incoming, self._runner, self.operation, arguments, caller)
        try:
            return self._results.of(outcome)
        except TooManyItemsError as too_many:
            given = arguments()
            fewer = too_many.count or given[MOST_ITEMS] // 2
            if fewer < 1:
                return self._results.of(outcome, can_have_less=False)
            # Only who lists can give the cursor that goes on behind the last that fits.
            return await self._run(lambda: {**given, MOST_ITEMS: fewer}, caller, context)

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
            **told_to_programs(error),
        )


def told_to_programs(error: ServiceError) -> dict[str, Any]:
    """What the endpoint makes headers of."""
    if isinstance(error, RateLimitedError):
        return {"retryAfter": error.retry_after}
    if isinstance(error, ForbiddenError) and "required_scope" in error.data:
        return {"scopes": [error.data["required_scope"]]}
    return {}


def with_output_schemas(tools: list[OperationTool]) -> list[OperationTool]:
    """The same tools, those that read with output schemas as far as the list has room, the
    shortest first."""
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
    """Return what clients are told about a tool. What an operation does not declare is left out:
    clients then assume that it destroys and reaches the whole world (2025-11-25, tools)."""
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
