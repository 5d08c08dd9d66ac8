"""`accord mcp call`: calls a tool of any MCP server."""

from __future__ import annotations

import argparse
import sys
from typing import Any, Final

import msgspec
from msgspec import UNSET, Raw, UnsetType

from accord.cli import exits
from accord.cli.exits import UsageError
from accord.cli.mcp_contents import shown_content
from accord.cli.mcp_target import TARGETS, add_target, talk
from accord.cli.output import paint, pretty, print_error_line, print_line
from accord.cli.params import read_params
from accord.cli.parser import Parser
from accord.jsonrpc.nesting import decode_json
from accord.mcp.client.client import Client
from accord.mcp.client.tool_result import ToolResult
from accord.mcp.protocol.content import TextContent

USAGE: Final = "accord mcp call [options] TARGET TOOL [NAME=VALUE …]"

DESCRIPTION: Final = f"""\
Call a tool and print what it gives: its text, or its structured content where that is all.

Arguments are NAME=VALUE, or one JSON object; a value that is not JSON is a string. A single -
reads the object from stdin. A tool that reports a failure ends the command with exit code 1.

{TARGETS}

examples:
  accord mcp call server.py forecast city=Oslo days=3
  accord mcp call https://example.org/mcp search '{{"query": "rain"}}' --token "$TOKEN" --json
"""


def configure(parser: Parser) -> None:
    add_target(parser)
    parser.add_argument("tool", metavar="TOOL", nargs="?", help="the name of the tool")
    parser.add_argument("arguments", metavar="NAME=VALUE", nargs="*", help="its arguments")


def run(arguments: argparse.Namespace) -> int:
    if arguments.tool is None:
        raise UsageError("a TOOL is missing")
    given = read_arguments(arguments.arguments)

    async def use(client: Client) -> int:
        result = await client.call_tool(arguments.tool, given, into=Raw)
        if arguments.json:
            print_line(_json(result))
        else:
            _show(result)
        return exits.ANSWERED_WITH_ERROR if result.is_error else exits.OK

    return talk(arguments, use)


def read_arguments(words: list[str]) -> Raw | UnsetType:
    """The arguments that these words say, a JSON object. Raises `UsageError`."""
    params = read_params(words, sys.stdin.buffer.read)
    if params is not UNSET and not bytes(params).startswith(b"{"):
        raise UsageError("arguments have names: write them as NAME=VALUE, or as one JSON object")
    return params


def _json(result: ToolResult[Raw]) -> bytes:
    members: dict[str, Any] = {"content": result.content}
    if result.has_structured:
        members["structuredContent"] = result.structured
    if result.is_error:
        members["isError"] = True
    if result.meta is not None:
        members["_meta"] = result.meta
    return msgspec.json.encode(members)


def _show(result: ToolResult[Raw]) -> None:
    if result.is_error:
        print_error_line(f"{paint('error', 'error', sys.stderr)}: the tool failed")
    # That of an error is decoded: only what a tool gives has the type that was asked for.
    structured = msgspec.json.encode(result.structured) if result.has_structured else b""
    if structured and (not result.content or _repeats(result, structured)):
        print_line(pretty(structured, sys.stdout))
        return
    for block in result.content:
        print_line(shown_content(block))


def _repeats(result: ToolResult[Raw], structured: bytes) -> bool:
    """Whether the text is nothing but the structured content in writing."""
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
