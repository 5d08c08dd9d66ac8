"""The headers that repeat parts of a request, as a client makes them and a server checks them."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, strategies as st

from accord.mcp.protocol.headers import (
    MAX_INTEGER,
    HeaderParameter,
    check_headers,
    decode_value,
    encode_value,
    name_of,
    parameter_headers,
    request_headers,
)

REGION = HeaderParameter("Mcp-Param-Region", ("region",))
PRIORITY = HeaderParameter("Mcp-Param-Priority", ("options", "priority"))
V = "2026-07-28"


def schema(**properties: Any) -> dict[str, Any]:
    return {"type": "object", "properties": properties}


def annotated(name: Any = "Region", **more: Any) -> dict[str, Any]:
    return {"type": "string", "x-mcp-header": name, **more}


# Values


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("us-west1", "us-west1"),
        ("Hello, 世界", "=?base64?SGVsbG8sIOS4lueVjA==?="),
        (" padded ", "=?base64?IHBhZGRlZCA=?="),
        ("line1\nline2", "=?base64?bGluZTEKbGluZTI=?="),
        ("=?base64?literal?=", "=?base64?PT9iYXNlNjQ/bGl0ZXJhbD89?="),
        ("=?base64?=", "=?base64?PT9iYXNlNjQ/PQ==?="),
        ("=?base64?open", "=?base64?open"),
        ("=?BASE64?SGVsbG8=?=", "=?BASE64?SGVsbG8=?="),
        ("inner space", "inner space"),
        ("inner\ttab", "=?base64?aW5uZXIJdGFi?="),
        ("\ttab", "=?base64?CXRhYg==?="),
        ("\x7f", "=?base64?fw==?="),
        ("", ""),
        ("x", "x"),
    ],
)
def test_values_that_are_unsafe_are_sent_in_base64(text: str, value: str) -> None:
    assert encode_value(text) == value
    assert decode_value(value) == text


@given(st.text(st.characters(exclude_categories=["Cs"])))
def test_every_text_survives_a_header(text: str) -> None:
    value = encode_value(text)
    assert value.isascii()
    assert value.isprintable()
    assert value == value.strip()
    assert decode_value(f" \t{value} ") == text


@pytest.mark.parametrize(
    ("value", "problem"),
    [
        ("=?base64?SGVsbG8?=", "invalid base64"),
        ("=?base64?SGVs!!!bG8=?=", "invalid base64"),
        ("=?base64?SGVs bG8=?=", "invalid base64"),
        ("=?base64?/w==?=", "invalid base64"),
        ("caf\xe9", "invalid characters"),
        ("a\nb", "invalid characters"),
        ("a\0b", "invalid characters"),
    ],
)
def test_values_that_are_malformed_are_refused(value: str, problem: str) -> None:
    with pytest.raises(ValueError, match=problem):
        decode_value(value)
    assert (
        check_headers(
            {"mcp-protocol-version": V, "mcp-method": "tools/call", "mcp-name": value},
            version=V,
            method="tools/call",
            name="x",
        )
        == f"Mcp-Name header has {problem}"
    )


def test_the_marks_of_base64_may_be_empty_inside_and_may_not_overlap() -> None:
    assert decode_value("=?base64??=") == ""
    assert decode_value("=?base64?=") == "=?base64?="


# Annotations


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ({}, ()),
        ({"type": "object"}, ()),
        (schema(query={"type": "string"}), ()),
        (schema(region=annotated()), (REGION,)),
        (schema(a=annotated("A"), b=annotated("B", type="integer"), c=annotated("C", type="boolean")),
         (HeaderParameter("Mcp-Param-A", ("a",)), HeaderParameter("Mcp-Param-B", ("b",)), HeaderParameter("Mcp-Param-C", ("c",)))),
        (schema(options=schema(priority=annotated("Priority", type="integer"))), (PRIORITY,)),
        (schema(region=annotated(type=["string", "null"])), (REGION,)),
        (schema(region={"enum": ["eu", "us", None], "x-mcp-header": "Region"}), (REGION,)),
        (schema(region={"const": "eu", "x-mcp-header": "Region"}), (REGION,)),
        (schema(region={"anyOf": [{"type": "string"}, {"type": "null"}], "x-mcp-header": "Region"}), (REGION,)),
        (schema(region={"oneOf": [{"type": "string"}, {"type": "integer"}], "x-mcp-header": "Region"}), (REGION,)),
        (schema(region=annotated("Method")), (HeaderParameter("Mcp-Param-Method", ("region",)),)),
        # a property may be called like the annotation, and data are no schemas
        (schema(**{"x-mcp-header": {"type": "string"}}), ()),
        (schema(region={"type": "object", "default": {"x-mcp-header": "?"}, "examples": [annotated()]}), ()),
        ({"properties": True, "items": True, "anyOf": [True, False]}, ()),
    ],
)  # fmt: skip
def test_annotated_parameters_are_found(given: dict[str, Any], expected: tuple[Any, ...]) -> None:
    assert parameter_headers(given) == expected


@pytest.mark.parametrize(
    "name", ["", "My Region", "Region:Primary", "Région", "Region\t1", "a\r\nb", "a\n", 7, None]
)
def test_an_annotation_must_be_a_token(name: Any) -> None:
    with pytest.raises(ValueError) as refused:
        parameter_headers(schema(region=annotated(name)))
    assert str(refused.value) == f"x-mcp-header of 'region' is no header name: {str(name)!r}"


@pytest.mark.parametrize(
    "kind",
    [
        {"type": "object"},
        {"type": "array", "items": {"type": "string"}},
        {"type": "null"},
        {"type": "number"},
        {"type": ["string", "number"]},
        {"type": ["null"]},
        {"type": []},
        {"enum": ["a", 1.5]},
        {"const": {}},
        {"anyOf": [{"type": "string"}, {"type": "object"}]},
        {"anyOf": [{"type": "null"}]},
        {"anyOf": [{"type": "string"}, True]},
        {"anyOf": [{"type": "string"}, {"anyOf": [{"type": "string"}]}]},
        {"type": "object", "anyOf": [{"type": "string"}]},
        {"type": {}},
        {"anyOf": []},
        {"$ref": "#/$defs/Region"},
        {},
    ],
)
def test_an_annotated_parameter_must_be_primitive(kind: dict[str, Any]) -> None:
    with pytest.raises(ValueError) as refused:
        parameter_headers(schema(options=schema(region={**kind, "x-mcp-header": "Region"})))
    assert str(refused.value) == (
        "x-mcp-header 'Region' is on 'options.region', whose type is not primitive"
    )


@pytest.mark.parametrize("second", ["MyField", "myfield"])
def test_annotations_are_unique_whatever_their_case(second: str) -> None:
    with pytest.raises(ValueError) as refused:
        parameter_headers(schema(a=annotated("MyField"), b=schema(c=annotated(second))))
    assert str(refused.value) == f"x-mcp-header '{second}' occurs twice"


@pytest.mark.parametrize(
    "given",
    [
        annotated(),
        {"items": annotated()},
        {"prefixItems": [annotated()]},
        {"anyOf": [schema(region=annotated())]},
        {"oneOf": [{}, schema(region=annotated())]},
        {"allOf": [schema(region=annotated())]},
        {"not": schema(region=annotated())},
        {"if": schema(region=annotated())},
        {"then": schema(region=annotated())},
        {"else": schema(region=annotated())},
        {"$defs": {"Region": annotated()}},
        {"patternProperties": {"^r": annotated()}},
        {"additionalProperties": annotated()},
        schema(regions={"type": "array", "items": schema(region=annotated())}),
        schema(region={"anyOf": [annotated(), {"type": "null"}]}),
    ],
)
def test_only_properties_lead_to_annotations(given: dict[str, Any]) -> None:
    with pytest.raises(ValueError) as refused:
        parameter_headers(given)
    assert str(refused.value) == (
        "x-mcp-header 'Region' is on something that no chain of properties leads to"
    )


def test_schemas_may_be_deep() -> None:
    deep: dict[str, Any] = annotated()
    for _ in range(5_000):
        deep = schema(a=deep)
    (parameter,) = parameter_headers(deep)
    assert parameter.path == ("a",) * 5_000


KEYWORDS = ("x-mcp-header", "properties", "items", "anyOf", "oneOf", "type", "enum", "const", "a")
SCALARS = st.one_of(
    st.none(), st.booleans(), st.integers(), st.floats(allow_nan=False, allow_infinity=False),
    st.sampled_from(["string", "integer", "null", "Region", "é", ""]),
)  # fmt: skip
VALUES = st.recursive(
    SCALARS,
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(KEYWORDS), inner, max_size=4)
    ),
    max_leaves=20,
)


@given(st.dictionaries(st.sampled_from(KEYWORDS), VALUES, max_size=5))
def test_no_schema_breaks_the_search_for_annotations(given: dict[str, Any]) -> None:
    try:
        found = parameter_headers(given)
    except ValueError as error:
        assert str(error).startswith("x-mcp-header ")  # noqa: PT017
    else:
        assert all(it.header.isascii() and it.path for it in found)


@given(st.dictionaries(st.sampled_from(["region", "options"]), VALUES))
def test_a_server_takes_the_headers_that_a_client_makes(arguments: dict[str, Any]) -> None:
    params = {"name": "add", "arguments": arguments}
    try:
        headers = request_headers("tools/call", params, [REGION, PRIORITY])
    except ValueError:
        assert check(GOOD, params) is not None
    else:
        assert check(headers, params) is None


# A client's headers


@pytest.mark.parametrize(
    ("method", "params", "name"),
    [
        ("tools/call", {"name": "add"}, "add"),
        ("prompts/get", {"name": "prompt"}, "prompt"),
        ("resources/read", {"uri": "file:///a"}, "file:///a"),
        ("tasks/get", {"taskId": "t1"}, "t1"),
        ("tasks/update", {"taskId": "t1"}, "t1"),
        ("tasks/cancel", {"taskId": "t1"}, "t1"),
        ("tools/list", {"name": "x"}, None),
        ("tools/call", {}, None),
        ("tools/call", {"name": 7}, None),
    ],
)
def test_requests_are_named_by_what_they_are_about(
    method: str, params: dict[str, Any], name: str | None
) -> None:
    assert name_of(method, params) == name
    expected = {"MCP-Protocol-Version": V, "Mcp-Method": method}
    assert request_headers(method, params) == (
        expected if name is None else {**expected, "Mcp-Name": name}
    )


@pytest.mark.parametrize(
    ("value", "text"),
    [
        ("eu", "eu"),
        ("", ""),
        ("über", "=?base64?w7xiZXI=?="),
        (42, "42"),
        (-7, "-7"),
        (42.0, "42"),
        (1.5, "1.5"),
        (True, "true"),
        (False, "false"),
        (MAX_INTEGER, "9007199254740991"),
        (None, None),
        ([], None),
        ({}, None),
    ],
)
def test_arguments_are_repeated_in_headers(value: Any, text: str | None) -> None:
    params = {"name": "add", "arguments": {"region": value, "options": {"priority": value}}}
    headers = request_headers("tools/call", params, [REGION, PRIORITY], version=V)
    assert headers.get("Mcp-Param-Region") == headers.get("Mcp-Param-Priority") == text
    assert check(headers, params) is None


@pytest.mark.parametrize("arguments", [None, {}, {"options": {}}, {"options": 7}, {"region": None}])
def test_arguments_that_are_absent_have_no_header(arguments: Any) -> None:
    params = {"name": "add", "arguments": arguments}
    headers = request_headers("tools/call", params, [REGION, PRIORITY])
    assert list(headers) == ["MCP-Protocol-Version", "Mcp-Method", "Mcp-Name"]
    assert check(headers, params) is None


def test_integers_that_not_everyone_can_read_are_not_sent() -> None:
    params = {"name": "add", "arguments": {"region": MAX_INTEGER + 1}}
    with pytest.raises(ValueError, match="an integer is too large to be in a header"):
        request_headers("tools/call", params, [REGION])


# A server's check


def check(headers: dict[str, str], params: dict[str, Any]) -> str | None:
    return check_headers(
        {name.lower(): value for name, value in headers.items()},
        version=V,
        method="tools/call",
        name=params["name"],
        arguments=params.get("arguments"),
        parameters=[REGION, PRIORITY],
    )


GOOD = {"MCP-Protocol-Version": V, "Mcp-Method": "tools/call", "Mcp-Name": "add"}


@pytest.mark.parametrize(
    ("changes", "problem"),
    [
        ({}, None),
        ({"Mcp-Name": "  add\t"}, None),
        ({"Mcp-Method": " tools/call "}, None),
        ({"Mcp-Name": "=?base64?YWRk?="}, None),
        ({"Mcp-Param-Other": "x"}, None),
        ({"MCP-Protocol-Version": None}, "MCP-Protocol-Version header is missing"),
        ({"MCP-Protocol-Version": "2025-11-25"}, "MCP-Protocol-Version header value '2025-11-25' does not match body value '2026-07-28'"),
        ({"Mcp-Method": None}, "Mcp-Method header is missing"),
        ({"Mcp-Method": "TOOLS/CALL"}, "Mcp-Method header value 'TOOLS/CALL' does not match body value 'tools/call'"),
        ({"Mcp-Method": "=?base64?dG9vbHMvY2FsbA==?="}, "Mcp-Method header value '=?base64?dG9vbHMvY2FsbA==?=' does not match body value 'tools/call'"),
        ({"Mcp-Name": None}, "Mcp-Name header is missing"),
        ({"Mcp-Name": ""}, "Mcp-Name header value '' does not match body value 'add'"),
        ({"Mcp-Name": "sub"}, "Mcp-Name header value 'sub' does not match body value 'add'"),
        ({"Mcp-Name": "add, add"}, "Mcp-Name header value 'add, add' does not match body value 'add'"),
        ({"Mcp-Name": "x" * 5_000}, f"Mcp-Name header value '{'x' * 100}' does not match body value 'add'"),
        ({"Mcp-Param-Region": "eu"}, "Mcp-Param-Region header is given, and the arguments have no value for it"),
    ],
)  # fmt: skip
def test_headers_must_say_what_the_body_says(
    changes: dict[str, str | None], problem: str | None
) -> None:
    headers = {name: value for name, value in {**GOOD, **changes}.items() if value is not None}
    assert check(headers, {"name": "add"}) == problem


@pytest.mark.parametrize(
    ("value", "given", "problem"),
    [
        ("Hello", "=?base64?SGVsbG8=?=", None),
        ("Hello", " Hello ", None),
        ("SGVsbG8=", "SGVsbG8=", None),
        ("=?base64?SGVsbG8=", "=?base64?SGVsbG8=", None),
        ("=?base64?SGVsbG8=?=", "=?base64?SGVsbG8=?=", "Mcp-Param-Region header value 'Hello' does not match body value '=?base64?SGVsbG8=?='"),
        ("Hello", "=?base64?SGVsbG8?=", "Mcp-Param-Region header has invalid base64"),
        ("Hello", None, "Mcp-Param-Region header is missing"),
        ("Hello", "hello", "Mcp-Param-Region header value 'hello' does not match body value 'Hello'"),
        ("\xe9", "\xe9", "Mcp-Param-Region header has invalid characters"),
        ("", "", None),
        ("", None, "Mcp-Param-Region header is missing"),
        (42, "42.0", None),
        (42, "042", None),
        (42.0, "42", None),
        (-0.0, "0", None),
        (42, "=?base64?NDI=?=", None),
        (42, "42.5", "Mcp-Param-Region header value '42.5' does not match body value '42'"),
        (42, "43", "Mcp-Param-Region header value '43' does not match body value '42'"),
        (42, "9" * 5_000, f"Mcp-Param-Region header value '{'9' * 100}' does not match body value '42'"),
        (42, None, "Mcp-Param-Region header is missing"),
        (1.5, "1.5", None),
        (2**53, "9007199254740992", "Mcp-Param-Region header: an integer is too large to be in a header"),
        ("42", "42.0", "Mcp-Param-Region header value '42.0' does not match body value '42'"),
        (True, "true", None),
        (True, "1", "Mcp-Param-Region header value '1' does not match body value 'true'"),
        (False, "False", "Mcp-Param-Region header value 'False' does not match body value 'false'"),
        (None, "", "Mcp-Param-Region header is given, and the arguments have no value for it"),
        ({}, "x", "Mcp-Param-Region header is given, and the arguments have no value for it"),
        ([], None, None),
    ],
)  # fmt: skip
def test_headers_must_say_what_the_arguments_say(
    value: Any, given: str | None, problem: str | None
) -> None:
    headers = GOOD if given is None else {**GOOD, "Mcp-Param-Region": given}
    assert check(headers, {"name": "add", "arguments": {"region": value}}) == problem


def test_requests_about_nothing_need_no_name() -> None:
    headers = {"mcp-protocol-version": V, "mcp-method": "tools/list"}
    assert check_headers(headers, version=V, method="tools/list", name=None) is None
