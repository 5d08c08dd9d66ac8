"""The work that is asked for: what the requests are, and what a right answer is."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from typing import Any, Literal

import msgspec
from msgspec import Raw, Struct

REQUESTS = 4_096
"""So many different requests are prepared, and sent in turn."""
FIRST_ID = 10_000
"""All ids have the same number of digits, and all requests the same size."""


class Answer(Struct):
    """A response that says what it has to."""

    jsonrpc: Literal["2.0"]
    id: int
    result: Raw


_decode_answer = msgspec.json.Decoder(Answer).decode


class Work(Struct, frozen=True):
    """One method called over and over, with ids of its own for each call."""

    method: str
    params: Any
    is_right: Callable[[Any], bool]
    """Whether a result is what the method has to give."""

    def request(self, id: int) -> bytes:
        message = {"jsonrpc": "2.0", "id": id, "method": self.method, "params": self.params}
        return json.dumps(message, separators=(",", ":")).encode()

    def requests(self) -> list[bytes]:
        return [self.request(id) for id in range(FIRST_ID, FIRST_ID + REQUESTS)]

    def check(self, answers: Sequence[bytes], count: int) -> None:
        """Raises unless `answers` answer the first `count` requests, each once, all rightly."""
        decoded = [_decoded(answer) for answer in answers]
        ids = sorted(answer.id for answer in decoded)
        if ids != sorted(FIRST_ID + number % REQUESTS for number in range(count)):
            raise AssertionError(f"the ids of {count:,} answers are not those of the requests")
        for result in {bytes(answer.result) for answer in decoded}:
            if not self.is_right(json.loads(result)):
                raise AssertionError(f"wrong result: {result[:200]!r}")


def _decoded(answer: bytes) -> Answer:
    try:
        return _decode_answer(answer)
    except msgspec.DecodeError as error:
        raise AssertionError(f"{error}: {answer[:500]!r}") from error


def padded(work: Callable[[str], Work], size: int) -> Work:
    """`work` made with a text that gives its requests `size` bytes."""
    missing = size - len(work("").request(FIRST_ID))
    sentence = "The quick brown fox jumps over the lazy dog. "
    return work((sentence * (missing // len(sentence) + 1))[:missing])


def echo(text: str) -> Work:
    return Work("echo", {"text": text}, lambda result: result == text)


SUBTRACT = Work("subtract", {"minuend": 42, "subtrahend": 23}, lambda result: result == 19)
