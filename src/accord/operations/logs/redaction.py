"""What is secret in a text or a value, and what stands in its place. Pure.

Tokens are found by what they look like, everything else by where it stands: behind the name of a
header, in a URL, as the value of a field that is called `password`. Texts are cut to a length that
no line of a log needs to exceed, after they were redacted.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, Final

REDACTED: Final = "[redacted]"
MAX_READ: Final = 20_000
"""How much of a text is looked at; the rest is dropped."""
MAX_TEXT: Final = 16_384
MAX_ITEMS: Final = 50
MAX_DEPTH: Final = 5

_FIELDS: Final = (
    "password|passwd|current_password|new_password|password_hash|secret|secret_key|client_secret"
    "|accord_secret_key|token|access_token|refresh_token|id_token|session_token|csrf_token"
    "|api_key|apikey|private_key|authorization|proxy-authorization|cookie|set-cookie"
    "|x-csrf-token|x-api-key"
)
_IS_SECRET: Final = re.compile(f"(?:{_FIELDS})", re.IGNORECASE)

_TOKEN: Final = (re.compile(r"(accord_(?:pat|ses)_)[0-9A-Za-z]{6,}"), rf"\1{REDACTED}")
# postgresql://user:password@host
_URL: Final = (
    re.compile(r"(?i)\b([a-z][a-z0-9+.-]{1,20}://[^\s/:@'\"]*):[^\s/@'\"]+@"),
    rf"\1:{REDACTED}@",
)
_PATTERNS: Final[tuple[tuple[re.Pattern[str], str], ...]] = (
    _TOKEN,
    (
        re.compile(r"(?<![0-9A-Za-z_-])eyJ[0-9A-Za-z_-]{6,}(?:\.[0-9A-Za-z_-]*){1,4}"),
        REDACTED,
    ),  # JWT, JWE
    (re.compile(r"\$argon2i?d?\$[^\s\"']+"), REDACTED),
    (
        re.compile(r"-----BEGIN [A-Z ]*PRIVATE KEY-----(?s:.*?)(?:-----END [A-Z ]*KEY-----|\Z)"),
        REDACTED,
    ),
    # The header lines of a request: name, colon, everything up to the end of the line.
    (
        re.compile(
            r"(?im)(?<![\w-])((?:proxy-)?authorization|(?:set-)?cookie|x-csrf-token|x-api-key)"
            r"(['\"]?[ \t]*[:=,][ \t]*(?:b?['\"])?)[^'\"\r\n]+"
        ),
        rf"\1\2{REDACTED}",
    ),
    (re.compile(r"(?i)\b(bearer|basic|dpop)(\s+)[0-9A-Za-z\-._~+/]{6,}=*"), rf"\1\2{REDACTED}"),
    _URL,
    # Values of fields: in JSON and in reprs they are quoted, in queries and settings they are not.
    (
        re.compile(rf"(?i)(?<!\w)((?:{_FIELDS})\\?['\"]?\s*[:=]\s*\\?)(\"(?:[^\"\\]|\\.)*\"?)"),
        rf'\1"{REDACTED}"',
    ),
    (
        re.compile(rf"(?i)(?<!\w)((?:{_FIELDS})['\"]?\s*[:=]\s*)'(?:[^'\\]|\\.)*'?"),
        rf"\1'{REDACTED}'",
    ),
    (
        re.compile(rf"(?i)(?<!\w)((?:{_FIELDS})=)(?:\[redacted\]|[^\s&,;'\")\]}}])+"),
        rf"\1{REDACTED}",
    ),
)


_SIGNS: Final = (
    *("accord_", "eyj", "$argon2", "private key", "authorization", "cookie", "csrf", "bearer"),
    *("basic", "dpop", "://", "passw", "secret", "token", "key"),
)
"""What every text has, in small letters, in which a pattern can find something."""


def redact(text: str) -> str:
    """A text without secrets, of bounded length."""
    read = text[:MAX_READ]
    lowered = read.lower()
    if any(sign in lowered for sign in _SIGNS):
        for pattern, instead in _PATTERNS:
            read = pattern.sub(instead, read)
    if len(read) > MAX_TEXT or len(text) > MAX_READ:
        return f"{read[:MAX_TEXT]}… ({len(text):,} characters)"
    return read


def masked(text: str) -> str:
    """What is told back to whoever said it, who may write it down: without what is secret by what
    it looks like. Nothing else is touched: people are to read what they said."""
    if "accord_" in text or "://" in text:
        for pattern, instead in (_TOKEN, _URL):
            text = pattern.sub(instead, text)
    return text


def redact_value(value: Any, depth: int = MAX_DEPTH) -> Any:
    """A value for JSON without secrets, of bounded size: what is no JSON becomes text."""
    match value:
        case None | bool() | int() | float():
            return value
        case str():
            return redact(value)
        case bytes() | bytearray() | memoryview():
            return redact(bytes(value[: MAX_READ + 1]).decode("utf-8", "backslashreplace"))
        case Mapping() if depth > 0:
            return {
                str(name)[:200]: REDACTED if is_secret(str(name)) else redact_value(each, depth - 1)
                for name, each in list(value.items())[:MAX_ITEMS]
            }
        case list() | tuple() | set() | frozenset() if depth > 0:
            return [redact_value(each, depth - 1) for each in list(value)[:MAX_ITEMS]]
    return redact(_text_of(value))


def is_secret(field: str) -> bool:
    """Whether the value of a field of this name is secret."""
    return _IS_SECRET.fullmatch(field) is not None


def _text_of(value: object) -> str:
    try:
        return str(value)
    except Exception as error:  # a value must not keep a line from being logged
        return f"<{type(value).__name__}, which has no text: {type(error).__name__}>"
