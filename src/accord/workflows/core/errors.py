"""What can be wrong with definitions, expressions and histories.

CoreError
├── DefinitionError     a definition has problems; it carries all of them
├── ExpressionError     an expression cannot be read
├── EvaluationError     an expression has no value here
├── CronError           a schedule cannot be read
├── RefusedError        a run cannot do now what somebody asks of it
└── NewerSchemaError    an event, command or state was written by a newer version
"""

from __future__ import annotations

from collections.abc import Sequence

from msgspec import Struct


class Problem(Struct, frozen=True):
    """One thing that is wrong with a definition: where, what, and what to do about it."""

    path: str
    message: str
    hint: str = ""

    def __str__(self) -> str:
        return f"{self.path}: {self.message}" + (f" ({self.hint})" if self.hint else "")


class CoreError(Exception):
    """Anything this package refuses."""


class DefinitionError(CoreError):
    """A definition has problems; `problems` are all that were found."""

    def __init__(self, problems: Sequence[Problem]) -> None:
        super().__init__("; ".join(map(str, problems)))
        self.problems = tuple(problems)


class ExpressionError(CoreError):
    """An expression cannot be read; `position` is the character at which that shows."""

    def __init__(self, message: str, position: int) -> None:
        super().__init__(f"{message}, at character {position + 1}")
        self.position = position


class EvaluationError(CoreError):
    """An expression has no value here; the message names the reference or the operation."""


class CronError(CoreError):
    """A schedule cannot be read; the message says which part of it."""


class RefusedError(CoreError):
    """A run cannot do now what somebody asks of it; the message says why."""


class NewerSchemaError(CoreError):
    """Something was written by a newer version than this one, and must be kept for it."""

    def __init__(self, schema: int, known: int) -> None:
        super().__init__(f"schema {schema} is newer than {known}, the newest that is known here")
        self.schema = schema
