"""Formatting of values for the pages.

Values are states, times, programs, origins of changes, links and search results. The functions do
no I/O.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any, Final, Literal, TypeAlias

from markupsafe import Markup, escape
from msgspec import Struct, UnsetType

Tone: TypeAlias = Literal["idle", "info", "ok", "warn", "bad", "accent"]
Shape: TypeAlias = Literal["empty", "half", "full", "crossed"]


class StateLook(Struct, frozen=True):
    """The text, tone and shape of the chip that shows a state."""

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


def look_of(state: str) -> StateLook:
    """Return the look of a state of the API; an unknown state looks idle."""
    tone, shape = _LOOKS.get(state.lower().replace("_", " "), ("idle", "empty"))
    word = state.replace("_", " ")
    return StateLook(tone, shape, word[:1].upper() + word[1:].lower())


_STEPS: Final = (
    (60, 1, "second"),
    (3_600, 60, "minute"),
    (86_400, 3_600, "hour"),
    (86_400 * 30, 86_400, "day"),
)


def parse(value: str | float) -> datetime:
    """Parse a time from the API: ISO 8601, or seconds since 1970."""
    if isinstance(value, int | float):
        return datetime.fromtimestamp(value, UTC)
    return datetime.fromisoformat(value).astimezone(UTC)


def relative(time: datetime, now: datetime) -> str:
    """Describe a time relative to now; as a date if it is more than a month away."""
    seconds = (now - time).total_seconds()
    away = abs(seconds)
    if away < 5:
        return "just now"
    for limit, size, unit in _STEPS:
        if away < limit:
            count = int(away // size)
            said = f"{count} {unit}{'' if count == 1 else 's'}"
            return f"{said} ago" if seconds > 0 else f"in {said}"
    return f"{time.day} {time:%b %Y}"


def exact(time: datetime) -> str:
    return f"{time:%Y-%m-%d %H:%M:%S} UTC"


def duration(seconds: float) -> str:
    """Return a duration in words."""
    if seconds < 0.001:
        return "0 s"
    if seconds < 1:
        return f"{seconds * 1000:.0f} ms"
    if seconds < 10:
        return f"{seconds:.1f} s"
    if seconds < 90:
        return f"{seconds:.0f} s"
    if seconds < 5_400:
        return f"{seconds / 60:.0f} min"
    return f"{seconds / 3_600:.1f} h"


_BROWSERS: Final = (
    ("Edg", "Edge"),
    ("OPR", "Opera"),
    ("SamsungBrowser", "Samsung Internet"),
    ("Firefox", "Firefox"),
    ("FxiOS", "Firefox"),
    ("CriOS", "Chrome"),
    ("HeadlessChrome", "Chrome"),
    ("Chrome", "Chrome"),
    ("Version", "Safari"),
)
"""Browsers with the word before their version in a User-Agent; the first match counts."""
_SYSTEMS: Final = (
    ("Android", "Android"),
    ("iPhone", "iOS"),
    ("iPad", "iPadOS"),
    ("Windows", "Windows"),
    ("Mac OS X", "macOS"),
    ("CrOS", "ChromeOS"),
    ("Linux", "Linux"),
)


def program_name(text: str) -> str:
    """Return name, version and system of a browser from its User-Agent.

    The User-Agent of any other program is returned unchanged.
    """
    if not text.startswith("Mozilla/5.0 ("):
        return text
    for word, name in _BROWSERS:
        found = re.search(rf"\b{word}/([0-9]{{1,4}})", text)
        if found:
            system = next((name for word, name in _SYSTEMS if word in text), "")
            return f"{name} {found[1]}" + (f" on {system}" if system else "")
    return text


ASSISTANTS: Final = frozenset({"mcp", "a2a"})
"""The interfaces that assistants use: a change made there is shown as an assistant's change."""
FACES: Final = {
    "mcp": "an MCP client",
    "rest": "the REST interface",
    "rpc": "JSON-RPC",
    "a2a": "an agent",
    "cli": "the command line",
    "web": "",
    "system": "a workflow",
}


def through(face: str | UnsetType, client: str | UnsetType) -> str:
    """Return the name of the program that made a change.

    For a program without a name, return the name of the interface that it used; for a change made
    in the pages, return "".
    """
    if isinstance(face, UnsetType) or face == "web":
        return ""
    return client if client and not isinstance(client, UnsetType) else FACES.get(face, face)


def is_assistant(face: str | UnsetType) -> bool:
    return face in ASSISTANTS


KINDS: Final = {
    "epic": "Epic",
    "user_story": "User story",
    "acceptance_criteria": "Acceptance criteria",
    "requirement": "Requirement",
    "steering_document": "Steering document",
    "prompt": "Prompt",
    "comment": "Comment",
}
"""Names of kinds for people, by the name in the API."""
_MARK: Final = Markup("<mark>{}</mark>")


class SearchResult(Struct, frozen=True):
    """A search result, as pages show it."""

    href: str
    reference_id: str
    kind: str
    title: str
    status: str
    snippet: Markup
    has_marks: bool
    """True if the snippet contains words of the query."""


def search_result(found: Any) -> SearchResult:
    """Return a result of `search_global` for display on a page."""
    return SearchResult(
        href=href_of(found.kind, found.reference_id, found.id),
        reference_id=found.reference_id,
        kind=KINDS.get(found.kind, found.kind),
        title=found.title,
        status=found.status or "",
        snippet=marked(found.snippet, found.marks),
        has_marks=bool(found.marks),
    )


def href_of(kind: str, reference_id: str, id: str = "") -> str:
    """Return the path of the page that shows an object; for a comment, that of its item."""
    if kind == "comment":
        return f"/items/{reference_id}#comment-{id}"
    return f"/prompts/{reference_id}" if kind == "prompt" else f"/items/{reference_id}"


def marked(text: str, marks: Sequence[Sequence[int]]) -> Markup:
    """Return a text as HTML, with the character ranges `marks` in `<mark>` elements."""
    pieces: list[Markup] = []
    end = 0
    for begin, until in marks:
        pieces += [escape(text[end:begin]), _MARK.format(text[begin:until])]
        end = until
    return Markup("").join([*pieces, escape(text[end:])])
