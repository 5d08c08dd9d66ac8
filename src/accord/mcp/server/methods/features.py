"""The features of a server: the methods of tools, resources, prompts and completion.

tools/list, tools/call
resources/…              lists, templates, reading, subscriptions of the handshake era
prompts/list, prompts/get
completion/complete      suggestions for an argument of a prompt or a template
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Mapping
from inspect import isawaitable
from typing import Any, Final

from msgspec import UNSET

from accord.jsonrpc.protocol.errors import RpcError
from accord.mcp.protocol.content import ResourceContents
from accord.mcp.protocol.messages import (
    CallToolParams,
    CallToolResult,
    CompleteParams,
    CompleteResult,
    Completion,
    GetPromptParams,
    GetPromptResult,
    ListParams,
    ListPromptsResult,
    ListResourcesResult,
    ListResourceTemplatesResult,
    ListToolsResult,
    PromptReference,
    ReadResourceParams,
    ReadResourceResult,
    ResourceParams,
    Result,
    failure,
)
from accord.mcp.protocol.versions import Era
from accord.mcp.server.components.lists import definition_in, tool_in
from accord.mcp.server.components.prompts import ServedPrompt, WrongArgumentsError
from accord.mcp.server.components.resources import ResourceNotFoundError, ServedResource
from accord.mcp.server.components.tools import ServedTool, late_result
from accord.mcp.server.context import Context
from accord.mcp.server.core import HANDSHAKE, Core, MethodRow
from accord.mcp.server.handler_runner import never
from accord.mcp.server.input_requests.ask import InputRequired, leave
from accord.mcp.server.session import Incoming, Session


def tool_methods(core: Core) -> dict[str, MethodRow]:
    tools = _Tools(core)
    return {
        "tools/list": MethodRow(ListParams, tools.list, result=ListToolsResult),
        "tools/call": MethodRow(CallToolParams, tools.call),
    }


class _Tools:
    def __init__(self, core: Core) -> None:
        self._runner = core.runner
        self._server = core.server
        self._access = core.access
        self._tasks = core.tasks
        self._limits = core.server.limits
        self._most = core.server.limits.max_calls_per_tool
        self._seconds = core.server.limits.call_seconds
        self._tools = core.server.tools
        self._list = core.access.ready_list("tools", tool_in)

    def list(self, params: ListParams, incoming: Incoming) -> Any:
        return self._access.page(self._list, self._tools, params, incoming)

    def call(self, params: CallToolParams, incoming: Incoming) -> Any:
        tool = self._tools.get(params.name)
        if tool is None or (
            tool.enabled is not None and not self._access.is_enabled(tool, incoming)
        ):
            raise failure(
                "tool_not_found",
                f"Unknown tool: {params.name[:100]}",
                era=incoming.era,
                profile=self._server.codes,
                name=params.name[:100],
            )
        if tool.scopes or tool.allow is not None:
            self._access.check_permission(tool, incoming)
        if tool.task_support != "forbidden" or params.task is not UNSET:
            tasks = self._tasks
            if tasks.wants(tool, params, incoming):
                later = tool.starts_task and incoming.era is Era.STATELESS
                return (tasks.start_when_requested if later else tasks.start)(
                    tool, params, incoming
                )
        if tool.wants_context or params.request_state is not UNSET:
            return self._call_with_context(tool, params, incoming)
        if not tool.is_quick:
            return self._run(tool, params, incoming)
        result = tool.call_alone(params.arguments, None, incoming.era, self._server.codes)
        if isinstance(result, CallToolResult):
            return self._runner.replies.finish(result, incoming)
        return self._finish(result, incoming)

    def _call_with_context(
        self, tool: ServedTool, params: CallToolParams, incoming: Incoming
    ) -> Any:
        if not tool.is_quick:
            return self._run_with_context(tool, params, incoming)
        context = self._runner.context(incoming, params)
        result: CallToolResult | Awaitable[CallToolResult]
        try:
            result = tool.call(params.arguments, context, incoming.era, self._server.codes)
        except InputRequired as unanswered:
            result = leave(unanswered)
        if isinstance(result, CallToolResult):
            return self._runner.replies.finish(result, incoming)
        return self._runner.answer(result, context, incoming)

    # Calls that are not quick. These coroutines acquire everything themselves, so that a call
    # that is cancelled before its first step leaves nothing to release.

    async def _run(self, tool: ServedTool, params: CallToolParams, incoming: Incoming) -> Any:
        """Serve a tool call without a context, in which the tool cannot ask the client."""
        session = incoming.link.session
        self._enter(tool, session, incoming)
        seconds = self._seconds if tool.timeout is UNSET else None
        deadline = None if seconds is None else self._runner.deadlines.begin(seconds, never)
        try:
            result = tool.call_alone(params.arguments, None, incoming.era, self._server.codes)
            if not isinstance(result, CallToolResult):
                result = await result
        except asyncio.CancelledError:
            if deadline is None or not deadline.has_passed():
                raise
            result = self._late(incoming, deadline.seconds)
        finally:
            if deadline is not None:
                deadline.end()
            tool.running -= 1
            if session is not None:
                session.running -= 1
        return self._runner.replies.finish(result, incoming)

    async def _finish(self, work: Awaitable[CallToolResult], incoming: Incoming) -> Any:
        """Await the result of a function that was declared quick but returned an awaitable."""
        return self._runner.replies.finish(await work, incoming)

    async def _run_with_context(
        self, tool: ServedTool, params: CallToolParams, incoming: Incoming
    ) -> Any:
        session = incoming.link.session
        context = self._runner.context(incoming, params)
        self._enter(tool, session, incoming)
        try:
            called = self._called(tool, params, context, incoming)
            return await self._runner.answer(called, context, incoming)
        finally:
            tool.running -= 1
            if session is not None:
                session.running -= 1

    async def _called(
        self, tool: ServedTool, params: CallToolParams, context: Context, incoming: Incoming
    ) -> CallToolResult:
        result = tool.call(params.arguments, context, incoming.era, self._server.codes)
        if isinstance(result, CallToolResult):
            return result
        seconds = self._seconds if tool.timeout is UNSET else None
        return await self._runner.deadlines.keep(
            result, seconds, lambda late: self._late(incoming, late), context.is_asking
        )

    def _enter(self, tool: ServedTool, session: Session | None, incoming: Incoming) -> None:
        """Count a call as running, for its tool and its session.

        Raises RpcError if the limit of calls for the tool or for the session is reached.
        """
        most = self._most if tool.concurrency is UNSET else tool.concurrency
        if (most is not None and tool.running >= most) or (
            session is not None and session.running >= self._limits.max_calls_per_session
        ):
            raise self._no_room(tool, incoming, most)
        tool.running += 1
        if session is not None:
            session.running += 1

    def _late(self, incoming: Incoming, seconds: float) -> CallToolResult:
        if incoming.era is Era.HANDSHAKE and self._server.codes == "extended":
            raise failure(
                "tool_timeout",
                f"The tool took longer than {seconds:g} s",
                era=incoming.era,
                profile="extended",
            )
        return late_result(seconds)

    def _no_room(self, tool: ServedTool, incoming: Incoming, most: int | None) -> RpcError:
        if most is not None and tool.running >= most:
            what = f"{most:,} calls of {tool.definition.name} are running, the limit"
        else:
            most = self._limits.max_calls_per_session
            what = f"{most:,} calls of this session are running, the limit"
        return failure(
            "max_concurrent_tools", what, era=incoming.era, profile=self._server.codes, limit=most
        )


def resource_methods(core: Core) -> dict[str, MethodRow]:
    resources = _Resources(core)
    return {
        "resources/list": MethodRow(
            ListParams, resources.list_resources, result=ListResourcesResult
        ),
        "resources/templates/list": MethodRow(
            ListParams, resources.list_templates, result=ListResourceTemplatesResult
        ),
        "resources/read": MethodRow(ReadResourceParams, resources.read),
        "resources/subscribe": MethodRow(ResourceParams, resources.subscribe, HANDSHAKE),
        "resources/unsubscribe": MethodRow(ResourceParams, resources.unsubscribe, HANDSHAKE),
    }


class _Resources:
    def __init__(self, core: Core) -> None:
        self._runner = core.runner
        self._server = core.server
        self._access = core.access
        self._resources = core.server.resources
        self._list = core.access.ready_list("resources", definition_in)
        self._sourced = core.access.sourced_list("resources")
        self._templates = core.access.ready_list("resourceTemplates", definition_in)

    def list_resources(self, params: ListParams, incoming: Incoming) -> Any:
        source = self._server.resource_source
        if source is not None:
            return self._access.sourced_page(
                self._sourced, source, self._resources, params, incoming, where=_is_one
            )
        return self._access.page(self._list, self._resources, params, incoming, where=_is_one)

    def list_templates(self, params: ListParams, incoming: Incoming) -> Any:
        return self._access.page(
            self._templates, self._resources, params, incoming, where=_is_template
        )

    async def read(self, params: ReadResourceParams, incoming: Incoming) -> Any:
        resource, variables = self._access.find_resource(params.uri, incoming)
        context = self._runner.context(incoming, params)
        return await self._runner.answer(
            self._contents(resource, params.uri, variables, context, incoming),
            context,
            incoming,
            lambda contents: self._result(contents, resource, incoming),
        )

    async def _contents(
        self,
        resource: ServedResource,
        uri: str,
        variables: dict[str, Any],
        context: Context,
        incoming: Incoming,
    ) -> list[ResourceContents]:
        try:
            contents = resource.read(uri, variables, context)
            if not isawaitable(contents):
                return contents
            late = self._access.too_late("the resource", incoming)
            seconds = self._access.seconds_for(resource.timeout)
            return await self._runner.deadlines.keep(contents, seconds, late, context.is_asking)
        except ResourceNotFoundError:
            raise self._access.resource_not_found(uri, incoming) from None
        except Exception as error:
            named = None
            if resource.template is not None:
                named = self._runner.unforeseen(error, "template_render_failed", incoming)
            if named is None:
                raise
            raise named from error

    def _result(
        self, contents: list[ResourceContents], resource: ServedResource, incoming: Incoming
    ) -> Any:
        stateless = incoming.era is Era.STATELESS
        depends = bool(resource.scopes or resource.allow or resource.enabled)
        result = ReadResourceResult(
            contents=contents,
            ttl_ms=resource.ttl_ms if stateless else UNSET,
            cache_scope=self._access.cache_scope(incoming, depends=depends) if stateless else UNSET,
        )
        return self._runner.replies.finish(result, incoming)

    def subscribe(self, params: ResourceParams, incoming: Incoming) -> Result:
        resource, _ = self._access.find_resource(params.uri, incoming)
        assert incoming.link.session is not None
        subscriptions = incoming.link.session.subscriptions
        most = self._server.limits.max_subscriptions
        if len(subscriptions) >= most and params.uri not in subscriptions:
            raise failure(
                "subscription_failed",
                f"The session has {most:,} subscriptions, the limit",
                era=incoming.era,
                profile=self._server.codes,
                limit=most,
            )
        subscriptions.add(params.uri)
        resource.watch(params.uri)
        return Result()

    def unsubscribe(self, params: ResourceParams, incoming: Incoming) -> Result:
        assert incoming.link.session is not None
        incoming.link.session.subscriptions.discard(params.uri)
        return Result()


def _is_one(resource: ServedResource) -> bool:
    return resource.template is None


def _is_template(resource: ServedResource) -> bool:
    return resource.template is not None


def prompt_methods(core: Core) -> dict[str, MethodRow]:
    prompts = _Prompts(core)
    return {
        "prompts/list": MethodRow(ListParams, prompts.list, result=ListPromptsResult),
        "prompts/get": MethodRow(GetPromptParams, prompts.get),
    }


class _Prompts:
    def __init__(self, core: Core) -> None:
        self._runner = core.runner
        self._server = core.server
        self._access = core.access
        self._prompts = core.server.prompts
        self._list = core.access.ready_list("prompts", definition_in)
        self._sourced = core.access.sourced_list("prompts")

    def list(self, params: ListParams, incoming: Incoming) -> Any:
        source = self._server.prompt_source
        if source is not None:
            return self._access.sourced_page(self._sourced, source, self._prompts, params, incoming)
        return self._access.page(self._list, self._prompts, params, incoming)

    async def get(self, params: GetPromptParams, incoming: Incoming) -> Any:
        prompt = await self._find(params, incoming)
        context = self._runner.context(incoming, params)
        messages = self._messages(prompt, params, context, incoming)
        return await self._runner.answer(messages, context, incoming)

    async def _messages(
        self,
        prompt: ServedPrompt,
        params: GetPromptParams,
        context: Context,
        incoming: Incoming,
    ) -> GetPromptResult:
        arguments = {} if params.arguments is UNSET else params.arguments
        try:
            result = prompt.get(arguments, context)
            if not isawaitable(result):
                return result
            late = self._access.too_late(f"prompt '{params.name}'", incoming)
            seconds = self._access.seconds_for(prompt.timeout)
            return await self._runner.deadlines.keep(result, seconds, late, context.is_asking)
        except WrongArgumentsError as error:
            raise failure(
                "invalid_prompt_arguments",
                error.message,
                era=incoming.era,
                profile=self._server.codes,
                **{name: each for name, each in error.data.items() if name != "reason"},
            ) from None
        except Exception as error:
            named = self._runner.unforeseen(error, "prompt_render_failed", incoming)
            if named is None:
                raise
            raise named from error

    async def _find(self, params: GetPromptParams, incoming: Incoming) -> ServedPrompt:
        """Return the prompt that a `prompts/get` request names.

        Raises RpcError if the prompt does not exist or is not permitted, or if a required argument
        is missing.
        """
        prompt = await self._server.find_prompt(params.name)
        if prompt is None or not self._access.is_enabled(prompt, incoming):
            raise failure(
                "prompt_not_found",
                f"Unknown prompt: {params.name[:100]}",
                era=incoming.era,
                profile=self._server.codes,
                name=params.name[:100],
            )
        self._access.check_permission(prompt, incoming)
        arguments: Mapping[str, str] = {} if params.arguments is UNSET else params.arguments
        missing = prompt.missing(arguments)
        if missing:
            raise failure(
                "prompt_argument_missing",
                f"Invalid params: argument '{missing[0]}' of prompt '{params.name}' is missing",
                era=incoming.era,
                profile=self._server.codes,
                argument=missing[0],
            )
        return prompt


MAX_VALUES: Final = 100
"""The maximum number of suggestions in one answer (2025-11-25, completion)."""


def completion_methods(core: Core) -> dict[str, MethodRow]:
    return {"completion/complete": MethodRow(CompleteParams, _Completion(core).complete)}


class _Completion:
    def __init__(self, core: Core) -> None:
        self._runner = core.runner
        self._server = core.server
        self._access = core.access

    async def complete(self, params: CompleteParams, incoming: Incoming) -> Any:
        component = await self._find(params, incoming)
        context = self._runner.context(incoming)
        try:
            found = component.complete(params, context, self._server.completions)
            if isawaitable(found):
                late = self._access.too_late("the completion", incoming)
                seconds = self._server.limits.call_seconds
                found = await self._runner.deadlines.keep(found, seconds, late, never)
        except Exception as error:
            named = self._runner.unforeseen(error, "completion_failed", incoming)
            if named is None:
                raise
            raise named from error
        finally:
            context.end()
        return self._runner.replies.finish(CompleteResult(completion=_completion(found)), incoming)

    async def _find(
        self, params: CompleteParams, incoming: Incoming
    ) -> ServedPrompt | ServedResource:
        """Return the prompt or resource template of which an argument is to be completed.

        Raises RpcError if the prompt or resource does not exist (2025-11-25, completion: -32602) or
        is not permitted.
        """
        component: ServedPrompt | ServedResource | None
        if isinstance(params.ref, PromptReference):
            name = params.ref.name
            component = await self._server.find_prompt(name)
        else:
            name = params.ref.uri
            component = self._server.resources.get(name)
        if component is None or not self._access.is_enabled(component, incoming):
            raise failure(
                "completion_invalid_reference",
                f"Invalid params: there is nothing to complete at '{name[:200]}'",
                era=incoming.era,
                profile=self._server.codes,
            )
        self._access.check_permission(component, incoming)
        return component


def _completion(found: Any) -> Completion:
    if isinstance(found, Completion):
        return found
    values = list(found or ())
    return Completion(
        values=values[:MAX_VALUES], total=len(values), has_more=len(values) > MAX_VALUES
    )
