"""Whatever a document says, the client that is written from it holds no code of the document."""

from __future__ import annotations

import ast
import inspect
import json
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings, strategies as st
from msgspec import UNSET

from accord.openrpc.clients import read_api, write_python, write_typescript
from accord.openrpc.clients.stub import Methods, decoder
from tests.clients.documents import Json, document, method, param, ref
from tests.clients.modules import load
from tests.clients.random_documents import HOSTILE, random_document
from tests.interop.programs import environment

HERE = Path(__file__).parent
OFTEN = settings(max_examples=150, deadline=None, suppress_health_check=list(HealthCheck))
SELDOM = settings(OFTEN, max_examples=25)

texts = st.text(max_size=20) | st.lists(st.sampled_from(HOSTILE), min_size=1).map("".join)
seeds = st.integers(min_value=0, max_value=2**32)


def with_text_everywhere(text: str) -> Json:
    """A document with a text in every place that takes one."""
    said = {"title": text, "description": text}
    schema = {
        **said,
        "type": "object",
        "required": [text],
        "properties": {
            text: {"enum": [text, 1]},
            f"{text}x": {"const": text, "format": text, "pattern": text},
        },
    }
    open = {**schema, "additionalProperties": True}
    return document(
        method(
            text,
            param(text, schema, summary=text, description=text),
            param(f"{text}y", {"anyOf": [schema, open, {"const": text}]}, required=False),
            result=open,
            summary=text,
            description=text,
            tags=[{"name": text}],
            errors=[{"code": 1, "message": text}],
        ),
        method(f"{text}.{text}z", param(text), result=None, paramStructure="by-position"),
        schemas={text: schema, f"{text} ": open},
        info={**said, "version": text},
        servers=[{"url": text}, {"url": f"http://{text}"}],
    )


# Python

CALLED = {"TypedDict", "either", "given", "msgspec.field", "open_record", "placed", "staticmethod"}
CALLED |= {"self._caller.call", "self._caller.notify"}
HOMES = {"__future__", "accord", "accord.openrpc.clients.stub", "accord.sync", "builtins"}
HOMES |= {"datetime", "decimal", "msgspec", "typing", "uuid"}


def check_python(source: str) -> None:
    """Refuse a source in which there is anything that a client does not consist of."""
    for node in ast.walk(ast.parse(source)):
        match node:
            case ast.Call(func):
                called = ast.unparse(func)
                assert called in CALLED or called.rstrip("0123456789").endswith("Methods"), called
            case ast.Expr(value):
                assert isinstance(value, ast.Constant), ast.unparse(node)
            case ast.If(test):
                assert ast.unparse(test) == "TYPE_CHECKING"
            case ast.Import(names):
                assert {alias.name for alias in names} <= HOMES
            case ast.ImportFrom(module):
                assert module in HOMES
            case ast.stmt():
                kinds = ast.AnnAssign | ast.Assign | ast.ClassDef | ast.FunctionDef | ast.Return
                assert isinstance(node, kinds), ast.unparse(node)


class Sent:
    """A caller that notes what a client would send."""

    def __init__(self) -> None:
        self.messages: dict[str, Any] = {}

    def call(self, method: str, params: Any, returns: Any) -> None:
        self.messages[method] = params
        decoder(returns.__args__[0])  # msgspec takes the type

    def notify(self, method: str, params: Any) -> None:
        self.messages[method] = params


def send_all(place: Any) -> None:
    """Call every method of a client, each parameter by its own name."""
    for name in vars(type(place)):
        if name.startswith("_"):
            continue
        member = getattr(place, name)
        if isinstance(member, Methods):
            send_all(member)
        else:
            member(**{each: f"for {each}" for each in inspect.signature(member).parameters})


def sent_by(source: str) -> dict[str, Any]:
    client = load(source).Client(None)
    client._caller = sent = Sent()
    send_all(client)
    return sent.messages


@OFTEN
@given(texts)
def test_no_text_becomes_python_code_and_every_name_is_sent_as_it_is(text: str) -> None:
    made = with_text_everywhere(text)
    source = write_python(read_api(made), command=text)
    check_python(source)
    sent = sent_by(source)
    assert {*sent} == {text, f"{text}.{text}z"}
    assert [*sent[text]] == [text, f"{text}y"]
    assert len(sent[f"{text}.{text}z"]) == 1


@SELDOM
@given(seeds)
def test_python_clients_of_any_document_can_be_used_whole(seed: int) -> None:
    made = random_document(seed)
    source = write_python(read_api(made), command="")
    assert source == write_python(read_api(made), command="")
    check_python(source)
    sent = sent_by(source)
    assert {*sent} == {each["name"] for each in made["methods"]}
    for each in made["methods"]:
        names, params = [param["name"] for param in each["params"]], sent[each["name"]]
        if names and each["paramStructure"] == "by-position":
            assert len(params) == len(names)
        else:
            assert [*({} if params is UNSET else params)] == names


@SELDOM
@given(seeds, st.booleans())
def test_other_kinds_of_python_clients_hold_no_code_either(seed: int, flat: bool) -> None:
    source = write_python(read_api(random_document(seed)), command="", flat=flat, blocking=not flat)
    check_python(source)
    load(source)


# TypeScript

RUNTIME = {"ClassDeclaration", "FunctionDeclaration", "InterfaceDeclaration"}
RUNTIME |= {"TypeAliasDeclaration", "FirstStatement"}


class Parser:
    """The parser of the TypeScript compiler."""

    def __init__(self, packages: Path) -> None:
        self._process = subprocess.Popen(
            ["node", str(HERE / "parse.cjs")],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env=environment(packages),
        )

    def parse(self, source: str) -> Any:
        """What stands in a source: errors of syntax, kinds of statements, what is called."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(json.dumps(source) + "\n")
        self._process.stdin.flush()
        return json.loads(self._process.stdout.readline())

    def close(self) -> None:
        self._process.communicate()


@pytest.fixture(scope="module")
def parser(packages: Path) -> Iterator[Parser]:
    parser = Parser(packages)
    yield parser
    parser.close()


def check_typescript(source: str, parser: Parser) -> None:
    """Refuse a source in which there is anything that a client does not consist of."""
    found, plain = parser.parse(source), parser.parse(PLAIN)
    assert found["errors"] == []
    assert {*found["statements"]} <= RUNTIME
    assert {*found["called"]} <= {*plain["called"]}


PLAIN = write_typescript(
    read_api(
        document(
            method("a", result=None),
            method("b", param("x"), paramStructure="by-position"),
            method("c"),
        )
    ),
    command="",
)


@OFTEN
@given(texts)
def test_no_text_becomes_typescript_code(parser: Parser, text: str) -> None:
    check_typescript(write_typescript(read_api(with_text_everywhere(text)), command=text), parser)


@SELDOM
@given(seeds, st.booleans())
def test_typescript_clients_of_any_document_hold_no_code(
    parser: Parser, seed: int, flat: bool
) -> None:
    made = random_document(seed)
    source = write_typescript(read_api(made), command="", flat=flat)
    assert source == write_typescript(read_api(made), command="", flat=flat)
    check_typescript(source, parser)


# Both


def nested(depth: int, wrap: Callable[[Any], Any]) -> Any:
    schema: Any = {"type": "string"}
    for _ in range(depth):
        schema = wrap(schema)
    return schema


def linked(count: int, link: Callable[[Json], Any]) -> Json:
    """Schemas each of which refers to the next."""
    return {f"S{n}": link(ref(f"S{n + 1}")) for n in range(count)} | {f"S{count}": True}


MANY = {f"p{number}": True for number in range(5_000)}
STRINGS = {"type": "array", "items": {"type": "string"}}
LARGE = {
    "deep arrays": document(method("m", result=nested(60, lambda each: {"items": each}))),
    "deep unions": document(
        method("m", result=nested(28, lambda each: {"anyOf": [{"items": each}, STRINGS]}))
    ),
    "deep objects": document(
        method("m", result=nested(60, lambda each: {"properties": {"x": each}, "required": ["x"]}))
    ),
    "a long chain": document(schemas=linked(5_000, lambda each: each)),
    "a long chain of arrays": document(schemas=linked(5_000, lambda each: {"items": each})),
    "many members": document(method("m", result={"properties": MANY, "required": [*MANY]})),
    "many values": document(method("m", result={"allOf": [{"enum": [*MANY]}, {"enum": [*MANY]}]})),
    "many methods": document(*(method(f"a.{name}") for name in MANY)),
    "many dots": document(method("." * 10_000), method("a." * 10_000)),
}


@pytest.mark.parametrize("name", LARGE)
def test_large_documents_give_clients_in_little_time(name: str) -> None:
    api = read_api(LARGE[name])
    check_python(write_python(api, command=""))
    assert write_typescript(api, command="").endswith("}\n")
