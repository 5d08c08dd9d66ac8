"""Whether messages are what the official schemas say, for each version of the protocol.

The schemas are not part of the project: ACCORD_MCP_SCHEMAS names their folder (files such as
`2025-11-25.json`, and `ext-tasks-draft.json`), else it is `shared/schemas/mcp` beside the
project. Without them, `validate` skips its test and `Traffic` looks on without a word.

The schemas allow members that they do not know. We do not send any, so that here objects are
closed unless the schema means them to be open: that is how a member shows that came with a
later version.

    async with connected(server.router) as client:  # every message is checked
        await client.call("tools/list", …)
"""

from __future__ import annotations

import json
import os
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from functools import cache
from pathlib import Path
from typing import Any, Literal, TypeAlias

import jsonschema
import pytest

from accord import Peer, Router
from accord.jsonrpc.protocol.channel import Channel, ChannelInfo, Receiver
from accord.jsonrpc.protocol.errors import RpcError, TransportError
from accord.mcp.protocol.content import PROTOCOL_VERSION
from accord.mcp.protocol.versions import (
    HANDSHAKE_VERSIONS,
    LATEST_HANDSHAKE,
    V2025_11_25,
    V2026_07_28,
)
from accord.transports.memory import memory_pair

Side: TypeAlias = Literal["client", "server"]

TASKS_EXTENSION = "ext-tasks-draft"
_BESIDE = Path(__file__).parents[3] / "shared" / "schemas" / "mcp"
FOLDER = Path(os.environ.get("ACCORD_MCP_SCHEMAS", _BESIDE))

_REQUESTS = {
    "initialize": ("InitializeRequest", "InitializeResult"),
    "ping": ("PingRequest", "EmptyResult"),
    "server/discover": ("DiscoverRequest", "DiscoverResult"),
    "tools/list": ("ListToolsRequest", "ListToolsResult"),
    "tools/call": ("CallToolRequest", "CallToolResult"),
    "resources/list": ("ListResourcesRequest", "ListResourcesResult"),
    "resources/templates/list": ("ListResourceTemplatesRequest", "ListResourceTemplatesResult"),
    "resources/read": ("ReadResourceRequest", "ReadResourceResult"),
    "resources/subscribe": ("SubscribeRequest", "EmptyResult"),
    "resources/unsubscribe": ("UnsubscribeRequest", "EmptyResult"),
    "prompts/list": ("ListPromptsRequest", "ListPromptsResult"),
    "prompts/get": ("GetPromptRequest", "GetPromptResult"),
    "completion/complete": ("CompleteRequest", "CompleteResult"),
    "logging/setLevel": ("SetLevelRequest", "EmptyResult"),
    "subscriptions/listen": ("SubscriptionsListenRequest", "SubscriptionsListenResult"),
    "sampling/createMessage": ("CreateMessageRequest", "CreateMessageResult"),
    "elicitation/create": ("ElicitRequest", "ElicitResult"),
    "roots/list": ("ListRootsRequest", "ListRootsResult"),
    "tasks/get": ("GetTaskRequest", "GetTaskResult"),
    "tasks/result": ("GetTaskPayloadRequest", "GetTaskPayloadResult"),
    "tasks/list": ("ListTasksRequest", "ListTasksResult"),
    "tasks/cancel": ("CancelTaskRequest", "CancelTaskResult"),
    "tasks/update": ("UpdateTaskRequest", "UpdateTaskResult"),
}
_NOTIFICATIONS = {
    "notifications/initialized": "InitializedNotification",
    "notifications/cancelled": "CancelledNotification",
    "notifications/progress": "ProgressNotification",
    "notifications/message": "LoggingMessageNotification",
    "notifications/tools/list_changed": "ToolListChangedNotification",
    "notifications/prompts/list_changed": "PromptListChangedNotification",
    "notifications/resources/list_changed": "ResourceListChangedNotification",
    "notifications/resources/updated": "ResourceUpdatedNotification",
    "notifications/roots/list_changed": "RootsListChangedNotification",
    "notifications/elicitation/complete": "ElicitationCompleteNotification",
    "notifications/subscriptions/acknowledged": "SubscriptionsAcknowledgedNotification",
    "notifications/tasks/status": "TaskStatusNotification",
    "notifications/tasks": "TaskStatusNotification",
}
_OPEN = frozenset(
    # objects whose members are not all listed: schemas within the schema, what is joined with
    # others by allOf, what extensions add to, and what only says what all of a kind have
    (
        *("inputSchema", "outputSchema", "requestedSchema", "SubscriptionFilter", "Task"),
        *("_meta", "error", "Result", "Error", "NotificationParams"),
        *("JSONRPCRequest", "JSONRPCNotification", "JSONObject"),
    )
)


def available() -> bool:
    """Whether the schemas are here."""
    return FOLDER.is_dir()


def validate(message: Any, version: str, definition: str) -> None:
    """Fails unless `message` is what `definition` says. Skips the test without the schemas."""
    if not available():
        pytest.skip("only on machines with the official MCP schemas (ACCORD_MCP_SCHEMAS)")
    problems = list(_problems(message, version, definition))
    assert not problems, "\n".join(problems)


class Traffic:
    """What both ends of one connection say, each message checked as it passes."""

    def __init__(self, version: str = LATEST_HANDSHAKE) -> None:
        self.version = version
        """What a handshake settles on; what it is before, and where there is none."""
        self.problems: list[str] = []
        self.checked: list[str] = []
        """The definitions that messages were checked by, in their order."""
        self._open: dict[tuple[Side, Any], tuple[str, str]] = {}

    def pass_on(self, side: Side, data: bytes) -> None:
        """Look at what one side sends: a message, or a batch of them."""
        if not available():
            return
        message = json.loads(data)
        for each in message if isinstance(message, list) else [message]:
            self._look(side, each)

    def _look(self, side: Side, message: dict[str, Any]) -> None:
        method = message.get("method")
        if method is None:
            self._look_at_answer("server" if side == "client" else "client", message)
        elif "id" in message:
            version = self._version_of(message)
            self._open[side, message["id"]] = (method, version)
            self._check(message, version, _definition(_REQUESTS, method, "JSONRPCRequest"))
        else:
            self._check(message, self.version, _NOTIFICATIONS.get(method, "JSONRPCNotification"))

    def _version_of(self, message: dict[str, Any]) -> str:
        """The version of a request: what it says, or what was settled before."""
        params = message.get("params")
        if not isinstance(params, dict):
            return self.version
        if message["method"] == "initialize":
            wanted = params.get("protocolVersion")
            return wanted if wanted in HANDSHAKE_VERSIONS else self.version
        said = (params.get("_meta") or {}).get(PROTOCOL_VERSION)
        if isinstance(said, str):
            self.version = said
        return self.version

    def _look_at_answer(self, asked_by: Side, message: dict[str, Any]) -> None:
        method, version = self._open.pop((asked_by, message.get("id")), ("", self.version))
        if "error" in message:
            kind = "JSONRPCErrorResponse" if version >= V2025_11_25 else "JSONRPCError"
            # JSON-RPC 2.0, section 5: null where the id could not be read, which no schema has
            if message.get("id", 0) is not None:
                self._check(message, version, kind)
            return
        result = message["result"]
        if method == "initialize":
            version = self.version = result["protocolVersion"]
        kind = _definition(_REQUESTS, method, "Result", 1)
        match result.get("resultType"), "task" in result:
            case "input_required", _:
                kind = "InputRequiredResult"
            case "task", _:
                kind, version = "CreateTaskResult", V2026_07_28
            case None, True:
                kind = "CreateTaskResult"
        self._check(result, version, kind)

    def _check(self, message: Any, version: str, definition: str) -> None:
        self.checked.append(definition)
        self.problems += _problems(message, version, definition)


@contextmanager
def watched(version: str = LATEST_HANDSHAKE) -> Iterator[Traffic]:
    """Traffic to be told of what passes; fails at the end if any of it was wrong."""
    traffic = Traffic(version)
    yield traffic
    assert not traffic.problems, "\n".join(traffic.problems)


@asynccontextmanager
async def connected(
    router: Router, *, client: Router | None = None, version: str = LATEST_HANDSHAKE
) -> AsyncIterator[Peer]:
    """A peer in memory that is served by `router` and serves `client`; every message in
    either direction is checked."""
    near, far = memory_pair()
    with watched(version) as traffic:
        async with Peer(far, router), Peer(WatchedChannel(near, traffic), client) as peer:
            yield peer


class WatchedChannel:
    """A channel of a client whose traffic is looked at."""

    def __init__(self, channel: Channel, traffic: Traffic, side: Side = "client") -> None:
        self._channel = channel
        self._traffic = traffic
        self._side: Side = side

    @property
    def info(self) -> ChannelInfo:
        return self._channel.info

    @property
    def writable(self) -> bool:
        return self._channel.writable

    def start(self, receiver: Receiver) -> None:
        other: Side = "server" if self._side == "client" else "client"
        self._channel.start(_WatchedReceiver(receiver, self._traffic, other))

    def send(self, data: bytes) -> None:
        self._traffic.pass_on(self._side, data)
        self._channel.send(data)

    def close(self) -> None:
        self._channel.close()

    def abort(self) -> None:
        self._channel.abort()


class _WatchedReceiver:
    def __init__(self, receiver: Receiver, traffic: Traffic, sender: Side) -> None:
        self._receiver = receiver
        self._traffic = traffic
        self._sender: Side = sender

    def message_received(self, data: bytes) -> None:
        self._traffic.pass_on(self._sender, data)
        self._receiver.message_received(data)

    def reply_received(self, sent: bytes, data: bytes) -> None:
        self._traffic.pass_on(self._sender, data)
        self._receiver.reply_received(sent, data)

    def message_refused(self, error: RpcError) -> None:
        self._receiver.message_refused(error)

    def send_failed(self, data: bytes, error: TransportError) -> None:
        self._receiver.send_failed(data, error)

    def writable_changed(self, writable: bool) -> None:
        self._receiver.writable_changed(writable)

    def input_ended(self) -> None:
        self._receiver.input_ended()

    def connection_interrupted(self, error: TransportError) -> None:
        self._receiver.connection_interrupted(error)

    def connection_restored(self) -> None:
        self._receiver.connection_restored()

    def connection_lost(self, error: TransportError | None) -> None:
        self._receiver.connection_lost(error)


def _definition(
    table: dict[str, tuple[str, str]], method: str, otherwise: str, index: int = 0
) -> str:
    return table[method][index] if method in table else otherwise


def _problems(message: Any, version: str, definition: str) -> Iterator[str]:
    if version == V2026_07_28 and "Task" in definition:
        version = TASKS_EXTENSION
    if not (FOLDER / f"{version}.json").is_file():
        yield f"{version} has no schema, and {definition} of it was sent"
        return
    key, document = _document(version)
    if definition not in document[key]:
        yield f"{version} has no {definition}: {json.dumps(message)[:300]}"
        return
    described = document[key][definition]
    whole = "jsonrpc" in described.get("properties", {}) or "allOf" in described
    if isinstance(message, dict) and "method" in message and not whole:
        # up to 2025-06-18, requests are described without what JSON-RPC adds
        message = {name: it for name, it in message.items() if name not in ("jsonrpc", "id")}
    for error in _validator(version, definition).iter_errors(message):
        yield f"{definition} of {version}: {error.json_path}: {error.message[:500]}"


@cache
def _document(version: str) -> tuple[str, dict[str, Any]]:
    document = json.loads((FOLDER / f"{version}.json").read_text(encoding="utf-8"))
    key = "$defs" if "$defs" in document else "definitions"
    for name, each in document[key].items():
        _close(name, each)
    return key, document


def _close(name: str, schema: Any) -> None:
    """Allow no other members than those that are listed, except in what is meant to be open."""
    if not isinstance(schema, dict) or name in _OPEN or name.endswith("MetaObject"):
        return
    if "allOf" in schema:
        return
    properties = schema.get("properties")
    if name == "params" and properties:
        properties.setdefault("_meta", True)  # up to 2025-06-18 only said of all requests at once
    if properties and "additionalProperties" not in schema:
        schema["additionalProperties"] = False
    for inner, each in (properties or {}).items():
        _close(inner, each)
    for each in (schema.get("items"), *schema.get("anyOf", ())):
        _close("", each)


@cache
def _validator(version: str, definition: str) -> Any:
    key, document = _document(version)
    schema = {**document, "$ref": f"#/{key}/{definition}"}
    return jsonschema.validators.validator_for(document)(schema)
