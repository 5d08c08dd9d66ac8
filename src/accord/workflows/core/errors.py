"""The errors of this package, and limits of definitions and runs.

CoreError
├── DefinitionError     a definition has problems; the error lists all of them
├── ExpressionError     an expression cannot be parsed
├── EvaluationError     an expression cannot be evaluated
├── CronError           a schedule cannot be parsed
├── RefusedError        the state of a run does not allow a request
└── NewerSchemaError    an event, command or state was written by a newer release
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from msgspec import Struct


class Problem(Struct, frozen=True):
    """A problem of a definition.

    `path` is the place of the problem in the definition, `hint` a proposed remedy.
    """

    path: str
    message: str
    hint: str = ""

    def __str__(self) -> str:
        return f"{self.path}: {self.message}" + (f" ({self.hint})" if self.hint else "")


class CoreError(Exception):
    """The base class of all errors of this package."""


class DefinitionError(CoreError):
    """A definition has problems, listed in `problems`."""

    def __init__(self, problems: Sequence[Problem]) -> None:
        super().__init__("; ".join(map(str, problems)))
        self.problems = tuple(problems)


class ExpressionError(CoreError):
    """An expression cannot be parsed; `position` is the index of the offending character."""

    def __init__(self, message: str, position: int) -> None:
        super().__init__(f"{message}, at character {position + 1}")
        self.position = position


class EvaluationError(CoreError):
    """An expression cannot be evaluated; the message names the failed reference or operation."""


class CronError(CoreError):
    """A cron expression cannot be parsed; the message names the invalid part."""


class RefusedError(CoreError):
    """The state of a run does not allow a request; the message states the reason."""


class NewerSchemaError(CoreError):
    """Stored data was written by a newer release, and only that release can read it."""

    def __init__(self, schema: int, known: int) -> None:
        super().__init__(f"schema {schema} is newer than {known}, the newest that is known here")
        self.schema = schema


# Definitions
MAX_DEFINITION_BYTES: Final = 524_288
"""The maximum size of a definition's text, in bytes."""
MAX_VALUE_DEPTH: Final = 64
"""The maximum nesting depth of lists and objects in a definition."""
MAX_STEPS: Final = 500
"""The maximum number of steps in a definition, including nested ones."""
MAX_NESTING: Final = 16
"""The maximum nesting depth of lists of steps."""
MAX_TRIGGERS: Final = 20
"""The maximum number of triggers of one workflow."""
MAX_PROBLEMS: Final = 100
"""The maximum number of problems that are reported for one definition."""
MAX_SECONDS: Final = 315_360_000.0
"""The maximum duration, in seconds: ten years."""
MAX_ITERATIONS: Final = 10_000
"""The maximum value of `max_iterations`."""

# Expressions
MAX_EXPRESSION: Final = 4_096
"""The maximum length of an expression, in characters."""
MAX_EXPRESSION_NESTING: Final = 32
"""The maximum nesting depth of brackets and conditionals in an expression's text."""
MAX_EXPRESSION_DEPTH: Final = 100
"""The maximum depth of an expression's syntax tree, in which operator chains add levels."""
MAX_EVALUATION_STEPS: Final = 100_000
"""The maximum number of nodes and items that the evaluation of one field may handle."""
MAX_EVALUATION_TEXT: Final = 4_194_304
"""The maximum number of characters that the evaluation of one field may handle."""

# Runs
MAX_OUTPUT_BYTES: Final = 1_048_576
"""The maximum size of one input, output, payload or result, in bytes of JSON."""
MAX_SHOWN_BYTES: Final = 65_536
"""The maximum size of the message and data of an approval, in bytes of JSON."""
MAX_RUN_BYTES: Final = 67_108_864
"""The maximum size of all outputs and signals of one run, in bytes."""
MAX_STEP_RUNS: Final = 50_000
"""The maximum number of steps started in one run; each round of a loop counts."""
MAX_SIGNALS: Final = 1_000
"""The maximum number of signals of one run that wait to be delivered."""
MAX_SIGNAL_IDS: Final = 10_000
"""The maximum number of signals that one run can receive in total."""
MAX_CHILD_DEPTH: Final = 16
"""The maximum nesting depth of child runs."""
MAX_CHAIN: Final = 5
"""The maximum length of a chain of runs, each of which triggers the next by a change."""
MAX_DECISION_EVENTS: Final = 1_000
"""The maximum number of events in one decision; another decision continues with the rest."""
