"""One request of somebody's browser, while it is being answered: all that a page may use."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, Final
from urllib.parse import quote

from msgspec import UNSET, Struct

from accord.operations.arguments import convert
from accord.operations.caller import Caller
from accord.operations.faces.entrance import Visit
from accord.operations.outcome import Outcome
from accord.web.answers import Html, Redirect, is_ours
from accord.web.forms import Words
from accord.web.frame import RAIL, Waiting
from accord.web.services import Services

NOTICE: Final = "accord_notice"
THEME: Final = "accord_theme"
HOST: Final = re.compile(r"[A-Za-z0-9.\-\[\]:]{1,255}")
MAX_NOTICE: Final = 300
"""Most characters of what a page says about what was done before it."""


class Turn(Struct, kw_only=True):
    """Who asks for what, and the ways to answer."""

    services: Services
    caller: Caller | None
    """None on pages for people who have not signed in."""
    visit: Visit
    path: str
    values: Mapping[str, str]
    """What stands in the path for names."""
    query: Words
    form: Words
    csrf: str = ""
    cookies: Mapping[str, str]

    @property
    def who(self) -> Caller:
        """Whoever has signed in."""
        assert self.caller is not None, "a page that is not public has a caller"
        return self.caller

    @property
    def is_partial(self) -> bool:
        """Whether a script of the page asks, and wants a piece of it."""
        fields = self.visit.asking.fields
        return fields.get("hx-request") == "true" and "hx-history-restore-request" not in fields

    @property
    def url(self) -> str:
        """Where people reach the system, for what they paste into their programs."""
        if self.services.public_url:
            return self.services.public_url
        host = self.visit.asking.fields.get("host", "")
        scheme = "https" if self.visit.secure else "http"
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
        return await runner.run(found, lambda: convert(found, given, from_text=True), self.who)

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
            "theme": self.cookies.get(THEME, ""),
        }
        return self._html(template, context, status)

    def piece(
        self, template: str, /, *, status: int = 200, headers: bytes = b"", **context: Any
    ) -> Html:
        """A piece of a page, which a script puts where it belongs."""
        return self._html(template, context, status, headers)

    def go(self, path: str, notice: str = "") -> Redirect | Html:
        """Send the browser on to another page, which says `notice`."""
        headers = cookie_line(NOTICE, notice[:MAX_NOTICE], seconds=60) if notice else b""
        if not is_ours(path):
            path = "/"
        if self.is_partial:  # a script would follow by itself, and put a page into a piece
            return Html("", headers=headers + f"hx-redirect: {path}\r\n".encode("ascii"))
        return Redirect(path, headers)

    def _html(
        self, template: str, context: dict[str, Any], status: int, headers: bytes = b""
    ) -> Html:
        context |= {
            "turn": self,
            "caller": self.caller,
            "csrf": self.csrf,
            "path": self.path,
            "query": self.query,
            "form": self.form,
            "status": status,
        }
        if self.cookies.get(NOTICE) and "notice" in context:
            headers += cookie_line(NOTICE, "", seconds=0)
        return Html(self.services.templates.fill(template, context), status, headers)


def cookie_line(name: str, value: str, *, seconds: int) -> bytes:
    """Sets a cookie that holds no secret."""
    told = f"{name}={quote(value)}; Path=/; HttpOnly; SameSite=Lax; Max-Age={seconds}"
    return f"set-cookie: {told}\r\n".encode("ascii")
