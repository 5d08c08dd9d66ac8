"""The detail of an item: it reads like a document, with the facts beside it."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterable, Sequence
from typing import Any, Final

from msgspec import Struct

from accord.hub.domain.kinds import KINDS, Kind, parse_reference
from accord.hub.domain.lint import FORMS
from accord.hub.domain.priorities import PRIORITIES
from accord.hub.entities import Comment, Relationship
from accord.hub.operations.changes import Revision
from accord.hub.operations.lint import LintFinding, LintResult
from accord.web.answers import Answer
from accord.web.pages.items.item import Item, find_item
from accord.web.pages.items.showing import show
from accord.web.pages.requirements.tree import row_context
from accord.web.revisions import Entry, entries
from accord.web.routing import Pages
from accord.web.turn import Turn

pages: Final = Pages()

MAX_LINKS: Final = 50
MAX_COMMENTS: Final = 50
AROUND: Final = 32
"""Characters of a text that are shown on each side of what the linter found."""
PATTERNS: Final = {
    "ubiquitous": "ubiquitous",
    "event": "event-driven",
    "state": "state-driven",
    "optional": "optional feature",
    "unwanted": "unwanted behaviour",
    "complex": "complex",
}
"""What people call the patterns of EARS."""


ADVICE: Final[dict[Kind, str]] = {
    "epic": "what it is for, and for whom",
    "user_story": "as a … I want … so that …",
    "acceptance_criteria": "given … when … then …",
    "requirement": "one sentence that says what shall be",
    "steering_document": "what holds for all that it guides",
}
"""By kind: what its text is best."""


class Row(Struct, frozen=True):
    """A relationship as it is seen from one of its ends."""

    link: Relationship
    name: str
    other: str
    title: str
    status: str


class Thread(Struct, frozen=True):
    """A comment, and the answers to it."""

    comment: Comment
    answers: list[Comment]


class Hint(Struct, frozen=True):
    """What the linter found, with what stands around it."""

    finding: LintFinding
    before: str
    after: str
    said: str
    """What is wrong with it, as it follows on the quote."""


class Lint(Struct, frozen=True):
    """What the linter says about an item."""

    hints: list[Hint]
    patterns: str
    result: LintResult


@pages.get("/items/{id}")
async def detail(turn: Turn) -> Answer:
    reference = parse_reference(turn.values["id"])
    if reference is not None and reference.kind == "prompt":
        return turn.go(f"/prompts/{reference}")
    return await show(turn, "_reading", **await detail_context(turn, turn.values["id"]))


async def done(turn: Turn, id: str, said: str) -> Answer:
    """What a form that changed an item is answered with: its page, which says what was done."""
    if not turn.is_partial:
        return turn.go(f"/items/{id}", said)
    context = await detail_context(turn, id) | await row_context(turn, id)
    back = f"hx-replace-url: {context['item'].path}\r\n".encode("ascii")
    return await show(turn, "_reading", headers=back + saying(said, undo=turn.undoable), **context)


def saying(text: str, *, undo: str = "") -> bytes:
    """Return the header that shows a toast; `undo` is the change that it offers to undo."""
    told = json.dumps({"accord:said": {"text": text, "undo": undo}})  # in ASCII, as headers are
    return f"hx-trigger: {told}\r\n".encode("ascii")


async def detail_context(turn: Turn, id: str) -> dict[str, Any]:
    """All that `items/_detail.html` needs to show an item."""
    item = await find_item(turn, id)
    id = item.reference_id
    around, lint, links, history, comments = await asyncio.gather(
        turn.do("get_surroundings", id=id),
        turn.do("lint_requirement", id=id),
        turn.do("list_relationships", id=id, limit=MAX_LINKS),
        turn.do("history", id=id, related=True, limit=1),
        turn.do("list_comments", target_id=id, limit=MAX_COMMENTS),
    )
    return {
        "item": item,
        "piece": "items/_reading.html",
        "around": around,
        "kinds": KINDS,
        "priorities": PRIORITIES,
        "advice": ADVICE[item.kind.kind],
        "lint": lint_of(item, lint, {"title": item.title or "", "description": item.text}),
        "links": links,
        "rows": [row_of(item, link) for link in links.items],
        "entry": next(iter(entries_of(turn, history.items)), None),
        "comments": comments,
        "threads": threads(comments.items),
        **rights(turn, item),
    }


def entries_of(turn: Turn, revisions: Iterable[Revision], *, is_first: bool = True) -> list[Entry]:
    """Return the rows of a history, as the caller may undo them."""
    who = turn.who
    return entries(
        revisions, actor=who.username, is_administrator=who.is_administrator, is_first=is_first
    )


def rights(turn: Turn, item: Item) -> dict[str, Any]:
    """What who asks may do, for what a page offers them."""
    who = turn.who
    return {
        "may_write": who.may("write"),
        "may_comment": who.may("comment"),
        "may_delete": who.may("delete") and (who.is_administrator or item.creator == who.username),
    }


def row_of(item: Item, link: Relationship) -> Row:
    if link.source_reference_id == item.reference_id:
        name, end = link.type, "target"
    else:
        name, end = link.inverse, "source"
    return Row(
        link,
        name.replace("_", " "),
        getattr(link, f"{end}_reference_id"),
        getattr(link, f"{end}_title"),
        getattr(link, f"{end}_status"),
    )


def threads(comments: Iterable[Comment]) -> list[Thread]:
    """Comments in their order, each with the answers to it; an answer to an answer stands with
    them."""
    made: dict[str, Thread] = {}
    for each in comments:
        thread = made.get(each.reply_to or "")
        if thread is None:
            made[each.id] = Thread(each, [])
        else:
            thread.answers.append(each)
            made[each.id] = thread
    return [thread for id, thread in made.items() if thread.comment.id == id]


def lint_of(item: Item, result: LintResult, texts: dict[str, str]) -> Lint:
    """What the linter said about texts, by the names that it gave them. Only requirements are to
    follow a pattern."""
    is_requirement = FORMS.get(item.kind.kind) == "requirement"
    return Lint(
        [_hint(each, texts[each.field]) for each in result.findings],
        _patterns([each.pattern for each in result.statements]) if is_requirement else "",
        result,
    )


def _hint(finding: LintFinding, text: str) -> Hint:
    before = text[max(0, finding.start - AROUND) : finding.start]
    after = text[finding.end : finding.end + AROUND]
    if finding.start > AROUND:
        before = f"…{before.partition(' ')[2]}"
    if finding.end + AROUND < len(text):
        after = f"{after.rpartition(' ')[0]}…"
    return Hint(finding, before, after, _said(finding))


def _said(finding: LintFinding) -> str:
    """The message without the words that it begins with, where those are the quote."""
    for named in (repr(finding.quote), finding.quote):
        if finding.message.startswith(f"{named} "):
            return finding.message.removeprefix(named)
    return f": {finding.message}"


def _patterns(found: Sequence[str]) -> str:
    names = dict.fromkeys(PATTERNS.get(each, each) for each in found)
    return ", ".join(names)
