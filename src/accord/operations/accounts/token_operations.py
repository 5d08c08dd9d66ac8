"""What can be done with tokens. Only whoever signed in can: a token makes no tokens."""

from __future__ import annotations

from typing import Annotated, Any, Final, TypeAlias

from msgspec import Meta

from accord.operations.accounts.accounts import Accounts
from accord.operations.accounts.entities import NewToken, Token
from accord.operations.accounts.names import Label, Person, check_label
from accord.operations.accounts.operations import operations
from accord.operations.accounts.storage import tokens, users
from accord.operations.accounts.token_text import DEFAULT_DAYS, MAX_DAYS
from accord.operations.errors import ConflictError, ForbiddenError, InvalidError, NotFoundError
from accord.operations.operation import Rest
from accord.operations.pages import Cursor, Limit, Page, keys_of, page_of
from accord.operations.rights import RULES, SCOPES, Role, Scope, default_scopes
from accord.operations.work import Effect, Work, is_uuid
from accord.store.store import Row

Days: TypeAlias = Annotated[int, Meta(ge=1, le=MAX_DAYS, description="In days.")]

_NEWEST: Final = ("9999", "")
"""A cursor before every token."""


@operations.write(
    right="session",
    rest=Rest("POST", "/tokens", status=201, location="/tokens/{id}"),
    tool=False,
    tag="tokens",
)
async def create_token(
    work: Work,
    *,
    name: Label,
    scopes: list[Scope] | None = None,
    expires_in: Days = DEFAULT_DAYS,
    user: Person | None = None,
) -> NewToken:
    """Make a token for a program that acts for you; it is shown this once. Without scopes it may
    do all that your role allows, but for approving."""
    check_label(name)
    owner = await _owner(work, user)
    if owner["id"] != work.caller.user_id and work.caller.via != "local":
        raise ForbiddenError("tokens are made by their owners, who sign in for it")
    if not owner["active"]:
        raise ConflictError(f"{owner['username']} is not active")
    await _make_room(work, owner, name)
    new = await tokens.insert(
        work.db,
        id=work.new_id(),
        user_id=owner["id"],
        username=owner["username"],
        name=name,
        scopes=_checked_scopes(scopes, owner["role"]),
        days=expires_in,
        key=work.service(Accounts).token_key,
        now=work.now,
    )
    work.did(_effect("created", None, new))
    return new


@operations.read(right="session", rest=Rest("GET", "/tokens"), tool=False, tag="tokens")
async def list_tokens(
    work: Work, *, user: Person | None = None, limit: Limit = 20, cursor: Cursor | None = None
) -> Page[Token]:
    """Your tokens, the newest first; administrators may name another user."""
    owner = await _owner(work, user)
    work.caller.require_own(owner["id"], "these tokens")
    after = _NEWEST if cursor is None else keys_of(cursor, tuple[str, str])
    rows = await work.db.fetch(tokens.LIST, owner["id"], *after, limit + 1)
    [count] = await work.db.fetch(tokens.COUNT, owner["id"])
    return page_of(
        [tokens.token_of(row) for row in rows],
        limit=limit,
        total=count["total"],
        key=lambda token: (token.created_at, token.id),
    )


@operations.read(right="session", rest=Rest("GET", "/tokens/{id}"), tool=False, tag="tokens")
async def get_token(work: Work, *, id: Label, user: Person | None = None) -> Token:
    """One token, by its id or name, without the token itself."""
    return tokens.token_of(await _find(work, id, user))


@operations.write(
    right="session",
    rest=Rest("DELETE", "/tokens/{id}", status=204),
    tool=False,
    tag="tokens",
    destructive=True,
    idempotent=True,
)
async def revoke_token(work: Work, *, id: Label, user: Person | None = None) -> Token:
    """Have a token refused from now on, by its id or name. Administrators may revoke all."""
    before = tokens.token_of(await _find(work, id, user))
    if before.revoked_at is not None:
        return before
    await work.db.execute(tokens.REVOKE, before.id, work.now)
    [row] = await work.db.fetch(tokens.BY_ID, before.id)
    after = tokens.token_of(row)
    work.did(_effect("updated", before, after))
    return after


async def _owner(work: Work, user: str | None) -> Row:
    """Return the user whose tokens are meant: the caller unless `user` is given.

    Raises NotFoundError, and ForbiddenError for callers who may not know which users exist.
    """
    if user is None and not work.caller.user_id:
        raise InvalidError("user", "is required: whose token is it?")
    row = await users.find_row(work.db, work.caller.user_id if user is None else user)
    if row is None and not work.caller.is_administrator:
        raise ForbiddenError("these tokens belong to somebody else")
    return await users.require_row(work.db, user or "") if row is None else row


async def _find(work: Work, id: str, user: str | None) -> Row:
    """Return a token that the caller may see.

    Raises NotFoundError, also for tokens of other users.
    """
    if is_uuid(id):
        rows: list[Row] = await work.db.fetch(tokens.BY_ID, id.lower())
    else:
        owner = await _owner(work, user)
        rows = await work.db.fetch(tokens.BY_NAME, owner["id"], id)
    if not rows or not (work.caller.is_administrator or rows[0]["user_id"] == work.caller.user_id):
        raise NotFoundError(f"you have no token {id!r}")
    return rows[0]


def _checked_scopes(scopes: list[Scope] | None, role: Role) -> frozenset[Scope]:
    """Raise InvalidError for a scope that the role of the owner does not allow."""
    if scopes is None:
        return default_scopes(role)
    if not scopes:
        raise InvalidError("scopes", "name at least one, or leave it out")
    allowed = {rule.scope for rule in RULES.values() if role in rule.roles}
    beyond = [scope for scope in scopes if scope not in allowed]
    if beyond:
        valid = [scope for scope in SCOPES if scope in allowed]
        raise InvalidError(
            "scopes", f"{beyond[0]!r} is not for the role {role}; there are {', '.join(valid)}"
        )
    return frozenset(scopes)


async def _make_room(work: Work, owner: Row, name: str) -> None:
    """Raise ConflictError for a name in use, or at the limit of usable tokens.

    An expired token is revoked, which frees its name.
    """
    for row in await work.db.fetch(tokens.BY_NAME, owner["id"], name):
        if row["expires_at"] > work.now:
            raise ConflictError(f"{owner['username']} has a token {name!r} already")
        await work.db.execute(tokens.REVOKE, row["id"], work.now)
        [revoked] = await work.db.fetch(tokens.BY_ID, row["id"])
        work.did(_effect("updated", tokens.token_of(row), tokens.token_of(revoked)))
    [count] = await work.db.fetch(tokens.COUNT_USABLE, owner["id"], work.now)
    if count["total"] >= tokens.MAX_USABLE:
        raise ConflictError(
            f"{owner['username']} has {tokens.MAX_USABLE} tokens, which is the limit: revoke some"
        )


def _effect(action: Any, before: Token | None, after: Token) -> Effect:
    return Effect(
        action=action,
        kind="token",
        id=after.id,
        reference_id=after.name,
        before=None if before is None else tokens.kept(before),
        after=tokens.kept(after),
    )
