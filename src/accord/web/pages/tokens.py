"""My tokens: made here and shown once, with what to paste into a program; revoked here."""

from __future__ import annotations

from typing import Final

from msgspec import Struct

from accord.operations.accounts.token_text import DEFAULT_DAYS, MAX_DAYS
from accord.operations.errors import ServiceError
from accord.operations.identifiers import utc_now
from accord.operations.rights import (
    ASSISTANT_SCOPES,
    RULES,
    SCOPES,
    Role,
    Scope,
    default_scopes,
)
from accord.web.answers import Answer
from accord.web.connecting import ways
from accord.web.forms import Words
from accord.web.routing import Pages
from accord.web.turn import Turn

PATH: Final = "/tokens"
PAGE: Final = 50
ALLOWS: Final[dict[Scope, str]] = {
    "read": "Read and search everything, with its history",
    "comment": "Comment, answer and resolve comments",
    "write": "Create, change, link and delete what you may",
    "propose": "Propose changes, which somebody accepts or rejects",
    "run": "Start, signal and cancel runs of workflows",
    "approve": "Approve and reject where a run waits for somebody",
    "admin": "Administrate prompts, types, agents and workflows; see people and the audit log",
}
"""What each scope lets a program do."""
CHOSEN: Final = "chosen"
"""The preset of those who tick scopes themselves."""

pages: Final = Pages()


@pages.get(PATH)
async def tokens(turn: Turn) -> Answer:
    page = await turn.do("list_tokens", limit=PAGE, **turn.query.given("cursor"))
    return await turn.page("tokens/list.html", page=page, now=utc_now())


@pages.get(f"{PATH}/new")
async def new(turn: Turn) -> Answer:
    return await _form(turn)


@pages.post(PATH)
async def create(turn: Turn) -> Answer:
    form = turn.form
    try:
        token = await turn.do(
            "create_token",
            name=form["name"].strip(),
            scopes=scopes_of(form, turn.who.role),
            expires_in=form["expires_in"] or DEFAULT_DAYS,
        )
    except ServiceError as error:
        return await _form(turn, error)
    return await turn.page(
        "tokens/created.html", status=201, token=token, ways=ways(turn.url, token.token)
    )


@pages.post(f"{PATH}/{{id}}/revoke")
async def revoke(turn: Turn) -> Answer:
    token = await turn.do("revoke_token", id=turn.values["id"])
    back = turn.form["next"] or PATH
    return turn.go(back, f"{token.name} is revoked: programs that use it are refused from now on.")


async def _form(turn: Turn, error: ServiceError | None = None) -> Answer:
    found = presets(turn.who.role)
    ticked = turn.form.every("scopes") or found[0].scopes
    return await turn.page(
        "tokens/new.html",
        status=200 if error is None else error.kind.status,
        presets=found,
        preset=turn.form["preset"] or found[0].key,
        chosen=CHOSEN,
        scopes=[(scope, ALLOWS[scope], scope in ticked) for scope in allowed(turn.who.role)],
        days=turn.form["expires_in"] or DEFAULT_DAYS,
        most=MAX_DAYS,
        error=error,
    )


class Preset(Struct, frozen=True):
    """Scopes that go together, for the forms that make tokens."""

    key: str
    title: str
    text: str
    scopes: tuple[Scope, ...]


def presets(role: Role) -> list[Preset]:
    """Return what a token of somebody with this role is made for, the recommended one first."""
    if "propose" not in allowed(role):
        return [
            Preset("read", "Read only", "It changes nothing.", ("read",)),
            Preset("comment", "Read and comment", "Everything you may do.", ("read", "comment")),
        ]
    everything = default_scopes(role)
    return [
        Preset(
            "propose",
            "Propose only (recommended)",
            "It reads, and what it wants to change waits until a person accepts it.",
            tuple(scope for scope in SCOPES if scope in ASSISTANT_SCOPES),
        ),
        Preset(
            "write",
            "Write",
            "It also comments, creates, changes, links and deletes what you may.",
            ("read", "comment", "write", "propose"),
        ),
        Preset(
            "everything",
            "Everything",
            "All that your role allows, but no approvals, people, passwords or tokens.",
            tuple(scope for scope in SCOPES if scope in everything),
        ),
    ]


def scopes_of(form: Words, role: Role) -> list[str]:
    """Return the scopes that a form asks for: those of a preset, or those ticked."""
    for preset in presets(role):
        if form["preset"] == preset.key:
            return list(preset.scopes)
    return form.every("scopes")


def allowed(role: Role) -> list[Scope]:
    """Scopes that a token of somebody with this role can have."""
    scopes = {rule.scope for rule in RULES.values() if role in rule.roles}
    return [scope for scope in SCOPES if scope in scopes]
