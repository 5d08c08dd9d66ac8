"""A batch that is being served. Does not know how a message is served."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

from msgspec import UNSET, UnsetType

from accord.jsonrpc.codec import encode_failure
from accord.jsonrpc.errors import own_error
from accord.jsonrpc.messages import Batch, Id, Message, Request
from accord.jsonrpc.running import Running, Source

Serve: TypeAlias = Callable[[Message, Source], bytes | None | Running]


class BatchRun:
    """Collects the answers to one batch, in the order of its requests."""

    def __init__(self, source: Source, *, max_bytes: int) -> None:
        self._source = source
        self._most_bytes = max_bytes
        self._answers: list[bytes | None] = []
        self._bytes = 0
        self._waiting: dict[int, Running] = {}

    def start(self, batch: Batch, serve: Serve) -> bytes | None | BatchRun:
        """Serve every message; the answer if all are ready at once, else itself."""
        for place, message in enumerate(batch):
            id = message.id if isinstance(message, Request) else UNSET
            self._answers.append(None)
            slot = _Slot(self, self._source, place, id)
            answer = serve(message, slot)
            if isinstance(answer, Running):
                self._waiting[place] = answer
            else:
                self._put(place, id, answer)
        return self if self._waiting else self._joined()

    def cancel(self) -> None:
        for running in self._waiting.values():
            running.cancel()

    def finish(self, place: int, id: Id | UnsetType, answer: bytes | None) -> None:
        del self._waiting[place]
        self._put(place, id, answer)
        if not self._waiting:
            self._source.answer(self._joined())

    def _put(self, place: int, id: Id | UnsetType, answer: bytes | None) -> None:
        if answer is None:
            return
        most = self._most_bytes
        if self._bytes + len(answer) > most and id is not UNSET:
            error = own_error(
                "message_too_large",
                f"the answers to this batch are over the limit of {most:,} bytes",
                maxSize=most,
                unit="bytes",
            )
            answer = encode_failure(id, error)
        self._bytes += len(answer)
        self._answers[place] = answer

    def _joined(self) -> bytes | None:
        # JSON-RPC 2.0, section 6: nothing at all, rather than an empty array.
        answers = [answer for answer in self._answers if answer is not None]
        return b"[" + b",".join(answers) + b"]" if answers else None


class _Slot:
    """The source of one request in a batch: its answer fills a place in the batch's."""

    __slots__ = ("_id", "_place", "_run", "context", "settle")

    def __init__(self, run: BatchRun, source: Source, place: int, id: Id | UnsetType) -> None:
        self._run = run
        self._place = place
        self._id = id
        self.context = source.context
        self.settle = source.settle

    def answer(self, data: bytes | None) -> None:
        self._run.finish(self._place, self._id, data)
