"""`accord mcp list`, `call`, `read`, `prompt` and `inspect`, on a server of our own."""

from __future__ import annotations

import base64
import json
import shlex
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.cli.command import COMMAND, PATIENCE, Completed, accord, environment
from tests.cli.mcp_server_files import serving

LISTED = """\
tools
  forecast(city, [days])  The temperature of some days.
  add(a, b)
  fail()
  report()
  block()
resources
  weather://picture  picture
templates
  weather://{city}  weather
prompts
  plan(city, [days])  Plans a stay.
"""


def mcp(command: str, target: str | Path, *arguments: str, stdin: str = "") -> Completed:
    """Run `accord mcp …`; without what the server's own file prints."""
    done = accord("mcp", command, str(target), *arguments, stdin=stdin)
    kept = [it for it in done.err.splitlines(keepends=True) if not it.startswith("running the")]
    return Completed(done.code, done.out, "".join(kept))


@pytest.fixture
def url(weather: Path) -> Iterator[str]:
    with serving(str(weather), "--http", "127.0.0.1:0") as found:
        yield found


def test_everything_is_listed(weather: Path) -> None:
    assert mcp("list", weather) == Completed(0, LISTED)


def test_kinds_can_be_chosen(weather: Path) -> None:
    shown = mcp("list", f"{weather}:server", "prompts")
    assert shown == Completed(0, "prompts\n  plan(city, [days])  Plans a stay.\n")


def test_lists_are_json_as_the_server_sends_them(weather: Path) -> None:
    shown = mcp("list", weather, "tools", "--json")
    [forecast, *others] = json.loads(shown.out)["tools"]
    assert forecast["inputSchema"]["properties"]["days"] == {"type": "integer", "default": 3}
    assert [it["name"] for it in others] == ["add", "fail", "report", "block"]


def test_a_server_without_anything_says_so(tmp_path: Path) -> None:
    file = tmp_path / "empty.py"
    file.write_text("from accord.mcp import Server\nserver = Server('empty')")
    assert mcp("list", file) == Completed(0, "no tools or resources or templates or prompts\n")


@pytest.mark.parametrize("protocol", ["2026-07-28", "2025-11-25", "2024-11-05"])
def test_a_server_is_inspected(url: str, protocol: str) -> None:
    shown = mcp("inspect", url, "--protocol", protocol)
    assert shown.code == 0
    first, _, rest = shown.out.partition("\n")
    assert first == f"weather 1.0, protocol {protocol}"
    assert "instructions Ask for a city.\n" in rest
    assert rest.endswith(LISTED)


def test_inspection_is_json_too(url: str) -> None:
    about = json.loads(mcp("inspect", url, "--json").out)
    assert about["serverInfo"] == {"name": "weather", "version": "1.0"}
    assert about["protocolVersion"] == "2026-07-28"
    assert [it["name"] for it in about["prompts"]] == ["plan"]


@pytest.mark.parametrize(
    "arguments", [["city=Oslo", "days=5"], ['{"city": "Oslo", "days": 5}'], ["-"]]
)
def test_a_tool_is_called_with_arguments(weather: Path, arguments: list[str]) -> None:
    stdin = '{"city": "Oslo",\n "days": 5}' if arguments == ["-"] else ""
    shown = mcp("call", weather, "forecast", *arguments, stdin=stdin)
    assert shown == Completed(0, '{\n  "Oslo": 5\n}\n', "forecasting\n")


def test_text_is_printed_as_it_is_but_does_not_drive_the_terminal(weather: Path) -> None:
    assert mcp("call", weather, "report").out == "one\ntwo \\u001b[31m\n"


def test_progress_and_log_messages_are_shown_on_request(weather: Path) -> None:
    shown = mcp("call", weather, "report", "-v")
    assert shown.err == 'progress 1 of 2 half\ninfo "begun"\n'


def test_a_tool_that_fails_ends_the_command_so(url: str) -> None:
    shown = mcp("call", url, "fail")
    assert (shown.code, shown.err) == (1, "error: the tool failed\n")
    assert "secret" not in shown.out
    result = json.loads(mcp("call", url, "fail", "--json").out)
    assert result["isError"] is True


def test_a_failure_with_structured_content_is_printed_too(tmp_path: Path) -> None:
    file = tmp_path / "refusing.py"
    file.write_text(
        "from accord.mcp import CallToolResult, Server, TextContent\n"
        "server = Server('refusing')\n"
        "@server.tool\n"
        "def refuse() -> CallToolResult:\n"
        "    content = [TextContent(text='no')]\n"
        "    structured = {'code': 'not_found'}\n"
        "    return CallToolResult(\n"
        "        content=content, structured_content=structured, is_error=True\n"
        "    )\n"
    )
    assert mcp("call", file, "refuse") == Completed(1, "no\n", "error: the tool failed\n")


def test_results_are_json_on_request(weather: Path) -> None:
    shown = mcp("call", weather, "forecast", "city=Oslo", "--json", "--protocol", "2025-11-25")
    assert json.loads(shown.out) == {
        "content": [{"type": "text", "text": '{"Oslo":3}'}],
        "structuredContent": {"Oslo": 3},
    }


def test_errors_are_a_line_or_json(url: str) -> None:
    shown = mcp("call", url, "nope")
    assert (shown.code, shown.out) == (1, "")
    assert shown.err.startswith("error -32602: Unknown tool: nope\n")
    shown = mcp("call", url, "nope", "--json")
    assert (shown.code, shown.err) == (1, "")
    assert json.loads(shown.out)["error"]["code"] == -32602


def test_a_resource_is_read(weather: Path) -> None:
    assert mcp("read", weather, "weather://Oslo") == Completed(0, "sun in Oslo\n")


def test_binary_contents_are_written_as_they_are(weather: Path) -> None:
    done = subprocess.run(
        [*COMMAND, "mcp", "read", str(weather), "weather://picture"],
        capture_output=True,
        timeout=PATIENCE,
        check=True,
        env=environment(),
    )
    assert done.stdout == b"\x00\x01"
    [contents] = json.loads(mcp("read", weather, "weather://picture", "--json").out)["contents"]
    assert base64.b64decode(contents["blob"]) == b"\x00\x01"


@pytest.mark.parametrize("arguments", [["city=5", "days=2"], ['{"city": "5", "days": "2"}']])
def test_a_prompt_is_got_with_strings(weather: Path, arguments: list[str]) -> None:
    shown = mcp("prompt", weather, "plan", *arguments)
    assert shown == Completed(0, "user: Plan 2 days in 5\n")


def test_prompts_are_json_on_request(weather: Path) -> None:
    result = json.loads(mcp("prompt", weather, "plan", "city=Oslo", "--json").out)
    assert result["messages"][0]["content"]["text"] == "Plan 1 days in Oslo"


def test_a_command_is_started_and_talked_to(weather: Path) -> None:
    command = shlex.join([*COMMAND, "mcp", "run", str(weather)])
    for target in (command, f"stdio:{command}"):
        assert mcp("call", target, "add", "a=1", "b=2").out == "3\n"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("list",), "a TARGET is missing"),
        (("list", "ftp://x"), "does not begin with a scheme that accord knows"),
        (("list", "'unclosed"), "is no command"),
        (("list", "stdio:"), "the command to start is empty"),
        (("list", "http://127.0.0.1:1", "things"), "'things' is none of tools, resources"),
        (("call", "http://127.0.0.1:1"), "a TOOL is missing"),
        (("call", "http://127.0.0.1:1", "t", "5"), "arguments have names"),
        (("read", "http://127.0.0.1:1"), "a URI is missing"),
        (("prompt", "http://127.0.0.1:1"), "a PROMPT is missing"),
        (("prompt", "http://127.0.0.1:1", "p", "x"), "'x' is not of the form NAME=VALUE"),
        (("prompt", "http://127.0.0.1:1", "p", '{"a": 1}'), "arguments of prompts are strings"),
        (("list", "some command", "--token", "t"), "--token has no meaning for stdio"),
    ],
)
def test_wrong_usage_is_said(arguments: tuple[str, ...], message: str) -> None:
    shown = accord("mcp", *arguments)
    assert (shown.code, shown.out) == (2, "")
    assert message in shown.err


def test_a_server_that_is_not_there_is_said() -> None:
    shown = accord("mcp", "list", "http://127.0.0.1:1/mcp")
    assert (shown.code, shown.out) == (3, "")
    assert "cannot connect to" in shown.err


@pytest.mark.parametrize("flags", [["--token", "open"], ["--header", "Authorization: Bearer open"]])
def test_credentials_are_sent(tmp_path: Path, flags: list[str]) -> None:
    file = tmp_path / "echo.py"
    file.write_text(
        "from accord.mcp import Context, Server\n"
        "server = Server('echo')\n"
        "@server.tool\n"
        "async def who(context: Context) -> str:\n"
        "    return context.headers['authorization']\n"
    )
    with serving(str(file), "--http", "127.0.0.1:0") as url:
        assert mcp("call", url, "who", *flags).out == "Bearer open\n"
