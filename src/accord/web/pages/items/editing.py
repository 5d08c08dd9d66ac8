"""Title and text are edited in place, with a preview and hints; what others did is never lost."""

from __future__ import annotations

from typing import Any, Final

from msgspec import Struct
from msgspec.structs import replace

from accord.hub.domain.lint import FORMS
from accord.operations.errors import ServiceError, StaleError
from accord.web.answers import Answer
from accord.web.merging import merge
from accord.web.pages.items.detail import detail_context, done, lint_of
from accord.web.pages.items.item import Item, find_item, save
from accord.web.pages.items.showing import show
from accord.web.routing import Pages
from accord.web.turn import Turn

pages: Final = Pages()


class Draft(Struct, frozen=True):
    """What somebody types, and what they began with."""

    version: str
    title: str
    text: str
    base_title: str
    base_text: str

    def changes(self) -> dict[str, str]:
        """The fields that they changed, by their names in the API."""
        found = {}
        if self.title != self.base_title:
            found["title"] = self.title
        if self.text != self.base_text:
            found["description"] = self.text
        return found


class Side(Struct, frozen=True):
    """One field of a conflict: what it was, and what two people made of it."""

    field: str
    base: str
    mine: str
    theirs: str


@pages.get("/items/{id}/edit")
async def edit(turn: Turn) -> Answer:
    item = await find_item(turn, turn.values["id"])
    return await _form(turn, item, _begun(item))


@pages.post("/items/{id}/edit")
async def change(turn: Turn) -> Answer:
    item = await find_item(turn, turn.values["id"])
    draft = _typed(turn)
    values = draft.changes()
    if not values:
        return await done(turn, item.reference_id, "Nothing was changed.")
    try:
        saved = await save(turn, item, draft.version, **values)
    except StaleError as error:
        return await _conflict(turn, item, draft, error)
    except ServiceError as error:
        return await _form(turn, item, draft, error=error)
    return await done(turn, item.reference_id, f"Saved as version {saved.version}.")


@pages.post("/items/{id}/merge")
async def edit_merged(turn: Turn) -> Answer:
    """The form again, with what both did."""
    item = await find_item(turn, turn.values["id"])
    draft = _typed(turn)
    title = merge(draft.base_title, draft.title, item.title or "")
    text = merge(draft.base_text, draft.text, item.text)
    merged = replace(_begun(item), title=title.text, text=text.text)
    return await _form(turn, item, merged, clashes=title.clashes + text.clashes)


@pages.post("/items/{id}/preview")
async def preview(turn: Turn) -> Answer:
    """What the text will look like."""
    if turn.is_partial:
        return turn.piece("items/_preview.html", text=turn.form["description"])
    item = await find_item(turn, turn.values["id"])
    return await _form(turn, item, _typed(turn), preview=True)


@pages.post("/items/{id}/hints")
async def hints(turn: Turn) -> Answer:
    """What the linter says about what is being typed."""
    item = await find_item(turn, turn.values["id"])
    return turn.piece("items/_hints.html", lint=await _hints(turn, item, _typed(turn)))


async def _form(
    turn: Turn,
    item: Item,
    draft: Draft,
    *,
    error: ServiceError | None = None,
    preview: bool = False,
    clashes: int | None = None,
) -> Answer:
    context = await detail_context(turn, item.reference_id)
    editing = {
        "draft": draft,
        "error": error,
        "preview": preview,
        "clashes": clashes,
        "lint": await _hints(turn, item, draft),
    }
    status = 200 if error is None else error.kind.status
    return await show(turn, "_reading", status=status, **(context | editing))


async def _conflict(turn: Turn, item: Item, draft: Draft, error: StaleError) -> Answer:
    """What somebody typed beside what is there now."""
    sides = [
        Side("title", draft.base_title, draft.title, item.title or ""),
        Side("description", draft.base_text, draft.text, item.text),
    ]
    history = await turn.do("history", id=item.reference_id, limit=1)
    changed = draft.changes()
    return await show(
        turn,
        "_conflict",
        status=error.kind.status,
        item=item,
        draft=draft,
        # Whoever takes their own keeps what the other did to what they did not touch.
        mine=replace(
            draft,
            title=changed.get("title", item.title or ""),
            text=changed.get("description", item.text),
        ),
        sides=[each for each in sides if each.mine != each.base or each.theirs != each.base],
        change=history.items[0].change,
    )


async def _hints(turn: Turn, item: Item, draft: Draft) -> Any:
    """The linter on texts that are not saved, without the rules that were put aside."""
    form = FORMS.get(item.kind.kind, "prose")
    text = draft.text if draft.text.strip() else draft.title
    if form == "story":
        text = f"{draft.title}\n\n{draft.text}"
    saved = await turn.do("lint_requirement", id=item.reference_id)
    found = await turn.do("lint_requirement", text=text[:50_000], form=form)
    put_aside = {each.rule for each in saved.suppressed}
    found.findings = [each for each in found.findings if each.rule not in put_aside]
    return lint_of(item, found, {"text": text})


def _begun(item: Item) -> Draft:
    title = item.title or ""
    return Draft(str(item.version), title, item.text, title, item.text)


def _typed(turn: Turn) -> Draft:
    form = turn.form
    return Draft(
        form["version"],
        form["title"],
        _lines(form["description"]),
        form["base_title"],
        _lines(form["base_description"]),
    )


def _lines(text: str) -> str:
    """As it is kept: browsers end lines in a form with two characters."""
    return text.replace("\r\n", "\n")
