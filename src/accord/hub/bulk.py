"""Bulk writes (several operations in one transaction, all or none) and dry runs.

An argument of a step may refer to the result of an earlier step: a text that is exactly `$1.id`
stands for the field `id` of the first step's result. A dry run takes place after a savepoint and is
then rolled back.
"""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Annotated, Any, Final, TypeAlias, TypeVar

from msgspec import Meta, Struct, to_builtins

from accord.hub.domain.text import no_such
from accord.hub.storage import rows
from accord.operations.arguments import convert
from accord.operations.context import RULES, Caller, OperationContext
from accord.operations.errors import FieldError, ForbiddenError, InvalidError, ServiceError
from accord.operations.operation import Operation
from accord.operations.registry import DRY_RUN, IDEMPOTENCY_KEY, Registry

T = TypeVar("T")


async def dry_run(work: OperationContext, body: Callable[[], Awaitable[T]]) -> T:
    """Run `body`, roll back everything that it wrote, and return its result.

    Also removes the effects and hints that `body` added to `work`. Exceptions of `body` are passed
    on.
    """
    effects, hints = len(work.effects), len(work.hints)
    await rows.savepoint(work.db, "trial")
    try:
        return await body()
    finally:
        await rows.roll_back(work.db, "trial")
        await rows.release(work.db, "trial")
        # In place, since `OperationContext.acting` shares these lists between contexts.
        del work.effects[effects:], work.hints[hints:]


MAX_STEPS: Final = 200
NOT_STEPS: Final = frozenset({"changes", "proposals"})
"""Tags of operations that cannot be steps of a bulk write.

These operations work on a whole change or proposal, such as `undo` and `accept_proposal`.
"""

_REFERENCE: Final = re.compile(r"\$(?P<escaped>\$)?(?P<step>[0-9]{1,3})\.(?P<field>[a-z_]{1,64})")


class OperationStep(Struct, forbid_unknown_fields=True):
    """One operation, with its arguments."""

    __schema_name__ = "Step"

    operation: Annotated[str, Meta(min_length=1, max_length=64)]
    arguments: dict[str, Any]


class StepResult(Struct, frozen=True):
    """What came of a step."""

    operation: str
    result: Any


Steps: TypeAlias = Annotated[list[OperationStep], Meta(min_length=1, max_length=MAX_STEPS)]
Permission: TypeAlias = Callable[[Caller, Operation], None]


def may_do(caller: Caller, operation: Operation) -> None:
    """Raise ForbiddenError if the caller may not run an operation now.

    Both the caller's role and the scopes of the caller's token count.
    """
    caller.require(operation.right, operation.name)


def may_propose(caller: Caller, operation: Operation) -> None:
    """Raise ForbiddenError if the caller's role may not propose an operation.

    Unlike in `may_do`, the scopes of the caller's token do not count.
    """
    if caller.role not in RULES[operation.right].roles:
        raise ForbiddenError(f"{operation.name} is nothing that a {caller.role} may do")


async def run_steps(
    work: OperationContext, steps: Sequence[OperationStep], may: Permission
) -> list[StepResult]:
    """Run all steps in order; return their results.

    If a step fails, raises its ServiceError with the step's number and operation added.
    """
    results: list[StepResult] = []
    for number, step in enumerate(steps, 1):
        try:
            results.append(await _run(work, step, results, may))
        except ServiceError as error:
            raise _of_step(error, number, step.operation) from error
    return results


async def _run(
    work: OperationContext, step: OperationStep, earlier: Sequence[StepResult], may: Permission
) -> StepResult:
    """Run one step within the transaction of the bulk write; return its result.

    Raises ServiceError if the caller may not run the step, an argument is invalid, or the operation
    fails.
    """
    operation = _operation(work, step.operation)
    # For each step: the right to call `apply_changes` includes no right to call its operations.
    may(work.caller, operation)
    for name in (DRY_RUN, IDEMPOTENCY_KEY):
        if name in step.arguments:
            raise InvalidError(f"arguments/{name}", "belongs to all steps together")
    arguments = convert(operation, _filled(step.arguments, earlier))
    for name in (DRY_RUN, IDEMPOTENCY_KEY):
        del arguments[name]
    result = await operation.function(work, **arguments)
    return StepResult(operation.name, to_builtins(result))


def _operation(work: OperationContext, name: str) -> Operation:
    """Return the operation that a step names.

    Raises InvalidError, with the valid names, if there is no such operation or it cannot be a step.
    """
    registry = work.service(Registry)
    found = registry.get(name)
    if found is not None and is_step(found):
        return found
    valid = [each.name for each in registry if is_step(each)]
    raise InvalidError("operation", no_such("operation for a step", name, valid))


def is_step(operation: Operation) -> bool:
    """Return whether an operation may be a step of a bulk write."""
    return (
        operation.writes
        and (operation.prepare is None or operation.prepare_optional)
        and operation.right in ("write", "comment", "delete", "admin")
        and operation.tag not in NOT_STEPS
    )


def _filled(value: Any, earlier: Sequence[StepResult]) -> Any:
    """Return an argument with `$1.id` and the like replaced by results of earlier steps."""
    if isinstance(value, Mapping):
        return {name: _filled(each, earlier) for name, each in value.items()}
    if isinstance(value, list):
        return [_filled(each, earlier) for each in value]
    found = _REFERENCE.fullmatch(value) if isinstance(value, str) else None
    if found is None:
        return value
    if found["escaped"]:
        return value[1:]
    step, field = int(found["step"]), found["field"]
    if not 1 <= step <= len(earlier):
        raise InvalidError("arguments", f"{value!r} names no earlier step")
    result = earlier[step - 1].result
    if not isinstance(result, dict) or field not in result:
        valid = list(result) if isinstance(result, dict) else []
        raise InvalidError("arguments", no_such(f"field of step {step}", field, valid))
    return result[field]


def _of_step(error: ServiceError, number: int, operation: str) -> ServiceError:
    """Add the number of a step to the error of that step; return the error.

    The number is added to the error's message, data and JSON pointers.
    """
    # Changed in place: a new error would lose the class and its further attributes.
    error.message = f"step {number}, {operation}: {error.message}"
    error.args = (error.message,)
    error.data["step"] = number
    if isinstance(error, InvalidError):
        error.errors = tuple(
            FieldError(f"/steps/{number - 1}{_below(each.pointer)}", each.detail)
            for each in error.errors
        )
    return error


def _below(pointer: str) -> str:
    if pointer == "/operation" or pointer.startswith("/arguments"):
        return pointer
    return f"/arguments{pointer}"
