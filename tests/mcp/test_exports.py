"""The public surface of `accord.mcp` is pinned: a change of it is a change of this file."""

from __future__ import annotations

import subprocess
import sys

import pytest

from accord import mcp

SURFACE = [
    "Accepted",
    "Annotations",
    "Audio",
    "AudioContent",
    "CallToolResult",
    "Cancelled",
    "Client",
    "Completion",
    "Context",
    "Declined",
    "Depends",
    "Elicit",
    "ElicitUrl",
    "EmbeddedResource",
    "File",
    "GetPromptResult",
    "Icon",
    "Image",
    "ImageContent",
    "McpLimits",
    "Principal",
    "PromptMessage",
    "Request",
    "ResourceContents",
    "ResourceLink",
    "ResourceNotFoundError",
    "Roots",
    "Sample",
    "Server",
    "TaskSettings",
    "TextContent",
    "ToolAnnotations",
    "ToolError",
    "assistant_message",
    "user_message",
]


def test_the_public_names_are_these() -> None:
    assert sorted(mcp.__all__) == SURFACE


@pytest.mark.parametrize("name", SURFACE)
def test_every_public_name_can_be_had(name: str) -> None:
    assert getattr(mcp, name) is not None


def test_an_unknown_name_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match=r"accord\.mcp.*'nope'"):
        _ = mcp.nope


def test_a_server_loads_no_client_and_no_web_application() -> None:
    code = (
        "import sys\n"
        "from accord.mcp import Server\n"
        "Server('x').router\n"
        "heavy = ('accord.mcp.client.client', 'accord.exposure', 'accord.transports', 'pydantic')\n"
        "light = {'accord.transports', 'accord.transports.options', 'accord.transports.pages'}\n"
        "print(sorted(m for m in set(sys.modules) - light if m.startswith(heavy)))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"
