"""People and their roles, for administrators. A password is made up here, shown once, and replaced
by whoever it is for."""

from __future__ import annotations

from typing import Final

from accord.operations.accounts.entities import User
from accord.operations.accounts.passwords import random_password
from accord.operations.errors import ServiceError
from accord.operations.identifiers import utc_now
from accord.operations.rights import Role
from accord.web.answers import Answer
from accord.web.routing import Pages
from accord.web.turn import Turn

PATH: Final = "/users"
PAGE: Final = 50
MAY: Final[dict[Role, str]] = {
    "Administrator": "everything, and prompts, types, users, agents, workflows and the audit log",
    "User": "read, write, propose, comment, start and approve runs",
    "Commenter": "read and comment",
}
"""What each role is for."""

pages: Final = Pages()


@pages.get(PATH)
async def users(turn: Turn) -> Answer:
    page = await turn.do("list_users", limit=PAGE, **turn.query.given("cursor"))
    return await turn.page("users/list.html", page=page)


@pages.get(f"{PATH}/new")
async def new(turn: Turn) -> Answer:
    turn.who.require("admin", "create_user")
    return await _new(turn)


@pages.post(PATH)
async def create(turn: Turn) -> Answer:
    password = random_password()
    try:
        user = await turn.do(
            "create_user",
            username=turn.form["username"].strip(),
            role=turn.form["role"],
            email=turn.form["email"].strip(),
            password=password,
        )
    except ServiceError as error:
        return await _new(turn, error)
    return await _password(turn, user, password, is_new=True)


@pages.get(f"{PATH}/{{id}}")
async def user(turn: Turn) -> Answer:
    return await _user(turn)


@pages.post(f"{PATH}/{{id}}")
async def update(turn: Turn) -> Answer:
    """The role, the email, or whether they are let in."""
    try:
        changed = await turn.do(
            "update_user",
            id=turn.values["id"],
            **turn.form.given("role", "active", "expected_version"),
            **({"email": turn.form["email"].strip()} if "email" in turn.form else {}),
        )
    except ServiceError as error:
        return await _user(turn, error)
    return turn.go(f"{PATH}/{changed.username}", f"{changed.username} is changed.")


@pages.post(f"{PATH}/{{id}}/password")
async def set_password(turn: Turn) -> Answer:
    password = random_password()
    changed = await turn.do("set_password", id=turn.values["id"], password=password)
    return await _password(turn, changed, password, is_new=False)


async def _new(turn: Turn, error: ServiceError | None = None) -> Answer:
    status = 200 if error is None else error.kind.status
    return await turn.page("users/new.html", status=status, roles=MAY, error=error)


async def _user(turn: Turn, error: ServiceError | None = None) -> Answer:
    found = await turn.do("get_user", id=turn.values["id"])
    return await turn.page(
        "users/user.html",
        status=200 if error is None else error.kind.status,
        user=found,
        tokens=await turn.do("list_tokens", user=found.id, limit=PAGE),
        roles=MAY,
        now=utc_now(),
        error=error,
    )


async def _password(turn: Turn, user: User, password: str, *, is_new: bool) -> Answer:
    return await turn.page(
        "users/password.html", status=201, user=user, password=password, is_new=is_new
    )
