"""What is known about a task, and how it changes. Values only: who keeps them is elsewhere."""

from __future__ import annotations

from msgspec import UNSET, Raw, Struct, UnsetType
from msgspec.structs import replace

from accord.jsonrpc.errors import RpcError
from accord.mcp.protocol.tasks import TRANSITIONS, TaskError, TaskStatus, is_over


class TaskAnswer(Struct, frozen=True, omit_defaults=True):
    """What came back for a question: a result, or an error in place of one."""

    result: Raw | UnsetType = UNSET
    error: TaskError | UnsetType = UNSET


class TaskRecord(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One task. Can be encoded, so that other processes can read it."""

    id: str
    owner: str
    """Who may know of it."""
    created: float
    """Seconds since 1970."""
    updated: float
    ttl_ms: int
    poll_ms: int
    status: TaskStatus = "working"
    message: str = ""
    questions: dict[str, Raw] = {}
    """What the client is asked and has not answered, by key: requests without ids."""
    answers: dict[str, TaskAnswer] = {}
    """What came back, for whoever runs the task."""
    result: Raw | UnsetType = UNSET
    """What the request would have been answered with."""
    error: TaskError | None = None

    @property
    def expires(self) -> float:
        return self.created + self.ttl_ms / 1000

    @property
    def is_over(self) -> bool:
        return is_over(self.status)

    def asking(self, questions: dict[str, Raw], now: float) -> TaskRecord | None:
        """With these questions open; None if it is over."""
        if self.is_over:
            return None
        return replace(
            self, status="input_required", questions={**self.questions, **questions}, updated=now
        )

    def answered(self, answers: dict[str, TaskAnswer], now: float) -> TaskRecord | None:
        """With answers to those of its questions that are open; None if there is none such."""
        new = {key: answer for key, answer in answers.items() if key in self.questions}
        if self.is_over or not new:
            return None
        return replace(self._without(set(new), now), answers={**self.answers, **new}, updated=now)

    def withdrawn(self, keys: set[str], now: float) -> TaskRecord | None:
        """Without these questions; None if it is over or has none of them."""
        if self.is_over or not keys & self.questions.keys():
            return None
        return self._without(keys, now)

    def _without(self, keys: set[str], now: float) -> TaskRecord:
        left = {key: it for key, it in self.questions.items() if key not in keys}
        status: TaskStatus = "input_required" if left else "working"
        return replace(self, status=status, questions=left, updated=now)

    def ended(
        self,
        status: TaskStatus,
        now: float,
        *,
        message: str = "",
        result: Raw | UnsetType = UNSET,
        error: TaskError | None = None,
    ) -> TaskRecord | None:
        """At its end; None if it has ended already.

        2025-11-25, tasks: what was cancelled stays so, whatever comes of the work.
        """
        if status not in TRANSITIONS[self.status]:
            return None
        return replace(
            self,
            status=status,
            message=message,
            questions={},
            answers={},
            result=result,
            error=error,
            updated=now,
        )


def task_error(error: RpcError) -> TaskError:
    """An error as a task keeps it."""
    return TaskError(error.code, error.message, UNSET if error.data is None else error.data)
