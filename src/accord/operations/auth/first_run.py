"""The administrator of a new installation: made once, however many processes start at once."""

from __future__ import annotations

import secrets
from collections.abc import Callable
from typing import Final

from accord.operations.auth import storage
from accord.operations.auth.tokens import DEFAULT_TOKEN_DAYS
from accord.operations.auth.users import FirstRun, User
from accord.operations.context import ASSISTANT_SCOPES, Database
from accord.operations.storage import FIND_SETTING, INSERT_SETTING
from accord.store.store import Transaction

USERNAME: Final = "admin"
TOKEN_NAME: Final = "first run"

SETTING: Final = "first_run"


async def is_needed(db: Database) -> bool:
    """Return True until a first administrator has existed."""
    return not await db.fetch(FIND_SETTING, SETTING) and not await db.fetch(
        storage.ANY_ADMINISTRATOR
    )


async def token_id(db: Database, user_id: str) -> str:
    """Return the id of the first token."""
    [row] = await db.fetch(storage.TOKEN_BY_NAME, user_id, TOKEN_NAME)
    return str(row["id"])


async def make_administrator(
    db: Transaction, *, password: str, hashed: str, key: bytes, new_id: Callable[[], str], now: str
) -> tuple[FirstRun, User]:
    """Create the administrator, with a token for an assistant (read and propose)."""
    username = USERNAME
    while (
        await storage.find_user_row(db, username) is not None
    ):  # created by hand, with another role
        username = f"{USERNAME}-{secrets.token_hex(3)}"
    user = await storage.insert_user(
        db, id=new_id(), username=username, email="", role="Administrator", hashed=hashed, now=now
    )
    token = await storage.insert_token(
        db,
        id=new_id(),
        user_id=user.id,
        username=username,
        name=TOKEN_NAME,
        scopes=ASSISTANT_SCOPES,
        days=DEFAULT_TOKEN_DAYS,
        key=key,
        now=now,
    )
    await db.execute(INSERT_SETTING, SETTING, now)
    assert isinstance(token.token, str)
    return FirstRun(username=username, password=password, token=token.token), user
