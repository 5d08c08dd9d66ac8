"""What types the schemas of a document become, whatever way they say it."""

from __future__ import annotations

from typing import Any

import pytest

from accord.openrpc.clients import DocumentError, read_api
from accord.openrpc.clients.model import (
    ANYTHING,
    NOTHING,
    NULL,
    ApiModel,
    Array,
    ConstantType,
    Declaration,
    Map,
    Primitive,
    RecordField,
    RecordType,
    Tuple,
    Type,
    TypeReference,
    Union,
)
from tests.clients.documents import document, method, param, ref

STRING = Primitive("string")
INTEGER = Primitive("integer")
NUMBER = Primitive("number")
BOOLEAN = Primitive("boolean")
KEY = "#/components/schemas/"


def read(schema: Any, **schemas: Any) -> ApiModel:
    return read_api(document(method("m", result=schema), schemas=schemas))


def result(schema: Any, **schemas: Any) -> Type | None:
    return read(schema, **schemas).methods[0].result


def declared(name: str, **schemas: Any) -> Declaration:
    return read_api(document(schemas=schemas)).declarations[KEY + name]


@pytest.mark.parametrize(
    ("schema", "type"),
    [
        (True, ANYTHING),
        ({}, ANYTHING),
        (False, NOTHING),
        ({"type": "string"}, STRING),
        ({"type": "integer", "minimum": 1}, INTEGER),
        ({"type": "number"}, NUMBER),
        ({"type": "boolean"}, BOOLEAN),
        ({"type": "null"}, NULL),
        ({"type": "unheard-of"}, ANYTHING),
        ({"type": ["string", "null"]}, Union((STRING, NULL))),
        ({"type": "string", "nullable": True}, Union((STRING, NULL))),
        ({"type": "string", "format": "date-time"}, Primitive("string", "date-time")),
        ({"type": "string", "format": "uuid"}, Primitive("string", "uuid")),
        ({"type": "string", "format": "byte"}, Primitive("string", "base64")),
        ({"type": "string", "contentEncoding": "base64"}, Primitive("string", "base64")),
        ({"type": "string", "format": "email"}, STRING),
        ({"pattern": "^a"}, STRING),
        ({"minimum": 3}, NUMBER),
        ({"const": "a"}, ConstantType(("a",))),
        ({"const": None}, NULL),
        ({"enum": ["a", 1, True, None]}, Union((ConstantType(("a", 1, True)), NULL))),
        ({"type": "string", "enum": ["a", 1]}, ConstantType(("a",))),
        ({"type": "number", "enum": [1, 2.5, "x"]}, ConstantType((1, 2.5))),
        ({"enum": [[1], {"a": 1}]}, Union((Array(ANYTHING), Map(ANYTHING)))),
        ({"enum": []}, NOTHING),
        ({"type": "array"}, Array(ANYTHING)),
        ({"type": "array", "items": {"type": "string"}}, Array(STRING)),
        ({"items": {"type": "string"}}, Array(STRING)),
        ({"type": "array", "items": [{"type": "string"}, {}]}, Tuple((STRING, ANYTHING), 2, None)),
        ({"type": "array", "prefixItems": [{"type": "string"}]}, Tuple((STRING,), 1, None)),
        (
            {"type": "array", "items": [{"type": "string"}], "minItems": 0, "additionalItems": True},
            Tuple((STRING,), 0, ANYTHING),
        ),
        (
            {"type": "array", "prefixItems": [{"type": "string"}], "items": False},
            Tuple((STRING,), 1, None),
        ),
        ({"type": "object"}, Map(ANYTHING)),
        ({"type": "object", "additionalProperties": {"type": "string"}}, Map(STRING)),
        ({"type": "object", "additionalProperties": False}, Map(NOTHING)),
        ({"patternProperties": {"^x": {"type": "string"}}}, Map(STRING)),
        ({"anyOf": [{"type": "string"}, {"type": "integer"}]}, Union((STRING, INTEGER))),
        ({"oneOf": [{"type": "string"}, {"type": "string"}]}, STRING),
        ({"oneOf": [{"const": "a"}, {"const": "b"}]}, ConstantType(("a", "b"))),
        ({"anyOf": [{"type": "string"}, {}]}, ANYTHING),
        ({"anyOf": [{"type": "string"}, False]}, STRING),
        ({"allOf": [{"type": "string"}, {"minLength": 1}]}, STRING),
        ({"allOf": [{"type": "number"}, {"type": ["integer", "null"]}]}, INTEGER),
        ({"allOf": [{"type": "string"}, {"type": "integer"}]}, NOTHING),
        ({"allOf": [{"enum": ["a", "b", "c"]}, {"enum": ["b", "c"]}, {"const": "c"}]}, ConstantType(("c",))),
        ({"type": "string", "anyOf": [{"const": "a"}, {"const": 1}]}, ConstantType(("a",))),
        ({"allOf": [{"items": {"type": "number"}}, {"items": {"type": "integer"}}]}, Array(INTEGER)),
        ({"not": {"type": "string"}}, ANYTHING),
        ({"$ref": "https://example.com/schema.json"}, ANYTHING),
    ],
)  # fmt: skip
def test_a_schema_is_read_as_a_type(schema: Any, type: Type) -> None:
    assert result(schema) == type


def test_an_object_with_known_members_is_a_record_named_by_its_place() -> None:
    schema = {
        "type": "object",
        "description": "Two.",
        "required": ["b", "c"],
        "properties": {
            "a": {"type": "string", "description": "First.", "deprecated": True},
            "b": {"type": "object", "properties": {"x": {"type": "integer"}}},
        },
    }
    api = read(schema)
    outer = api.declarations["#/methods/0/result/schema/object"]
    assert api.methods[0].result == TypeReference(outer.key)
    inner = api.declarations["#/methods/0/result/schema/properties/b/object"]
    assert outer == Declaration(
        outer.key,
        ("m", "result"),
        RecordType(
            (
                RecordField("a", STRING, False, "First.", True),
                RecordField("b", TypeReference(inner.key), True),
                RecordField("c", ANYTHING, True),
            ),
            open=False,
        ),
        "Two.",
    )
    assert inner.hint == ("m", "result", "b")


def test_a_record_says_whether_it_has_other_members() -> None:
    known = {"type": "object", "properties": {"a": True}}
    for extra, open in ((True, True), ({"type": "string"}, True), (False, False)):
        record = declared("A", A={**known, "additionalProperties": extra}).type
        assert record == RecordType((RecordField("a", ANYTHING, False),), open)


def test_objects_in_place_with_the_same_title_are_one_type_if_they_look_the_same() -> None:
    user = {"title": "User", "type": "object", "properties": {"id": {"type": "integer"}}}
    other = {**user, "properties": {"name": {"type": "string"}}}
    api = read_api(
        document(method("a", result=user), method("b", result=user), method("c", result=other))
    )
    first, second, third = (each.result for each in api.methods)
    assert first == second != third
    assert [each.hint for each in api.declarations.values()] == [("User",), ("User",)]


def test_all_of_makes_one_record() -> None:
    base = {"type": "object", "required": ["a"], "properties": {"a": {"type": "number"}}}
    more = {"required": ["b"], "properties": {"a": {"type": "integer"}, "b": {"type": "string"}}}
    assert declared("C", A=base, C={"allOf": [ref("A"), more], "description": "Both."}) == Declaration(
        f"{KEY}C",
        ("C",),
        RecordType((RecordField("a", INTEGER, True), RecordField("b", STRING, True)), open=False),
        "Both.",
    )  # fmt: skip


def test_all_of_with_alternatives_is_a_union_of_records() -> None:
    schema = {
        "required": ["kind"],
        "anyOf": [
            {"properties": {"kind": {"const": "a"}}},
            {"properties": {"kind": {"const": "b"}}},
        ],
    }
    api = read(schema)
    found = api.methods[0].result
    assert isinstance(found, Union)
    assert [api.declarations[each.key].type for each in found.members if isinstance(each, TypeReference)] == [
        RecordType((RecordField("kind", ConstantType((kind,)), True),), open=False) for kind in "ab"
    ]  # fmt: skip


def test_variants_that_extend_a_type_are_named_after_it() -> None:
    cat = {"type": "object", "properties": {"type": {"const": "cat"}}}
    dog = {"type": "object", "properties": {"type": {"const": "dog"}}}
    must = {"required": ["type"]}
    schema = {"anyOf": [{**must, "allOf": [ref("Cat")]}, {**must, "allOf": [ref("Dog")]}]}
    api = read(schema, Cat=cat, Dog=dog)
    found = api.methods[0].result
    assert isinstance(found, Union)
    assert [api.declarations[each.key].hint for each in found.members if isinstance(each, TypeReference)] == [
        ("m", "result", "Cat"),
        ("m", "result", "Dog"),
    ]  # fmt: skip


def test_members_that_only_say_what_is_required_change_no_type() -> None:
    schema = {"properties": {"a": True}, "anyOf": [{"required": ["a"]}, {"required": ["b"]}]}
    assert declared("A", A=schema).type == RecordType(
        (RecordField("a", ANYTHING, False),), open=False
    )


def test_recursive_schemas_refer_to_themselves() -> None:
    tree = {"type": "array", "items": ref("Tree")}
    assert declared("Tree", Tree=tree).type == Array(TypeReference(f"{KEY}Tree"))
    p, q = ({"properties": {"next": ref(name)}} for name in "PQ")
    api = read_api(document(schemas={"P": p, "Q": q, "Both": {"allOf": [ref("P"), ref("Q")]}}))
    both = api.declarations[f"{KEY}Both"].type
    assert isinstance(both, RecordType)
    (following,) = both.fields
    assert isinstance(following.type, TypeReference)
    assert api.declarations[following.type.key].type == RecordType((following,), open=False)


@pytest.mark.parametrize(
    ("schemas", "types"),
    [
        ({"A": ref("A")}, {"A": ANYTHING}),
        ({"A": ref("B"), "B": ref("A")}, {"A": TypeReference(f"{KEY}B"), "B": ANYTHING}),
        ({"A": {"anyOf": [ref("A"), {"type": "string"}]}}, {"A": STRING}),
        ({"A": {"allOf": [ref("A"), {"type": "string"}]}}, {"A": STRING}),
        ({"A": {"allOf": [ref("A")]}}, {"A": ANYTHING}),
    ],
)
def test_what_is_only_itself_is_cut_open(schemas: Any, types: dict[str, Type]) -> None:
    api = read_api(document(schemas=schemas))
    assert {key.removeprefix(KEY): each.type for key, each in api.declarations.items()} == types


def test_references_may_lead_anywhere_in_the_document() -> None:
    api = read_api(
        document(
            method("m", param("p", {"$ref": "#/components/schemas/a~1b%20c/properties/x"})),
            schemas={"a/b c": {"type": "object", "properties": {"x": {"type": "integer"}}}},
        )
    )
    key = "#/components/schemas/a~1b c/properties/x"
    assert api.methods[0].parameters[0].type == TypeReference(key)
    assert api.declarations[key] == Declaration(key, ("a/b c", "x"), INTEGER)


def test_alternatives_beyond_the_limit_let_in_anything() -> None:
    two = {"anyOf": [{"type": "string"}, {"type": "integer"}]}
    assert result({"allOf": [two] * 9}) == ANYTHING


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ([], "#: an OpenRPC document is an object, and not an array"),
        ({}, "#/methods: methods are an array, and not null"),
        (document({"params": []}), "#/methods/0: a method has a name, a string, and not null"),
        (document(method("a"), method("a")), "#/methods/1: there are two methods 'a'"),
        (document(method("a", param("x"), param("x"))), "#/methods/0/params/1: there are two parameters 'x'"),
        (document(method("a", paramStructure="x")), "#/methods/0: paramStructure cannot be 'x'"),
        (document(method("a", result=5)), "#/methods/0/result/schema: a schema is an object or a boolean, and not a number"),
        (document(method("a", result=ref("B"))), "#/methods/0/result/schema: nothing is at '#/components/schemas/B'"),
        (document(method("a", result={"$ref": "#x"})), "#/methods/0/result/schema: '#x' is no JSON pointer"),
        (document(method("a", result={"type": 5})), "#/methods/0/result/schema/type: a type is a string or an array, and not a number"),
        (document(method("a", errors=[{"code": "x"}])), "#/methods/0/errors/0: an error has a code, a whole number, and not a string"),
        (document({"$ref": "#/methods/0"}), "#/methods/0: the reference '#/methods/0' leads to itself"),
        (document({"$ref": "other.json"}), "#/methods/0: 'other.json' is not in the document"),
    ],
)  # fmt: skip
def test_a_document_that_no_client_can_be_written_from_is_refused(
    content: Any, message: str
) -> None:
    with pytest.raises(DocumentError) as caught:
        read_api(content)
    assert str(caught.value) == message


def test_schemas_nested_too_deep_are_refused() -> None:
    schema: Any = {"type": "string"}
    for _ in range(65):
        schema = {"type": "array", "items": schema}
    with pytest.raises(DocumentError, match="schemas are nested more than 64 deep"):
        result(schema)


def test_schemas_that_multiply_are_refused() -> None:
    schemas: dict[str, Any] = {f"S{n}": {"allOf": [ref(f"S{n + 1}")] * 2} for n in range(40)}
    schemas["S40"] = {"type": "object", "properties": {"x": True}}
    with pytest.raises(DocumentError, match="the schemas take more than 1,000,000 steps to read"):
        read_api(document(schemas=schemas))
