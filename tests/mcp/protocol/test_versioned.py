"""Values as each version knows them: all members that its schema has, and no others."""

from __future__ import annotations

import json
from functools import cache
from typing import Any

import msgspec
import pytest
from msgspec import Raw, Struct

from accord.mcp.protocol.content import (
    Annotations,
    AudioContent,
    EmbeddedResource,
    Icon,
    ImageContent,
    ResourceContents,
    ResourceLink,
    TextContent,
    ToolResultContent,
    ToolUseContent,
)
from accord.mcp.protocol.definitions import (
    ClientCapabilities,
    Elicitation,
    Implementation,
    ListFeature,
    Prompt,
    PromptArgument,
    Resource,
    ResourcesFeature,
    ResourceTemplate,
    SamplingCapability,
    ServerCapabilities,
    Tool,
    ToolAnnotations,
    ToolExecution,
)
from accord.mcp.protocol.input_requests import (
    CreateMessage,
    CreateMessageResult,
    ElicitForm,
    ElicitResult,
    ElicitUrlParams,
    ListRootsResult,
    ModelHint,
    ModelPreferences,
    Root,
    SamplingMessage,
    ToolChoice,
)
from accord.mcp.protocol.messages import (
    CallToolResult,
    CancelledParams,
    Completion,
    ElicitationCompleteParams,
    GetPromptResult,
    InputRequiredResult,
    LogParams,
    ProgressParams,
    PromptMessage,
    PromptReference,
    ReadResourceResult,
    ResourceReference,
    Result,
    TaskRequest,
    UpdatedParams,
)
from accord.mcp.protocol.tasks import (
    CancelledTask,
    CompletedTask,
    CreateTaskResult,
    FailedTask,
    GetTaskResult,
    InputRequiredTask,
    ListTasksResult,
    RelatedTask,
    Task,
    TaskCreated,
    TaskError,
    WorkingTask,
)
from accord.mcp.protocol.versioned import in_version, result_in
from accord.mcp.protocol.versions import VERSIONS
from tests.mcp.schemas import FOLDER, TASKS_EXTENSION, validate

META = {"example.com/a": 1}
ICON = Icon("https://example.com/i.png", "image/png", ("48x48",), "dark")
NOTES = Annotations(("user",), 0.5, "2026-01-01T00:00:00Z")
ICONS = (ICON,)
TEXT = TextContent(text="t", annotations=NOTES, meta=META)
CONTENTS = ResourceContents(uri="x:y", text="t", mime_type="text/plain", meta=META)
SCHEMA = {"type": "object"}
TASK: dict[str, Any] = {
    "task_id": "t1",
    "created_at": "2026-01-01T00:00:00Z",
    "last_updated_at": "2026-01-01T00:00:00Z",
    "status_message": "at it",
}
RUN = TaskRequest(ttl=1)

FULL: dict[str, Struct] = {
    "Annotations": NOTES,
    "TextContent": TEXT,
    "ImageContent": ImageContent(data="AA==", mime_type="image/png", annotations=NOTES, meta=META),
    "AudioContent": AudioContent(data="AA==", mime_type="audio/wav", annotations=NOTES, meta=META),
    "ResourceLink": ResourceLink(uri="x:y", name="n", title="t", description="d", mime_type="a/b", size=1, icons=ICONS, annotations=NOTES, meta=META),
    "EmbeddedResource": EmbeddedResource(resource=CONTENTS, annotations=NOTES, meta=META),
    "TextResourceContents": CONTENTS,
    "BlobResourceContents": ResourceContents(uri="x:y", blob="AA==", mime_type="a/b", meta=META),
    "ToolUseContent": ToolUseContent(id="1", name="n", input={}, meta=META),
    "ToolResultContent": ToolResultContent(tool_use_id="1", content=[TEXT], structured_content={}, is_error=True, meta=META),
    "Icon": ICON,
    "Implementation": Implementation(name="n", version="1", title="t", description="d", website_url="https://example.com", icons=ICONS),
    "ToolAnnotations": ToolAnnotations(title="t", read_only_hint=True, destructive_hint=False, idempotent_hint=True, open_world_hint=False),
    "Tool": Tool(name="n", title="t", description="d", input_schema=SCHEMA, output_schema=SCHEMA, annotations=ToolAnnotations(title="t"), execution=ToolExecution(task_support="optional"), icons=ICONS, meta=META),
    "Resource": Resource(uri="x:y", name="n", title="t", description="d", mime_type="a/b", size=1, annotations=NOTES, icons=ICONS, meta=META),
    "ResourceTemplate": ResourceTemplate(uri_template="x:{y}", name="n", title="t", description="d", mime_type="a/b", annotations=NOTES, icons=ICONS, meta=META),
    "Prompt": Prompt(name="n", title="t", description="d", arguments=(PromptArgument(name="a", title="t"),), icons=ICONS, meta=META),
    "PromptArgument": PromptArgument(name="a", title="t", description="d", required=True),
    "ServerCapabilities": ServerCapabilities(tools=ListFeature(True), resources=ResourcesFeature(True, True), prompts=ListFeature(True), completions={}, logging={}, tasks={"list": {}}, extensions={"a/b": {}}, experimental={"x": {}}),
    "ClientCapabilities": ClientCapabilities(roots=ListFeature(True), sampling=SamplingCapability({}, {}), elicitation=Elicitation({}, {}), tasks={"cancel": {}}, extensions={"a/b": {}}, experimental={"x": {}}),
    "CallToolResult": CallToolResult(content=[TEXT], structured_content={}, is_error=True, meta=META),
    "GetPromptResult": GetPromptResult(messages=[PromptMessage("user", TEXT)], description="d", meta=META),
    "ReadResourceResult": ReadResourceResult(contents=[CONTENTS], meta=META),
    "Root": Root(uri="file:///x", name="n", meta=META),
    "ListRootsResult": ListRootsResult(roots=[Root(uri="file:///x", meta=META)], meta=META),
    "SamplingMessage": SamplingMessage("user", TEXT, META),
    "ElicitResult": ElicitResult(action="accept", content={"a": 1}, meta=META),
    "ElicitRequestFormParams": ElicitForm(message="m", requested_schema={"type": "object", "properties": {}}, mode="form", task=RUN, meta=META),
    "ElicitRequestURLParams": ElicitUrlParams(message="m", url="https://example.com", elicitation_id="1", task=RUN, meta=META),
    "CreateMessageRequestParams": CreateMessage(messages=[SamplingMessage("user", TEXT)], max_tokens=1, model_preferences=ModelPreferences(hints=(ModelHint("x"),), cost_priority=0.1, speed_priority=0.2, intelligence_priority=0.3), system_prompt="s", include_context="none", temperature=0.1, stop_sequences=["x"], metadata={}, tools=[Tool(name="n", input_schema=SCHEMA)], tool_choice=ToolChoice("auto"), task=RUN, meta=META),
    "CreateMessageResult": CreateMessageResult(role="user", content=TEXT, model="m", stop_reason="endTurn", meta=META),
    "CancelledNotificationParams": CancelledParams(request_id=1, reason="r", meta=META),
    "ProgressNotificationParams": ProgressParams(progress_token="p", progress=0.5, total=1, message="m", meta=META),
    "LoggingMessageNotificationParams": LogParams(level="info", data={}, logger="l", meta=META),
    "ResourceUpdatedNotificationParams": UpdatedParams(uri="x:y", meta=META),
    "PromptReference": PromptReference("n", "t"),
    "ResourceTemplateReference": ResourceReference("x:{y}"),
}  # fmt: skip


@cache
def definitions(version: str) -> Any:
    document = json.loads((FOLDER / f"{version}.json").read_text())
    return document.get("$defs") or document["definitions"]


@pytest.mark.req("M-01")
@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize("name", FULL)
def test_a_value_has_the_members_of_its_version(name: str, version: str) -> None:
    value = json.loads(msgspec.json.encode(in_version(version, FULL[name])))
    if isinstance(FULL[name], Result) and version == "2026-07-28":
        value |= {"resultType": "complete"}
    if "ReadResource" in name and version == "2026-07-28":
        value |= {"ttlMs": 0, "cacheScope": "public"}
    if not FOLDER.is_dir() or name in definitions(version):
        validate(value, version, name)
        assert set(value) == set(definitions(version)[name]["properties"])


@pytest.mark.req("M-07")
@pytest.mark.parametrize(
    ("value", "version", "definition"),
    [
        (Task(**TASK, status="working", ttl=None, poll_interval=5), "2025-11-25", "Task"),
        (Task(**TASK, status="failed", ttl=60_000), "2025-11-25", "Task"),
        (CreateTaskResult(task=Task(**TASK, status="working", ttl=1)), "2025-11-25", "CreateTaskResult"),
        (GetTaskResult(**TASK, status="cancelled", ttl=None), "2025-11-25", "CancelTaskResult"),
        (GetTaskResult(**TASK, status="completed", ttl=1, poll_interval=1, meta=META), "2025-11-25", "GetTaskResult"),
        (GetTaskResult(**TASK, status="completed", ttl=1), "2025-11-25", "TaskStatusNotificationParams"),
        (ListTasksResult(tasks=[Task(**TASK, status="working", ttl=1)], next_cursor="x"), "2025-11-25", "ListTasksResult"),
        (RelatedTask("t1"), "2025-11-25", "RelatedTaskMetadata"),
        (TaskCreated(**TASK, status="working", ttl_ms=None, poll_interval_ms=1), TASKS_EXTENSION, "CreateTaskResult"),
        (WorkingTask(**TASK, ttl_ms=1), TASKS_EXTENSION, "DetailedTask"),
        (WorkingTask(**TASK, ttl_ms=None), TASKS_EXTENSION, "WorkingTask"),
        (InputRequiredTask(**TASK, ttl_ms=1, input_requests={"a": Raw(b'{"method":"roots/list"}')}), TASKS_EXTENSION, "InputRequiredTask"),
        (CompletedTask(**TASK, ttl_ms=1, result=Raw(b'{"content":[]}')), TASKS_EXTENSION, "CompletedTask"),
        (FailedTask(**TASK, ttl_ms=1, error=TaskError(-32603, "m")), TASKS_EXTENSION, "FailedTask"),
        (CancelledTask(**TASK, ttl_ms=1, poll_interval_ms=9), TASKS_EXTENSION, "CancelledTask"),
        (CancelledTask(**TASK, ttl_ms=1, meta=META), TASKS_EXTENSION, "TaskStatusNotificationParams"),
    ],
)  # fmt: skip
def test_tasks_are_what_their_schemas_say(value: Struct, version: str, definition: str) -> None:
    data = msgspec.json.encode(value)
    assert msgspec.json.encode(msgspec.json.decode(data, type=type(value))) == data
    validate(json.loads(data), version, definition)


def test_other_values_are_what_their_schemas_say() -> None:
    done = msgspec.to_builtins(ElicitationCompleteParams(elicitation_id="1"))
    message = {"jsonrpc": "2.0", "method": "notifications/elicitation/complete", "params": done}
    validate(message, "2025-11-25", "ElicitationCompleteNotification")
    completion = msgspec.to_builtins(Completion(values=["a"], total=1, has_more=False))
    validate({"completion": completion}, "2025-11-25", "CompleteResult")


def test_nothing_is_copied_where_nothing_changes() -> None:
    result = CallToolResult(content=[TEXT], structured_content={})
    assert in_version("2025-11-25", result) is result
    assert result_in("2025-11-25", result) is result
    assert result_in("2026-07-28", result) is result


def test_a_result_from_elsewhere_is_sent_like_one_of_our_own() -> None:
    data = b'{"resultType":"complete","contents":[],"ttlMs":5,"cacheScope":"private"}'
    read = msgspec.json.decode(data, type=ReadResourceResult)
    for version in VERSIONS[:-1]:
        assert msgspec.json.encode(result_in(version, read)) == b'{"contents":[]}'
    assert msgspec.json.encode(result_in("2026-07-28", read)) == (
        b'{"ttlMs":5,"cacheScope":"private","contents":[]}'
    )
    asked = InputRequiredResult(request_state="s")
    assert result_in("2026-07-28", asked) is asked


@pytest.mark.req("M-08")
def test_audio_is_a_resource_where_there_is_no_audio() -> None:
    audio = AudioContent(data="AA==", mime_type="audio/wav", annotations=NOTES)
    result = CallToolResult(content=[audio])
    assert result_in("2025-03-26", result).content == [
        AudioContent(data="AA==", mime_type="audio/wav", annotations=Annotations(("user",), 0.5))
    ]
    assert result_in("2024-11-05", result).content == [
        EmbeddedResource(
            resource=ResourceContents(uri="urn:accord:audio", mime_type="audio/wav", blob="AA=="),
            annotations=Annotations(("user",), 0.5),
        )
    ]


@pytest.mark.req("M-08")
@pytest.mark.parametrize(
    ("link", "text"),
    [
        (ResourceLink(uri="x:y", name="n"), "n: x:y"),
        (ResourceLink(uri="x:y", name="n", title="T", description="d"), "T: x:y\nd"),
    ],
)
def test_a_link_is_text_where_there_are_no_links(link: ResourceLink, text: str) -> None:
    result = GetPromptResult(messages=[PromptMessage("user", link)])
    assert result_in("2025-06-18", result) is result
    assert result_in("2025-03-26", result).messages == [
        PromptMessage("user", TextContent(text=text))
    ]


@pytest.mark.parametrize(
    ("version", "value", "expected"),
    [
        ("2025-06-18", {"a": 1}, {"structuredContent": {"a": 1}}),
        ("2025-11-25", Raw(b'{"a":1}'), {"structuredContent": {"a": 1}}),
        ("2025-11-25", Root(uri="x"), {"structuredContent": {"uri": "x"}}),
        ("2025-11-25", [1], {"structuredContent": {"result": [1]}}),
        ("2025-11-25", None, {"structuredContent": {"result": None}}),
        ("2026-07-28", [1], {"structuredContent": [1]}),
        ("2025-03-26", [1], {}),
    ],
)
def test_structured_content_is_an_object_where_it_has_to_be(
    version: str, value: Any, expected: dict[str, Any]
) -> None:
    result = CallToolResult(content=[TextContent(text="t")], structured_content=value)
    sent = json.loads(msgspec.json.encode(result_in(version, result)))
    assert sent == {"content": [{"type": "text", "text": "t"}], **expected}


def test_structured_content_is_told_where_it_is_unknown_and_nothing_else_is_said() -> None:
    result = CallToolResult(content=[], structured_content={"a": 1})
    assert result_in("2024-11-05", result) == CallToolResult(content=[TextContent(text='{"a":1}')])
