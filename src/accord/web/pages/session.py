"""Signing in and out, and how the pages look to who reads them."""

from __future__ import annotations

from typing import Final

from msgspec.structs import replace

from accord.operations.accounts.credentials import (
    SESSION_SECONDS,
    expired_cookie,
    session_cookie,
)
from accord.operations.accounts.entities import SignedIn
from accord.operations.errors import RateLimitedError, ServiceError, UnauthenticatedError
from accord.web.answers import Answer, Html, Redirect, is_ours
from accord.web.routing import Pages
from accord.web.turn import NOTICE, THEME, Turn

SET_UP: Final = "/set-up"
THEMES: Final = ("light", "dark", "")
YEAR: Final = 365 * 86_400
FORGET: Final = b'clear-site-data: "storage"\r\n'
"""What scripts kept of what somebody looked at is gone with their session."""

pages: Final = Pages()


@pages.get("/sign-in", is_public=True)
async def sign_in(turn: Turn) -> Answer:
    path = turn.query["next"]
    if not turn.credentials.by_cookie:
        return await _form(turn, next=path)
    try:
        await turn.services.authenticator.caller(turn.credentials)
    except UnauthenticatedError:
        page = await _form(turn, next=path)
        return replace(page, headers=page.headers + _gone(turn))
    return turn.go(path or "/")


@pages.post("/sign-in", is_public=True)
async def begin(turn: Turn) -> Answer:
    form = turn.form
    try:
        signed_in = await _signed_in(turn, form["username"], form["password"])
    except ServiceError as error:
        return await _form(turn, next=form["next"], error=error)
    path = form["next"] if is_ours(form["next"]) else "/"
    if signed_in.user.temporary_password:
        path = SET_UP
    return Redirect(path, _kept(turn, signed_in))


@pages.post("/sign-out")
async def end(turn: Turn) -> Answer:
    await turn.services.accounts.sign_out(turn.credentials, turn.who)
    return signed_out(turn, "You are signed out.")


@pages.post("/theme", is_public=True)
async def choose_theme(turn: Turn) -> Answer:
    """Light, dark, or whatever the system asks for."""
    chosen = turn.form["theme"]
    theme = chosen if chosen in THEMES else ""
    back = turn.form["next"] if is_ours(turn.form["next"]) else "/"
    return Redirect(back, turn.cookie(THEME, theme, seconds=YEAR if theme else 0))


def signed_out(turn: Turn, notice: str) -> Redirect:
    """Where somebody goes whose session is over."""
    headers = _gone(turn) + FORGET + turn.cookie(NOTICE, notice, seconds=60)
    return Redirect("/sign-in", headers)


async def signed_in_anew(turn: Turn, password: str, path: str, notice: str) -> Redirect:
    """Begin another session of whoever asks, as a password that was changed ends all of them."""
    try:
        signed_in = await _signed_in(turn, turn.who.username, password)
    except ServiceError:
        return signed_out(turn, f"{notice} Sign in with your new password.")
    return Redirect(path, _kept(turn, signed_in) + turn.cookie(NOTICE, notice, seconds=60))


async def _signed_in(turn: Turn, username: str, password: str) -> SignedIn:
    return await turn.services.authenticator.sign_in(username, password, turn.credentials)


def _kept(turn: Turn, signed_in: SignedIn) -> bytes:
    cookie = session_cookie(
        signed_in.token, secure=turn.credentials.secure, max_age=SESSION_SECONDS
    )
    return f"set-cookie: {cookie}\r\n".encode("ascii")


def _gone(turn: Turn) -> bytes:
    return f"set-cookie: {expired_cookie(secure=turn.credentials.secure)}\r\n".encode("ascii")


async def _form(turn: Turn, *, next: str, error: ServiceError | None = None) -> Html:
    page = await turn.page(
        "sign_in.html",
        status=200 if error is None else error.kind.status,
        next=next,
        error=error,
        username=turn.form["username"],
    )
    if isinstance(error, RateLimitedError):
        line = f"retry-after: {error.retry_after}\r\n".encode("ascii")
        return replace(page, headers=page.headers + line)
    return page
