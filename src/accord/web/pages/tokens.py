"""My tokens: made here and shown once, with what to paste into a program; revoked here."""

from __future__ import annotations

from typing import Final

from accord.operations.accounts.tokens import DEFAULT_DAYS, MAX_DAYS
from accord.operations.errors import ServiceError
from accord.operations.identifiers import utc_now
from accord.operations.rights import RULES, SCOPES, Role, Scope, default_scopes
from accord.web.answers import Answer
from accord.web.connecting import ways
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
    "admin": "Administrate prompts, types, users, agents and workflows, and read the audit log",
}
"""What each scope lets a program do."""

pages: Final = Pages()


@pages.get(PATH)
async def tokens(turn: Turn) -> Answer:
    page = await turn.do("list_tokens", limit=PAGE, **turn.query.given("cursor"))
    return await turn.page("tokens/list.html", page=page, now=utc_now())


@pages.get(f"{PATH}/new")
async def new(turn: Turn) -> Answer:
    return await _form(turn, default_scopes(turn.who.role))


@pages.post(PATH)
async def create(turn: Turn) -> Answer:
    form = turn.form
    try:
        token = await turn.do(
            "create_token",
            name=form["name"].strip(),
            scopes=form.every("scopes"),
            expires_in=form["expires_in"] or DEFAULT_DAYS,
        )
    except ServiceError as error:
        return await _form(turn, frozenset(form.every("scopes")), error)
    return await turn.page(
        "tokens/created.html", status=201, token=token, ways=ways(turn.url, token.token)
    )


@pages.post(f"{PATH}/{{id}}/revoke")
async def revoke(turn: Turn) -> Answer:
    token = await turn.do("revoke_token", id=turn.values["id"])
    back = turn.form["next"] or PATH
    return turn.go(back, f"{token.name} is revoked: programs that use it are refused from now on.")


async def _form(
    turn: Turn, ticked: frozenset[Scope] | frozenset[str], error: ServiceError | None = None
) -> Answer:
    return await turn.page(
        "tokens/new.html",
        status=200 if error is None else error.kind.status,
        scopes=[(scope, ALLOWS[scope], scope in ticked) for scope in allowed(turn.who.role)],
        days=turn.form["expires_in"] or DEFAULT_DAYS,
        most=MAX_DAYS,
        error=error,
    )


def allowed(role: Role) -> list[Scope]:
    """Scopes that a token of somebody with this role can have."""
    scopes = {rule.scope for rule in RULES.values() if role in rule.roles}
    return [scope for scope in SCOPES if scope in scopes]
