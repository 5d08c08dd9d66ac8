"""Errors of definitions, expressions and histories.

CoreError
├── DefinitionError     a definition has problems; it carries all of them
├── ExpressionError     an expression cannot be read
├── EvaluationError     an expression has no value here
├── CronError           a schedule cannot be read
├── RefusedError        the state of a run does not allow a request
└── NewerSchemaError    an event, command or state was written by a newer version
"""

from __future__ import annotations

from collections.abc import Sequence

from msgspec import Struct


class Problem(Struct, frozen=True):
    """A problem of a definition: its path, a message, and a hint at the remedy."""

    path: str
    message: str
    hint: str = ""

    def __str__(self) -> str:
        return f"{self.path}: {self.message}" + (f" ({self.hint})" if self.hint else "")


class CoreError(Exception):
    """The base class of the errors of this package."""


class DefinitionError(CoreError):
    """A definition has problems; `problems` are all that were found."""

    def __init__(self, problems: Sequence[Problem]) -> None:
        super().__init__("; ".join(map(str, problems)))
        self.problems = tuple(problems)


class ExpressionError(CoreError):
    """An expression cannot be parsed; `position` is the index of the offending character."""

    def __init__(self, message: str, position: int) -> None:
        super().__init__(f"{message}, at character {position + 1}")
        self.position = position


class EvaluationError(CoreError):
    """An expression has no value here; the message names the reference or the operation."""


class CronError(CoreError):
    """A cron expression cannot be parsed; the message names the part."""


class RefusedError(CoreError):
    """The state of a run does not allow a request; the message gives the reason."""


class NewerSchemaError(CoreError):
    """Stored data of a newer release: it must be left for that release to read."""

    def __init__(self, schema: int, known: int) -> None:
        super().__init__(f"schema {schema} is newer than {known}, the newest that is known here")
        self.schema = schema
