"""Who I am: my password, how the pages look to me, where I am signed in."""

from __future__ import annotations

from typing import Final

from accord.operations.errors import ServiceError
from accord.web.answers import Answer
from accord.web.pages.own_password import change_password
from accord.web.pages.session import signed_out
from accord.web.routing import Pages
from accord.web.turn import Turn

PATH: Final = "/account"

pages: Final = Pages()


@pages.get(PATH)
async def account(turn: Turn) -> Answer:
    return await _account(turn)


@pages.post(PATH)
async def change_email(turn: Turn) -> Answer:
    try:
        await turn.do("update_own_user", email=turn.form["email"].strip())
    except ServiceError as error:
        return await _account(turn, error)
    return turn.go(PATH, "Your email is changed.")


@pages.post(f"{PATH}/password")
async def change(turn: Turn) -> Answer:
    try:
        return await change_password(
            turn, PATH, "Your password is changed, and you are signed out everywhere else."
        )
    except ServiceError as error:
        return await _account(turn, error)


@pages.post(f"{PATH}/sessions/end-all")
async def end_all(turn: Turn) -> Answer:
    await turn.do("sign_out_everywhere")
    return signed_out(turn, "You are signed out everywhere.")


@pages.post(f"{PATH}/sessions/{{id}}/end")
async def end_one(turn: Turn) -> Answer:
    await turn.do("end_session", id=turn.values["id"])
    return turn.go(PATH, "The session is ended.")


async def _account(turn: Turn, error: ServiceError | None = None) -> Answer:
    return await turn.page(
        "account/account.html",
        status=200 if error is None else error.kind.status,
        user=await turn.do("get_own_user"),
        sessions=await turn.do("list_sessions"),
        current=turn.services.accounts.session_id(turn.credentials),
        error=error,
    )
