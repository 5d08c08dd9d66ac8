"""Extraction of the output from an agent's answer. Pure.

The output is the first text found in: the artifacts; the message of the status; the agent's latest
message in the history; the parts of a direct message. Without any text the whole result is the
output, unchanged, with a warning. Data and files are collected from all these places.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Final

import msgspec
from msgspec import Struct

from accord.a2a.protocol.formats import V10
from accord.a2a.protocol.model import (
    Answer,
    Artifact,
    DataPart,
    FilePart,
    Message,
    Part,
    Task,
    TextPart,
    Unrecognized,
)

NO_TEXT: Final = "the agent's answer has no text: the whole of it is the output"
UNRECOGNIZED: Final = "the agent answered neither a task nor a message: all of it is the output"


class Extracted(Struct, frozen=True, kw_only=True):
    """The output of an answer, with data, files and warnings."""

    output: Any
    data: tuple[Any, ...] = ()
    """The values of data parts."""
    files: tuple[FilePart, ...] = ()
    artifacts: tuple[Artifact, ...] = ()
    warning: str = ""


def extract(answer: Answer | Unrecognized, *, result: bytes | None = None) -> Extracted:
    """Return the output of an answer, with its data, files and warnings.

    Without any text, the output is `result`, the raw answer; by default the answer encoded in 1.0.
    """
    if isinstance(answer, Unrecognized):
        return Extracted(output=answer.value, warning=UNRECOGNIZED)
    places = _places(answer)
    parts = [part for place in places for part in place]
    text = _best(places)
    return Extracted(
        output=_whole_answer(answer, result) if text is None else text,
        data=tuple(part.data for part in parts if isinstance(part, DataPart)),
        files=tuple(part for part in parts if isinstance(part, FilePart)),
        artifacts=answer.artifacts if isinstance(answer, Task) else (),
        warning=NO_TEXT if text is None else "",
    )


def has_text(answer: Answer) -> bool:
    """Return true if any part of the answer that may contain the output has text."""
    if isinstance(answer, Task):
        # the usual place first: this runs for every answer
        for artifact in answer.artifacts:
            for part in artifact.parts:
                if type(part) is TextPart and part.text:
                    return True
    return bool(_best(_places(answer)))


def has_output(answer: Answer) -> bool:
    """Return true if the answer has text, or an artifact with at least one part."""
    made = isinstance(answer, Task) and any(each.parts for each in answer.artifacts)
    return made or has_text(answer)


def _places(answer: Answer) -> list[tuple[Part, ...]]:
    """Return the groups of parts that may contain the output, preferred ones first."""
    if isinstance(answer, Message):
        return [answer.parts]
    made = tuple(part for artifact in answer.artifacts for part in artifact.parts)
    status = answer.status.message
    latest = next((each for each in reversed(answer.history) if each.role == "agent"), None)
    return [made, *(each.parts for each in (status, latest) if each is not None)]


def _best(places: list[tuple[Part, ...]]) -> str | None:
    """Return the first non-empty text among groups of parts.

    Returns "" if all texts are empty, and None if there is no text part.
    """
    empty = None
    for place in places:
        text = _text(place)
        if text:
            return text
        empty = text if empty is None else empty
    return empty


def _text(parts: Iterable[Part]) -> str | None:
    texts = [part.text for part in parts if isinstance(part, TextPart)]
    return "\n".join(texts) if texts else None


def _whole_answer(answer: Answer, result: bytes | None) -> Any:
    if result is not None:
        return msgspec.json.decode(result)
    written = V10.task(answer) if isinstance(answer, Task) else V10.message(answer)
    return msgspec.to_builtins(written)
