"""JSON that is nested too deep is refused alike, wherever it comes in and on every Python.

It is tried just over the limit, where every interpreter could read it, and at depths that the
stack bears on Python 3.13 and not on earlier ones, or nowhere.
"""

from __future__ import annotations

import asyncio
from base64 import urlsafe_b64encode
from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import msgspec
import pytest
from msgspec import Raw

from accord.a2a.checker.probes import ProbeResponse
from accord.a2a.protocol.card import read_card
from accord.a2a.protocol.model import Message, TextPart
from accord.a2a.server.skills import make_skill
from accord.cli.call import read_batch
from accord.cli.flags import structured, value
from accord.cli.mcp_server import SettingsFile
from accord.cli.workflow import read_input
from accord.exposure.response import Response, read_response
from accord.exposure.routes import Route
from accord.hub.exchange import project
from accord.jsonrpc.methods.signature import Parameter
from accord.jsonrpc.protocol.codec import MAX_DEPTH
from accord.mcp.client.auth.web import Reply
from accord.mcp.server.auth.issuers import read_header
from accord.mcp.server.components.parameters import TextArguments
from accord.operations.arguments import ArgumentSet
from accord.web.forms import Words
from accord.web.pages.workflows.inputs import value_of
from accord.workflows.agent.tasks import task_input
from accord.workflows.bridge.client_pool import read_plain_answer
from accord.workflows.bus.envelope import read_answer as read_result, read_origin, read_request
from accord.workflows.core.definition import Definition
from accord.workflows.triggers import webhooks

pytestmark = pytest.mark.req("Q-04")

REFUSED = "nested deeper than 128 levels"
DEPTHS = (MAX_DEPTH + 3, 1_000, 2_000, 20_000)


def lists(levels: int) -> str:
    return "[" * levels + "]" * levels


def member(of: str, levels: int, **others: str) -> str:
    """An object with lists as a member, so many levels together."""
    more = "".join(f'"{other}":"{text}",' for other, text in others.items())
    return f'{{{more}"{of}":{lists(levels - 1)}}}'


def skill(levels: int) -> Any:
    """The text of a message to an agent, read as what a skill takes."""

    def take(given: list[Any]) -> list[Any]:
        return given

    message = Message(message_id="m", role="user", parts=(TextPart(text=lists(levels)),))
    return asyncio.run(make_skill(take, direct=True, id="", name="").call(message, None))


def run_input(levels: int) -> Any:
    """The text of a message that starts a run: what cannot be read is a text."""
    message = Message(message_id="m", role="user", parts=(TextPart(text=lists(levels)),))
    found = task_input(message, Definition(name="w", steps=()))
    return None if isinstance(found, str) else found


def prompt_argument(levels: int) -> Any:
    """An argument of an MCP prompt, which is always text: what cannot be read stays one."""

    parameters = (Parameter("given", list[Any], "keyword_only", True),)
    given = TextArguments(parameters).encode({"given": lists(levels)})
    found = msgspec.json.decode(given, type=dict[str, Raw])["given"]
    return None if bytes(found).startswith(b'"') else found


def settings_file(levels: int) -> Any:
    with TemporaryDirectory() as folder:
        path = Path(folder) / "settings.json"
        path.write_text(member("other", levels))
        return SettingsFile(path).entries("mcpServers")


def route(levels: int) -> Any:
    """What a route answered that is exposed as a method."""
    response = Response(
        status=200,
        headers=[(b"content-type", b"application/json")],
        body=lists(levels).encode(),
    )
    return read_response(Route(method="GET", path="/"), response, max_error_bytes=1_000)


def exported(levels: int) -> Any:
    kept = {"format": project.JSON_FORMAT, "version": project.JSON_VERSION}
    head = msgspec.json.encode(kept).decode()[:-1]
    return list(project.read_json(f'{head},"items":{lists(levels - 1)}}}'))


def token_head(levels: int) -> Any:
    head = member("more", levels, alg="RS256").encode()
    return read_header(urlsafe_b64encode(head).decode().rstrip("=") + ".payload.signature")


def page(kind: str) -> Callable[[int], Any]:
    """A field of the page that starts a run."""
    schema = {"type": "object", "properties": {"it": {"type": kind} if kind else {}}}
    return lambda levels: value_of(schema, Words([("in.it", lists(levels))]))


SIGN_IN = ArgumentSet("SignIn", (Parameter("username", Any, "keyword_only", True),))
RESULT = {"message_id": "m", "run_id": "r", "task_id": "r/t", "status": "success"}
START = {"type": "start", "message_id": "m", "workflow": "w", "started_by": "ann"}


def envelope(levels: int, head: dict[str, str], name: str, read: Callable[[bytes], Any]) -> Any:
    """A value inside of a message in Kafka, which may be as deep as one of the tables."""
    text = msgspec.json.encode({"schema": 1, "created_at": 1.0, **head}).decode()[:-1]
    return read(f'{text},"{name}":{lists(levels + 1)}}}'.encode())


READERS: dict[str, tuple[Callable[[int], Any], str | None]] = {
    "a parameter on the command line": (lambda n: value(lists(n)), "a value is {}"),
    "parameters on the command line": (
        lambda n: structured(lists(n).encode(), "the params"),
        "the params are not JSON: {}",
    ),
    "a batch of messages": (
        lambda n: read_batch(f"[{member('params', n - 1, method='m')}]".encode()),
        "the batch is no array of messages: {}",
    ),
    "the input of a run": (lambda n: read_input(lists(n)), "the input is no JSON: {}"),
    "the settings of an MCP client": (
        settings_file,
        "… is left as it is, because it is no plain JSON ({}); comments are none. Write the entry "
        "yourself: --dry-run shows it",
    ),
    "an agent's card": (
        lambda n: read_card(member("more", n, name="a", url="http://a.example/").encode()),
        "the agent card is not valid: {}",
    ),
    "an answer of the older format": (
        lambda n: read_plain_answer(
            member("output", n, task_id="t", status="success").encode(), "t"
        ),
        "the agent's answer is not valid: {}",
    ),
    "an answer that is checked": (
        lambda n: (
            ProbeResponse(status=200, content_type="", headers={}, body=lists(n).encode()).json
        ),
        None,
    ),
    "a message to a skill": (skill, "the message is not what is expected: {}"),
    "a message that starts a run": (run_input, None),
    "an argument of a prompt": (prompt_argument, None),
    "an answer of an authorization server": (
        lambda n: Reply(200, {}, lists(n).encode()).read(list[Any]),
        None,
    ),
    "the head of a token": (token_head, None),
    "an answer of an exposed route": (route, "GET / answered 200 with JSON that is {}"),
    "an import": (exported, "this is no JSON export: {}"),
    "a sign-in": (
        lambda n: SIGN_IN.decode(member("username", n).encode()),
        "what was sent is {}",
    ),
    "a delivery of a webhook": (
        lambda n: webhooks._json_value(lists(n).encode()),
        "the body is no JSON: {}",
    ),
    "a field of any kind": (page(""), "it: is {}"),
    "a field with a list": (page("array"), "it: is not JSON: {}"),
    "a result from Kafka": (
        lambda n: envelope(n, RESULT, "output", read_result),
        "not a message: nested deeper than 130 levels",
    ),
    "a run that Kafka starts": (
        lambda n: envelope(n, START, "input", read_request),
        "not a message: nested deeper than 130 levels",
    ),
    "where a message comes from": (
        lambda n: envelope(n, RESULT, "more", read_origin).message_id or None,
        None,
    ),
}
"""Each place with what reads there so many levels, and what it says that cannot be read; None is
for what takes that for something else, and says nothing."""


@pytest.mark.parametrize("place", READERS)
def test_json_at_the_limit_is_read(place: str) -> None:
    read, _ = READERS[place]
    assert read(MAX_DEPTH) is not None


@pytest.mark.parametrize("levels", DEPTHS)
@pytest.mark.parametrize("place", READERS)
def test_json_over_the_limit_is_refused_in_the_same_words(place: str, levels: int) -> None:
    read, told = READERS[place]
    if told is None:
        assert read(levels) is None
        return
    with pytest.raises(Exception, match="nested deeper") as refused:
        read(levels)
    assert not isinstance(refused.value, RecursionError)
    said = getattr(refused.value, "message", str(refused.value))  # `str` adds an error's code
    assert said.endswith(told.format(REFUSED).removeprefix("…"))
