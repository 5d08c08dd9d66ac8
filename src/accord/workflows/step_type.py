"""A type of step that a plugin adds: an async function, with how it is tried again.

    @step_type(concurrency=4)
    async def mail(task: StepTask, *, to: str, subject: str) -> Sent: ...

What a step of it has as `input` are the arguments of the function, checked by its annotations; what
the function gives is the output of the step. It is called once for each attempt, and may be called
again where a process died in the middle of it: `task.id` is the same then.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from inspect import cleandoc, iscoroutinefunction
from typing import Any, Final

from msgspec import Struct

from accord.jsonrpc.methods.signature import read_signature
from accord.jsonrpc.protocol.errors import RegistrationError
from accord.operations.arguments import Part
from accord.workflows.core.definition import Retry
from accord.workflows.core.rules import Arguments

CONCURRENCY: Final = 16


class StepFailedError(Exception):
    """The step failed for good: it is not tried again unless it says `failures: all`.

    All else that is raised means that nobody knows what was done, and is tried again.
    """

    def __init__(self, code: str, message: str, details: Any = None) -> None:
        super().__init__(message)
        self.code = code
        self.message = message
        self.details = details


class StepTask(Struct, frozen=True, kw_only=True):
    """One attempt at a step of a run."""

    id: str
    """The same for each attempt of which nobody knows whether the one before was done: give it to
    others as the key by which they know a message that comes twice."""
    run_id: str
    step: str
    """The key of the step, with the rounds of the loops around it: `tell[3]`."""
    attempt: int
    deadline: float | None
    """When the step is over, done or not: seconds since 1970. The attempt is cancelled then."""
    correlation_id: str
    traceparent: str
    """Of the trace that the run belongs to (W3C Trace Context)."""


class StepType(Struct, frozen=True, kw_only=True, eq=False):
    """What a plugin gives."""

    function: Callable[..., Any]
    description: str
    arguments: Part
    taken: Arguments
    retry: Retry
    concurrency: int


def step_type(
    *, concurrency: int = CONCURRENCY, retry: Retry | None = None
) -> Callable[[Callable[..., Any]], StepType]:
    """Make a type of step of a function; a decorator. `concurrency` is how many steps a process
    works on at once, `retry` is for steps that say nothing of it. Raises RegistrationError."""

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
            arguments=Part(f"{name.title().replace('_', '')}Input", parameters),
            taken=Arguments(
                frozenset(each.name for each in parameters),
                frozenset(each.name for each in parameters if each.required),
            ),
            retry=Retry() if retry is None else retry,
            concurrency=concurrency,
        )

    return decorate


class StepTypes:
    """All that plugins add, by name."""

    def __init__(self, types: Mapping[str, StepType] | None = None) -> None:
        self._types = dict(types or {})

    def __iter__(self) -> Iterator[str]:
        return iter(self._types)

    def get(self, name: str) -> StepType | None:
        return self._types.get(name)

    @property
    def taken(self) -> dict[str, Arguments]:
        """What each takes, for those who check definitions."""
        return {name: each.taken for name, each in self._types.items()}
