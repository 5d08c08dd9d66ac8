"""The conversion of a call's arguments to the request that a route expects.

There is no I/O here. Everything that does not depend on the arguments is computed once per route.
Refused are unknown arguments, missing arguments, and values that cannot be written at their place
in a request. The application checks values against their schemas.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from functools import partial
from typing import Any, Final, TypeAlias, assert_never
from urllib.parse import quote

from msgspec import Struct
from msgspec.structs import replace

from accord.exposure.openapi import RouteCredentials
from accord.exposure.request_body import Body, choose_body, is_file
from accord.exposure.routes import Route, RouteParameter
from accord.exposure.serialization import (
    UnspellableError,
    cookie_value,
    encoded,
    fields,
    fields_of_object,
    header_values,
    plain,
    segment,
)
from accord.jsonrpc.methods.param_values import ParamsProblem, invalid_params, json_kind, unexpected
from accord.jsonrpc.protocol.errors import RegistrationError
from accord.schema.schema import DEFINITIONS, Schema

Pair: TypeAlias = tuple[bytes, bytes]

FRAMING: Final = frozenset({"content-length", "transfer-encoding"})
"""Headers about the length of a request, which callers cannot set."""

TOKEN: Final = re.compile(r"[!#$%&'*+\-.^_`|~0-9A-Za-z]+")
"""The characters of header and cookie names (RFC 9110, section 5.6.2)."""

_PLACE: Final = re.compile(r"\{([^{}:]+)(?::[^{}]*)?\}")
_LITERAL: Final = "/:@!$&'()*+,;=~"
"""Characters that are not escaped in a path (RFC 3986, section 3.3)."""
_FIELDS: Final = frozenset({"form", "multipart"})
"""Forms of bodies that consist of named fields, as queries do."""
_WITH_LENGTH: Final = frozenset({"POST", "PUT", "PATCH"})
"""Methods whose requests have a content length even without content (RFC 9110, section 8.6)."""
_TYPES: Final = {
    "string": "str",
    "integer": "int",
    "number": "float",
    "boolean": "bool",
    "array": "array",
    "object": "object",
    "null": "null",
}


class Request(Struct, frozen=True, gc=False):
    """One HTTP request, without the headers that are forwarded from the caller."""

    path: str
    raw_path: bytes
    query: bytes
    headers: list[Pair]
    """The headers of the body, and headers made from arguments."""
    cookies: bytes
    """The value of the `cookie` header that is made from arguments."""
    body: bytes


class RequestPlan:
    """A compiled plan that turns calls of one route into requests.

    Raises `RegistrationError` for a route that cannot be called as described.
    """

    def __init__(self, route: Route) -> None:
        self.route = route
        self._path = _PathPlan(route)
        self._body = choose_body(route)
        self._arguments = _Arguments(route.parameters, partial(_step, route, self._body))
        self._with_length = route.method in _WITH_LENGTH
        self.credentials = RouteCredentials(route.security)

    def build(self, arguments: Mapping[str, Any]) -> Request:
        """Return the request for `arguments`.

        Raises `InvalidParamsError` if an argument is unknown, missing, or cannot be written.
        """
        draft = _Draft()
        problems = self._arguments.put(draft, arguments)
        if problems:
            raise invalid_params(problems)
        path, raw_path = self._path.fill(draft.path)
        content_type, body = self._body.join(draft.body)
        if content_type:
            draft.headers.append((b"content-type", content_type.encode("latin-1")))
        if content_type or self._with_length:
            draft.headers.append((b"content-length", b"%d" % len(body)))
        return Request(
            path,
            raw_path,
            "&".join(draft.query).encode("ascii"),
            draft.headers,
            "; ".join(draft.cookies).encode("ascii"),
            body,
        )


class _Draft:
    """A request while its arguments are being written."""

    __slots__ = ("body", "cookies", "headers", "path", "query")

    def __init__(self) -> None:
        self.path: dict[str, tuple[str, str]] = {}
        self.query: list[str] = []
        self.headers: list[Pair] = []
        self.cookies: list[str] = []
        self.body: list[Any] = []


_Step: TypeAlias = Callable[[_Draft, Any], Any]
"""A function that writes the value of one argument at its place in the request. It raises
UnspellableError, or returns a list of problems."""


class _Arguments:
    """The parameters of a call, each with the function that writes its argument.

    With the option `nested`, there is such a group for each part of the request, too.
    """

    def __init__(
        self,
        parameters: Iterable[RouteParameter],
        step: Callable[[RouteParameter], _Step],
        part: str = "",
    ) -> None:
        parameters = tuple(parameters)
        self._part = part
        self._names = [each.name for each in parameters]
        self._steps = {
            each.name: self._nested(each, step) if each.members else step(each)
            for each in parameters
        }
        self._required = [each for each in parameters if each.required]

    def put(self, draft: _Draft, values: Mapping[str, Any]) -> list[ParamsProblem]:
        """Write every value at its place in the request; return the problems."""
        problems: list[ParamsProblem] = []
        known = 0
        for name, value in values.items():
            step = self._steps.get(name)
            if step is None:
                continue
            known += 1
            try:
                problems += step(draft, value) or ()
            except UnspellableError as error:
                problems.append(self._problem(name, str(error), _kind(value)))
        if known != len(values):
            problems += self._unexpected([name for name in values if name not in self._steps])
        for each in self._required:
            if each.name not in values:
                problems.append(self._problem(each.name, _expected(each.schema), "nothing"))
        return problems

    def _nested(self, part: RouteParameter, step: Callable[[RouteParameter], _Step]) -> _Step:
        inside = _Arguments(part.members, step, part.name)

        def put(draft: _Draft, value: Any) -> list[ParamsProblem]:
            value = plain(value)
            if not isinstance(value, dict):
                raise UnspellableError("object")
            return inside.put(draft, value)

        return put

    def _unexpected(self, names: list[str]) -> list[ParamsProblem]:
        # Comparing names takes long, so it is done for one name and not for thousands.
        suggest = len(names) == 1
        return [self._placed(unexpected(name, self._names, suggest=suggest)) for name in names]

    def _problem(self, name: str, expected: str, got: str) -> ParamsProblem:
        return self._placed(ParamsProblem(name, name, expected, got))

    def _placed(self, problem: ParamsProblem) -> ParamsProblem:
        if not self._part:
            return problem
        return replace(problem, parameter=self._part, path=f"{self._part}.{problem.path}")


def _step(route: Route, body: Body, parameter: RouteParameter) -> _Step:
    """Return the function that writes the value of a parameter at its place."""
    put = _placing(route, body, parameter)
    in_fields = parameter.location == "query" or (
        parameter.location == "body" and route.body in _FIELDS
    )
    if not in_fields or not parameter.wire_name or not _is_single(parameter.schema):
        return put

    # As several fields, or fields of other names, such a value would be lost without a word.
    several = list if is_file(parameter.schema) else (list, dict)  # a file may be an object

    def put_single(draft: _Draft, value: Any) -> Any:
        value = plain(value)
        if isinstance(value, several):
            raise UnspellableError(_expected(parameter.schema))
        return put(draft, value)

    return put_single


def _placing(route: Route, body: Body, parameter: RouteParameter) -> _Step:
    match parameter.location:
        case "path":
            return _in_path(parameter)
        case "query":
            return _in_query(parameter)
        case "header":
            return _in_header(route, parameter)
        case "cookie":
            return _in_cookie(route, parameter.wire_name)
        case "body":
            return _in_body(body, parameter)
        case never:
            assert_never(never)


def _in_path(parameter: RouteParameter) -> _Step:
    name = parameter.wire_name

    def put(draft: _Draft, value: Any) -> None:
        draft.path[name] = segment(parameter, value)

    return put


def _in_query(parameter: RouteParameter) -> _Step:
    name = parameter.wire_name
    spell = (
        partial(fields, parameter, encoded(name)) if name else partial(fields_of_object, parameter)
    )

    def put(draft: _Draft, value: Any) -> None:
        draft.query += spell(value)

    return put


def _in_header(route: Route, parameter: RouteParameter) -> _Step:
    field = _header_name(route, parameter.wire_name)

    def put(draft: _Draft, value: Any) -> None:
        draft.headers += [(field, line) for line in header_values(parameter, value)]

    return put


def _in_cookie(route: Route, name: str) -> _Step:
    _check_token(route, "cookie", name)

    def put(draft: _Draft, value: Any) -> None:
        shown = cookie_value(value)
        if shown is not None:
            draft.cookies.append(f"{name}={shown}")

    return put


def _in_body(body: Body, parameter: RouteParameter) -> _Step:
    piece = body.piece(parameter)

    def put(draft: _Draft, value: Any) -> None:
        draft.body.append(piece(value))

    return put


def _header_name(route: Route, name: str) -> bytes:
    _check_token(route, "header", name)
    if name.lower() in FRAMING:
        raise RegistrationError(
            f"{route} wants the header '{name}' from its caller, who cannot know"
        )
    return name.lower().encode("ascii")


def _check_token(route: Route, noun: str, name: str) -> None:
    if TOKEN.fullmatch(name) is None:
        raise RegistrationError(f"{route} wants a {noun} {name!r}, and no {noun} is called so")


class _PathPlan:
    """The path of a route, ready to be filled with values."""

    def __init__(self, route: Route) -> None:
        pieces = _PLACE.split(route.path)
        self._names = pieces[1::2]
        self._shown = pieces[::2]
        self._encoded = [quote(literal, _LITERAL) for literal in pieces[::2]]
        self._fixed = (route.path, self._encoded[0].encode("ascii"))
        inside = [
            each
            for parameter in route.parameters
            for each in (parameter, *parameter.members)
            if each.location == "path" and not each.members
        ]
        given = [each.wire_name for each in inside if each.required]
        if sorted(given) != sorted(set(self._names)):
            raise RegistrationError(
                f"{route} has places for {self._names}, and the required parameters of its path "
                f"are {given}"
            )

    def fill(self, values: Mapping[str, tuple[str, str]]) -> tuple[str, bytes]:
        """Return the path with values filled in, decoded and percent-encoded."""
        if not self._names:
            return self._fixed
        path, raw_path = self._shown[0], self._encoded[0]
        for name, shown, literal in zip(
            self._names, self._shown[1:], self._encoded[1:], strict=True
        ):
            decoded, raw = values[name]
            path += decoded + shown
            raw_path += raw + literal
        return path, raw_path.encode("ascii")


def _kind(value: Any) -> str:
    """Return the JSON type of a value, for messages that must not contain the value."""
    try:
        return json_kind(plain(value))
    except UnspellableError:
        return "what cannot be decoded"


def _is_single(schema: Schema) -> bool:
    """Return whether a schema allows neither arrays nor objects; False if in doubt."""
    value = schema.value
    if not isinstance(value, dict):
        return False
    reference = value.get("$ref")
    if isinstance(reference, str):
        target = schema.definitions.get(reference.removeprefix(DEFINITIONS), True)
        is_plain = isinstance(target, dict) and not {"$ref", "anyOf", "oneOf"} & target.keys()
        return is_plain and _is_single(replace(schema, value=target))
    types = value.get("type")
    if types is not None:
        return not {"array", "object"}.intersection([types] if isinstance(types, str) else types)
    choices = [*value.get("anyOf", ()), *value.get("oneOf", ())]
    return bool(choices) and all(_is_single(replace(schema, value=each)) for each in choices)


def _expected(schema: Schema) -> str:
    if is_file(schema):
        return "a file"
    types = schema.value.get("type") if isinstance(schema.value, dict) else None
    names = types if isinstance(types, list) else [types]
    known = [_TYPES[name] for name in names if name in _TYPES]
    return " | ".join(known) or "a value"
