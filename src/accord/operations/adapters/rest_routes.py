"""Routes over REST: the tree of paths, operations at them, signing in and out.

A literal segment wins over a parameter: `/prompts/active` is found before `/prompts/{id}`. As much
as possible is computed when a route is made.

`POST /sessions` and `DELETE /sessions/current` are no operations: a user who signs in is not a
caller yet. A password is passed to the accounts and nowhere else.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from functools import reduce
from operator import or_
from types import NoneType, UnionType
from typing import Annotated, Any, Final, Generic, TypeVar, Union, get_args, get_origin
from urllib.parse import quote

import msgspec.inspect
import msgspec.json
from msgspec import UNSET, Meta, Struct, UnsetType
from msgspec.structs import replace

from accord.jsonrpc.methods.signature import Parameter
from accord.jsonrpc.protocol.codec import is_bracketed, is_deeper
from accord.jsonrpc.protocol.errors import RegistrationError
from accord.operations.adapters.rest_messages import (
    JSON,
    Conditions,
    RequestWords,
    RestHead,
    RestResponse,
    allowance_lines,
    encode,
    etag_of,
    expected_version,
    matches_etag,
    read_query,
)
from accord.operations.arguments import ArgumentSet, check_once
from accord.operations.auth.accounts import MAX_PASSWORD
from accord.operations.auth.authentication import RequestAuthenticator
from accord.operations.auth.credentials import (
    SESSION_SECONDS,
    RequestCredentials,
    expired_cookie,
    session_cookie,
)
from accord.operations.errors import InvalidError, MalformedRequestError, NotFoundError, StaleError
from accord.operations.operation import Operation, Outcome, Preview, Rest
from accord.operations.registry import DRY_RUN, IDEMPOTENCY_KEY

T = TypeVar("T")


class MatchedRoute(Struct, Generic[T], frozen=True):
    """The path of a route that fits a request, with its targets."""

    by_verb: Mapping[str, T]
    """The targets at the path, by verb."""
    values: tuple[str, ...]
    """The values of the parameters in the path."""
    path: str
    """The path as it was added to the tree, such as `/epics/{id}`."""


class _Node(Generic[T]):
    __slots__ = ("any", "by_verb", "named", "path")

    def __init__(self) -> None:
        self.named: dict[str, _Node[T]] = {}
        self.any: _Node[T] | None = None
        self.by_verb: dict[str, T] = {}
        self.path = ""


class RouteTree(Generic[T]):
    """All paths of an application."""

    def __init__(self) -> None:
        self._root: _Node[T] = _Node()

    def add(self, verb: str, path: str, target: T) -> None:
        """Add a `target` for `verb` at `path`, such as `/epics/{id}`.

        Raises RegistrationError if the path already has a target for the verb.
        """
        node = self._root
        for segment in _segments(path):
            if parameter_name(segment) is None:
                node = node.named.setdefault(segment, _Node())
            else:
                node.any = node.any or _Node()
                node = node.any
        if verb in node.by_verb:
            raise RegistrationError(f"there are two routes {verb} {path}")
        node.by_verb[verb] = target
        node.path = path

    def find(self, place: str) -> MatchedRoute[T] | None:
        """Return the route at a path without its leading slash."""
        return _find(self._root, place.split("/") if place else [], 0, ())


def parameter_name(segment: str) -> str | None:
    """Return the name in `{name}`; None for a literal segment."""
    return segment[1:-1] if segment.startswith("{") and segment.endswith("}") else None


def path_names(path: str) -> tuple[str, ...]:
    """Return the names of the parameters in a path."""
    return tuple(name for each in _segments(path) if (name := parameter_name(each)) is not None)


def _segments(path: str) -> list[str]:
    return [segment for segment in path.split("/") if segment]


def _find(
    node: _Node[T], segments: list[str], depth: int, values: tuple[str, ...]
) -> MatchedRoute[T] | None:
    if depth == len(segments):
        return MatchedRoute(node.by_verb, values, node.path) if node.by_verb else None
    segment = segments[depth]
    named = node.named.get(segment)
    if named is not None:
        found = _find(named, segments, depth + 1, values)
        if found is not None:
            return found
    if node.any is None or not segment:
        return None
    return _find(node.any, segments, depth + 1, (*values, segment))


EXPECTED_VERSION: Final = "expected_version"
BODY_VERBS: Final = frozenset(("POST", "PUT", "PATCH"))
"""Verbs whose requests have a body."""
MAX_DEPTH: Final = 64

_KEY: Final = re.compile(r"[!-~]{1,255}")
_IN_HEADERS: Final = (EXPECTED_VERSION, IDEMPOTENCY_KEY, DRY_RUN)
"""Parameters that may be given in a header or the query instead of the body."""


class RestRoute:
    """One operation at one verb and path.

    Raises RegistrationError if the operation does not fit the path.
    """

    def __init__(self, operation: Operation, rest: Rest, root: str) -> None:
        self.operation = operation
        self.rest = rest
        self.names = path_names(rest.path)
        parameters = {each.name: each for each in operation.parameters}
        unknown = [name for name in self.names if name not in parameters]
        if unknown:
            raise RegistrationError(
                f"{rest.verb} {rest.path}: {operation.name} has no parameter {unknown[0]!r}"
            )
        if rest.whole and rest.whole not in parameters:
            raise RegistrationError(
                f"{rest.verb} {rest.path}: {operation.name} has no parameter {rest.whole!r}"
            )
        self.takes_body = rest.verb in BODY_VERBS
        others = [each for each in operation.parameters if each.name not in self.names]
        query = [each for each in others if not self.takes_body or each.name == DRY_RUN]
        self.query = tuple(query)
        """The parameters that may be in the query."""
        self.body = tuple(others) if self.takes_body else ()
        """The parameters that may be in the body."""
        self._aliases = dict(rest.aliases)
        self._query_names = frozenset((*self._aliases, *(each.name for each in query)))
        lists = {each.name for each in query if takes_list(each.annotation)}
        self._lists = lists | {alias for alias, name in rest.aliases if name in lists}
        words = [*map(parameters.__getitem__, self.names), *query]
        self._either = frozenset(each.name for each in query if takes_either(each.annotation))
        self._words = _part(operation, "Words", [_without_none(each) for each in words])
        self._body = _part(operation, "Body", list(self.body))
        self._headers = tuple(parameters[name] for name in _IN_HEADERS if name in parameters)
        self._location = _Template(root + rest.location) if rest.location else None

    def read_words(self, values: tuple[str, ...], query: str) -> RequestWords:
        """Return the values in a path and a query.

        Raises MalformedRequestError for a query that is not UTF-8, and InvalidError for unknown
        names and forbidden repetitions.
        """
        words: RequestWords = dict(zip(self.names, values, strict=True))
        if query:
            for name, word in read_query(query, known=self._query_names, lists=self._lists).items():
                meant = self._aliases.get(name, name)
                if meant in words:
                    raise InvalidError(name, "is given twice")
                is_one = meant in self._either and len(word) == 1
                words[meant] = word[0] if is_one else word
        return words

    def arguments(self, head: RestHead, body: bytes) -> dict[str, Any]:
        """Return the arguments of the operation. Raises ServiceError for invalid ones."""
        words = (
            self.read_words(head.values, head.request.query) if head.words is None else head.words
        )
        found = self._words.convert(words, from_text=True)
        if self.takes_body:
            if not head.is_text:
                _check_depth(body)
            found = _merged(found, self._in_body(body, is_text=head.is_text))
        values = self._in_headers(head.conditions)
        for parameter in self._headers:
            name = parameter.name
            if found[name] is UNSET:
                found[name] = values.get(name, parameter.default)
                if parameter.required and name not in values:
                    raise InvalidError(name, "is required; the header If-Match may say it")
            elif name in values and found[name] != values[name]:
                raise InvalidError(name, "a header of the request says something else")
        return found

    def answer(self, outcome: Outcome, head: RestHead) -> RestResponse:
        """Return the response for an outcome."""
        result = outcome.result
        lines = allowance_lines(outcome.allowance)
        if not self.operation.writes:
            return _read_response(result, lines, head.conditions)
        if isinstance(result, Preview):
            return RestResponse(200, JSON + lines, encode(result))
        version = _member(result, "version")
        if isinstance(version, int):
            lines += b'etag: "%d"\r\n' % version
        if outcome.change_id:
            lines += b"accord-change-id: %b\r\n" % outcome.change_id.encode("ascii")
        if outcome.replayed:
            lines += b"idempotent-replayed: true\r\n"
        if self._location is not None:
            lines += b"location: %b\r\n" % self._location.fill(result)
        if self.rest.status == 204:
            return RestResponse(204, lines)
        return RestResponse(self.rest.status, JSON + lines, encode(result))

    def _in_body(self, body: bytes, *, is_text: bool) -> dict[str, Any]:
        whole = self.rest.whole
        if not whole:
            return self._body.decode(body or b"{}")
        if not body:
            raise InvalidError("", "the body is empty")
        return self._body.convert({whole: _text(body) if is_text else _json(body)})

    def _in_headers(self, conditions: Conditions) -> dict[str, Any]:
        if not self.operation.writes:
            return {}
        if conditions.if_none_match is not None:
            raise MalformedRequestError("If-None-Match is for reading")
        values: dict[str, Any] = {}
        if conditions.idempotency_key is not None:
            values[IDEMPOTENCY_KEY] = _key_in(conditions.idempotency_key)
        version = None if conditions.if_match is None else expected_version(conditions.if_match)
        if version is not None:
            if not any(each.name == EXPECTED_VERSION for each in self._headers):
                raise MalformedRequestError(
                    f"{self.operation.name} compares no versions: omit If-Match"
                )
            values[EXPECTED_VERSION] = version
        return values


def _text(body: bytes) -> str:
    try:
        return body.decode()
    except UnicodeDecodeError:
        raise MalformedRequestError("what was sent is not UTF-8") from None


def _json(body: bytes) -> Any:
    _text(body)  # msgspec does not look at what it skips
    try:
        check_once(body)
        return msgspec.json.decode(body)
    except msgspec.DecodeError:
        raise MalformedRequestError("what was sent is not JSON") from None


def _key_in(header: str) -> str:
    """Return the idempotency key in the header `Idempotency-Key`.

    The key may be quoted. Raises InvalidError for an invalid key.
    """
    key = header[1:-1] if header[:1] == header[-1:] == '"' and len(header) > 2 else header
    if _KEY.fullmatch(key) is None:
        raise InvalidError(IDEMPOTENCY_KEY, "has 1 to 255 characters of ASCII and no spaces")
    return key


def takes_list(annotation: Any) -> bool:
    """Return True if a parameter takes several values."""
    return _is_list(msgspec.inspect.type_info(annotation))


def takes_either(annotation: Any) -> bool:
    """Return True if a parameter takes either one value or several."""
    kinds = list(_alternatives(msgspec.inspect.type_info(annotation)))
    values = [each for each in kinds if not isinstance(each, msgspec.inspect.NoneType)]
    return len({_is_list(each) for each in values}) == 2


def _alternatives(it: msgspec.inspect.Type) -> Iterator[msgspec.inspect.Type]:
    match it:
        case msgspec.inspect.UnionType():
            for each in it.types:
                yield from _alternatives(each)
        case msgspec.inspect.Metadata():
            yield from _alternatives(it.type)
        case _:
            yield it


def _is_list(it: msgspec.inspect.Type) -> bool:
    if isinstance(it, msgspec.inspect.Metadata):
        return _is_list(it.type)
    if isinstance(it, msgspec.inspect.UnionType):
        return any(_is_list(each) for each in it.types)
    return isinstance(it, msgspec.inspect.CollectionType)


def _part(operation: Operation, name: str, parameters: list[Parameter]) -> ArgumentSet:
    """Return the `ArgumentSet` of the parameters in the body or the query of a route.

    Parameters that may be sent in a header instead are optional there.
    """
    open_ones = [_optional(each) if each.name in _IN_HEADERS else each for each in parameters]
    return ArgumentSet(f"{operation.name.title().replace('_', '')}{name}", open_ones)


def _optional(parameter: Parameter) -> Parameter:
    annotation: Any = parameter.annotation | UnsetType
    return replace(parameter, annotation=annotation, required=False, default=UNSET)


def _without_none(parameter: Parameter) -> Parameter:
    """Return a query parameter with None removed from its type.

    In a query, `null` is an ordinary word.
    """
    if get_origin(parameter.annotation) not in (Union, UnionType):
        return parameter
    kinds = [each for each in get_args(parameter.annotation) if each is not NoneType]
    return replace(parameter, annotation=reduce(or_, kinds))


def _merged(words: dict[str, Any], body: dict[str, Any]) -> dict[str, Any]:
    for name, value in words.items():
        if value is UNSET:
            continue
        if body.get(name, UNSET) not in (UNSET, value):
            raise InvalidError(name, "the query says something else")
        body[name] = value
    return body


def _check_depth(body: bytes) -> None:
    if is_bracketed(body, MAX_DEPTH) and is_deeper(body, MAX_DEPTH):
        raise MalformedRequestError(f"the JSON is nested deeper than {MAX_DEPTH} levels")


def _read_response(result: Any, lines: bytes, conditions: Conditions) -> RestResponse:
    body = encode(result)
    version = _member(result, "version")
    if not isinstance(version, int):
        return RestResponse(200, JSON + lines, body)
    if conditions.if_match is not None and expected_version(conditions.if_match) not in (
        None,
        version,
    ):
        raise StaleError(f"it has the version {version}", current_version=version)
    tag = etag_of(version, body)
    lines += b"etag: %b\r\n" % tag.encode("ascii")
    if conditions.if_none_match is not None and matches_etag(tag, conditions.if_none_match):
        return RestResponse(304, lines)
    return RestResponse(200, JSON + lines, body)


def _member(result: Any, name: str) -> Any:
    """Return a field of a result: of a struct, or of a dictionary for a replayed call."""
    return result.get(name) if isinstance(result, dict) else getattr(result, name, None)


class _Template:
    """A path template whose parameters are filled with members of a result."""

    def __init__(self, path: str) -> None:
        self._parts = [
            (segment, None) if not segment.startswith("{") else ("", segment[1:-1])
            for segment in path.split("/")
        ]

    def fill(self, result: Any) -> bytes:
        return "/".join(
            text if name is None else quote(str(_member(result, name)), safe="")
            for text, name in self._parts
        ).encode("ascii")


SIGN_IN: Final = "/sessions"
SIGN_OUT: Final = "/sessions/current"

PARAMETERS: Final = (
    Parameter(
        "username",
        Annotated[str, Meta(min_length=1, max_length=64)],
        "keyword_only",
        required=True,
    ),
    Parameter(
        "password",
        Annotated[str, Meta(min_length=1, max_length=MAX_PASSWORD)],
        "keyword_only",
        required=True,
    ),
)


class SignIn:
    """The route that begins a login session; implements `RouteTarget`."""

    is_private = False
    takes_body = True
    texts = ()
    writes = True

    def __init__(self, authenticator: RequestAuthenticator, root: str) -> None:
        self._authenticator = authenticator
        self._part = ArgumentSet("SignIn", PARAMETERS)
        self._location = f"location: {root}{SIGN_OUT}\r\n".encode("ascii")

    def read_words(self, values: tuple[str, ...], query: str) -> RequestWords:
        return read_query(query, known=frozenset(), lists=frozenset())

    async def answer(
        self, head: RestHead, credentials: RequestCredentials, body: bytes
    ) -> RestResponse:
        self.read_words(head.values, head.request.query)
        values = self._part.decode(body or b"{}")
        if head.conditions.idempotency_key is not None:
            raise InvalidError("idempotency_key", "nobody signs in twice by accident")
        signed_in = await self._authenticator.sign_in(
            values["username"], values["password"], credentials
        )
        cookie = session_cookie(signed_in.token, secure=credentials.secure, max_age=SESSION_SECONDS)
        lines = JSON + self._location + b"set-cookie: %b\r\n" % cookie.encode("ascii")
        return RestResponse(201, lines, encode(signed_in))


class SignOut:
    """The route that ends the login session of the request; implements `RouteTarget`."""

    is_private = True
    takes_body = False
    texts = ()
    writes = True

    def __init__(self, authenticator: RequestAuthenticator) -> None:
        self._authenticator = authenticator

    def read_words(self, values: tuple[str, ...], query: str) -> RequestWords:
        return read_query(query, known=frozenset(), lists=frozenset())

    async def answer(
        self, head: RestHead, credentials: RequestCredentials, body: bytes
    ) -> RestResponse:
        caller = await self._authenticator.caller(credentials)
        self.read_words(head.values, head.request.query)
        if caller.via != "session":
            raise NotFoundError("you have not signed in: a token is revoked, not signed out")
        await self._authenticator.accounts.sign_out(credentials, caller)
        cookie = expired_cookie(secure=credentials.secure)
        return RestResponse(204, b"set-cookie: %b\r\n" % cookie.encode("ascii"))
