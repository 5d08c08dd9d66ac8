"""Values of forms and of query strings, by name.

The functions do no I/O. Forms are sent as `application/x-www-form-urlencoded`, and forms with a
file as `multipart/form-data`.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from email.parser import BytesParser
from email.policy import HTTP
from typing import Final
from urllib.parse import unquote_to_bytes

from msgspec import Struct

from accord.operations.errors import MalformedRequestError

MAX_WORDS: Final = 10_000
"""The most fields of a form or query string. A list of checkboxes has many fields."""
URLENCODED: Final = "application/x-www-form-urlencoded"
MULTIPART: Final = "multipart/form-data"

MAX_PARTS: Final = 1_000
"""The most parts of a form with files, because parsing one part takes 120 µs."""

_BOUNDARY: Final = re.compile(r'boundary="?([0-9A-Za-z\'()+_,\-./:=?]{1,70})"?')


class Option(Struct, frozen=True):
    """A checkbox in a form."""

    value: str
    text: str
    ticked: bool


def ticked(options: Iterable[str | tuple[str, str]], chosen: Iterable[str]) -> list[Option]:
    """Return `options` as checkboxes; those with a value in `chosen` are ticked.

    An option is a value, or a pair of a value and its text. Values are compared without regard to
    case. A chosen value that is not an option gets a ticked checkbox of its own.
    """
    pairs = [(each, each) if isinstance(each, str) else each for each in options]
    values = {each.lower(): each for each in chosen}
    found = [Option(value, text, value.lower() in values) for value, text in pairs]
    known = {each.value.lower() for each in found}
    return [*found, *(Option(each, each, True) for key, each in values.items() if key not in known)]


class Words:
    """The fields of a query string or form: the values by name, and uploaded files."""

    __slots__ = ("_files", "_pairs")

    def __init__(
        self, pairs: Iterable[tuple[str, str]] = (), files: Iterable[tuple[str, bytes]] = ()
    ) -> None:
        self._pairs = tuple(pairs)
        self._files = dict(files)

    def __getitem__(self, name: str) -> str:
        """Return the first value of this name, "" if there is none."""
        return next((value for key, value in self._pairs if key == name), "")

    def __contains__(self, name: str) -> bool:
        return any(key == name for key, _ in self._pairs)

    def file(self, name: str) -> bytes:
        """Return the content of the uploaded file of this name, b"" if there is none."""
        return self._files.get(name, b"")

    def every(self, name: str) -> list[str]:
        """Return all values of this name, in the order of the form or query."""
        return [value for key, value in self._pairs if key == name]

    def given(self, *names: str) -> dict[str, str]:
        """Return the first value of each field in `names`, by name, without empty ones."""
        return {name: self[name] for name in names if self[name]}

    def pairs(self) -> tuple[tuple[str, str], ...]:
        return self._pairs


def read_words(text: str) -> Words:
    """Parse a query string, or a form encoded like one.

    Raises MalformedRequestError if there are too many fields or a field is malformed.
    """
    pairs = [each for each in text.split("&") if each]
    if len(pairs) > MAX_WORDS:
        raise MalformedRequestError(f"a form may have {MAX_WORDS:,} fields")
    split = (each.partition("=") for each in pairs)
    return Words((_decoded(name), _decoded(value)) for name, _, value in split)


def read_form(media_type: str, body: bytes) -> Words:
    """Parse the body of a form by its `Content-Type`.

    Raises MalformedRequestError if the form has too many fields or parts, is malformed, or has a
    `Content-Type` that forms do not have.
    """
    kind = media_type.partition(";")[0].strip().lower()
    if kind == URLENCODED:
        try:
            return read_words(body.decode("ascii"))
        except UnicodeDecodeError:
            raise MalformedRequestError("the form is not percent-encoded") from None
    boundary = _BOUNDARY.search(media_type)
    if kind == MULTIPART and boundary is not None:
        if body.count(b"--" + boundary[1].encode()) > MAX_PARTS:
            raise MalformedRequestError(f"a form with files may have {MAX_PARTS:,} parts")
        return _parts(media_type, body)
    raise MalformedRequestError("a form is sent as application/x-www-form-urlencoded or with files")


def _parts(media_type: str, body: bytes) -> Words:
    head = f"content-type: {media_type}\r\n\r\n".encode("latin-1")
    message = BytesParser(policy=HTTP).parsebytes(head + body)
    if not message.is_multipart():
        raise MalformedRequestError("the form has no parts")
    pairs: list[tuple[str, str]] = []
    files: list[tuple[str, bytes]] = []
    for part in message.iter_parts():
        name = part.get_param("name", header="content-disposition")
        content = part.get_payload(decode=True)
        if not isinstance(name, str) or not isinstance(content, bytes):
            raise MalformedRequestError("a part of the form has no name")
        if part.get_param("filename", header="content-disposition") is not None:
            files.append((name, content))
            continue
        try:
            pairs.append((name, content.decode("utf-8-sig")))
        except UnicodeDecodeError:
            raise MalformedRequestError(f"{name[:100]} is not a text in UTF-8") from None
    return Words(pairs, files)


def _decoded(text: str) -> str:
    try:
        return unquote_to_bytes(text.replace("+", " ")).decode()
    except UnicodeDecodeError:
        raise MalformedRequestError("the form is not UTF-8") from None
