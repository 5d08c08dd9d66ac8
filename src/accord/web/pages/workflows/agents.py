"""Agents: URL, health and call settings.

Secrets are only referred to by name.
"""

from __future__ import annotations

from typing import Any, Final
from urllib.parse import quote

from msgspec import UNSET

from accord.operations.errors import ServiceError
from accord.web.forms import Words
from accord.web.request import PageRequest, Pages
from accord.web.responses import PageResponse

SECTION: Final = "/agents"
WIRES: Final = (
    ("auto", "auto: as its card says"),
    ("a2a-1.0", "A2A 1.0"),
    ("a2a-0.3", "A2A 0.3"),
    ("plain", "plain, the older format"),
)
AUTHS: Final = (
    ("none", "nothing"),
    ("bearer", "a token in Authorization"),
    ("api_key", "a key in a header"),
)
FAILURES: Final = (
    ("unknown", "only where nobody knows what became of it"),
    ("all", "also what the agent says has failed"),
)
SIMPLE: Final = ("url", "wire", "timeout", "max_concurrency")
RETRY: Final = ("attempts", "initial_delay", "multiplier", "max_delay", "failures")

pages: Final = Pages()


@pages.get("/agents")
async def listed(request: PageRequest) -> PageResponse:
    found = await request.run("list_agents", limit=50, cursor=request.query["cursor"] or UNSET)
    return await request.page("workflows/agents.html", found=found)


@pages.get("/agents/new")
async def new(request: PageRequest) -> PageResponse:
    request.user.require("admin", "Adding agents")
    return await _form(request, {"wire": "auto", "attempts": "3"})


@pages.post("/agents/new")
async def create(request: PageRequest) -> PageResponse:
    try:
        agent = await request.run(
            "create_agent", name=request.form["name"], **_form_arguments(request.form)
        )
    except ServiceError as error:
        return await _form(request, dict(request.form.pairs()), error=error)
    return request.go(f"/agents/{quote(agent.name)}", f"{agent.name} is added. Check it now.")


@pages.get("/agents/{name}")
async def one(request: PageRequest) -> PageResponse:
    agent = await request.run("get_agent", name=request.values["name"])
    return await _form(request, _form_values(agent), agent)


@pages.post("/agents/{name}")
async def change(request: PageRequest) -> PageResponse:
    name = request.values["name"]
    try:
        await request.run(
            "update_agent",
            name=name,
            expected_version=request.form["version"] or UNSET,
            active=request.form["active"] == "true",
            **_form_arguments(request.form),
        )
    except ServiceError as error:
        agent = await request.run("get_agent", name=name)
        return await _form(request, dict(request.form.pairs()), agent, error)
    return request.go(f"/agents/{quote(name)}", f"{name} is saved.")


@pages.post("/agents/{name}/check")
async def check(request: PageRequest) -> PageResponse:
    """Check the agent's health now, by fetching its agent card."""
    agent = await request.run("check_agent_health", name=request.values["name"])
    detail = f": {agent.health_detail}" if agent.health_detail else ""
    back = SECTION if request.form["back"] == "list" else f"{SECTION}/{quote(agent.name)}"
    return request.go(back, f"{agent.name} is {agent.health}{detail}.")


@pages.post("/agents/{name}/delete")
async def delete(request: PageRequest) -> PageResponse:
    name = request.values["name"]
    try:
        await request.run("delete_agent", name=name)
    except ServiceError as error:
        agent = await request.run("get_agent", name=name)
        return await _form(request, _form_values(agent), agent, error)
    return request.go(SECTION, f"{name} is deleted.")


async def _form(
    request: PageRequest,
    typed: dict[str, str],
    agent: Any = None,
    error: ServiceError | None = None,
) -> PageResponse:
    return await request.page(
        "workflows/agent.html",
        status=200 if error is None else error.kind.status,
        section=SECTION,
        agent=agent,
        typed=Words(typed.items()),
        error=error,
        wires=WIRES,
        auths=AUTHS,
        failures=FAILURES,
    )


def _form_arguments(form: Words) -> dict[str, Any]:
    """Return the values of the form as arguments of the operation that saves the agent."""
    return {
        **form.given(*SIMPLE),
        "description": form["description"],
        "auth": _auth(form),
        "retry": {**form.given(*RETRY), "jitter": form["jitter"] or "false"},
    }


def _auth(form: Words) -> dict[str, str]:
    match form["auth"]:
        case "bearer":
            return {"type": "bearer", "secret": form["secret"]}
        case "api_key":
            return {"type": "api_key", "secret": form["secret"], **form.given("header")}
        case _:
            return {"type": "none"}


def _form_values(agent: Any) -> dict[str, str]:
    """Return an agent as the values of the form."""
    auth = agent.auth
    return {
        **{name: _number(getattr(agent, name)) for name in SIMPLE},
        **{name: _number(getattr(agent.retry, name)) for name in RETRY},
        "name": agent.name,
        "description": agent.description,
        "jitter": "true" if agent.retry.jitter else "",
        "active": "true" if agent.active else "",
        "version": str(agent.version),
        "auth": type(auth).__struct_config__.tag,
        "secret": getattr(auth, "secret", ""),
        "header": getattr(auth, "header", ""),
    }


def _number(value: object) -> str:
    return f"{value:g}" if isinstance(value, float) else str(value)
