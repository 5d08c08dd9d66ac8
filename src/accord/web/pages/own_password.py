"""Changing one's own password: the same in the set-up and on the page of the account."""

from __future__ import annotations

from accord.operations.errors import InvalidError
from accord.web.answers import Answer
from accord.web.pages.session import signed_in_anew
from accord.web.turn import Turn


async def change_password(turn: Turn, path: str, notice: str) -> Answer:
    """Do it as the form says, and go on to `path` with a new session. Raises ServiceError."""
    form = turn.form
    check_repeated(turn)
    await turn.do(
        "change_own_password",
        current_password=form["current_password"],
        new_password=form["new_password"],
    )
    return await signed_in_anew(turn, form["new_password"], path, notice)


def check_repeated(turn: Turn) -> None:
    """Raises InvalidError for two passwords that are not the same."""
    if turn.form["new_password"] != turn.form["repeated"]:
        raise InvalidError("repeated", "is not the same as the new password")
