"""What is known about a task, and how it changes. Values only: who keeps them is elsewhere."""

from __future__ import annotations

from msgspec import UNSET, Raw, Struct, UnsetType
from msgspec.structs import replace

from accord.jsonrpc.errors import RpcError
from accord.mcp.protocol.tasks import TRANSITIONS, TaskError, TaskStatus, is_over


class TaskAnswer(Struct, frozen=True, omit_defaults=True):
    """The answer to a question: a result, or an error in place of one."""

    result: Raw | UnsetType = UNSET
    error: TaskError | UnsetType = UNSET


class TaskRecord(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One task as an encodable value, readable by other processes."""

    id: str
    owner: str
    """The owner, who may see it."""
    created: float
    """Seconds since 1970."""
    updated: float
    ttl_ms: int
    poll_ms: int
    status: TaskStatus = "working"
    message: str = ""
    questions: dict[str, Raw] = {}
    """Open questions by key: requests without ids."""
    answers: dict[str, TaskAnswer] = {}
    """Answers by key, for the process that runs the task."""
    result: Raw | UnsetType = UNSET
    """The result that the request would have had."""
    error: TaskError | None = None

    @property
    def expires(self) -> float:
        return self.created + self.ttl_ms / 1000

    @property
    def is_over(self) -> bool:
        return is_over(self.status)

    def asking(self, questions: dict[str, Raw], now: float) -> TaskRecord | None:
        """Return the record with these questions open; None if it is over."""
        if self.is_over:
            return None
        return replace(
            self, status="input_required", questions={**self.questions, **questions}, updated=now
        )

    def answered(self, answers: dict[str, TaskAnswer], now: float) -> TaskRecord | None:
        """Return the record with answers to its open questions.

        None if none of them is open.
        """
        new = {key: answer for key, answer in answers.items() if key in self.questions}
        if self.is_over or not new:
            return None
        return replace(self._without(set(new), now), answers={**self.answers, **new}, updated=now)

    def withdrawn(self, keys: set[str], now: float) -> TaskRecord | None:
        """Return the record without these questions.

        None if it is over or has none of them.
        """
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
        """Return the record at its end; None if it has ended already.

        2025-11-25, tasks: a cancelled task stays cancelled, whatever the result of the work.
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
    """Return an error in the form that a task keeps."""
    return TaskError(error.code, error.message, UNSET if error.data is None else error.data)
