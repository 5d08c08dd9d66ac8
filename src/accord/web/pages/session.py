"""Signing in and out, and how the pages look to who reads them."""

from __future__ import annotations

from typing import Final

from accord.operations.accounts.credentials import expired_cookie, session_cookie
from accord.operations.accounts.login_sessions import MAX_SECONDS
from accord.operations.errors import ServiceError
from accord.web.answers import Answer, Html, Redirect, is_ours
from accord.web.routing import Pages
from accord.web.turn import THEME, Turn, cookie_line

THEMES: Final = ("light", "dark", "")
YEAR: Final = 365 * 86_400

pages: Final = Pages()


@pages.get("/sign-in", is_public=True)
async def sign_in(turn: Turn) -> Answer:
    return await _form(turn, next=turn.query["next"])


@pages.post("/sign-in", is_public=True)
async def begin(turn: Turn) -> Answer:
    form, visit = turn.form, turn.visit
    try:
        signed_in = await turn.services.accounts.sign_in(
            form["username"],
            form["password"],
            face="web",
            client=visit.asking.client,
            address=visit.address,
            correlation_id=visit.correlation_id,
            previous=visit.credentials,
        )
    except ServiceError as error:
        return await _form(turn, next=form["next"], error=error)
    cookie = session_cookie(signed_in.token, secure=visit.secure, max_age=MAX_SECONDS)
    path = form["next"] if is_ours(form["next"]) else "/"
    return Redirect(path, f"set-cookie: {cookie}\r\n".encode("ascii"))


@pages.post("/sign-out")
async def end(turn: Turn) -> Answer:
    await turn.services.accounts.sign_out(turn.visit.credentials, turn.who)
    cookie = expired_cookie(secure=turn.visit.secure)
    return Redirect("/sign-in", f"set-cookie: {cookie}\r\n".encode("ascii"))


@pages.post("/theme", is_public=True)
async def choose_theme(turn: Turn) -> Answer:
    """Light, dark, or whatever the system asks for."""
    chosen = turn.form["theme"]
    theme = chosen if chosen in THEMES else ""
    back = turn.form["next"] if is_ours(turn.form["next"]) else "/"
    return Redirect(back, cookie_line(THEME, theme, seconds=YEAR if theme else 0))


async def _form(turn: Turn, *, next: str, error: ServiceError | None = None) -> Html:
    return await turn.page(
        "sign_in.html",
        status=200 if error is None else error.kind.status,
        next=next,
        error=error,
        username=turn.form["username"],
    )
