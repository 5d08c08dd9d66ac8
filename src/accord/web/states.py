"""How the state of a thing is shown: a tone, a shape and a word, never a colour alone. Pure."""

from __future__ import annotations

from typing import Final, Literal, TypeAlias

from msgspec import Struct

Tone: TypeAlias = Literal["idle", "info", "ok", "warn", "bad", "accent"]
Shape: TypeAlias = Literal["empty", "half", "full", "crossed"]


class Look(Struct, frozen=True):
    """What a chip looks like."""

    tone: Tone
    shape: Shape
    word: str


_TABLE: Final[tuple[tuple[Tone, Shape, tuple[str, ...]], ...]] = (
    ("idle", "empty", ("Backlog", "Draft", "pending", "inactive", "unknown", "dry run")),
    ("info", "half", ("In Progress", "running", "queued", "paused", "cancelling", "retrying")),
    ("accent", "empty", ("waiting",)),
    ("ok", "full", ("Done", "Active", "completed", "succeeded", "accepted", "healthy", "approved")),
    ("ok", "full", ("usable", "intact", "verified", "created")),
    ("info", "half", ("updated",)),
    ("warn", "empty", ("Suspect", "open", "stale", "half-open", "expired")),
    ("bad", "full", ("failed", "rejected", "unhealthy", "denied", "refused", "timed out")),
    ("bad", "full", ("unauthenticated", "broken")),
    ("warn", "half", ("temporary password",)),
    ("accent", "full", ("this one",)),
    ("idle", "crossed", ("deactivated",)),
    ("idle", "crossed", ("Cancelled", "Obsolete", "cancelled", "skipped", "revoked", "archived")),
)
_LOOKS: Final = {word.lower(): (tone, shape) for tone, shape, words in _TABLE for word in words}


def look_of(state: str) -> Look:
    """How to show a state by its name in the API; one that is not known is shown quietly."""
    tone, shape = _LOOKS.get(state.lower().replace("_", " "), ("idle", "empty"))
    word = state.replace("_", " ")
    return Look(tone, shape, word[:1].upper() + word[1:].lower())
