"""The server that the conformance suite tests: every tool, resource and prompt it asks for.

    python server.py [own | uvicorn | stdio]

serves over HTTP at a free port and prints the URL, or over stdin and stdout.
"""

from __future__ import annotations

import asyncio
import socket
import sys
from typing import Annotated, Any, Literal

import uvicorn
from msgspec import Meta, Struct

from accord.jsonrpc.protocol.errors import RpcError
from accord.mcp import (
    Accepted,
    AudioContent,
    Context,
    Elicit,
    EmbeddedResource,
    ImageContent,
    ResourceContents,
    Roots,
    Sample,
    Server,
    TaskSettings,
    TextContent,
    ToolError,
)

PAUSE = 0.05
"""Seconds between what a tool tells while it works."""

PNG = bytes.fromhex(
    "89504e470d0a1a0a0000000d4948445200000001000000010802000000907753de0000000c49444154789c63"
    "f8cfc0000003010100c9fe92ef0000000049454e44ae426082"
)
WAV = bytes.fromhex(
    "524946462600000057415645666d74201000000001000100401f0000803e00000200100064617461020000000000"
)

SCHEMA_2020_12: dict[str, Any] = {
    "$schema": "https://json-schema.org/draft/2020-12/schema",
    "type": "object",
    "$defs": {
        "address": {
            "$anchor": "addressDef",
            "type": "object",
            "properties": {"street": {"type": "string"}, "city": {"type": "string"}},
        }
    },
    "properties": {
        "name": {"type": "string"},
        "address": {"$ref": "#/$defs/address"},
        "contactMethod": {"type": "string", "enum": ["phone", "email"]},
        "phone": {"type": "string"},
        "email": {"type": "string"},
    },
    "allOf": [{"anyOf": [{"required": ["phone"]}, {"required": ["email"]}]}],
    "if": {"properties": {"contactMethod": {"const": "phone"}}, "required": ["contactMethod"]},
    "then": {"required": ["phone"]},
    "else": {"required": ["email"]},
    "additionalProperties": False,
}

OPTIONS = ["option1", "option2", "option3"]
CHOICES: dict[str, Any] = {
    "type": "object",
    "properties": {
        "untitledSingle": {"type": "string", "enum": OPTIONS},
        "titledSingle": {
            "type": "string",
            "oneOf": [
                {"const": "value1", "title": "First Option"},
                {"const": "value2", "title": "Second Option"},
                {"const": "value3", "title": "Third Option"},
            ],
        },
        "legacyEnum": {
            "type": "string",
            "enum": ["opt1", "opt2", "opt3"],
            "enumNames": ["Option One", "Option Two", "Option Three"],
        },
        "untitledMulti": {"type": "array", "items": {"type": "string", "enum": OPTIONS}},
        "titledMulti": {
            "type": "array",
            "items": {
                "anyOf": [
                    {"const": "value1", "title": "First Choice"},
                    {"const": "value2", "title": "Second Choice"},
                    {"const": "value3", "title": "Third Choice"},
                ]
            },
        },
    },
    "required": [],
}


class Person(Struct):
    username: Annotated[str, Meta(description="User's response")]
    email: Annotated[str, Meta(description="User's email address")]


class Defaults(Struct):
    name: str = "John Doe"
    age: int = 30
    score: float = 95.5
    status: Literal["active", "inactive", "pending"] = "active"
    verified: bool = True


class Name(Struct):
    name: str


class Color(Struct):
    color: str


class Confirmation(Struct):
    ok: bool


class Consent(Struct):
    confirm: bool


class Surroundings(Struct):
    context: str


Region = Annotated[str, Meta(extra_json_schema={"x-mcp-header": "Region"})]

server = Server("accord-conformance", version="1.0", tasks=TaskSettings(poll_ms=100))


# Content


@server.tool
async def test_simple_text() -> str:
    """Says something."""
    return "This is a simple text response for testing."


@server.tool
async def test_image_content() -> ImageContent:
    """Shows a picture."""
    return ImageContent.of(PNG, "image/png")


@server.tool
async def test_audio_content() -> AudioContent:
    """Plays a sound."""
    return AudioContent.of(WAV, "audio/wav")


@server.tool
async def test_embedded_resource() -> EmbeddedResource:
    """Gives a resource."""
    return EmbeddedResource(
        resource=ResourceContents.of(
            "test://embedded-resource", "This is an embedded resource content.", "text/plain"
        )
    )


@server.tool
async def test_multiple_content_types() -> list[TextContent | ImageContent | EmbeddedResource]:
    """Gives a text, a picture and a resource."""
    mixed = ResourceContents.of(
        "test://mixed-content-resource", '{"test":"data","value":123}', "application/json"
    )
    return [
        TextContent(text="Multiple content types test:"),
        ImageContent.of(PNG, "image/png"),
        EmbeddedResource(resource=mixed),
    ]


@server.tool
async def test_error_handling() -> str:
    """Always fails."""
    raise ToolError("This tool intentionally returns an error for testing")


@server.tool(input_schema=SCHEMA_2020_12)
async def json_schema_2020_12_tool(arguments: dict[str, Any]) -> str:
    """Takes what a schema of all kinds of keywords allows."""
    return f"got {sorted(arguments)}"


@server.tool
async def test_x_mcp_header(region: Region) -> str:
    """Has a parameter that is mirrored into a header."""
    return f"in {region}"


# Telling while working


@server.tool
async def test_tool_with_logging(context: Context) -> str:
    """Logs what it does."""
    context.info("Tool execution started")
    await asyncio.sleep(PAUSE)
    context.info("Tool processing data")
    await asyncio.sleep(PAUSE)
    context.info("Tool execution completed")
    return "logged"


@server.tool
async def test_logging_tool(context: Context) -> str:
    """Logs, for those who want to hear it."""
    context.info("Tool executed")
    return "logged"


@server.tool
async def test_tool_with_progress(context: Context) -> str:
    """Tells how far it is."""
    for progress in (0, 50, 100):
        context.progress(progress, 100, f"Completed step {progress} of 100")
        await asyncio.sleep(PAUSE)
    return "done"


@server.tool
async def test_reconnection(context: Context) -> str:
    """Lets its client come back for the result."""
    context.close_stream()
    await asyncio.sleep(PAUSE)
    return "Reconnection test completed"


@server.tool
async def test_trigger_tool_change() -> str:
    """Changes the list of tools."""
    server.add_tool(test_simple_text, name="test_passing_tool")
    server.tools.remove("test_passing_tool")
    return "changed"


@server.tool
async def test_trigger_prompt_change() -> str:
    """Changes the list of prompts."""
    server.prompt("test_passing_prompt")(test_simple_prompt)
    server.prompts.remove("test_passing_prompt")
    return "changed"


# Asking


@server.tool
async def test_sampling(prompt: str, context: Context) -> str:
    """Asks the client's model."""
    told = await context.sample(prompt, max_tokens=100)
    return f"LLM response: {spoken(told.content)}"


@server.tool
async def test_missing_capability(context: Context) -> str:
    """Cannot do without the client's model."""
    told = await context.sample("Say something", max_tokens=10)
    return spoken(told.content)


@server.tool
async def test_elicitation(message: str, context: Context) -> str:
    """Asks the user."""
    answer = await context.elicit(message, Person)
    return f"User response: {answer}"


@server.tool
async def test_elicitation_sep1034_defaults(context: Context) -> str:
    """Shows a form that is filled in already."""
    answer = await context.elicit("Please review and update the form fields", Defaults)
    return f"Elicitation completed: {answer}"


@server.tool
async def test_elicitation_sep1330_enums(context: Context) -> str:
    """Lets the user choose in every way there is."""
    answer = await context.elicit("Please select options", CHOICES)
    return f"Elicitation completed: {answer}"


@server.tool
async def test_streaming_elicitation(context: Context) -> str:
    """Tells of progress and asks then."""
    context.progress(1, 2)
    await asyncio.sleep(PAUSE)
    answer = await context.elicit("Go on?", Confirmation)
    return answer.action


@server.tool
async def test_input_required_result_elicitation(context: Context) -> str:
    """Asks for a name."""
    return f"Hello, {await ask_name(context)}!"


@server.tool
async def test_input_required_result_sampling(context: Context) -> str:
    """Asks the client's model about France."""
    told = await context.sample(
        "What is the capital of France?", max_tokens=100, key="capital_question"
    )
    return spoken(told.content)


@server.tool
async def test_input_required_result_list_roots(context: Context) -> str:
    """Asks where it may work."""
    roots = await context.roots(key="client_roots")
    return ", ".join(root.uri for root in roots)


@server.tool
async def test_input_required_result_request_state(context: Context) -> str:
    """Asks for a confirmation; what comes back with it is checked by the server."""
    await context.elicit("Please confirm", Confirmation, key="confirm")
    return "state-ok"


@server.tool
async def test_input_required_result_tampered_state(context: Context) -> str:
    """Asks for a confirmation, too."""
    await context.elicit("Please confirm", Confirmation, key="confirm")
    return "confirmed"


@server.tool
async def test_input_required_result_multiple_inputs(context: Context) -> str:
    """Asks for three things together."""
    found = await context.ask(
        user_name=Elicit("What is your name?", Name),
        greeting=Sample("Generate a greeting", max_tokens=50),
        client_roots=Roots(),
    )
    return f"{spoken(found['greeting'].content)} {found['user_name']} {found['client_roots']}"


@server.tool
async def test_input_required_result_multi_round(context: Context) -> str:
    """Asks one thing after the other."""
    name = await context.elicit("Step 1: What is your name?", Name, key="step1")
    color = await context.elicit("Step 2: What is your favorite color?", Color, key="step2")
    return f"{name} {color}"


@server.tool
async def test_input_required_result_capabilities(context: Context) -> str:
    """Asks only what the client can answer."""
    questions: dict[str, Any] = {}
    if context.client_capabilities.sampling is not None:
        questions["capital_question"] = Sample("What is the capital of France?", max_tokens=100)
    if context.client_capabilities.elicitation is not None:
        questions["user_name"] = Elicit("What is your name?", Name)
    return ", ".join(await context.ask(**questions))


# Tasks


@server.tool
async def greet(name: str) -> str:
    """Greets at once."""
    return f"Hello, {name}!"


@server.tool(task="optional")
async def slow_compute(seconds: float, label: str = "") -> str:
    """Takes its time."""
    await asyncio.sleep(seconds)
    return f"{label} computed in {seconds:g} s"


@server.tool(task="required")
async def failing_job() -> str:
    """Works, and reports an error."""
    await asyncio.sleep(PAUSE)
    raise ToolError("The job failed")


@server.tool(task="optional")
async def protocol_error_job() -> str:
    """Works, and breaks."""
    await asyncio.sleep(PAUSE)
    raise RpcError("The job broke", code=-32603)


@server.tool(task="optional")
async def confirm_delete(filename: str, context: Context) -> str:
    """Asks before it deletes."""
    answer = await context.elicit(f"Delete {filename}?", Consent)
    return f"{filename}: {answer.action}"


@server.tool(task="optional")
async def multi_input(context: Context) -> str:
    """Asks two things together."""
    found = await context.ask(
        first=Elicit("What is your name?", Name), second=Elicit("And your other one?", Name)
    )
    return f"{found['first']} {found['second']}"


@server.tool(task="required", starts_task=True)
async def test_tool_with_task(context: Context) -> str:
    """Asks for a name, and becomes a task."""
    name = await ask_name(context)
    await context.start_task()
    await asyncio.sleep(PAUSE)
    return f"Hello, {name}!"


async def ask_name(context: Context) -> str:
    answer = await context.elicit("What is your name?", Name, key="user_name")
    return answer.content.name if isinstance(answer, Accepted) else "nobody"


def spoken(content: Any) -> str:
    """The text of what a model said."""
    blocks = content if isinstance(content, list) else [content]
    return " ".join(block.text for block in blocks if isinstance(block, TextContent))


# Resources


@server.resource("test://static-text", mime_type="text/plain")
async def static_text() -> str:
    """A text that does not change."""
    return "This is the content of the static text resource."


@server.resource("test://static-binary", mime_type="image/png")
async def static_binary() -> bytes:
    """A picture that does not change."""
    return PNG


@server.resource("test://template/{id}/data", mime_type="application/json")
async def template_data(id: str) -> dict[str, Any]:
    """Data by id."""
    return {"id": id, "templateTest": True, "data": f"Data for ID: {id}"}


@server.resource("test://watched-resource", mime_type="text/plain")
async def watched_resource() -> str:
    """Something to watch."""
    return "Watched resource content"


# Prompts


@server.prompt
async def test_simple_prompt() -> str:
    """A prompt without arguments."""
    return "This is a simple prompt for testing."


@server.prompt
async def test_prompt_with_arguments(arg1: str, arg2: str) -> str:
    """A prompt with two arguments."""
    return f"Prompt with arguments: arg1='{arg1}', arg2='{arg2}'"


@server.prompt
async def test_prompt_with_embedded_resource(resourceUri: str) -> list[Any]:  # noqa: N803
    """A prompt with a resource in it."""
    contents = ResourceContents.of(
        resourceUri, "Embedded resource content for testing.", "text/plain"
    )
    return [
        EmbeddedResource(resource=contents),
        "Please process the embedded resource above.",
    ]


@server.prompt
async def test_prompt_with_image() -> list[Any]:
    """A prompt with a picture in it."""
    return [ImageContent.of(PNG, "image/png"), "Please analyze the image above."]


@server.prompt
async def test_input_required_result_prompt(context: Context) -> str:
    """A prompt that asks for what it should be about."""
    answer = await context.elicit(
        "What context should the prompt use?", Surroundings, key="user_context"
    )
    return f"Use this context: {answer}"


@server.completion("test_prompt_with_arguments")
async def complete(value: str) -> list[str]:
    return [word for word in ("paris", "park", "party") if word.startswith(value)]


# Serving


def main(carrier: str) -> None:
    if carrier == "stdio":
        server.run("stdio:")
    elif carrier == "own":
        url = "http://127.0.0.1:0/mcp"
        server.run(url, on_listen=lambda serving: print(serving.url, flush=True))
    else:
        listening = socket.create_server(("127.0.0.1", 0))
        print(f"http://127.0.0.1:{listening.getsockname()[1]}/mcp", flush=True)
        config = uvicorn.Config(server.asgi("/mcp"), log_level="warning")
        uvicorn.Server(config).run(sockets=[listening])


if __name__ == "__main__":
    main(sys.argv[1] if len(sys.argv) > 1 else "own")
