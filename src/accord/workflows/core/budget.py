"""What one evaluation may cost: steps, and characters made, read or compared."""

from __future__ import annotations

from accord.workflows.core.errors import EvaluationError
from accord.workflows.core.limits import MAX_EVALUATION_STEPS, MAX_EVALUATION_TEXT


class Budget:
    """Counts down; raises EvaluationError where nothing is left."""

    __slots__ = ("steps", "text")

    def __init__(self, steps: int = MAX_EVALUATION_STEPS, text: int = MAX_EVALUATION_TEXT) -> None:
        self.steps = steps
        self.text = text

    def spend(self, steps: int) -> None:
        self.steps -= steps
        if self.steps < 0:
            self.check()

    def spend_text(self, characters: int) -> None:
        self.text -= characters
        if self.text < 0:
            self.check()

    def check(self) -> None:
        """Raises EvaluationError where something was spent that was not there. Whoever goes on
        after an error asks, as it may have been this one."""
        if self.steps < 0:
            raise EvaluationError(
                f"the expression takes more than {MAX_EVALUATION_STEPS:,} steps to evaluate"
            )
        if self.text < 0:
            raise EvaluationError(
                f"the expression handles more than {MAX_EVALUATION_TEXT:,} characters of text"
            )
