"""How large and how long things may be. Every limit is refused with a sentence that names it."""

from __future__ import annotations

from typing import Final

# Definitions
MAX_DEFINITION_BYTES: Final = 524_288
"""The text of a definition."""
MAX_VALUE_DEPTH: Final = 64
"""How deep lists and objects of a definition stand in each other."""
MAX_STEPS: Final = 500
"""Steps of a definition, those inside others included."""
MAX_NESTING: Final = 16
"""How deep steps stand in each other."""
MAX_TRIGGERS: Final = 20
"""What starts runs of one workflow."""
MAX_PROBLEMS: Final = 100
"""Problems of a definition that are told at once."""
MAX_SECONDS: Final = 315_360_000.0
"""Any duration: ten years."""
MAX_ITERATIONS: Final = 10_000
"""What `max_iterations` may be at most."""

# Expressions
MAX_EXPRESSION: Final = 4_096
"""Characters of one expression."""
MAX_EXPRESSION_NESTING: Final = 32
"""Brackets, conditionals and signs in each other."""
MAX_EXPRESSION_DEPTH: Final = 100
"""Levels of an expression, chains of operators included."""
MAX_EVALUATION_STEPS: Final = 100_000
"""Nodes visited, items looked at and items made while one field is evaluated."""
MAX_EVALUATION_TEXT: Final = 4_194_304
"""Characters made, read and compared while one field is evaluated."""

# Runs
MAX_OUTPUT_BYTES: Final = 1_048_576
"""One input, output, payload or result, as JSON."""
MAX_SHOWN_BYTES: Final = 65_536
"""What people are shown who are to decide, as JSON."""
MAX_RUN_BYTES: Final = 67_108_864
"""All outputs and signals of one run."""
MAX_STEP_RUNS: Final = 50_000
"""Steps started in one run, each round of a loop counted."""
MAX_SIGNALS: Final = 1_000
"""Signals that one run keeps for whoever waits for them later."""
MAX_SIGNAL_IDS: Final = 10_000
"""Signals of one run altogether."""
MAX_CHILD_DEPTH: Final = 16
"""Runs started by runs."""
MAX_CHAIN: Final = 5
"""Runs started by what runs wrote, one after the other."""
MAX_DECISION_EVENTS: Final = 1_000
"""Events of one decision; what is left is decided next."""
