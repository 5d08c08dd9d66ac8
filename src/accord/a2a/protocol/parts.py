"""Parts: the pieces of content that messages and artifacts are made of."""

from __future__ import annotations

from base64 import b64encode
from typing import Any, Final, TypeAlias

from msgspec import Struct

MAX_WHOLE: Final = 2**53
"""Up to here every whole number is a float exactly."""


class _Part(Struct, frozen=True, kw_only=True):
    media_type: str = ""
    name: str = ""
    metadata: dict[str, Any] = {}


class TextPart(_Part, frozen=True):
    text: str


class FilePart(_Part, frozen=True):
    """A file: its content in base64, or where it is. One of the two, never both."""

    content: str | None = None
    url: str = ""

    @staticmethod
    def of(data: bytes, *, name: str = "", media_type: str = "") -> FilePart:
        return FilePart(content=b64encode(data).decode("ascii"), name=name, media_type=media_type)


class DataPart(_Part, frozen=True):
    """Any JSON value."""

    data: Any


Part: TypeAlias = TextPart | FilePart | DataPart


def whole_numbers(value: Any) -> Any:
    """`value` with integers where agents made floats of them: ProtoJSON has no other numbers."""
    match value:
        case float() if value.is_integer() and abs(value) <= MAX_WHOLE:
            return int(value)
        case dict():
            return {name: whole_numbers(each) for name, each in value.items()}
        case list():
            return [whole_numbers(each) for each in value]
        case _:
            return value
