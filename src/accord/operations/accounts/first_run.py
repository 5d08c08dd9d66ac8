"""The administrator of a new installation: made once, however many processes start at once."""

from __future__ import annotations

import secrets
from collections.abc import Callable
from typing import Final

from accord.operations.accounts.entities import FirstRun, User
from accord.operations.accounts.storage import tokens, users
from accord.operations.accounts.token_text import DEFAULT_DAYS
from accord.operations.rights import ASSISTANT_SCOPES
from accord.operations.storage import FIND_SETTING, INSERT_SETTING
from accord.operations.work import Database
from accord.store.store import Transaction

USERNAME: Final = "admin"
TOKEN_NAME: Final = "first run"

SETTING: Final = "first_run"


async def is_needed(db: Database) -> bool:
    """Return True until a first administrator has existed."""
    return not await db.fetch(FIND_SETTING, SETTING) and not await db.fetch(users.ANY_ADMINISTRATOR)


async def token_id(db: Database, user_id: str) -> str:
    """Return the id of the first token."""
    [row] = await db.fetch(tokens.BY_NAME, user_id, TOKEN_NAME)
    return str(row["id"])


async def make_administrator(
    db: Transaction, *, password: str, hashed: str, key: bytes, new_id: Callable[[], str], now: str
) -> tuple[FirstRun, User]:
    """Create the administrator, with a token for an assistant (read and propose)."""
    username = USERNAME
    while await users.find_row(db, username) is not None:  # created by hand, with another role
        username = f"{USERNAME}-{secrets.token_hex(3)}"
    user = await users.insert(
        db, id=new_id(), username=username, email="", role="Administrator", hashed=hashed, now=now
    )
    token = await tokens.insert(
        db,
        id=new_id(),
        user_id=user.id,
        username=username,
        name=TOKEN_NAME,
        scopes=ASSISTANT_SCOPES,
        days=DEFAULT_DAYS,
        key=key,
        now=now,
    )
    await db.execute(INSERT_SETTING, SETTING, now)
    assert isinstance(token.token, str)
    return FirstRun(username=username, password=password, token=token.token), user
