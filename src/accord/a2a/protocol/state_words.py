"""Words that agents use for states of a task, and the state that each of them means.

The specifications know nine states. Agents also write "done", "success", "in_progress",
"TASK_STATE_DONE" or the number that the proto file gives a state.
"""

from __future__ import annotations

import re
from typing import Any, Final

from accord.a2a.protocol.states import TaskState

_WORDS: Final[dict[TaskState, str]] = {
    TaskState.COMPLETED: "completed complete done finished finish success succeeded successful "
    "ok okay passed resolved answered",
    TaskState.FAILED: "failed fail failure failing error errored crashed aborted timeout timedout "
    "expired exception",
    TaskState.REJECTED: "rejected reject refused declined denied",
    TaskState.CANCELED: "canceled cancelled cancel stopped terminated killed",
    TaskState.INPUT_REQUIRED: "inputrequired inputneeded needsinput requiresinput "
    "awaitinginput waitingforinput requiresaction",
    TaskState.AUTH_REQUIRED: "authrequired authneeded needsauth requiresauth "
    "authenticationrequired authorizationrequired",
    TaskState.SUBMITTED: "submitted submit accepted received created new queued scheduled",
    TaskState.WORKING: "working work inprogress progress started active busy paused "
    "suspended open initialized initialised",
    TaskState.UNKNOWN: "unknown unspecified",
}
_STATES: Final = {word: state for state, words in _WORDS.items() for word in words.split()}
_NUMBERS: Final = (
    TaskState.UNKNOWN,
    TaskState.SUBMITTED,
    TaskState.WORKING,
    TaskState.COMPLETED,
    TaskState.FAILED,
    TaskState.CANCELED,
    TaskState.INPUT_REQUIRED,
    TaskState.REJECTED,
    TaskState.AUTH_REQUIRED,
)
"""By their numbers in a2a.proto: ProtoJSON readers take numbers for enumerations, too."""
_PREFIX: Final = re.compile(r"^(?:task)?state")
_PUNCTUATION: Final = re.compile(r"[\s_.\-]+")


def state_of(said: Any) -> TaskState | None:
    """Return the state that a word or number means; None for one that nobody knows.

    Words that end in "ing" (pending, thinking, running) are work in progress. A number may be
    written as 3, 3.0 or "3".
    """
    if isinstance(said, str) and said.isascii() and said.isdigit() and len(said) < 3:
        said = int(said)
    if isinstance(said, float) and said.is_integer():
        said = int(said)
    if isinstance(said, int) and not isinstance(said, bool):
        return _NUMBERS[said] if 0 <= said < len(_NUMBERS) else None
    if not isinstance(said, str):
        return None
    word = _PREFIX.sub("", _PUNCTUATION.sub("", said).lower())
    found = _STATES.get(word)
    if found is None and word.endswith("ing"):
        return TaskState.WORKING
    return found
