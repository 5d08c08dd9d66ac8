"""Heads of requests and responses: start lines and header fields, parsed once and handed on.

`WebRequest` is the head of a request that the layers above share.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from typing import Any, Final, TypeVar
from urllib.parse import unquote

import httptools
from msgspec import Struct

Pairs = list[tuple[bytes, bytes]]

_NAME = re.compile(r"[!#$%&'*+\-.^_`|~0-9A-Za-z]+")
_VALUE = re.compile(r"[\t\x20-\x7e\x80-\xff]*")


class DuplicateFieldError(Exception):
    """A field that may occur only once occurs twice; `name` is in lower case."""

    def __init__(self, name: str) -> None:
        super().__init__(name)
        self.name = name


class Fields(Mapping[str, str]):
    """Header fields by name, in upper or lower case.

    The values of a repeated field are joined with commas.
    """

    __slots__ = ("_pairs", "_values")

    def __init__(self, pairs: Pairs, values: dict[str, str] | None = None) -> None:
        """Create fields from `pairs`; `values` are their parsed values, if these are known."""
        self._pairs = pairs
        self._values = values

    def __getitem__(self, name: str) -> str:
        return self._read()[name.lower()]

    def __iter__(self) -> Iterator[str]:
        return iter(self._read())

    def __len__(self) -> int:
        return len(self._read())

    def __repr__(self) -> str:
        return f"Fields({self._read()!r})"

    def _read(self) -> dict[str, str]:
        if self._values is None:
            self._values = parse_fields(self._pairs)
            self._pairs = []  # heads are remembered: once is enough
        return self._values


def parse_fields(pairs: Pairs, *, once: frozenset[str] = frozenset()) -> dict[str, str]:
    """Return the values of fields by their names in lower case.

    Raises DuplicateFieldError if a field named in `once` occurs twice.
    """
    values: dict[str, str] = {}
    for raw_name, raw_value in pairs:
        name = raw_name.decode("latin-1").lower()
        value = raw_value.decode("latin-1").strip(" \t")
        if name in values:
            if name in once:
                raise DuplicateFieldError(name)
            value = f"{values[name]}, {value}"
        values[name] = value
    return values


def check_headers(headers: Mapping[str, str], *, reserved: frozenset[str]) -> None:
    """Raise ValueError for headers that cannot be sent, and for those in `reserved`."""
    for name, value in headers.items():
        if _NAME.fullmatch(name) is None:
            raise ValueError(f"{name!r} is not the name of a header")
        if name.lower() in reserved:
            raise ValueError(f"the header {name} belongs to the protocol")
        if _VALUE.fullmatch(value) is None:
            raise ValueError(f"the value of the header {name} has characters that no header has")


T = TypeVar("T")


class WebRequest(Struct, frozen=True, dict=True):
    """The head of a request."""

    method: str
    path: str
    """The path of the request, percent-decoded."""
    place: str | None
    """The path of the request relative to the path of the application: "" for that path itself,
    with or without a slash after it; None for a path that is not below it."""
    query: str
    fields: Fields
    length: int
    """Length of the body, below zero if not known yet."""
    loopback: bool
    """True if the request came over the loopback interface."""
    bound: str = ""
    """The URL (scheme, host and port) of the address that the request reached; empty if unknown.
    Behind a proxy, clients use another URL."""
    target: str = ""
    """The path as it was sent, not decoded; empty if unknown."""
    minor: int = 1
    """The minor version of HTTP/1: 0 or 1."""
    keep_alive: bool = True
    """True if the client wants to reuse the connection."""

    def once(self, read: Callable[[WebRequest], T]) -> T:
        """Return `read(self)`, which is computed at the first call and then cached.

        Listeners cache heads by their bytes, so the credentials of a client that sends the same
        head again are parsed only once. `read` must be a module-level function of the head alone.
        """
        known: dict[Any, Any] = self.__dict__
        try:
            found: T = known[read]
        except KeyError:
            found = known[read] = read(self)
        return found


def place_below(path: str, root: str) -> str | None:
    """Return `path` relative to `root`, which has no slash at its end; None if it is not below."""
    rest = path.removeprefix(root)
    if not path.startswith(root) or (rest and rest[0] != "/"):
        return None
    return rest.removeprefix("/")


CHUNKED: Final = -1
"""The value of `length` for a body that comes in chunks."""
UNTIL_CLOSE: Final = -2
"""The value of `length` for the body of a response that ends with the connection."""
MAX_FIELDS: Final = 100

_REQUEST_LINE = re.compile(
    rb"([!#$%&'*+\-.^_`|~0-9A-Za-z]+) ([\x21-\x7e]+) HTTP/([0-9])\.([0-9])\r\n"
)
_STATUS_LINE = re.compile(rb"HTTP/1\.([01]) ([1-5][0-9]{2})(?: [\t\x20-\x7e\x80-\xff]*)?\r\n")
_ABSOLUTE_TARGET = re.compile(
    r"https?://([^/?#]+)(/[^?#]*)?(?:\?([^#]*))?", re.IGNORECASE | re.ASCII
)
_ORIGIN_TARGET = re.compile(r"(/[^?#]*)(?:\?([^#]*))?")
_HOST = re.compile(r"(?:\[[0-9A-Fa-f:.]+\]|[A-Za-z0-9\-._~!$&'()*+,;=%]+)(?::[0-9]{1,5})?")
_LENGTH = re.compile(r"[0-9]{1,15}")

_ONCE: Final = frozenset(
    (
        "host",
        "content-length",
        "content-type",
        "content-encoding",
        "transfer-encoding",
        "expect",
        "origin",
        "location",
    )
)
"""Header fields that affect decisions of this package, and so may occur only once."""
_ONCE_IN_RESPONSES: Final = frozenset(name.encode() for name in _ONCE)


class MalformedError(Exception):
    """Bytes that are not valid HTTP; a server answers with `status`."""

    def __init__(self, reason: str, *, status: int = 400) -> None:
        super().__init__(reason)
        self.reason = reason
        self.status = status


QUERY: Final = "http.query"
"""The key in the state of a call for the query of its request, if it has one."""


class ResponseHead(Struct, frozen=True, gc=False):
    """The head of a response."""

    status: int
    length: int
    """Length of the body, `CHUNKED` or `UNTIL_CLOSE`."""
    keep_alive: bool
    fields: dict[bytes, bytes]
    pairs: Pairs


def read_request(
    raw: bytes, *, root: str = "", loopback: bool = False, bound: str = ""
) -> WebRequest:
    """Parse the head of a request; `raw` ends with the empty line after the head.

    `root` is the path of the application, without a slash at its end. Raises MalformedError for an
    invalid head.
    """
    line = _REQUEST_LINE.match(raw)
    if line is None:
        raise MalformedError("the request line is malformed")
    raw_method, raw_target, major, minor = line.groups()
    if major != b"1" or minor not in b"01":
        raise MalformedError("only HTTP/1.1 and HTTP/1.0 are spoken here", status=505)
    fields = check_fields(_read_pairs(httptools.HttpRequestParser, raw))
    method, is_newer = raw_method.decode("ascii"), minor == b"1"
    host = _host(fields.get("host"), is_newer)
    target, query = _path_and_query(method, raw_target.decode("ascii"), host)
    path = unquote(target)
    return WebRequest(
        method,
        path,
        place_below(path, root),
        query,
        fields,
        _request_length(fields, is_newer),
        loopback,
        bound,
        target,
        int(is_newer),
        _keeps_alive(fields.get("connection", "").lower(), is_newer),
    )


def check_fields(pairs: Pairs) -> Fields:
    """Parse the fields of a request.

    Raises MalformedError if a field that affects decisions occurs twice.
    """
    try:
        return Fields([], parse_fields(pairs, once=_ONCE))
    except DuplicateFieldError as error:
        raise MalformedError(f"the header field {error.name} is given twice") from None


def read_response(raw: bytes) -> ResponseHead:
    """Parse the head of a response; `raw` ends with the empty line after the head.

    Raises MalformedError for an invalid head.
    """
    line = _STATUS_LINE.match(raw)
    if line is None:
        raise MalformedError("the status line is malformed")
    minor, status = line[1], int(line[2])
    pairs = _read_pairs(httptools.HttpResponseParser, raw)
    fields, connection = _deciding_fields(pairs)
    length = _response_length(fields, status)
    keep_alive = length != UNTIL_CLOSE and _keeps_alive(connection.decode("latin-1"), minor == b"1")
    return ResponseHead(status, length, keep_alive, fields, pairs)


class _Collector:
    """The callbacks of httptools, which collect a head."""

    __slots__ = ("complete", "pairs")

    def __init__(self) -> None:
        self.complete = False
        self.pairs: Pairs = []

    def on_header(self, name: bytes, value: bytes) -> None:
        self.pairs.append((name, value))

    def on_headers_complete(self) -> None:
        self.complete = True


def _read_pairs(
    parser: type[httptools.HttpRequestParser | httptools.HttpResponseParser], raw: bytes
) -> Pairs:
    collector = _Collector()
    try:
        parser(collector).feed_data(raw)
    except httptools.HttpParserUpgrade:
        pass  # RFC 9110, section 7.8: a server may ignore a received Upgrade header
    except httptools.HttpParserInvalidMethodError:
        raise MalformedError("the request method is not known here", status=501) from None
    except httptools.HttpParserError as error:
        if not collector.complete:  # else it is about what follows, which is decided here
            raise MalformedError(str(error)) from None
    if len(collector.pairs) > MAX_FIELDS:
        raise MalformedError(
            f"{len(collector.pairs)} header fields are over the limit of {MAX_FIELDS}", status=431
        )
    return collector.pairs


def _deciding_fields(pairs: Pairs) -> tuple[dict[bytes, bytes], bytes]:
    """Return the fields that affect how a response is read, and `Connection`.

    The values of several `Connection` fields are joined by commas. Clients read no other fields on
    their hot path. Raises MalformedError if one of the fields
    occurs twice.
    """
    fields: dict[bytes, bytes] = {}
    connection = b""
    for raw_name, value in pairs:
        name = raw_name.lower()
        if name in _ONCE_IN_RESPONSES:
            if name in fields:
                raise MalformedError(f"the header field {name.decode()} is given twice")
            fields[name] = value.strip(b" \t")
        elif name == b"connection":
            connection = b"%b,%b" % (connection, value.lower()) if connection else value.lower()
    return fields, connection


def _host(host: str | None, is_newer: bool) -> str | None:
    # RFC 9112, section 3.2: 400 for an HTTP/1.1 request without Host, and for any request
    # with an invalid one.
    if host is None and is_newer:
        raise MalformedError("the header field host is missing")
    if host is not None and _HOST.fullmatch(host) is None:
        raise MalformedError("the header field host is invalid")
    return host


def _path_and_query(method: str, target: str, host: str | None) -> tuple[str, str]:
    origin_form = _ORIGIN_TARGET.fullmatch(target)
    if origin_form is not None:
        return origin_form[1], origin_form[2] or ""
    if target == "*" and method == "OPTIONS":
        return target, ""
    # RFC 9112, section 3.2.2: a server must accept the absolute form. It must name the same
    # host as the Host field does, or two readers could see two different requests.
    absolute = _ABSOLUTE_TARGET.fullmatch(target)
    if absolute is None or host is None or absolute[1].lower() != host.lower():
        raise MalformedError("the request target is invalid")
    return absolute[2] or "/", absolute[3] or ""


def _request_length(fields: Fields, is_newer: bool) -> int:
    coding = fields.get("transfer-encoding")
    length = fields.get("content-length")
    if coding is None:
        return 0 if length is None else content_length(length)
    # RFC 9112, section 6.1: both fields at once, and a coding in HTTP/1.0, are signs of an
    # attempt at request smuggling.
    if length is not None:
        raise MalformedError("content-length and transfer-encoding exclude each other")
    if not is_newer:
        raise MalformedError("HTTP/1.0 has no transfer-encoding")
    if coding.lower() != "chunked":
        # Section 6.3: 400 where chunked is not the last coding, as nobody can tell where such
        # a body ends; section 6.1: 501 for a coding before it that is not understood.
        is_last = coding.lower().rpartition(",")[2].strip(" \t") == "chunked"
        raise MalformedError(
            "the only transfer-encoding known here is chunked", status=501 if is_last else 400
        )
    return CHUNKED


def _response_length(fields: dict[bytes, bytes], status: int) -> int:
    # RFC 9112, section 6.3: the order of the rules is the order of these lines.
    if status < 200 or status in (204, 304):
        return 0
    coding = fields.get(b"transfer-encoding")
    length = fields.get(b"content-length")
    if coding is not None:
        if coding.lower() != b"chunked" or length is not None:
            raise MalformedError("the length of the response is ambiguous")
        return CHUNKED
    return UNTIL_CLOSE if length is None else content_length(length.decode("latin-1"))


def content_length(value: str) -> int:
    """Return the length in a `Content-Length` field.

    Raises MalformedError if it is not a valid length.
    """
    if _LENGTH.fullmatch(value) is None:
        raise MalformedError("the header field content-length is invalid")
    return int(value)


def _keeps_alive(connection: str, is_newer: bool) -> bool:
    # RFC 9112, section 9.3: `close` wins over everything.
    if not connection:
        return is_newer
    options = {option.strip(" \t") for option in connection.split(",")}
    return "close" not in options and (is_newer or "keep-alive" in options)
