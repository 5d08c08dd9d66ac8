"""Step types that plugins add: async functions with a retry policy.

    @step_type(concurrency=4)
    async def mail(task: StepTask, *, to: str, subject: str) -> Sent: ...

The `input` of a step has the arguments of the function, which are validated by its annotations. The
return value is the output of the step. The function is called once for each attempt. If the process
dies during a call, the function is called again with the same `task.id`.
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
    """Raise this to fail a step.

    The step is retried only if its retry policy has `failures: all`. After any other
    exception the outcome counts as unknown, and the step is retried.
    """

    def __init__(self, code: str, message: str, details: Any = None) -> None:
        super().__init__(message)
        self.code = code
        self.message = message
        self.details = details


class StepTask(Struct, frozen=True, kw_only=True):
    """One attempt at a step of a run."""

    id: str
    """An idempotency key; a retry after an unknown outcome has the same id as before."""
    run_id: str
    step: str
    """The key of the step, with the rounds of the loops around it, such as `tell[3]`."""
    attempt: int
    deadline: float | None
    """The time at which the attempt is cancelled, in seconds since 1970; None for no limit."""
    correlation_id: str
    traceparent: str
    """The `traceparent` of the run (W3C Trace Context)."""


class StepType(Struct, frozen=True, kw_only=True, eq=False):
    """A step type: its function, arguments, default retry policy and concurrency."""

    function: Callable[..., Any]
    description: str
    arguments: ArgumentSet
    taken: Arguments
    retry: Retry
    concurrency: int


def step_type(
    *, concurrency: int = CONCURRENCY, retry: Retry | None = None
) -> Callable[[Callable[..., Any]], StepType]:
    """Decorate an async function to make it a step type.

    `concurrency` is the maximum number of steps of this type that run at once in a process. `retry`
    is the policy for steps that define none. Raise RegistrationError if the function has no
    docstring or an unsuitable signature.
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
    """The step types of all plugins, by name."""

    def __init__(self, types: Mapping[str, StepType] | None = None) -> None:
        self._types = dict(types or {})

    def __iter__(self) -> Iterator[str]:
        return iter(self._types)

    def get(self, name: str) -> StepType | None:
        return self._types.get(name)

    @property
    def taken(self) -> dict[str, Arguments]:
        """The argument names of each step type, to validate definitions."""
        return {name: each.taken for name, each in self._types.items()}
