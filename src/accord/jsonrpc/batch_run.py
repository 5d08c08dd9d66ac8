"""A batch that is being served: its answers, in the order of its requests.

Does not know how a message is served. JSON-RPC 2.0, section 6: the answers stand in one
array; where there is none at all, nothing is answered rather than an empty array.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from msgspec import UNSET, Raw, UnsetType

from accord.jsonrpc.codec import encode, encode_failure
from accord.jsonrpc.errors import own_error
from accord.jsonrpc.messages import Id, Success
from accord.jsonrpc.running import Running, Source

CHUNK: Final = 16
"""Number of results that are encoded together. Results are held in memory before their bytes are
counted against the limit, so this bounds the excess."""

Failed = Callable[[Id, object, Exception], bytes]
"""Makes the answer for a result that cannot be encoded."""


def encode_together(results: list[Success | Raw], room: int) -> bytes | None:
    """Encode all results as one array.

    Returns None if a result cannot be encoded or the array exceeds `room` bytes.
    """
    try:
        answer = encode(results)
    except Exception:  # the encoder of a foreign object may raise anything
        return None
    return answer if len(answer) <= room else None


class DirectRun:
    """Answers to the leading calls of a batch, which were made inline."""

    __slots__ = ("_failed", "max_bytes", "pieces", "room")

    def __init__(self, max_bytes: int, failed: Failed) -> None:
        self._failed = failed
        self.max_bytes = max_bytes
        self.room = max_bytes
        """Bytes left for the whole answer."""
        self.pieces: list[bytes] = []
        """Encoded answers, one or several in a piece, to be joined by commas."""

    def add(self, results: list[Success | Raw]) -> None:
        """Add the answers to the next calls."""
        together = encode_together(results, self.room)
        if together is not None:
            self.room -= len(together)
            self.pieces.append(together[1:-1])
        else:
            for result in results:
                self._add_one(result)

    def answer(self) -> bytes:
        return b"[" + b",".join(self.pieces) + b"]"

    def _add_one(self, result: Success | Raw) -> None:
        if isinstance(result, Raw):
            answer = bytes(result)
        else:
            try:
                answer = encode(result)
            except Exception as error:
                answer = self._failed(result.id, "a method in a batch", error)
            if len(answer) > self.room:
                answer = _too_large(result.id, self.max_bytes)
        self.room -= len(answer)
        self.pieces.append(answer)


class BatchRun:
    """The rest of a batch: answers its source when every answer is there."""

    __slots__ = ("_answers", "_complete", "_max_bytes", "_room", "_waiting", "ids", "source")

    def __init__(self, source: Source, begun: DirectRun) -> None:
        self.source = source
        self.ids: set[Id] = set()
        """The ids of the batch's requests so far, where ids must be unique."""
        self._complete = False
        """True once every message of the batch has been started."""
        self._answers: list[bytes | None] = [*begun.pieces]
        self._max_bytes = begun.max_bytes
        self._room = begun.room
        self._waiting: dict[int, Running] = {}

    def slot(self, id: Id | UnsetType) -> Slot:
        """Reserve a place for the answer to the next message."""
        self._answers.append(None)
        return Slot(self, len(self._answers) - 1, id)

    def fill(self, slot: Slot, answer: bytes | None | Running) -> None:
        if isinstance(answer, Running):
            self._waiting[slot.place] = answer
        elif answer is not None:
            if len(answer) > self._room and slot.id is not UNSET:
                answer = _too_large(slot.id, self._max_bytes)
            self._room -= len(answer)
            self._answers[slot.place] = answer

    def answer_or_run(self) -> bytes | None | BatchRun:
        """Return the whole answer if nothing is running, else this batch."""
        self._complete = True
        return self if self._waiting else self._joined()

    def finish(self, slot: Slot, answer: bytes | None) -> None:
        """Take the answer of a request that has ended; send the batch if it was the last."""
        del self._waiting[slot.place]
        self.fill(slot, answer)
        # A notification of the same batch may cancel a request before the last message is started;
        # without the flag the batch would be answered too early.
        if self._complete and not self._waiting:
            self.source.answer(self._joined())

    def cancel(self) -> None:
        for running in self._waiting.values():
            running.cancel()

    def _joined(self) -> bytes | None:
        answers = [answer for answer in self._answers if answer is not None]
        return b"[" + b",".join(answers) + b"]" if answers else None


class Slot:
    """The source of one request in a batch: its answer fills a place in the array."""

    __slots__ = ("_run", "batch_source", "context", "id", "place", "settle")

    def __init__(self, run: BatchRun, place: int, id: Id | UnsetType) -> None:
        self._run = run
        self.place = place
        self.id = id
        self.batch_source = run.source
        """The source of the whole batch."""
        self.context = run.source.context
        self.settle = run.source.settle

    def answer(self, data: bytes | None) -> None:
        self._run.finish(self, data)

    def takes(self, id: Id) -> bool:
        """Note a request's id; return True if it is the first of its kind in the batch."""
        ids = self._run.ids
        known = len(ids)
        ids.add(id)
        return len(ids) > known


def _too_large(id: Id, max_bytes: int) -> bytes:
    """Return the error that replaces an answer that exceeds the batch limit."""
    error = own_error(
        "message_too_large",
        f"the answers to this batch are over the limit of {max_bytes:,} bytes",
        maxSize=max_bytes,
        unit="bytes",
    )
    return encode_failure(id, error)
