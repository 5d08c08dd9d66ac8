"""People and their roles, for administrators. A password is made up here, shown once, and replaced
by whoever it is for."""

from __future__ import annotations

from typing import Final

from accord.operations.auth.passwords import random_password
from accord.operations.auth.users import User
from accord.operations.context import Role
from accord.operations.errors import ServiceError
from accord.operations.identifiers import utc_now
from accord.web.request import PageRequest, Pages
from accord.web.responses import PageResponse

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
async def users(request: PageRequest) -> PageResponse:
    page = await request.run("list_users", limit=PAGE, **request.query.given("cursor"))
    return await request.page("users/list.html", page=page)


@pages.get(f"{PATH}/new")
async def new(request: PageRequest) -> PageResponse:
    request.user.require("admin", "create_user")
    return await _new(request)


@pages.post(PATH)
async def create(request: PageRequest) -> PageResponse:
    password = random_password()
    try:
        user = await request.run(
            "create_user",
            username=request.form["username"].strip(),
            role=request.form["role"],
            email=request.form["email"].strip(),
            password=password,
        )
    except ServiceError as error:
        return await _new(request, error)
    return await _password(request, user, password, is_new=True)


@pages.get(f"{PATH}/{{id}}")
async def user(request: PageRequest) -> PageResponse:
    return await _user(request)


@pages.post(f"{PATH}/{{id}}")
async def update(request: PageRequest) -> PageResponse:
    """The role, the email, or whether they are let in."""
    try:
        changed = await request.run(
            "update_user",
            id=request.values["id"],
            **request.form.given("role", "active", "expected_version"),
            **({"email": request.form["email"].strip()} if "email" in request.form else {}),
        )
    except ServiceError as error:
        return await _user(request, error)
    return request.go(f"{PATH}/{changed.username}", f"{changed.username} is changed.")


@pages.post(f"{PATH}/{{id}}/password")
async def set_password(request: PageRequest) -> PageResponse:
    password = random_password()
    changed = await request.run("set_password", id=request.values["id"], password=password)
    return await _password(request, changed, password, is_new=False)


async def _new(request: PageRequest, error: ServiceError | None = None) -> PageResponse:
    status = 200 if error is None else error.kind.status
    return await request.page("users/new.html", status=status, roles=MAY, error=error)


async def _user(request: PageRequest, error: ServiceError | None = None) -> PageResponse:
    found = await request.run("get_user", id=request.values["id"])
    return await request.page(
        "users/user.html",
        status=200 if error is None else error.kind.status,
        user=found,
        tokens=await request.run("list_tokens", user=found.id, limit=PAGE),
        roles=MAY,
        now=utc_now(),
        error=error,
    )


async def _password(
    request: PageRequest, user: User, password: str, *, is_new: bool
) -> PageResponse:
    return await request.page(
        "users/password.html", status=201, user=user, password=password, is_new=is_new
    )
