"""Values of arguments and flags: numbers, URLs, headers, certificates and JSON params."""

from __future__ import annotations

import argparse
import re
import ssl
from collections.abc import Callable, Sequence
from math import isfinite
from pathlib import Path
from typing import Final
from urllib.parse import urlsplit

import msgspec
from msgspec import UNSET, Raw, UnsetType

from accord.cli.exits import UsageError
from accord.entry_points import names_in
from accord.jsonrpc.protocol.codec import NestingError, check_nesting
from accord.transports.urls import shown

# Numbers and headers


def duration(text: str) -> float | None:
    """Parse a time limit in seconds, above 0; `none` means no limit and gives None."""
    return None if text == "none" else seconds(text, "a number of seconds above 0, or none")


def seconds(text: str, wanted: str = "a number of seconds above 0") -> float:
    try:
        number = float(text)
    except ValueError:
        number = 0.0
    if not isfinite(number) or number <= 0:
        raise argparse.ArgumentTypeError(f"must be {wanted}, not {text!r}")
    return number


def count(text: str, wanted: str = "a number, 0 or more") -> int:
    try:
        number = int(text)
    except ValueError:
        number = -1
    if number < 0:
        raise argparse.ArgumentTypeError(f"must be {wanted}, not {text!r}")
    return number


def size(text: str) -> int | None:
    """Parse a size limit; `unlimited` and 0 mean no limit and give None."""
    return None if text == "unlimited" else count(text, "a number, or unlimited") or None


def add_web_flags(parser: argparse.ArgumentParser) -> None:
    """Add flags for headers, such as credentials, and for trusted certificates."""
    add = parser.add_argument
    add(
        "--header",
        metavar="'NAME: VALUE'",
        action="append",
        default=[],
        help="send this header (ws, wss, http, https); can be repeated",
    )
    add("--ca", metavar="FILE", type=Path, help="trust the certificates in this file")
    add("--insecure", action="store_true", help="trust any certificate")


def header(text: str) -> tuple[str, str]:
    """Parse a header into its name and value.

    Raises `UsageError` if the text is not of the form `Name: value`.
    """
    name, colon, content = text.partition(":")
    if not colon or not name.strip():
        raise UsageError(f"--header {text!r} is not of the form 'Name: value'")
    return name.strip(), content.strip()


# URL schemes


STREAM_SCHEMES: Final = frozenset({"stdio", "tcp", "tls", "unix"})
"""URL schemes of byte streams, in which messages need framing."""
WEB_SCHEMES: Final = frozenset({"ws", "wss", "http", "https"})
"""URL schemes of connections that begin with an HTTP request."""
SECURE_SCHEMES: Final = frozenset({"tls", "wss", "https"})
TCP_SCHEMES: Final = frozenset({"tcp", "tls"}) | WEB_SCHEMES
ALL_SCHEMES: Final = STREAM_SCHEMES | WEB_SCHEMES
_PLACE: Final = re.compile(r"[\w.-]+:\d{1,5}(/[\w./-]*)?")


def read_scheme(url: str | None) -> str:
    """Return the scheme of a URL of a transport.

    Raises `UsageError` if the URL is missing or malformed, or if its scheme is unknown.
    """
    if url is None:
        raise UsageError("a URL is missing, such as tcp://127.0.0.1:7000")
    try:
        scheme = urlsplit(url).scheme
    except ValueError:  # its message may contain a password
        raise UsageError(f"{shown(url)!r} is no URL") from None
    if scheme not in ALL_SCHEMES and scheme not in names_in("accord.transports"):
        known = ", ".join(sorted(ALL_SCHEMES))
        raise UsageError(
            f"{shown(url)!r} does not begin with a scheme that accord knows ({known})",
            advice=_with_scheme(url),
        )
    return scheme


def _with_scheme(url: str) -> str | None:
    """Suggest adding a scheme to a text such as HOST:PORT; return None for other texts."""
    if not _PLACE.fullmatch(url):
        return None
    return f"begin it with one, as in tcp://{url} or http://{url}"


def check_flag(flag: str, *, given: bool, scheme: str, fits: frozenset[str]) -> None:
    """Raise `UsageError` for a flag that has no effect with the scheme of the URL."""
    if given and scheme not in fits:
        known = ", ".join(sorted(fits))
        raise UsageError(f"{flag} has no meaning for {scheme} (it is for {known})")


# TLS


def client_tls(*, ca: Path | None, insecure: bool) -> ssl.SSLContext | None:
    """Return the TLS context of a client; None to use the system's trusted certificates.

    Raises `UsageError` if the certificates in the file `ca` cannot be used.
    """
    if insecure:
        context = ssl.create_default_context()
        context.check_hostname = False
        context.verify_mode = ssl.CERT_NONE
        return context
    if ca is None:
        return None
    try:
        return ssl.create_default_context(cafile=ca)
    except OSError as error:
        raise UsageError(f"--ca {ca}: {_file_problem(error)}") from error


def server_tls(cert: Path, key: Path | None) -> ssl.SSLContext:
    """Return the TLS context of a server; the file `cert` may also contain the key.

    Raises `UsageError` if a file cannot be used.
    """
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    try:
        context.load_cert_chain(cert, key)
    except OSError as error:
        named = f"--tls-cert {cert}" if key is None else f"--tls-cert {cert}, --tls-key {key}"
        raise UsageError(f"{named}: {_file_problem(error)}") from error
    return context


def _file_problem(error: OSError) -> str:
    if isinstance(error, ssl.SSLError):
        return f"not a usable PEM file ({error.reason or error})"
    return error.strerror or str(error)


# JSON params


_NAMED: Final = re.compile(r"([A-Za-z_][\w.-]*)=(.*)", re.DOTALL)
_decode_json = msgspec.json.Decoder(Raw).decode
_decode_structured = msgspec.json.Decoder(dict[str, Raw] | list[Raw]).decode


def read_params(words: Sequence[str], read_stdin: Callable[[], bytes]) -> Raw | UnsetType:
    """Return the params that command-line arguments give, UNSET if there are no arguments.

    A single argument that is a JSON array or object contains all params. If the single argument is
    `-`, `read_stdin` returns that JSON text. Otherwise the arguments are values by position, or all
    of them are `name=value`. A value that is JSON is sent as written, with all digits of numbers,
    but without spaces and newlines between tokens; any other value is a string. Raises `UsageError`
    for arguments of any other form.
    """
    if not words:
        return UNSET
    if len(words) == 1:
        if words[0] == "-":
            return structured(read_stdin(), "the params on stdin")
        if words[0].lstrip().startswith(("[", "{")):
            return structured(_utf8(words[0]), "the params")
    named = [_NAMED.fullmatch(word) for word in words]
    if all(named):
        return _by_name([(match[1], match[2]) for match in named if match is not None])
    stray = next((match[0] for match in named if match is not None), None)
    if stray is not None:
        raise UsageError(
            f"either all params are name=value or none, and {stray!r} is not alone "
            f"(a string with = in it can be written as JSON: '\"{stray}\"')"
        )
    return Raw(msgspec.json.encode([value(word) for word in words]))


def value(word: str) -> Raw:
    """Return `word` itself if it is JSON, otherwise `word` as a JSON string.

    Raises `UsageError` if the JSON nests too deep.
    """
    data = _utf8(word)
    try:
        check_nesting(data)
        return _one_line(_decode_json(data))
    except NestingError as error:
        raise UsageError(f"a value is {error}") from None
    except msgspec.DecodeError:
        return Raw(msgspec.json.encode(word))


def structured(data: bytes, subject: str) -> Raw:
    """Return the JSON array or object in `data` as JSON text on one line.

    Raises `UsageError` if `data` is anything else; the message calls the data `subject`.
    """
    try:
        data.decode()
        check_nesting(data)
        _decode_json(data)
        _decode_structured(data)
    except msgspec.ValidationError:
        raise UsageError(f"{subject} must be an array or an object") from None
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise UsageError(f"{subject} are not JSON: {error}") from None
    return _one_line(data)


def _one_line(json: bytes | Raw) -> Raw:
    # Framing by newlines allows no newlines within a message.
    return Raw(msgspec.json.format(json, indent=-1))


def _by_name(pairs: list[tuple[str, str]]) -> Raw:
    members: dict[str, Raw] = {}
    for name, text in pairs:
        if name in members:
            raise UsageError(f"the param {name!r} is given twice")
        members[name] = value(text)
    return Raw(msgspec.json.encode(members))


def _utf8(word: str) -> bytes:
    try:
        return word.encode()
    except UnicodeEncodeError:
        shown = word.encode(errors="backslashreplace").decode()
        raise UsageError(f"{shown!r} is not UTF-8") from None
