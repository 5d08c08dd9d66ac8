"""Commands that talk to an MCP server: list, inspect, call, read and prompt."""

from __future__ import annotations

import argparse
import asyncio
import logging
import shlex
import sys
from base64 import b64decode
from binascii import Error as Base64Error
from collections.abc import Awaitable, Callable, Iterator
from typing import Any, Final, assert_never
from urllib.parse import urlsplit

import msgspec
from msgspec import UNSET, Raw, Struct, UnsetType

from accord.cli import exits
from accord.cli.commands import Command, Parser
from accord.cli.exits import UsageError
from accord.cli.flags import (
    SECURE_SCHEMES,
    WEB_SCHEMES,
    add_web_flags,
    check_flag,
    client_tls,
    duration,
    header,
    read_params,
    read_scheme,
    structured,
)
from accord.cli.output import paint, pretty, print_error_line, print_json, print_line, printable
from accord.jsonrpc.protocol.codec import decode_json
from accord.jsonrpc.runtime.calls import decode_result
from accord.mcp.client.calls import all_items
from accord.mcp.client.client import Client
from accord.mcp.client.tools import ToolResult
from accord.mcp.protocol.content import (
    AudioContent,
    Content,
    EmbeddedResource,
    ImageContent,
    ResourceContents,
    ResourceLink,
    TextContent,
)
from accord.mcp.protocol.definitions import Prompt, Resource, ResourceTemplate, Tool
from accord.mcp.protocol.messages import LogParams, ProgressParams
from accord.mcp.protocol.versions import VERSIONS

# The server to talk to


DEFAULT_SECONDS: Final = 30.0

TARGETS: Final = """\
TARGET is a URL (http://…, https://…, ws://…, wss://…, tcp://…, tls://…, unix:///PATH), a command
that starts a server on stdin and stdout, in one word ('npx -y some-server'), or a Python file
that holds one (server.py or server.py:NAME)."""


def add_target(parser: Parser) -> None:
    """Add the argument TARGET, and the flags for connecting to it."""
    add = parser.add_argument
    add("target", metavar="TARGET", nargs="?", help="the server: a URL, a command or a file")
    add("--token", help="send this bearer token (http, https)")
    add_web_flags(parser)
    add(
        "--protocol",
        metavar="VERSION",
        choices=VERSIONS,
        help="speak this version of the protocol (default: the newest that the server knows)",
    )
    add(
        "--timeout",
        metavar="SECONDS",
        type=duration,
        default=DEFAULT_SECONDS,
        help=f"how long to wait for an answer, or none (default: {DEFAULT_SECONDS:g})",
    )
    add("--json", action="store_true", help="print JSON, as programs want it")
    add("-v", "--verbose", action="store_true", help="show progress and log messages on stderr")


def talk(arguments: argparse.Namespace, use: Callable[[Client], Awaitable[int]]) -> int:
    """Connect to the MCP server, call `use` with the client, and return its exit code."""
    level = logging.DEBUG if arguments.debug else logging.CRITICAL
    logging.basicConfig(level=level, format="%(levelname)s %(name)s: %(message)s")
    client = _client(arguments)

    async def main() -> int:
        async with client:
            return await use(client)

    return asyncio.run(main())


def _client(arguments: argparse.Namespace) -> Client:
    target = read_target(arguments.target)
    scheme = urlsplit(target).scheme if isinstance(target, str) else "stdio"
    for flag, is_given, fits in (
        ("--header", bool(arguments.header), WEB_SCHEMES),
        ("--token", arguments.token is not None, frozenset({"http", "https"})),
        ("--ca", arguments.ca is not None, SECURE_SCHEMES),
        ("--insecure", arguments.insecure, SECURE_SCHEMES),
    ):
        check_flag(flag, given=is_given, scheme=scheme, fits=fits)
    shown: dict[str, Any] = (
        {"logging": _show_log, "progress": _show_progress} if arguments.verbose else {}
    )
    return Client(
        target,
        headers=dict(map(header, arguments.header)),
        auth=arguments.token,
        protocol_version=arguments.protocol,
        timeout=arguments.timeout,
        longest=None,
        tls=client_tls(ca=arguments.ca, insecure=arguments.insecure),
        **shown,
    )


def read_target(text: str | None) -> str | list[str]:
    """Return TARGET as the URL of an MCP server or the command that starts one."""
    if not text:
        raise UsageError("a TARGET is missing: a URL, a command or a Python file")
    if "://" in text.split(maxsplit=1)[0]:
        read_scheme(text)
        return text
    if _is_python(text):
        # Imported here: a URL or a command does not need the server's modules.
        from accord.cli.mcp_server import ACCORD, ServerFile

        return [*ACCORD, "mcp", "run", str(ServerFile.read(text))]
    try:
        command = shlex.split(text.removeprefix("stdio:"))
    except ValueError as error:
        raise UsageError(f"{text!r} is no command: {error}") from None
    if not command:
        raise UsageError("the command to start is empty")
    return command


def _is_python(text: str) -> bool:
    file, _, _ = text.partition(".py:")
    return " " not in text and (text.endswith(".py") or f"{file}.py:" in text)


def _show_log(message: LogParams) -> None:
    label = paint(f"{message.level} {printable(message.logger)}".rstrip(), "faint", sys.stderr)
    print_error_line(f"{label} {printable(msgspec.json.encode(message.data).decode())}")


def _show_progress(progress: ProgressParams) -> None:
    label = paint("progress", "faint", sys.stderr)
    of = "" if progress.total is None else f" of {progress.total:g}"
    print_error_line(f"{label} {progress.progress:g}{of} {printable(progress.message)}".rstrip())


# accord mcp list


LIST_USAGE: Final = "accord mcp list [options] TARGET [tools] [resources] [templates] [prompts]"

LIST_DESCRIPTION: Final = f"""\
List what an MCP server offers: everything, or the kinds that are named. --json prints the
definitions exactly as the server sends them.

{TARGETS}

examples:
  accord mcp list server.py
  accord mcp list https://example.org/mcp tools --token "$TOKEN"
  accord mcp list 'npx -y @modelcontextprotocol/server-everything' --json
"""


def _configure_list(parser: Parser) -> None:
    add_target(parser)
    parser.add_argument(
        "kinds", metavar="KIND", nargs="*", help=f"what to list: {', '.join(KINDS)}"
    )


def _run_list(arguments: argparse.Namespace) -> int:
    for name in arguments.kinds:
        if name not in KINDS:
            raise exits.UsageError(f"{name!r} is none of {', '.join(KINDS)}")
    kinds = [KINDS[name] for name in arguments.kinds or KINDS]

    async def use(client: Client) -> int:
        found = await catalogue(client, kinds)
        if arguments.json:
            print_json(found)
        elif not any(found.values()):
            print_line(f"no {' or '.join(kind.name for kind in kinds)}")
        for line in () if arguments.json else shown_items(found):
            print_line(line)
        return exits.OK

    return talk(arguments, use)


# accord mcp inspect


INSPECT_USAGE: Final = "accord mcp inspect [options] TARGET"

INSPECT_DESCRIPTION: Final = f"""\
Show who an MCP server is: its name and version, the version of the protocol that is spoken, its
capabilities and instructions, and all that it lists.

{TARGETS}

examples:
  accord mcp inspect server.py
  accord mcp inspect http://127.0.0.1:8000/mcp --protocol 2025-06-18
"""


def _configure_inspect(parser: Parser) -> None:
    add_target(parser)


def _run_inspect(arguments: argparse.Namespace) -> int:
    async def use(client: Client) -> int:
        found = await catalogue(client, list(KINDS.values()))
        if arguments.json:
            print_json({**_about(client), **found})
            return exits.OK
        for line in (*_introduction(client), *shown_items(found)):
            print_line(line)
        return exits.OK

    return talk(arguments, use)


def _about(client: Client) -> dict[str, Any]:
    return {
        "protocolVersion": client.protocol_version,
        "serverInfo": client.server,
        "capabilities": client.capabilities,
        "instructions": client.instructions,
    }


def _introduction(client: Client) -> Iterator[str]:
    server = client.server
    name = "a server without a name" if server is None else f"{server.name} {server.version}"
    yield f"{printable(name)}, protocol {printable(client.protocol_version)}"
    able = ", ".join(msgspec.to_builtins(client.capabilities)) or "none"
    yield f"{paint('capabilities', 'key', sys.stdout)} {printable(able)}"
    for line in client.instructions.splitlines():
        yield f"{paint('instructions', 'key', sys.stdout)} {printable(line)}"


# What a server offers


class _Page(Struct, frozen=True):
    items: list[Raw]
    next_cursor: str | UnsetType = UNSET


class ComponentKind(Struct, frozen=True):
    """A kind of MCP component: tools, resources, resource templates or prompts."""

    name: str
    """The name in the output."""
    member: str
    """The member of a list result that contains the components."""
    method: str
    feature: str
    """The capability by which servers declare that they have such components."""
    show: Callable[[Raw], str]


async def catalogue(client: Client, kinds: list[ComponentKind]) -> dict[str, list[Raw]]:
    """Return the components of these kinds, exactly as the server sends them.

    The list of a kind is empty if the server does not declare the capability for it.
    """
    found = {}
    for kind in kinds:
        declared = getattr(client.capabilities, kind.feature) is not None
        found[kind.member] = await _listed(client, kind) if declared else []
    return found


async def _listed(client: Client, kind: ComponentKind) -> list[Raw]:
    async def page(cursor: str | None) -> _Page:
        params: dict[str, Any] = {} if cursor is None else {"cursor": cursor}
        raw = await client.conversation.ask(kind.method, params)
        members: dict[str, Raw] = decode_result(raw, dict[str, Raw], kind.method)
        items = decode_result(members.get(kind.member, Raw(b"[]")), list[Raw], kind.method)
        if "nextCursor" not in members:
            return _Page(items)
        return _Page(items, decode_result(members["nextCursor"], str, kind.method))

    return await all_items(kind.method, page, lambda it: it.items)


def shown_items(found: dict[str, list[Raw]]) -> Iterator[str]:
    """Yield the lines that show the components of a server to people."""
    for kind in KINDS.values():
        items = found.get(kind.member)
        if items:
            yield paint(kind.name, "key", sys.stdout)
            yield from (f"  {kind.show(item)}" for item in items)


def _tool(raw: Raw) -> str:
    tool = msgspec.json.decode(raw, type=Tool)
    known = tool.input_schema.get("properties")
    needed = tool.input_schema.get("required")
    names = list(known) if isinstance(known, dict) else []
    required = needed if isinstance(needed, list) else []
    parameters = ", ".join(name if name in required else f"[{name}]" for name in names)
    return _item_line(f"{tool.name}({parameters})", tool.title, tool.description)


def _resource(raw: Raw) -> str:
    resource = msgspec.json.decode(raw, type=Resource)
    return _item_line(resource.uri, resource.title or resource.name, resource.description)


def _template(raw: Raw) -> str:
    template = msgspec.json.decode(raw, type=ResourceTemplate)
    return _item_line(template.uri_template, template.title or template.name, template.description)


def _prompt(raw: Raw) -> str:
    prompt = msgspec.json.decode(raw, type=Prompt)
    parameters = ", ".join(it.name if it.required else f"[{it.name}]" for it in prompt.arguments)
    return _item_line(f"{prompt.name}({parameters})", prompt.title, prompt.description)


def _item_line(name: str, title: str, description: str) -> str:
    first = next(iter(description.strip().splitlines()), "") or title
    return f"{printable(name)}  {paint(printable(first), 'faint', sys.stdout)}" if first else name


KINDS: Final = {
    kind.name: kind
    for kind in (
        ComponentKind("tools", "tools", "tools/list", "tools", _tool),
        ComponentKind("resources", "resources", "resources/list", "resources", _resource),
        ComponentKind(
            "templates", "resourceTemplates", "resources/templates/list", "resources", _template
        ),
        ComponentKind("prompts", "prompts", "prompts/list", "prompts", _prompt),
    )
}


# accord mcp call


CALL_USAGE: Final = "accord mcp call [options] TARGET TOOL [NAME=VALUE …]"

CALL_DESCRIPTION: Final = f"""\
Call a tool and print what it gives: its text, or its structured content where that is all.

Arguments are NAME=VALUE, or one JSON object; a value that is not JSON is a string. A single -
reads the object from stdin. A tool that reports a failure ends the command with exit code 1.

{TARGETS}

examples:
  accord mcp call server.py forecast city=Oslo days=3
  accord mcp call https://example.org/mcp search '{{"query": "rain"}}' --token "$TOKEN" --json
"""


def _configure_call(parser: Parser) -> None:
    add_target(parser)
    parser.add_argument("tool", metavar="TOOL", nargs="?", help="the name of the tool")
    parser.add_argument("arguments", metavar="NAME=VALUE", nargs="*", help="its arguments")


def _run_call(arguments: argparse.Namespace) -> int:
    if arguments.tool is None:
        raise UsageError("a TOOL is missing")
    values = read_arguments(arguments.arguments)

    async def use(client: Client) -> int:
        result = await client.call_tool(arguments.tool, values, into=Raw)
        if arguments.json:
            print_line(_result_json(result))
        else:
            _print_result(result)
        return exits.ANSWERED_WITH_ERROR if result.is_error else exits.OK

    return talk(arguments, use)


def read_arguments(words: list[str]) -> Raw | UnsetType:
    """Return the arguments of a tool as a JSON object; UsageError if values lack names."""
    params = read_params(words, sys.stdin.buffer.read)
    if params is not UNSET and not bytes(params).startswith(b"{"):
        raise UsageError("arguments have names: write them as NAME=VALUE, or as one JSON object")
    return params


def _result_json(result: ToolResult[Raw]) -> bytes:
    members: dict[str, Any] = {"content": result.content}
    if result.has_structured:
        members["structuredContent"] = result.structured
    if result.is_error:
        members["isError"] = True
    if result.meta is not None:
        members["_meta"] = result.meta
    return msgspec.json.encode(members)


def _print_result(result: ToolResult[Raw]) -> None:
    if result.is_error:
        print_error_line(f"{paint('error', 'error', sys.stderr)}: the tool failed")
    # The content of an error is decoded: only results have the requested type.
    structured = msgspec.json.encode(result.structured) if result.has_structured else b""
    if structured and (not result.content or _repeats(result, structured)):
        print_line(pretty(structured, sys.stdout))
        return
    for block in result.content:
        print_line(shown_content(block))


def _repeats(result: ToolResult[Raw], structured: bytes) -> bool:
    """Return whether a tool's text only repeats its structured content as JSON."""
    match result.content:
        case [TextContent(text=text)] if text.lstrip().startswith(("{", "[")):
            return _same(text.encode(), structured)
        case _:
            return False


def _same(text: bytes, structured: bytes) -> bool:
    try:
        return bool(decode_json(text) == decode_json(structured))
    except msgspec.DecodeError:
        return False


# accord mcp read


READ_USAGE: Final = "accord mcp read [options] TARGET URI"

READ_DESCRIPTION: Final = f"""\
Read a resource and print its contents. Where stdout is no terminal, binary contents are written
to it as they are.

{TARGETS}

examples:
  accord mcp read server.py weather://oslo
  accord mcp read https://example.org/mcp file:///logo.png > logo.png
"""


def _configure_read(parser: Parser) -> None:
    add_target(parser)
    parser.add_argument("uri", metavar="URI", nargs="?", help="the resource")


def _run_read(arguments: argparse.Namespace) -> int:
    if arguments.uri is None:
        raise UsageError("a URI is missing")

    async def use(client: Client) -> int:
        result = await client.read_resource(arguments.uri)
        if arguments.json:
            print_json(result)
        for contents in () if arguments.json else result.contents:
            _write_contents(contents)
        return exits.OK

    return talk(arguments, use)


def _write_contents(contents: ResourceContents) -> None:
    content = None if contents.blob is UNSET else decoded(contents.blob)
    if content is None or sys.stdout.isatty():
        print_line(shown_resource(contents))
    else:
        sys.stdout.buffer.write(content)


# accord mcp prompt


PROMPT_USAGE: Final = "accord mcp prompt [options] TARGET PROMPT [NAME=VALUE …]"

PROMPT_DESCRIPTION: Final = f"""\
Get a prompt and print its messages. Arguments are NAME=VALUE, all of them strings, or one JSON
object.

{TARGETS}

examples:
  accord mcp prompt server.py review language=Python
"""


def _configure_prompt(parser: Parser) -> None:
    add_target(parser)
    parser.add_argument("prompt", metavar="PROMPT", nargs="?", help="the name of the prompt")
    parser.add_argument("arguments", metavar="NAME=VALUE", nargs="*", help="its arguments")


def _run_prompt(arguments: argparse.Namespace) -> int:
    if arguments.prompt is None:
        raise UsageError("a PROMPT is missing")
    values = _prompt_arguments(arguments.arguments)

    async def use(client: Client) -> int:
        result = await client.get_prompt(arguments.prompt, values)
        if arguments.json:
            print_json(result)
            return exits.OK
        for message in result.messages:
            role = paint(f"{message.role}:", "key", sys.stdout)
            print_line(f"{role} {shown_content(message.content)}")
        return exits.OK

    return talk(arguments, use)


def _prompt_arguments(words: list[str]) -> dict[str, str] | None:
    """Return the arguments of a prompt as strings, even those that look like numbers."""
    if not words:
        return None
    if len(words) == 1 and words[0].lstrip().startswith("{"):
        raw = structured(words[0].encode(errors="surrogateescape"), "the arguments")
        try:
            return msgspec.json.decode(raw, type=dict[str, str])
        except msgspec.ValidationError as error:
            raise UsageError(f"arguments of prompts are strings: {error}") from None
    found: dict[str, str] = {}
    for word in words:
        name, equals, value = word.partition("=")
        if not equals or not name:
            raise UsageError(f"{word!r} is not of the form NAME=VALUE")
        found[name] = value
    return found


# Content on a terminal


def shown_content(content: Content) -> str:
    """Format one content block of a tool result or a prompt for a terminal."""
    match content:
        case TextContent(text=text):
            return shown_text(text)
        case ImageContent(data=data, mime_type=kind) | AudioContent(data=data, mime_type=kind):
            return _blob(kind, data)
        case ResourceLink(uri=uri, name=name):
            return printable(f"[{uri}: {name}]")
        case EmbeddedResource(resource=resource):
            return shown_resource(resource)
        case _:
            assert_never(content)


def shown_resource(contents: ResourceContents) -> str:
    if contents.text is not UNSET:
        return shown_text(contents.text)
    assert contents.blob is not UNSET
    return _blob(contents.mime_type, contents.blob)


def shown_text(text: str) -> str:
    """Escape the control characters of a text, except for newlines and tabs."""
    return "\n".join("\t".join(map(printable, line.split("\t"))) for line in text.split("\n"))


def decoded(blob: str) -> bytes | None:
    """Return the decoded bytes of a blob, None if the blob is not base64."""
    try:
        return b64decode(blob, validate=True)
    except (Base64Error, ValueError):
        return None


def _blob(kind: str, data: str) -> str:
    content = decoded(data)
    size = "not base64" if content is None else f"{len(content):,} bytes"
    return printable(f"[{kind or 'data'}, {size}]")


COMMANDS: Final = {
    "mcp list": Command(LIST_USAGE, LIST_DESCRIPTION, _configure_list, _run_list),
    "mcp inspect": Command(INSPECT_USAGE, INSPECT_DESCRIPTION, _configure_inspect, _run_inspect),
    "mcp call": Command(CALL_USAGE, CALL_DESCRIPTION, _configure_call, _run_call),
    "mcp read": Command(READ_USAGE, READ_DESCRIPTION, _configure_read, _run_read),
    "mcp prompt": Command(PROMPT_USAGE, PROMPT_DESCRIPTION, _configure_prompt, _run_prompt),
}
