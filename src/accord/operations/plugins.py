"""Operations that plugins add, and how they use others.

A plugin says for each of its operations which right it needs; one that says nothing is refused when
it is loaded, rather than offered to whoever may read or write.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar, Unpack

from accord.operations.arguments import convert
from accord.operations.context import Work
from accord.operations.operation import Operation
from accord.operations.registry import DRY_RUN, IDEMPOTENCY_KEY, OperationOptions, Registry

F = TypeVar("F", bound=Callable[..., Any])


class Operations(Registry):
    """The operations of a plugin: `read` and `write` are as those of `Registry`, but that `right`
    must be given."""

    def read(self, **options: Unpack[OperationOptions]) -> Callable[[F], F]:
        return super().read(**_with_right(options))

    def write(self, **options: Unpack[OperationOptions]) -> Callable[[F], F]:
        return super().write(**_with_right(options))


def _with_right(options: OperationOptions) -> OperationOptions:
    if "right" not in options:
        raise TypeError("an operation of a plugin says which right it needs: right=…")
    return options


async def perform(work: Work, operation: str, /, **arguments: Any) -> Any:
    """What another operation gives, as a part of this one: in the same transaction, as the same
    caller, with its effects in the same record.

    Raises ServiceError as that one does, ForbiddenError where the caller may not do it, and
    LookupError for one that is not there or cannot be a part of this one.
    """
    found = work.service(Registry).get(operation)
    if found is None or not _is_part(found):
        raise LookupError(f"no operation {operation!r} can be a part of another")
    if found.writes and not work.writes:
        raise LookupError(f"{operation!r} writes, and cannot be a part of one that only reads")
    work.caller.require(found.right, found.name)
    given = convert(found, arguments)
    for name in (DRY_RUN, IDEMPOTENCY_KEY):
        given.pop(name, None)
    return await found.function(work, **given)


def _is_part(operation: Operation) -> bool:
    return operation.prepare is None and operation.finish is None
