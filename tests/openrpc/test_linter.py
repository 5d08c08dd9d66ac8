"""The linter: a document for each rule, and documents that nobody would write."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import given, strategies as st

from accord.openrpc.linter import MAX_FINDINGS, lint
from accord.openrpc.linter_rules import RULES, DocumentFinding


def document(**members: Any) -> dict[str, Any]:
    return {
        "openrpc": "1.3.2",
        "info": {"title": "Things", "version": "1"},
        "methods": [],
        **members,
    }


def method(name: str = "a", **members: Any) -> dict[str, Any]:
    return {"name": name, "params": [], "result": {"name": "r", "schema": {}}, **members}


def param(name: str, *, required: bool = True, schema: Any = True) -> dict[str, Any]:
    return {"name": name, "schema": schema, "required": required}


def with_method(**members: Any) -> dict[str, Any]:
    return document(methods=[method(**members)])


def with_schema(schema: Any) -> dict[str, Any]:
    return with_method(params=[param("p", schema=schema)])


CASES: list[tuple[str, dict[str, Any], str, str]] = [
    (
        "shape",
        {"openrpc": "1.3.2", "info": {"title": "x", "version": "1"}},
        "$",
        "the document has no 'methods', which it must have",
    ),
    ("shape", with_method(summary=5), "$.methods[0].summary", "must be a string, not a number"),
    ("shape", document(methods={}), "$.methods", "must be an array, not an object"),
    ("shape", document(methods=[None]), "$.methods[0]", "must be an object, not null"),
    (
        "shape",
        with_method(colour="red"),
        "$.methods[0].colour",
        "the method cannot have a member 'colour'; extensions begin with 'x-'",
    ),
    (
        "shape",
        with_method(errors=[{"code": 1, "message": "m", "x-more": 1}]),
        "$.methods[0].errors[0]['x-more']",
        "the error cannot have a member 'x-more'; take it away",
    ),
    (
        "shape",
        with_method(paramStructure="any"),
        "$.methods[0].paramStructure",
        "must be 'by-name', 'by-position' or 'either', not a string",
    ),
    (
        "shape",
        with_method(errors=[{"code": 1.5, "message": "m"}]),
        "$.methods[0].errors[0].code",
        "must be an integer, not a number",
    ),
    (
        "version",
        document(openrpc="3.1.0"),
        "$.openrpc",
        "'3.1.0' is no version of OpenRPC that is known here; 1.3.2 is widely read",
    ),
    (
        "method-duplicate",
        document(methods=[method(), method("b"), method()]),
        "$.methods[2].name",
        "another method is called 'a' already; give one of them another name",
    ),
    (
        "method-reserved",
        with_method(name="rpc.describe"),
        "$.methods[0].name",
        "'rpc.describe': names that begin with 'rpc.' are kept for the protocol, which has no "
        "such method; give it another name",
    ),
    (
        "method-without-result",
        document(methods=[{"name": "a", "params": []}]),
        "$.methods[0]",
        "'a' has no result, so that it can only be notified; describe its result if it has one, "
        '{"type": "null"} if that is nothing',
    ),
    (
        "param-duplicate",
        with_method(params=[param("p"), param("p")]),
        "$.methods[0].params[1].name",
        "another param is called 'p' already; give one of them another name",
    ),
    (
        "param-order",
        with_method(params=[param("p", required=False), param("q")]),
        "$.methods[0].params[1]",
        "'q' is required and stands behind 'p', which is not; put required params first",
    ),
    (
        "ref-unresolved",
        with_schema({"$ref": "#/components/schemas/None"}),
        "$.methods[0].params[0].schema['$ref']",
        "'#/components/schemas/None' leads nowhere; references go from the root of the document",
    ),
    (
        "ref-unresolved",
        with_schema({"$ref": "#anchor"}),
        "$.methods[0].params[0].schema['$ref']",
        "'#anchor' leads nowhere; references go from the root of the document",
    ),
    (
        "ref-kind",
        with_method(params=[{"$ref": "#/info"}]),
        "$.methods[0].params[0]['$ref']",
        "'#/info' does not lead to the descriptor that must be here",
    ),
    (
        "ref-cycle",
        with_schema({"$ref": "#/methods/0/params/0/schema"}),
        "$.methods[0].params[0].schema['$ref']",
        "'#/methods/0/params/0/schema' leads back to itself without ever saying anything",
    ),
    (
        "ref-remote",
        with_schema({"$ref": "https://example.com/schema.json"}),
        "$.methods[0].params[0].schema['$ref']",
        "'https://example.com/schema.json' is another document; put what it says into this one's "
        "components",
    ),
    (
        "ref-remote-discover",
        with_method(
            name="rpc.discover",
            result={"name": "r", "schema": {"$ref": "https://meta.open-rpc.org/"}},
        ),
        "$.methods[0].result.schema['$ref']",
        "'https://meta.open-rpc.org/' is another document, which those who discover this one may "
        'be unable to read; say {"type": "object"} instead',
    ),
    (
        "component-key",
        document(components={"schemas": {"a b": True}}),
        "$.components.schemas['a b']",
        "'a b' has other characters than letters, digits and '.', '-', '_'",
    ),
    (
        "component-unused",
        document(components={"schemas": {"Thing": True}}),
        "$.components.schemas.Thing",
        "nothing refers to it; take it away",
    ),
    (
        "error-duplicate",
        with_method(errors=[{"code": 1, "message": "a"}, {"code": 1, "message": "b"}]),
        "$.methods[0].errors[1]",
        "the method has an error 1 already; its codes must differ",
    ),
    (
        "error-reserved",
        with_method(errors=[{"code": -32500, "message": "a"}]),
        "$.methods[0].errors[0].code",
        "code -32500 is reserved, and nothing is defined for it; applications use codes outside "
        "-32768 to -32000",
    ),
    (
        "example-param-missing",
        with_method(params=[param("p")], examples=[{"name": "e", "params": []}]),
        "$.methods[0].examples[0].params",
        "the example lacks 'p', which is required; add it",
    ),
    (
        "example-param-missing",
        with_method(
            params=[param("p"), param("q")],
            paramStructure="by-position",
            examples=[{"name": "e", "params": [{"name": "q", "value": 1}]}],
        ),
        "$.methods[0].examples[0].params",
        "the example lacks 'q', which is required; add it",
    ),
    (
        "example-param-unknown",
        with_method(examples=[{"name": "e", "params": [{"name": "q", "value": 1}]}]),
        "$.methods[0].examples[0].params[0]",
        "the method has no param 'q'; take it away, or give it the name of one",
    ),
    (
        "example-param-unknown",
        with_method(
            paramStructure="by-position",
            examples=[{"name": "e", "params": [{"name": "q", "value": 1}]}],
        ),
        "$.methods[0].examples[0].params[0]",
        "the method has no param 'q'; take it away, or give it the name of one",
    ),
    (
        "link-method",
        with_method(links=[{"name": "l", "method": "b"}]),
        "$.methods[0].links[0].method",
        "no method is called 'b'; name one of this document",
    ),
    (
        "link-param",
        with_method(links=[{"name": "l", "method": "a", "params": {"q": 1}}]),
        "$.methods[0].links[0].params.q",
        "'a' has no param 'q'; give it only those it has",
    ),
    (
        "tag-duplicate",
        with_method(tags=[{"name": "t"}, {"name": "t"}]),
        "$.methods[0].tags[1]",
        "the method has the tag 't' already; take one of them away",
    ),
    (
        "tag-conflict",
        document(
            methods=[
                method(tags=[{"name": "t", "description": "one"}]),
                method("b", tags=[{"name": "t", "description": "two"}]),
            ]
        ),
        "$.methods[1].tags[0]",
        "the tag 't' is described otherwise at $.methods[0].tags[0]; describe it once, in "
        "components, and refer to it",
    ),
    (
        "server-url",
        document(servers=[{"url": "/rpc"}]),
        "$.servers[0].url",
        "'/rpc' is not absolute, as https://example.com/rpc is; clients need all of it",
    ),
    (
        "server-variable",
        document(servers=[{"url": "https://${host}/"}]),
        "$.servers[0].url",
        "the URL has the variable 'host', which 'variables' lacks; declare it",
    ),
    (
        "server-variable",
        document(servers=[{"url": "https://x/", "variables": {"host": {"default": "y"}}}]),
        "$.servers[0].variables.host",
        "the URL has no ${host}; put it there, or take the variable away",
    ),
    (
        "server-variable",
        document(
            servers=[{"url": "https://${h}/", "variables": {"h": {"default": "y", "enum": ["z"]}}}]
        ),
        "$.servers[0].variables.h.default",
        "the default 'y' is not among the values in 'enum'; add it there",
    ),
    (
        "url",
        document(externalDocs={"url": "docs.html"}),
        "$.externalDocs.url",
        "'docs.html' is not an absolute URL, as https://example.com/page is",
    ),
    (
        "url",
        document(info={"title": "x", "version": "1", "contact": {"email": "ann"}}),
        "$.info.contact.email",
        "'ann' is not an e-mail address",
    ),
    (
        "schema-keyword",
        with_schema({"type": "int"}),
        "$.methods[0].params[0].schema.type",
        "must be one of the seven types of JSON, or an array of them, not 'int'",
    ),
    (
        "schema-keyword",
        with_schema({"properties": {"a": {"minLength": -1}}}),
        "$.methods[0].params[0].schema.properties.a.minLength",
        "must be an integer, 0 or more, not -1",
    ),
    (
        "schema-dialect",
        with_schema({"prefixItems": [True]}),
        "$.methods[0].params[0].schema.prefixItems",
        "'prefixItems' is not in draft 07, and is ignored by many: use items: {anyOf: […]} with "
        "equal minItems and maxItems",
    ),
    (
        "schema-array",
        with_schema({"anyOf": [{"type": ["array", "null"], "items": [True]}]}),
        "$.methods[0].params[0].schema.anyOf[0]",
        "the array does not say in one schema what its items are; add 'items', for a tuple as "
        "{anyOf: […]} with equal minItems and maxItems",
    ),
    (
        "schema-required",
        with_schema({"properties": {}, "required": ["a"], "additionalProperties": False}),
        "$.methods[0].params[0].schema.required",
        "'a' is required and not allowed, so that no object fits; add it to 'properties' or take "
        "it from 'required'",
    ),
]


@pytest.mark.parametrize(("rule", "faulty", "path", "message"), CASES)
def test_each_rule_finds_its_fault_and_nothing_else(
    rule: str, faulty: dict[str, Any], path: str, message: str
) -> None:
    assert lint(faulty) == [DocumentFinding(rule, RULES[rule].severity, path, message)]


def test_a_result_in_an_example_of_a_notification_is_a_fault() -> None:
    notified = {
        "name": "a",
        "params": [],
        "examples": [{"name": "e", "params": [], "result": {"name": "r", "value": 1}}],
    }
    found = lint(document(methods=[notified]))
    assert [each.rule for each in found] == ["method-without-result", "example-result"]


def test_every_rule_has_a_case() -> None:
    assert {rule for rule, *_ in CASES} | {"example-result"} == set(RULES)


def test_every_rule_is_in_the_docs() -> None:
    page = (Path(__file__).parent.parent.parent / "docs" / "openrpc.md").read_text()
    for name, rule in RULES.items():
        assert f"| `{name}` | {rule.severity} | {rule.about} |\n" in page


def test_what_is_behind_references_is_looked_at() -> None:
    found = lint(
        document(
            methods=[
                method(
                    params=[
                        {"$ref": "#/components/contentDescriptors/P"},
                        {"$ref": "#/components/contentDescriptors/Q"},
                    ]
                )
            ],
            components={
                "contentDescriptors": {
                    "P": param("p", required=False),
                    "Q": param("p"),
                }
            },
        )
    )
    assert [each.rule for each in found] == ["param-duplicate", "param-order"]


def test_references_may_be_escaped_and_recursive() -> None:
    schemas = {
        "Node": {
            "type": "object",
            "properties": {
                "a/b": {"type": "array", "items": {"$ref": "#/components/schemas/Node"}}
            },
        }
    }
    faultless = document(
        methods=[
            method(
                params=[
                    param("p", schema={"$ref": "#/components/schemas/Node/properties/a~1b"}),
                    param("q", schema={"$ref": "#/components/schemas/Node/properties/a%7E1b"}),
                ]
            )
        ],
        components={"schemas": schemas},
    )
    assert lint(faultless) == []


def test_pre_defined_and_catalogued_codes_may_be_used() -> None:
    codes = (-32700, -32602, -32000, -32042, -32099, -32110, 1, -1)
    errors = [{"code": code, "message": "m"} for code in codes]
    assert lint(with_method(errors=errors)) == []


def test_further_values_of_a_variadic_param_are_known() -> None:
    params = [{**param("n", required=False), "x-variadic": True}]
    examples = [{"name": "e", "params": [{"name": "n", "value": 1}, {"name": "m", "value": 2}]}]
    links = [{"method": "a", "params": {"any": 1}}]
    for structure in ("by-position", "by-name"):
        faultless = with_method(
            params=params, paramStructure=structure, examples=examples, links=links
        )
        assert lint(faultless) == []


def test_a_flood_of_faults_is_cut_off() -> None:
    assert len(lint(document(methods=[None] * (MAX_FINDINGS + 10)))) == MAX_FINDINGS


def test_deep_schemas_are_looked_at_to_the_bottom() -> None:
    schema: Any = {"type": "nothing"}
    for _ in range(400):
        schema = {"not": schema}
    [found] = lint(with_schema(schema))
    assert found.rule == "schema-keyword"


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=5), inner, max_size=4)
    ),
    max_leaves=8,
)
WORDS = st.sampled_from(
    [*document(), *method(), "components", "servers", "errors", "tags", "links"]
) | (
    st.sampled_from(
        ["examples", "schema", "schemas", "$ref", "url", "variables", "enum", "default"]
    )
    | st.sampled_from(["code", "type", "items", "properties", "required", "x-variadic"])
)
VALUES = st.recursive(
    JSON
    | st.sampled_from(["#/methods/0", "#", "#/x", "a", "by-position", "array", "rpc.discover"]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(WORDS, inner, max_size=5),
    max_leaves=30,
)


@given(VALUES)
def test_nothing_that_is_json_makes_it_fail(value: Any) -> None:
    for faulty in (value, document(methods=value), document(methods=[value]), with_schema(value)):
        found = lint(faulty)
        assert all(each.rule in RULES for each in found)
        msgspec.json.encode(found)
