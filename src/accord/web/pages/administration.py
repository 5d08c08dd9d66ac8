"""Pages for administrators: users and roles, types and labels, the audit log.

A user's password is generated here and shown once; the user must replace it.
"""

from __future__ import annotations

from typing import Final, get_args
from urllib.parse import urlencode

from accord.operations.audit.record import Result
from accord.operations.auth.passwords import random_password
from accord.operations.auth.users import User
from accord.operations.context import Role, utc_now
from accord.operations.errors import ServiceError
from accord.web.request import PageRequest, Pages
from accord.web.responses import PageResponse

USERS_PATH: Final = "/users"
USERS_PER_PAGE: Final = 50
ROLES: Final[dict[Role, str]] = {
    "Administrator": "everything, and prompts, types, users, agents, workflows and the audit log",
    "User": "read, write, propose, comment, start and approve runs",
    "Commenter": "read and comment",
}
"""The rights of each role in words."""

pages: Final = Pages()


@pages.get(USERS_PATH)
async def users(request: PageRequest) -> PageResponse:
    page = await request.run("list_users", limit=USERS_PER_PAGE, **request.query.given("cursor"))
    return await request.page("users/list.html", page=page)


@pages.get(f"{USERS_PATH}/new")
async def new_user(request: PageRequest) -> PageResponse:
    request.user.require("admin", "create_user")
    return await _new_user(request)


@pages.post(USERS_PATH)
async def create_user(request: PageRequest) -> PageResponse:
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
        return await _new_user(request, error)
    return await _password(request, user, password, is_new=True)


@pages.get(f"{USERS_PATH}/{{id}}")
async def user(request: PageRequest) -> PageResponse:
    return await _user(request)


@pages.post(f"{USERS_PATH}/{{id}}")
async def update_user(request: PageRequest) -> PageResponse:
    """Change a user's role or email, or deactivate the user."""
    try:
        changed = await request.run(
            "update_user",
            id=request.values["id"],
            **request.form.given("role", "active", "expected_version"),
            **({"email": request.form["email"].strip()} if "email" in request.form else {}),
        )
    except ServiceError as error:
        return await _user(request, error)
    return request.go(f"{USERS_PATH}/{changed.username}", f"{changed.username} is changed.")


@pages.post(f"{USERS_PATH}/{{id}}/password")
async def set_password(request: PageRequest) -> PageResponse:
    password = random_password()
    changed = await request.run("set_password", id=request.values["id"], password=password)
    return await _password(request, changed, password, is_new=False)


async def _new_user(request: PageRequest, error: ServiceError | None = None) -> PageResponse:
    status = 200 if error is None else error.kind.status
    return await request.page("users/new.html", status=status, roles=ROLES, error=error)


async def _user(request: PageRequest, error: ServiceError | None = None) -> PageResponse:
    found = await request.run("get_user", id=request.values["id"])
    return await request.page(
        "users/user.html",
        status=200 if error is None else error.kind.status,
        user=found,
        tokens=await request.run("list_tokens", user=found.id, limit=USERS_PER_PAGE),
        roles=ROLES,
        now=utc_now(),
        error=error,
    )


async def _password(
    request: PageRequest, user: User, password: str, *, is_new: bool
) -> PageResponse:
    return await request.page(
        "users/password.html", status=201, user=user, password=password, is_new=is_new
    )


SETTINGS_PATH: Final = "/settings"
SETTINGS_PER_PAGE: Final = 100


@pages.get(SETTINGS_PATH)
async def settings(request: PageRequest) -> PageResponse:
    request.user.require("admin", "this page")
    return await _settings(request)


@pages.post(f"{SETTINGS_PATH}/requirement-types")
async def add_requirement_type(request: PageRequest) -> PageResponse:
    return await _change_settings(
        request, "create_requirement_type", "is added", **request.form.given("name", "description")
    )


@pages.post(f"{SETTINGS_PATH}/requirement-types/change")
async def describe_requirement_type(request: PageRequest) -> PageResponse:
    form = request.form
    return await _change_settings(
        request,
        "update_requirement_type",
        "is changed",
        name=form["name"],
        description=form["description"],
    )


@pages.post(f"{SETTINGS_PATH}/requirement-types/delete")
async def delete_requirement_type(request: PageRequest) -> PageResponse:
    return await _change_settings(
        request, "delete_requirement_type", "is deleted", name=request.form["name"]
    )


@pages.post(f"{SETTINGS_PATH}/relationship-types")
async def add_relationship_type(request: PageRequest) -> PageResponse:
    return await _change_settings(
        request,
        "create_relationship_type",
        "is added",
        **request.form.given("name", "inverse"),
        symmetric="symmetric" in request.form,
        acyclic="acyclic" in request.form,
    )


@pages.post(f"{SETTINGS_PATH}/relationship-types/delete")
async def delete_relationship_type(request: PageRequest) -> PageResponse:
    return await _change_settings(
        request, "delete_relationship_type", "is deleted", name=request.form["name"]
    )


@pages.post(f"{SETTINGS_PATH}/labels")
async def add_label(request: PageRequest) -> PageResponse:
    return await _change_settings(
        request, "create_label", "is added", **request.form.given("name", "colour")
    )


@pages.post(f"{SETTINGS_PATH}/labels/{{id}}")
async def change_label(request: PageRequest) -> PageResponse:
    return await _change_settings(
        request,
        "update_label",
        "is changed",
        id=request.values["id"],
        **request.form.given("name", "colour"),
    )


@pages.post(f"{SETTINGS_PATH}/labels/{{id}}/delete")
async def delete_label(request: PageRequest) -> PageResponse:
    """Delete a label and remove it from all items; the page shows how many have the label."""
    return await _change_settings(
        request, "delete_label", "is deleted", id=request.values["id"], force=True
    )


async def _change_settings(
    request: PageRequest, operation: str, notice: str, **arguments: object
) -> PageResponse:
    try:
        result = await request.run(operation, **arguments)
    except ServiceError as error:
        if not request.user.is_administrator:
            raise
        return await _settings(request, error)
    name = getattr(result, "name", None) or result.deleted
    return request.go(SETTINGS_PATH, f"{name} {notice}.")


async def _settings(request: PageRequest, error: ServiceError | None = None) -> PageResponse:
    return await request.page(
        "settings/settings.html",
        status=200 if error is None else error.kind.status,
        requirement_types=await request.run("list_requirement_types"),
        relationship_types=await request.run("list_relationship_types"),
        labels=await request.run(
            "list_labels", limit=SETTINGS_PER_PAGE, **request.query.given("cursor")
        ),
        error=error,
    )


AUDIT_PATH: Final = "/audit"
EVENTS_PER_PAGE: Final = 50
MAX_COUNTED: Final = 1_000
"""The most audit events that are counted; the page shows no exact total above this number."""
AUDIT_FILTERS: Final = ("actor", "operation", "outcome", "target", "since", "until", "reads")
OUTCOMES: Final = {
    "done": "done",
    "dry_run": "dry run",
    "refused": "refused by a rule",
    "denied": "denied",
    "failed": "failed",
    "cancelled": "cancelled",
    "unauthenticated": "not let in",
}
FACES: Final = {
    "rest": "REST",
    "rpc": "JSON-RPC",
    "mcp": "MCP",
    "a2a": "A2A",
    "cli": "command line",
    "web": "pages",
    "system": "Accord",
}
assert tuple(OUTCOMES) == get_args(Result)
TRAIL_FAULTS: Final = {
    "edited": "A record does not say any more what it said when it was written.",
    "removed": "Records are missing between others.",
    "cut_off": "Records at the end are missing.",
    "forged": "A record was put in by somebody who has not the key.",
    "head": "The newest seal is not the one that was kept.",
    "unsealed": "Records were kept from being sealed.",
    "unreadable": "A part of the trail cannot be read.",
}


@pages.get(AUDIT_PATH)
async def audit(request: PageRequest) -> PageResponse:
    filters: dict[str, object] = {**request.query.given(*AUDIT_FILTERS)}
    error: ServiceError | None = None
    page = None
    try:
        page = await request.run(
            "list_audit_events",
            limit=EVENTS_PER_PAGE,
            count_to=MAX_COUNTED + 1,
            **{"reads": False} | filters,
            **request.query.given("cursor"),
        )
    except ServiceError as refused:
        if not request.user.is_administrator:
            raise
        error = refused
    context = {
        "page": page,
        "asked": filters,
        "outcomes": OUTCOMES,
        "faces": FACES,
        "most": MAX_COUNTED,
        "more": f"{AUDIT_PATH}?{urlencode(filters)}" if filters else AUDIT_PATH,
        "error": error,
    }
    return await request.page(
        "audit/list.html", status=200 if error is None else error.kind.status, **context
    )


@pages.get(f"{AUDIT_PATH}/verification")
async def verification(request: PageRequest) -> PageResponse:
    report = await request.run("verify_audit_trail")
    return await request.page("audit/verification.html", report=report, faults=TRAIL_FAULTS)
