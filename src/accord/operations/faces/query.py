"""The query of a request as words by name. Pure.

Everything is percent-decoded once, and strictly: what is no UTF-8 is refused, not replaced.
"""

from __future__ import annotations

from collections.abc import Set
from urllib.parse import unquote_to_bytes

from accord.operations.arguments import MAX_NAME
from accord.operations.errors import InvalidError, MalformedError


def read_query(query: str, *, known: Set[str], lists: Set[str]) -> dict[str, str | list[str]]:
    """The words of a query; those of `lists` may be given several times, others of `known` once.

    Raises MalformedError, and InvalidError for names that are not known.
    """
    words: dict[str, str | list[str]] = {}
    for pair in query.split("&"):
        if not pair:
            continue
        raw_name, _, raw_value = pair.partition("=")
        name, value = _decoded(raw_name), _decoded(raw_value)
        if name not in known:
            raise _unknown(name, known)
        before = words.get(name)
        if name in lists:
            words[name] = [value] if before is None else [*before, value]
        elif before is not None:
            raise InvalidError(name, "is given twice")
        else:
            words[name] = value
    return words


def _unknown(name: str, known: Set[str]) -> InvalidError:
    valid = ", ".join(sorted(known)) or "none"
    return InvalidError(name[:MAX_NAME], f"there is no such parameter; there are: {valid}")


def _decoded(text: str) -> str:
    if "%" not in text:
        return text.replace("+", " ")
    try:
        return unquote_to_bytes(text.replace("+", " ")).decode()
    except UnicodeDecodeError:
        raise MalformedError("the query is not UTF-8") from None
