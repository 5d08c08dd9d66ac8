"""One request of somebody's browser, while it is being answered: all that a page may use."""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import partial
from typing import Any, Final
from urllib.parse import quote, unquote

from msgspec import UNSET, Struct

from accord.hub.undo import can_be_undone
from accord.operations.accounts.credentials import Credentials
from accord.operations.arguments import convert
from accord.operations.caller import Caller
from accord.operations.outcome import Outcome
from accord.transports.http.request import WebRequest
from accord.web.answers import Html, Redirect, is_ours
from accord.web.forms import Words
from accord.web.frame import RAIL, Waiting
from accord.web.services import Services
from accord.web.templating import TakesLongError

NOTICE: Final = "accord_notice"
NOTICE_UNDO: Final = "accord_notice_undo"
THEME: Final = "accord_theme"
HOST: Final = re.compile(r"[A-Za-z0-9.\-\[\]:]{1,255}")
OURS: Final = "accord_"
"""How cookies of the pages are called."""
HOST_ONLY: Final = "__Host-"
"""Over https: no other host, and nobody without https, can set a cookie of such a name."""
MAX_COOKIES: Final = 4_096
MAX_NOTICE: Final = 300
"""Most characters of what a page says about what was done before it."""


class Turn(Struct, kw_only=True):
    """Who asks for what, and the ways to answer."""

    services: Services
    caller: Caller | None
    """None on pages for people who have not signed in."""
    request: WebRequest
    credentials: Credentials
    values: Mapping[str, str]
    """What stands in the path for names."""
    query: Words
    form: Words
    csrf: str = ""
    cookies: Mapping[str, str]
    undoable: str = ""
    """The change that this request made last, if it can be undone."""

    @property
    def who(self) -> Caller:
        """Whoever has signed in."""
        assert self.caller is not None, "a page that is not public has a caller"
        return self.caller

    @property
    def is_partial(self) -> bool:
        """Whether a script of the page asks, and wants a piece of it."""
        fields = self.request.fields
        return fields.get("hx-request") == "true" and "hx-history-restore-request" not in fields

    @property
    def url(self) -> str:
        """Where people reach the system, for what they paste into their programs."""
        if self.services.public_url:
            return self.services.public_url
        host = self.request.fields.get("host", "")
        scheme = "https" if self.credentials.secure else "http"
        return f"{scheme}://{host}" if HOST.fullmatch(host) else ""

    # Operations

    async def do(self, operation: str, /, **arguments: Any) -> Any:
        """The result of an operation, as who asks. Raises ServiceError and InternalError."""
        return (await self.outcome(operation, **arguments)).result

    async def outcome(self, operation: str, /, **arguments: Any) -> Outcome:
        """The same with what it changed. Arguments that are UNSET are left out."""
        runner = self.services.runner
        found = runner.registry[operation]
        given = {name: value for name, value in arguments.items() if value is not UNSET}
        outcome = await runner.run(found, lambda: convert(found, given, from_text=True), self.who)
        if outcome.change_id and can_be_undone(effect.kind for effect in outcome.effects):
            self.undoable = outcome.change_id
        return outcome

    # Answers

    async def page(self, template: str, /, *, status: int = 200, **context: Any) -> Html:
        """A whole page: `template` extends `frame.html`."""
        waiting = Waiting()
        if self.caller is not None:
            waiting = await self.services.frames.waiting(self.caller, self.do)
        context |= {
            "rail": RAIL,
            "waiting": waiting,
            "notice": self.cookies.get(NOTICE, "")[:MAX_NOTICE],
            "notice_undo": self.cookies.get(NOTICE_UNDO, ""),
            "theme": self.cookies.get(THEME, ""),
        }
        return self._html(template, context, status)

    def piece(
        self, template: str, /, *, status: int = 200, headers: bytes = b"", **context: Any
    ) -> Html:
        """A piece of a page, which a script puts where it belongs."""
        return self._html(template, context, status, headers)

    def go(self, path: str, notice: str = "") -> Redirect | Html:
        """Send the browser to another page, with a `notice` that offers to undo the change."""
        headers = self.cookie(NOTICE, notice[:MAX_NOTICE], seconds=60) if notice else b""
        if notice and self.undoable:
            headers += self.cookie(NOTICE_UNDO, self.undoable, seconds=60)
        if not is_ours(path):
            path = "/"
        if self.is_partial:  # a script would follow by itself, and put a page into a piece
            return Html("", headers=headers + f"hx-redirect: {path}\r\n".encode("ascii"))
        return Redirect(path, headers)

    def cookie(self, name: str, value: str, *, seconds: int) -> bytes:
        """The header line that sets a cookie which holds no secret."""
        name, end = (f"{HOST_ONLY}{name}", "; Secure") if self.credentials.secure else (name, "")
        told = f"{name}={quote(value)}; Path=/; HttpOnly; SameSite=Lax; Max-Age={seconds}{end}"
        return f"set-cookie: {told}\r\n".encode("ascii")

    def _html(
        self, template: str, context: dict[str, Any], status: int, headers: bytes = b""
    ) -> Html:
        context |= {
            "turn": self,
            "caller": self.caller,
            "csrf": self.csrf,
            "path": self.request.path,
            "query": self.query,
            "form": self.form,
            "status": status,
        }
        if self.cookies.get(NOTICE) and "notice" in context:
            headers += self.cookie(NOTICE, "", seconds=0)
            headers += self.cookie(NOTICE_UNDO, "", seconds=0)
        templates = self.services.templates
        try:
            return Html(templates.fill(template, context), status, headers)
        except TakesLongError:
            rest = partial(templates.fill_in_thread, template, context)
            return Html("", status, headers, rest=rest)


def cookies_in(header: str, *, secure: bool) -> dict[str, str]:
    """Those of ours that a request has. Over https only what nobody else can set is believed."""
    known = (f"{HOST_ONLY}{OURS}",) if secure else (f"{HOST_ONLY}{OURS}", OURS)
    pairs = (each.strip().partition("=") for each in header[:MAX_COOKIES].split(";"))
    return {
        name.removeprefix(HOST_ONLY): unquote(value)
        for name, _, value in pairs
        if name.startswith(known)
    }
