"""Types of steps that plugins add: an async function with its retry policy and concurrency.

    @step_type(concurrency=4)
    async def mail(task: StepTask, *, to: str, subject: str) -> Sent: ...

The `input` of a step are the arguments of the function, checked by its annotations; the return
value is the output of the step. The function is called once for each attempt, and may be called
again for the same attempt if a process died in the middle of it; `task.id` is the same then.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from inspect import cleandoc, iscoroutinefunction
from typing import Any, Final

from msgspec import Struct

from accord.jsonrpc.methods.signature import read_signature
from accord.jsonrpc.protocol.errors import RegistrationError
from accord.operations.arguments import ArgumentSet
from accord.workflows.core.definition import Retry
from accord.workflows.core.rules import Arguments

CONCURRENCY: Final = 16


class StepFailedError(Exception):
    """The step failed: it is retried only if its policy has `failures: all`.

    Any other exception means that the outcome is unknown, and is retried.
    """

    def __init__(self, code: str, message: str, details: Any = None) -> None:
        super().__init__(message)
        self.code = code
        self.message = message
        self.details = details


class StepTask(Struct, frozen=True, kw_only=True):
    """One attempt at a step of a run."""

    id: str
    """An idempotency key: attempts after an unknown outcome have the same id as the one before."""
    run_id: str
    step: str
    """The key of the step, with the rounds of the loops around it: `tell[3]`."""
    attempt: int
    deadline: float | None
    """The time at which the attempt is cancelled, in seconds since 1970; None without a limit."""
    correlation_id: str
    traceparent: str
    """The `traceparent` of the run (W3C Trace Context)."""


class StepType(Struct, frozen=True, kw_only=True, eq=False):
    """A type of step: its function, arguments, default retry policy and concurrency."""

    function: Callable[..., Any]
    description: str
    arguments: ArgumentSet
    taken: Arguments
    retry: Retry
    concurrency: int


def step_type(
    *, concurrency: int = CONCURRENCY, retry: Retry | None = None
) -> Callable[[Callable[..., Any]], StepType]:
    """Make a function a type of step; a decorator. Raise RegistrationError.

    `concurrency` is the number of steps of this type that a process runs at once, `retry` the
    policy of steps without one of their own.
    """

    def decorate(function: Callable[..., Any]) -> StepType:
        name = function.__name__
        if not iscoroutinefunction(function) or not function.__doc__:
            raise RegistrationError(f"step {name!r} must be an async function with a docstring")
        first, *parameters = read_signature(function).parameters
        if first.name != "task" or any(each.kind != "keyword_only" for each in parameters):
            raise RegistrationError(f"step {name!r} must take (task, *, …)")
        return StepType(
            function=function,
            description=cleandoc(function.__doc__),
            arguments=ArgumentSet(f"{name.title().replace('_', '')}Input", parameters),
            taken=Arguments(
                frozenset(each.name for each in parameters),
                frozenset(each.name for each in parameters if each.required),
            ),
            retry=Retry() if retry is None else retry,
            concurrency=concurrency,
        )

    return decorate


class StepTypes:
    """The types of steps of all plugins, by name."""

    def __init__(self, types: Mapping[str, StepType] | None = None) -> None:
        self._types = dict(types or {})

    def __iter__(self) -> Iterator[str]:
        return iter(self._types)

    def get(self, name: str) -> StepType | None:
        return self._types.get(name)

    @property
    def taken(self) -> dict[str, Arguments]:
        """The names of the arguments of each type, to validate definitions."""
        return {name: each.taken for name, each in self._types.items()}
