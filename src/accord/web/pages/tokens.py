"""Access tokens with instructions for programs, and the explorer of JSON-RPC methods.

A token is shown only once. The explorer is a separate document in a frame, with a stricter
Content-Security-Policy: no text ever becomes HTML there, and only our pages may frame it.
"""

from __future__ import annotations

from typing import Final

from msgspec import Struct
from msgspec.structs import replace

from accord.mcp.hosts import HOSTS, Remote, json_entry, toml_entry
from accord.openrpc.explorer import framed_page
from accord.operations.auth.credentials import DEFAULT_TOKEN_DAYS, MAX_TOKEN_DAYS
from accord.operations.context import (
    ASSISTANT_SCOPES,
    RULES,
    SCOPES,
    Role,
    Scope,
    default_scopes,
    utc_now,
)
from accord.operations.errors import ServiceError
from accord.web.forms import Words
from accord.web.request import THEME, PageRequest, Pages
from accord.web.responses import POLICY, Html, PageResponse

NAME: Final = "accord"
"""The name of Accord's MCP server in the settings of MCP clients."""
MCP_PATH: Final = "/api/v1/mcp"
REST_PATH: Final = "/api/v1"
FILES: Final = {
    "claude-desktop": "Put this into claude_desktop_config.json: Settings, Developer, Edit Config. "
    "It needs Node.js.",
    "cursor": "Put this into ~/.cursor/mcp.json, or into .cursor/mcp.json of a project.",
    "vscode": "Put this into .vscode/mcp.json of a project, or open your own by MCP: Open User "
    "Configuration.",
    "codex": "Put this into ~/.codex/config.toml.",
    "gemini": "Put this into ~/.gemini/settings.json, or into .gemini/settings.json of a project.",
    "windsurf": "Put this into ~/.codeium/windsurf/mcp_config.json.",
}
"""Where to put the settings, for each program that is configured by a file."""


class ConnectionRecipe(Struct, frozen=True):
    """Instructions to connect one program: the text to paste, and where to paste the text."""

    key: str
    title: str
    where: str
    text: str


def connection_recipes(url: str, token: str) -> tuple[ConnectionRecipe, ...]:
    """Return the instructions for all known programs; `url` is the public URL of Accord."""
    return (
        _claude_code(url, token),
        *(_file(key, url, token) for key in FILES),
        ConnectionRecipe(
            "curl",
            "curl and other programs",
            "Run this in a terminal: it lists epics over REST.",
            f"curl {url}{REST_PATH}/epics \\\n  -H 'Authorization: Bearer {token}'",
        ),
    )


def _claude_code(url: str, token: str) -> ConnectionRecipe:
    return ConnectionRecipe(
        "claude-code",
        HOSTS["claude-code"].title,
        "Run this in a terminal, in the folder of your project.",
        f"claude mcp add --transport http {NAME} {url}{MCP_PATH} \\\n"
        f'  --header "Authorization: Bearer {token}"',
    )


def _file(key: str, url: str, token: str) -> ConnectionRecipe:
    host = HOSTS[key]
    entry = host.entry(Remote(f"{url}{MCP_PATH}", {"Authorization": f"Bearer {token}"}))
    write = toml_entry if host.table == "mcp_servers" else json_entry
    return ConnectionRecipe(key, host.title, FILES[key], write(host.table, NAME, entry).strip())


TOKENS_PATH: Final = "/tokens"
TOKENS_PER_PAGE: Final = 50
ALLOWS: Final[dict[Scope, str]] = {
    "read": "Read and search everything, with its history",
    "comment": "Comment, answer and resolve comments",
    "write": "Create, change, link and delete what you may",
    "propose": "Propose changes, which somebody accepts or rejects",
    "run": "Start, signal and cancel runs of workflows",
    "approve": "Approve and reject where a run waits for somebody",
    "admin": "Administrate prompts, types, agents and workflows; see people and the audit log",
}
"""The rights that each token scope gives, in words."""
CHOSEN: Final = "chosen"
"""The key of the custom preset: the user selects the scopes one by one."""

pages: Final = Pages()


@pages.get(TOKENS_PATH)
async def tokens(request: PageRequest) -> PageResponse:
    page = await request.run("list_tokens", limit=TOKENS_PER_PAGE, **request.query.given("cursor"))
    return await request.page("tokens/list.html", page=page, now=utc_now())


@pages.get(f"{TOKENS_PATH}/new")
async def new(request: PageRequest) -> PageResponse:
    return await _form(request)


@pages.post(TOKENS_PATH)
async def create(request: PageRequest) -> PageResponse:
    form = request.form
    try:
        token = await request.run(
            "create_token",
            name=form["name"].strip(),
            scopes=scopes_of(form, request.user.role),
            expires_in=form["expires_in"] or DEFAULT_TOKEN_DAYS,
        )
    except ServiceError as error:
        return await _form(request, error)
    return await request.page(
        "tokens/created.html",
        status=201,
        token=token,
        ways=connection_recipes(request.url, token.token),
    )


@pages.post(f"{TOKENS_PATH}/{{id}}/revoke")
async def revoke(request: PageRequest) -> PageResponse:
    token = await request.run("revoke_token", id=request.values["id"])
    back = request.form["next"] or TOKENS_PATH
    return request.go(
        back, f"{token.name} is revoked: programs that use it are refused from now on."
    )


async def _form(request: PageRequest, error: ServiceError | None = None) -> PageResponse:
    found = presets(request.user.role)
    ticked = request.form.every("scopes") or found[0].scopes
    return await request.page(
        "tokens/new.html",
        status=200 if error is None else error.kind.status,
        presets=found,
        preset=request.form["preset"] or found[0].key,
        chosen=CHOSEN,
        scopes=[(scope, ALLOWS[scope], scope in ticked) for scope in allowed(request.user.role)],
        days=request.form["expires_in"] or DEFAULT_TOKEN_DAYS,
        most=MAX_TOKEN_DAYS,
        error=error,
    )


class Preset(Struct, frozen=True):
    """A named set of scopes, offered in the form that creates a token."""

    key: str
    title: str
    text: str
    scopes: tuple[Scope, ...]


def presets(role: Role) -> list[Preset]:
    """Return the presets for tokens of users with this role, the recommended one first."""
    if "propose" not in allowed(role):
        return [
            Preset("read", "Read only", "It changes nothing.", ("read",)),
            Preset("comment", "Read and comment", "Everything you may do.", ("read", "comment")),
        ]
    everything = default_scopes(role)
    return [
        Preset(
            "propose",
            "Propose only (recommended)",
            "It reads, and what it wants to change waits until a person accepts it.",
            tuple(scope for scope in SCOPES if scope in ASSISTANT_SCOPES),
        ),
        Preset(
            "write",
            "Write",
            "It also comments, creates, changes, links and deletes what you may.",
            ("read", "comment", "write", "propose"),
        ),
        Preset(
            "everything",
            "Everything",
            "All that your role allows, but no approvals, people, passwords or tokens.",
            tuple(scope for scope in SCOPES if scope in everything),
        ),
    ]


def scopes_of(form: Words, role: Role) -> list[str]:
    """Return the scopes chosen in a form: those of a preset, or those selected one by one."""
    for preset in presets(role):
        if form["preset"] == preset.key:
            return list(preset.scopes)
    return form.every("scopes")


def allowed(role: Role) -> list[Scope]:
    """Return the scopes that tokens of users with this role can have."""
    scopes = {rule.scope for rule in RULES.values() if role in rule.roles}
    return [scope for scope in SCOPES if scope in scopes]


EXPLORER_PATH: Final = "/explorer"
EXPLORER_FRAME: Final = f"{EXPLORER_PATH}/frame"
RPC_PATH: Final = "/rpc"
FRAMING_POLICY: Final = f"{POLICY}; frame-src 'self'"


@pages.get(EXPLORER_PATH)
async def explorer(request: PageRequest) -> PageResponse:
    page = await request.page("explorer/explorer.html", frame=EXPLORER_FRAME, rpc=RPC_PATH)
    return replace(page, policy=FRAMING_POLICY)


@pages.get(EXPLORER_FRAME)
async def explorer_frame(request: PageRequest) -> PageResponse:
    theme = request.cookies.get(THEME, "")
    framed = framed_page(
        place=RPC_PATH, csrf=request.csrf, theme=theme if theme in ("light", "dark") else ""
    )
    return Html(framed.html, policy=framed.policy)
