"""Why runs cannot be decided on, or be shown: kept beside them until that has changed.

What is said reaches everybody who may see a run, so that of unexpected errors only the kind is
told; the log has the rest.
"""

from __future__ import annotations

from typing import Final

import msgspec
from msgspec import Struct

from accord.store.store import StoreError
from accord.workflows.core.errors import NewerSchemaError
from accord.workflows.storage.errors import UnknownWorkflowError

LONGEST: Final = 1_000
"""Characters of a message."""


class Problem(Struct, frozen=True):
    """One reason."""

    code: str
    message: str


def problem_of(error: Exception) -> Problem:
    """Why a run cannot be decided on or read, from what was raised."""
    match error:
        case NewerSchemaError():
            code = "newer_schema"
            what = f"a newer release of Accord wrote to it, and is needed to continue it: {error}"
        case UnknownWorkflowError():
            code, what = "unknown_workflow", f"its workflow is missing: {error}"
        case msgspec.DecodeError():
            code, what = "unreadable", f"it cannot be read by this release: {error}"
        case StoreError():
            code, what = "not_stored", "the database refuses its next step; the log says why"
        case _:
            code = "internal_error"
            what = f"its next step fails with {type(error).__name__}; the log says more"
    return _problem(code, what)


def unreadable_message(error: Exception) -> Problem:
    """Why a message for a run cannot be read."""
    return _problem("unreadable", f"a message for it cannot be read by this release: {error}")


def _problem(code: str, what: str) -> Problem:
    # PostgreSQL keeps no NUL in texts.
    return Problem(code, what.replace("\0", "")[:LONGEST])


def encode_problem(problem: Problem) -> str:
    """A problem as it is kept."""
    return msgspec.json.encode(problem).decode()


def decode_problem(text: str) -> Problem:
    """A problem that was kept."""
    return msgspec.json.decode(text, type=Problem)
