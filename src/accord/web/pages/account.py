"""Sign-in, first steps and the account: passwords, theme, sessions.

In the set-up, users first replace a password that somebody else has chosen. The set-up then creates
a token for an assistant and offers a project to start with.
"""

from __future__ import annotations

from typing import Final

from msgspec.structs import replace

from accord.hub.demo_project import demo_operation, first_epic
from accord.operations.auth.credentials import SESSION_SECONDS, expired_cookie, session_cookie
from accord.operations.auth.users import SignedIn
from accord.operations.errors import (
    InvalidError,
    RateLimitedError,
    ServiceError,
    UnauthenticatedError,
)
from accord.web.pages.tokens import connection_recipes, presets, scopes_of
from accord.web.request import NOTICE, THEME, PageRequest, Pages
from accord.web.responses import Html, PageResponse, Redirect, is_local_path

SET_UP: Final = "/set-up"
THEMES: Final = ("light", "dark", "")
YEAR: Final = 365 * 86_400
FORGET: Final = b'clear-site-data: "storage"\r\n'
"""The header that makes the browser clear the data that scripts have stored about visited pages.

It is sent when a session ends."""

pages: Final = Pages()


@pages.get("/sign-in", is_public=True)
async def sign_in(request: PageRequest) -> PageResponse:
    path = request.query["next"]
    if not request.credentials.by_cookie:
        return await _form(request, next=path)
    try:
        await request.services.authenticator.caller(request.credentials)
    except UnauthenticatedError:
        page = await _form(request, next=path)
        return replace(page, headers=page.headers + _expired_session_header(request))
    return request.go(path or "/")


@pages.post("/sign-in", is_public=True)
async def begin(request: PageRequest) -> PageResponse:
    form = request.form
    try:
        signed_in = await _sign_in(request, form["username"], form["password"])
    except ServiceError as error:
        return await _form(request, next=form["next"], error=error)
    path = form["next"] if is_local_path(form["next"]) else "/"
    if signed_in.user.temporary_password:
        path = SET_UP
    return Redirect(path, _session_header(request, signed_in))


@pages.post("/sign-out")
async def end(request: PageRequest) -> PageResponse:
    await request.services.accounts.sign_out(request.credentials, request.user)
    return signed_out(request, "You are signed out.")


@pages.post("/theme", is_public=True)
async def choose_theme(request: PageRequest) -> PageResponse:
    """Set the theme: light, dark, or that of the operating system."""
    chosen = request.form["theme"]
    theme = chosen if chosen in THEMES else ""
    back = request.form["next"] if is_local_path(request.form["next"]) else "/"
    return Redirect(back, request.cookie(THEME, theme, seconds=YEAR if theme else 0))


def signed_out(request: PageRequest, notice: str) -> Redirect:
    """Redirect to the sign-in page after a session has ended."""
    headers = _expired_session_header(request) + FORGET + request.cookie(NOTICE, notice, seconds=60)
    return Redirect("/sign-in", headers)


async def renew_session(request: PageRequest, password: str, path: str, notice: str) -> Redirect:
    """Begin a new session for the caller, because a changed password ends all sessions.

    If that fails, redirect to the sign-in page.
    """
    try:
        signed_in = await _sign_in(request, request.user.username, password)
    except ServiceError:
        return signed_out(request, f"{notice} Sign in with your new password.")
    return Redirect(
        path, _session_header(request, signed_in) + request.cookie(NOTICE, notice, seconds=60)
    )


async def _sign_in(request: PageRequest, username: str, password: str) -> SignedIn:
    return await request.services.authenticator.sign_in(username, password, request.credentials)


def _session_header(request: PageRequest, signed_in: SignedIn) -> bytes:
    cookie = session_cookie(
        signed_in.token, secure=request.credentials.secure, max_age=SESSION_SECONDS
    )
    return f"set-cookie: {cookie}\r\n".encode("ascii")


def _expired_session_header(request: PageRequest) -> bytes:
    return f"set-cookie: {expired_cookie(secure=request.credentials.secure)}\r\n".encode("ascii")


async def _form(request: PageRequest, *, next: str, error: ServiceError | None = None) -> Html:
    page = await request.page(
        "sign_in.html",
        status=200 if error is None else error.kind.status,
        next=next,
        error=error,
        username=request.form["username"],
    )
    if isinstance(error, RateLimitedError):
        line = f"retry-after: {error.retry_after}\r\n".encode("ascii")
        return replace(page, headers=page.headers + line)
    return page


async def change_password(request: PageRequest, path: str, notice: str) -> PageResponse:
    """Change the caller's password, begin a new session and redirect to `path`.

    Raises ServiceError if the change is refused.
    """
    form = request.form
    check_repeated(request)
    await request.run(
        "change_own_password",
        current_password=form["current_password"],
        new_password=form["new_password"],
    )
    return await renew_session(request, form["new_password"], path, notice)


def check_repeated(request: PageRequest) -> None:
    """Raise InvalidError if the new password and its repetition differ."""
    if request.form["new_password"] != request.form["repeated"]:
        raise InvalidError("repeated", "is not the same as the new password")


PATH: Final = "/account"


@pages.get(PATH)
async def account(request: PageRequest) -> PageResponse:
    return await _account(request)


@pages.post(PATH)
async def change_email(request: PageRequest) -> PageResponse:
    try:
        await request.run("update_own_user", email=request.form["email"].strip())
    except ServiceError as error:
        return await _account(request, error)
    return request.go(PATH, "Your email is changed.")


@pages.post(f"{PATH}/password")
async def change(request: PageRequest) -> PageResponse:
    try:
        return await change_password(
            request, PATH, "Your password is changed, and you are signed out everywhere else."
        )
    except ServiceError as error:
        return await _account(request, error)


@pages.post(f"{PATH}/sessions/end-all")
async def end_all(request: PageRequest) -> PageResponse:
    await request.run("sign_out_everywhere")
    return signed_out(request, "You are signed out everywhere.")


@pages.post(f"{PATH}/sessions/{{id}}/end")
async def end_one(request: PageRequest) -> PageResponse:
    await request.run("end_session", id=request.values["id"])
    return request.go(PATH, "The session is ended.")


async def _account(request: PageRequest, error: ServiceError | None = None) -> PageResponse:
    return await request.page(
        "account/account.html",
        status=200 if error is None else error.kind.status,
        user=await request.run("get_own_user"),
        sessions=await request.run("list_sessions"),
        current=request.services.accounts.session_id(request.credentials),
        error=error,
    )


ASSISTANT: Final = f"{SET_UP}/assistant"
PROJECT: Final = f"{SET_UP}/project"


@pages.get(SET_UP)
async def password(request: PageRequest) -> PageResponse:
    user = await request.run("get_own_user")
    if not user.temporary_password:
        return request.go(ASSISTANT)
    return await _password(request, user.email)


@pages.post(SET_UP)
async def choose_password(request: PageRequest) -> PageResponse:
    email = request.form["email"].strip()
    try:
        check_repeated(request)
        if email:
            await request.run("update_own_user", email=email)
        return await change_password(request, ASSISTANT, "Your password is your own now.")
    except ServiceError as error:
        return await _password(request, email, error)


@pages.get(ASSISTANT)
async def assistant(request: PageRequest) -> PageResponse:
    return await _assistant(request, "my assistant")


@pages.post(ASSISTANT)
async def create_token(request: PageRequest) -> PageResponse:
    name = request.form["name"].strip()
    try:
        scopes = scopes_of(request.form, request.user.role)
        token = await request.run("create_token", name=name, scopes=scopes)
    except ServiceError as error:
        return await _assistant(request, name, error)
    return await request.page(
        "set_up/token.html",
        status=201,
        token=token,
        ways=connection_recipes(request.url, token.token),
    )


@pages.get(PROJECT)
async def project(request: PageRequest) -> PageResponse:
    return await _project(request)


@pages.post(PROJECT)
async def load_sample(request: PageRequest) -> PageResponse:
    try:
        outcome = await request.services.runner.run(demo_operation(), {}, request.user)
    except ServiceError as error:
        return await _project(request, error)
    begin = first_epic(outcome.result)
    return request.go("/requirements", f"The sample project is here. Begin with {begin}.")


async def _password(
    request: PageRequest, email: str, error: ServiceError | None = None
) -> PageResponse:
    status = 200 if error is None else error.kind.status
    return await request.page("set_up/password.html", status=status, email=email, error=error)


async def _assistant(
    request: PageRequest, name: str, error: ServiceError | None = None
) -> PageResponse:
    status = 200 if error is None else error.kind.status
    found = presets(request.user.role)
    return await request.page(
        "set_up/assistant.html",
        status=status,
        name=name,
        presets=found,
        preset=request.form["preset"] or found[0].key,
        error=error,
    )


async def _project(request: PageRequest, error: ServiceError | None = None) -> PageResponse:
    status = 200 if error is None else error.kind.status
    epics = await request.run("list_epics", limit=1)
    return await request.page("set_up/project.html", status=status, epics=epics.total, error=error)
