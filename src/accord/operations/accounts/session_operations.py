"""What people can do with their own login sessions. Signing in and out is no operation: see
`Accounts`."""

from __future__ import annotations

from typing import Annotated, TypeAlias

from msgspec import Meta

from accord.operations.accounts.entities import LoginSession, SessionsEnded
from accord.operations.accounts.operations import operations
from accord.operations.accounts.storage import login_sessions
from accord.operations.errors import NotFoundError
from accord.operations.operation import Rest
from accord.operations.pages import Page
from accord.operations.work import Work

SessionId: TypeAlias = Annotated[str, Meta(pattern="^[0-9a-f]{16}$")]


@operations.read(right="session", rest=Rest("GET", "/sessions"), tool=False, tag="sessions")
async def list_sessions(work: Work) -> Page[LoginSession]:
    """Your login sessions, the one seen last first. There are never many."""
    idle = login_sessions.idle_since(work.now)
    rows = await work.db.fetch(login_sessions.LIST, work.caller.user_id, work.now, idle)
    found = [login_sessions.session_of(row) for row in rows]
    return Page(items=found, next_cursor=None, has_more=False, total=len(found))


@operations.write(
    right="session",
    rest=Rest("DELETE", "/sessions/{id}"),
    tool=False,
    tag="sessions",
    destructive=True,
)
async def end_session(work: Work, *, id: SessionId) -> SessionsEnded:
    """End one of your login sessions, by its id in the list of them."""
    ended = await work.db.execute(login_sessions.END_ONE, work.caller.user_id, id)
    if not ended:
        raise NotFoundError("you have no such session")
    return SessionsEnded(ended=ended)


@operations.write(
    right="session", rest=Rest("DELETE", "/sessions"), tool=False, tag="sessions", idempotent=True
)
async def sign_out_everywhere(work: Work) -> SessionsEnded:
    """End all your login sessions, this one too."""
    ended = await work.db.execute(login_sessions.END_ALL, work.caller.user_id)
    return SessionsEnded(ended=ended)
