"""Limits of definitions, expressions and runs. Errors name the limit that was exceeded."""

from __future__ import annotations

from typing import Final

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
