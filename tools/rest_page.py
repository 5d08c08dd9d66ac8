"""docs/reference/rest.md: every operation over REST, from the OpenAPI document."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from msgspec import Struct

from accord.app.system import REST
from accord.operations.operation import Operation
from tools.described import Described
from tools.operation_words import WRITES, heading, needs, scopes
from tools.schema_words import OF_EVERY_WRITE, PREVIEW, field, fields_of, table, words

PAGE = Path(__file__).parent.parent / "docs" / "reference" / "rest.md"
VERBS = ("get", "post", "put", "patch", "delete")
JSON = "application/json"

OPENING = f"""\
# REST operations

<!-- Generated from the OpenAPI document by `make docs`. -->

Everything that can be done over REST, below `{REST}`. How requests are made, what versions, pages
and problems are: [REST](../hub/rest.md). A server gives the same as an OpenAPI 3.1 document at
`{REST}/openapi.json`.

{WRITES}
Over REST, `dry_run` may also be in the query, and the key in the header `Idempotency-Key`. A
`dry_run` is answered 200 with {PREVIEW}.

## Who may do what

A token does what its owner's role allows, and of that what its scopes name
([accounts](../hub/accounts.md)).

"""

PROBLEMS = """
## Problems

What can be answered instead, as [Problem](values.md#problem). Those in **bold** can come from every
operation; each operation names the others.

"""


class _Route(Struct, frozen=True):
    verb: str
    path: str
    described: dict[str, Any]

    @property
    def name(self) -> str:
        name: str = self.described["operationId"]
        return name

    @property
    def tag(self) -> str:
        tag: str = self.described["tags"][0]
        return tag


def render(described: Described) -> str:
    """The whole page."""
    routes = list(_routes(described.openapi["paths"]))
    always = _always([each for each in routes if each.name in described.operations])
    tags = [each["name"] for each in described.openapi["tags"]]
    return (
        OPENING
        + scopes()
        + PROBLEMS
        + _problems(described.openapi["components"]["responses"], always)
        + "".join(
            f"## {heading(tag)}\n\n"
            + "".join(
                _section(each, described.operations, always) for each in routes if each.tag == tag
            )
            for tag in tags
        )
    ).rstrip() + "\n"


def _routes(paths: Mapping[str, Mapping[str, Any]]) -> Iterator[_Route]:
    for path, item in paths.items():
        for verb in VERBS:
            if verb in item:
                yield _Route(verb.upper(), path, item[verb])


def _always(routes: list[_Route]) -> frozenset[str]:
    """The problems that all of them can have."""
    return frozenset.intersection(*(frozenset(each.described["responses"]) for each in routes))


def _problems(responses: Mapping[str, Any], always: frozenset[str]) -> str:
    rows = [
        (f"**{status}**" if status in always else status, each["description"])
        for status, each in responses.items()
    ]
    return table(("status", "what it says"), rows)


def _section(route: _Route, operations: Mapping[str, Operation], always: frozenset[str]) -> str:
    described, name = route.described, route.name
    # An operation that is found at several places has a number behind its name at the others.
    operation = operations.get(name) or operations.get(name.rpartition("_")[0])
    right = f" {needs(operation)}" if operation else ""
    return (
        f"### {route.verb} {route.path}\n\n"
        f"`{operation.name if operation else name}`: {described['description']}{right}\n\n"
        + table(("field", "in", "what it is", ""), _fields(described))
        + f"{_answers(described['responses'], always)}\n\n"
    )


def _fields(described: Mapping[str, Any]) -> list[tuple[str, ...]]:
    rows = [
        _placed(
            each["in"],
            field(
                each["name"],
                each["schema"],
                required=each["required"],
                about=each.get("description", ""),
            ),
        )
        for each in described.get("parameters", ())
        if each["name"] not in OF_EVERY_WRITE
    ]
    content = described.get("requestBody", {}).get("content", {})
    body = content.get(JSON, {}).get("schema", {})
    if body.get("properties"):
        rows += [_placed("body", each) for each in fields_of(body)]
    elif body:
        texts = "".join(f", or `{each}`" for each in content if each != JSON)
        rows.append(("all of it", "body", f"{words(body)}{texts}", body.get("description", "")))
    return rows


def _placed(place: str, cells: tuple[str, str, str]) -> tuple[str, ...]:
    name, what, about = cells
    return name, place, what, about


def _answers(responses: Mapping[str, Any], always: frozenset[str]) -> str:
    done = [
        f"{status}{_with(each)}"
        for status, each in responses.items()
        if status.startswith("2") and _told(each) != [PREVIEW]
    ]
    others = [each for each in responses if not each.startswith("2") and each not in always]
    problems = f"; or {', '.join(others)}" if others else ""
    return f"Answers {' or '.join(done)}{problems}."


def _with(response: Mapping[str, Any]) -> str:
    told = [each.removesuffix(f" or {PREVIEW}") for each in _told(response)]
    return f" with {' or '.join(told)}" if told else ""


def _told(response: Mapping[str, Any]) -> list[str]:
    content: Mapping[str, Any] = response.get("content", {})
    return [
        f"`{kind}` of {words(_carried(each['schema']))}" if kind != JSON else words(each["schema"])
        for kind, each in content.items()
    ]


def _carried(schema: Mapping[str, Any]) -> Mapping[str, Any]:
    """What the events of a stream have as their data; any other schema as it is."""
    data = schema.get("properties", {}).get("data", {})
    carried: Mapping[str, Any] = data.get("contentSchema", schema)
    return carried
