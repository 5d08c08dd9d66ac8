"""Whatever is sent to whichever text field by whichever face: it is kept as it is, or refused with
the field named. Nothing breaks, and search finds its way through all of it."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import cycle, islice
from pathlib import Path
from typing import Any

import msgspec.inspect
import pytest

from accord.app.composition import all_operations
from accord.operations.operation import Operation
from tests.hub.system.installation import MCP, REST, RPC, Answer, Installation, Wire, running
from tests.hub.system.matrix import MATRIX
from tests.hub.system.naughty import NO_JSON, TEXTS, UNKEEPABLE, WRONG
from tests.hub.system.things import (
    filled,
    made,
    run_of,
    things_of,
    things_of_another,
    workflow_things,
)

REGISTRY = all_operations()
FACES = (REST, RPC, MCP)
TRIED = 11
"""How many texts are tried with each field: the next field gets the next ones."""


class Office:
    """An installation, somebody who may do everything, and what they have."""

    def __init__(self, here: Installation) -> None:
        self.here = here
        self.ada = here.wire(here.add("ada", "Administrator"))
        prompt = made(self.ada.rest("POST", "/prompts", name="kind", content="Be kind."))
        self.things = {
            **things_of(self.ada, "ada", prompt["reference_id"]),
            **workflow_things(self.ada),
            **things_of_another(here.wire(here.add("otto", "User"))),
            "run": run_of(self.ada),
            "password": "not the password",
        }

    def call(self, operation: Operation, face: str, arguments: dict[str, Any]) -> Answer:
        if face == MCP and operation.tool:
            return self.ada.tool(operation.name, **arguments)
        if face == REST:
            rest = operation.rest[0]
            return self.ada.rest(rest.verb, rest.path, **arguments)
        return self.ada.rpc(operation.name, **arguments)


@pytest.fixture(params=["sqlite", "postgresql"], scope="module")
def office(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Office]:
    database = ""
    if request.param == "postgresql":
        database = request.getfixturevalue("cluster").database()
    data: Path = tmp_path_factory.mktemp("naughty") / "data"
    with running(data, database) as here:
        yield Office(here)


def result(answer: Answer) -> tuple[Any, Any]:
    """What came of a call on any face: its result, or the error; never a failure of ours."""
    assert answer.status < 500, answer
    found = answer.json if answer.body else {}
    if answer.status >= 400 and "jsonrpc" not in found:
        return None, found
    if "jsonrpc" not in found:
        return found, None
    if "error" in found:
        assert found["error"]["code"] not in (-32603, -32000) or (
            found["error"]["data"]["reason"] == "conflict"
        ), answer
        return None, {"code": found["error"]["data"]["reason"], **found["error"]["data"]}
    inner = found["result"]
    if isinstance(inner, dict) and "structuredContent" in inner:
        content = inner["structuredContent"]
        if inner.get("isError"):
            assert content["error"]["code"] not in ("internal_error", "unavailable"), answer
            return None, content["error"]
        return content, None
    return inner, None


KEPT: list[tuple[str, dict[str, Any], str]] = [
    ("create_epic", {"title": "x"}, "title"),
    ("create_epic", {"title": "x"}, "description"),
    ("create_user_story", {"epic_id": "$epic", "title": "x"}, "title"),
    ("create_acceptance_criteria", {"user_story_id": "$story"}, "description"),
    ("create_requirement", {"user_story_id": "$story", "title": "x"}, "description"),
    ("create_steering_document", {"title": "x"}, "description"),
    ("update_requirement", {"id": "$requirement"}, "title"),
    ("update_prompt", {"id": "$prompt"}, "content"),
    ("update_prompt", {"id": "$prompt"}, "description"),
    ("add_comment", {"target_id": "$requirement"}, "text"),
    ("update_comment", {"id": "$comment"}, "text"),
]
"""Operations, arguments, and the field that is kept as it was given."""


@pytest.mark.req("H-02", "H-09")
@pytest.mark.parametrize("face", FACES)
@pytest.mark.parametrize(
    ("name", "arguments", "field"), KEPT, ids=[f"{name}-{field}" for name, _, field in KEPT]
)
def test_texts_are_kept_as_they_are_or_refused_by_name(
    office: Office, face: str, name: str, arguments: dict[str, Any], field: str
) -> None:
    given = filled(arguments, office.things)
    kept = 0
    for what, text in TEXTS.items():
        answer = office.call(REGISTRY[name], face, {**given, field: text})
        found, error = result(answer)
        if error is None:
            assert found[field] == text, what
            again = office.ada.rest("GET", place_of(name), id=found["id"])
            assert again.json[field] == text, what
            kept += 1
        else:
            assert error["code"] == "validation_failed", (what, error)
            assert [each["pointer"] for each in error["errors"]] == [f"/{field}"], (what, error)
    assert kept > len(TEXTS) / 2


def place_of(operation: str) -> str:
    noun = operation.partition("_")[2]
    plural = {"acceptance_criteria": "acceptance-criteria", "user_story": "user-stories"}
    return f"/{plural.get(noun, noun.replace('_', '-') + 's')}/{{id}}"


def text_fields(operation: Operation) -> Iterator[str]:
    """Parameters that take a text."""
    for parameter in operation.parameters:
        if "password" not in parameter.name and _takes_text(
            msgspec.inspect.type_info(parameter.annotation)
        ):
            yield parameter.name


def _takes_text(it: msgspec.inspect.Type) -> bool:
    if isinstance(it, msgspec.inspect.Metadata):
        return _takes_text(it.type)
    if isinstance(it, msgspec.inspect.UnionType):
        return any(_takes_text(each) for each in it.types)
    return isinstance(it, msgspec.inspect.StrType | msgspec.inspect.LiteralType)


def test_no_text_in_any_field_of_any_operation_breaks_anything(office: Office) -> None:
    faces, texts = cycle(FACES), cycle(TEXTS.items())
    for operation in REGISTRY:
        given = filled(MATRIX[operation.name].arguments, office.things)
        if operation.writes:
            given["dry_run"] = True
        for field in text_fields(operation):
            for what, text in islice(texts, TRIED):
                face = next(faces)
                answer = office.call(operation, face, {**given, field: text})
                assert answer.status != 404 or answer.headers["content-type"] == (
                    "application/problem+json"
                )
                result_or_refusal(answer, (operation.name, field, what, face))


def result_or_refusal(answer: Answer, about: Any) -> None:
    try:
        result(answer)
    except AssertionError as error:
        raise AssertionError((about, answer)) from error


@pytest.mark.parametrize("face", FACES)
def test_texts_that_cannot_be_kept_are_refused_by_name(office: Office, face: str) -> None:
    for what, text in UNKEEPABLE.items():
        for body, pointer in (
            (b'{"title": %b}' % text, "/title"),
            (b'{"title": "x", "description": %b}' % text, "/description"),
        ):
            answer = send(office.ada, face, body)
            found, error = result(answer)
            assert found is None, (what, found)
            assert error["code"] in ("validation_failed", "malformed_request", "parse_error")
            if error["code"] == "validation_failed":
                assert error["errors"][0]["pointer"] == pointer, (what, error)
        key = b'{"title": "x", %b: 1}' % text
        assert result(send(office.ada, face, key))[0] is None, what


@pytest.mark.parametrize("face", FACES)
def test_what_is_no_json_is_refused(office: Office, face: str) -> None:
    for what, body in NO_JSON.items():
        answer = send(office.ada, face, body)
        assert answer.status in (200, 400, 413, 422), (what, answer)
        found, error = result(answer)
        assert found is None, (what, found)
        assert error["code"] in (
            *("malformed_request", "validation_failed", "parse_error", "invalid_request"),
            "invalid_params",
        ), (what, error)


@pytest.mark.parametrize("face", FACES)
def test_wrong_fields_are_named(office: Office, face: str) -> None:
    for what, body in WRONG.items():
        found, error = result(send(office.ada, face, body))
        assert found is None, (what, found)
        if body.startswith(b"{"):
            assert error["code"] == "validation_failed", (what, error)
            assert len(error["errors"]) == 1, (what, error)
            named = {"unknown field": "/titel", "empty name": "", "proto": "/__proto__"}
            pointer = named.get(what, "/priority" if b"priority" in body else "/title")
            assert error["errors"][0]["pointer"] == pointer, (what, error)


def send(wire: Wire, face: str, body: bytes) -> Answer:
    """Have an epic created from arguments that are sent as they are."""
    if face == REST:
        return wire.ask("POST", "/api/v1/epics", raw=body)
    if face == RPC:
        raw = b'{"jsonrpc": "2.0", "id": 1, "method": "create_epic", "params": %b}' % body
        return wire.ask("POST", "/rpc", raw=raw)
    params = b'{"name": "create_epic", "arguments": %b}' % body
    raw = b'{"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": %b}' % params
    return wire.ask("POST", "/api/v1/mcp", raw=raw)


@pytest.mark.parametrize("face", FACES)
def test_texts_may_be_so_long_and_no_longer(office: Office, face: str) -> None:
    create = REGISTRY["create_epic"]
    for field, most in (("title", 500), ("description", 50_000)):
        for letter in ("x", "é", "\U0001f600"):
            given = {"title": "x", field: letter * most}
            found, error = result(office.call(create, face, given))
            assert error is None
            read = office.ada.rest("GET", "/epics/{id}", id=found["id"]).json
            assert read[field] == letter * most
            found, error = result(office.call(create, face, {**given, field: letter * (most + 1)}))
            assert (found, error["code"]) == (None, "validation_failed")
            assert error["errors"][0]["pointer"] == f"/{field}"


def test_what_a_field_is_given_twice_is_the_last_or_refused(office: Office) -> None:
    for face in FACES:
        found, error = result(send(office.ada, face, b'{"title": "first", "title": "last"}'))
        assert error is not None or found["title"] == "last"


@pytest.mark.parametrize("face", FACES)
def test_no_search_breaks(office: Office, face: str) -> None:
    for what, text in TEXTS.items():
        for name in ("search_global", "search_requirements"):
            found, error = result(office.call(REGISTRY[name], face, {"query": text}))
            if error is not None:
                assert error["errors"][0]["pointer"] == "/query", (what, error)
            else:
                assert found["total"] >= len(found["items"]), what


@pytest.mark.parametrize("format", ["json", "csv", "markdown", "reqif"])
def test_everything_that_is_kept_can_be_exported_and_imported(office: Office, format: str) -> None:
    for text in TEXTS.values():
        for given in ({"title": text}, {"title": "x", "description": text}):
            office.ada.rest("POST", "/epics", **given)
    answer = office.ada.rest("GET", "/export", format=format)
    assert answer.status == 200, answer
    content = answer.json["content"]
    if format == "csv":
        cells = [cell.strip('"') for line in content.splitlines() for cell in line.split(",")]
        assert [cell for cell in cells if cell[:1] in ("=", "@")] == []
    again = office.ada.rest("POST", "/import", format=format, content=content, dry_run=True)
    assert again.status == 200, again.body[:2_000]
    assert again.json["result"]["failed"] == 0


def test_no_name_or_uri_breaks_what_mcp_serves_beside_tools(office: Office) -> None:
    texts = [*(msgspec.json.encode(each) for each in TEXTS.values()), *UNKEEPABLE.values()]
    for text in texts:
        for method, params in (
            ("prompts/get", b'{"name": %b}' % text),
            ("prompts/list", b'{"cursor": %b}' % text),
            ("resources/list", b'{"cursor": %b}' % text),
            ("resources/read", b'{"uri": %b}' % text),
            ("resources/read", b'{"uri": "epic://%b}' % text[1:]),
            ("resources/subscribe", b'{"uri": "epic://%b}' % text[1:]),
            (
                "completion/complete",
                b'{"ref": {"type": "ref/resource", "uri": "epic://{id}"}, '
                b'"argument": {"name": "id", "value": %b}}' % text,
            ),
        ):
            raw = b'{"jsonrpc": "2.0", "id": 1, "method": "%b", "params": %b}' % (
                method.encode(),
                params,
            )
            answer = office.ada.ask("POST", "/api/v1/mcp", raw=raw)
            assert answer.status in (200, 400), (method, text, answer)
            assert b"-32603" not in answer.body, (method, text, answer)
