"""Errors of definitions, expressions and histories, and the limits that they name.

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
from typing import Final

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


# Definitions
MAX_DEFINITION_BYTES: Final = 524_288
"""Bytes of a definition's text."""
MAX_VALUE_DEPTH: Final = 64
"""Nesting depth of lists and objects in a definition."""
MAX_STEPS: Final = 500
"""Steps of a definition, including nested ones."""
MAX_NESTING: Final = 16
"""Nesting depth of lists of steps."""
MAX_TRIGGERS: Final = 20
"""Triggers of one workflow."""
MAX_PROBLEMS: Final = 100
"""Problems of a definition that are reported at once."""
MAX_SECONDS: Final = 315_360_000.0
"""The longest duration: ten years."""
MAX_ITERATIONS: Final = 10_000
"""The largest allowed `max_iterations`."""

# Expressions
MAX_EXPRESSION: Final = 4_096
"""Characters of one expression."""
MAX_EXPRESSION_NESTING: Final = 32
"""Nesting depth of brackets and conditionals in the text of an expression."""
MAX_EXPRESSION_DEPTH: Final = 100
"""Levels of the syntax tree, including chains of operators."""
MAX_EVALUATION_STEPS: Final = 100_000
"""Nodes visited, items read and items created while one field is evaluated."""
MAX_EVALUATION_TEXT: Final = 4_194_304
"""Characters created, read and compared while one field is evaluated."""

# Runs
MAX_OUTPUT_BYTES: Final = 1_048_576
"""Bytes of one input, output, payload or result, as JSON."""
MAX_SHOWN_BYTES: Final = 65_536
"""Bytes of the message and data of an approval, as JSON."""
MAX_RUN_BYTES: Final = 67_108_864
"""Bytes of all outputs and signals of one run."""
MAX_STEP_RUNS: Final = 50_000
"""Steps started in one run, counting each round of a loop."""
MAX_SIGNALS: Final = 1_000
"""Undelivered signals of one run."""
MAX_SIGNAL_IDS: Final = 10_000
"""Signals of one run in total, delivered or not."""
MAX_CHILD_DEPTH: Final = 16
"""Nesting depth of child runs."""
MAX_CHAIN: Final = 5
"""Length of a chain of runs in which each was started by a write of the one before."""
MAX_DECISION_EVENTS: Final = 1_000
"""Events of one decision; the rest follows in the next one."""
