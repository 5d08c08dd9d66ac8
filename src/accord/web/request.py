"""Requests to pages: what pages need to answer a request, and the routes of pages.

A page is a function that takes a `PageRequest`; `Pages` registers it with its path.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Awaitable, Callable, Iterator, Mapping
from functools import partial
from time import monotonic
from typing import TYPE_CHECKING, Any, Final, Literal, TypeAlias, TypeVar
from urllib.parse import quote, unquote

from msgspec import UNSET, Struct

from accord.hub.undo import can_be_undone
from accord.operations.arguments import convert
from accord.operations.auth.accounts import Accounts
from accord.operations.auth.authentication import RequestAuthenticator
from accord.operations.auth.credentials import RequestCredentials
from accord.operations.context import Caller
from accord.operations.operation import Outcome
from accord.operations.runner import Runner
from accord.transports.http.heads import WebRequest
from accord.web.forms import Words
from accord.web.layout import NAVIGATION, PendingCountCache, PendingCounts
from accord.web.responses import Assets, Html, PageResponse, Redirect, is_local_path
from accord.web.templating import TakesLongError, Templates

T = TypeVar("T")

PAGE_CACHE_SECONDS: Final = 15.0
MAX_CACHED_RESULTS: Final = 100


class PageCache:
    """A cache of page data that is costly and the same for all users.

    A write, in this process or in another one, clears the cache. Entries also expire, because no
    notification is sent when a run changes data.
    """

    def __init__(self) -> None:
        self._kept: dict[str, tuple[float, Any]] = {}
        self._locks: dict[str, asyncio.Lock] = {}
        self._writes = 0

    def forget(self) -> None:
        """Clear the cache after a write."""
        self._kept.clear()
        self._writes += 1

    async def get(self, name: str, find: Callable[[], Awaitable[T]]) -> T:
        """Return the cached result of this name, or call `find` and cache the result.

        Concurrent calls with the same name share one call of `find`. Raises what `find` raises.
        """
        lock = self._locks.setdefault(name, asyncio.Lock())
        async with lock:
            cached = self._kept.get(name)
            if cached is not None and cached[0] > monotonic():
                result: T = cached[1]
                return result
            writes = self._writes
            found = await find()
            if writes == self._writes:  # a result from before a write is returned, but not cached
                self._make_room()
                self._kept[name] = (monotonic() + PAGE_CACHE_SECONDS, found)
            return found

    def _make_room(self) -> None:
        if len(self._kept) >= MAX_CACHED_RESULTS:
            self._kept.clear()
        if len(self._locks) >= 2 * MAX_CACHED_RESULTS:
            # Locks in use stay, or two callers of one name would not wait for each other.
            self._locks = {name: lock for name, lock in self._locks.items() if lock.locked()}


if TYPE_CHECKING:
    pass


class PageServices(Struct, frozen=True):
    runner: Runner
    accounts: Accounts
    authenticator: RequestAuthenticator
    assets: Assets
    templates: Templates
    pending_counts: PendingCountCache
    cache: PageCache
    public_url: str
    """The public URL of the system, shown for users to paste into programs. If it is empty, the
    host of each request is shown instead."""


NOTICE: Final = "accord_notice"
NOTICE_UNDO: Final = "accord_notice_undo"
THEME: Final = "accord_theme"
HOST_NAME: Final = re.compile(r"[A-Za-z0-9.\-\[\]:]{1,255}")
COOKIE_PREFIX: Final = "accord_"
"""The prefix of the names of Accord's cookies."""
SECURE_COOKIE_PREFIX: Final = "__Host-"
"""An additional prefix of cookie names over https: browsers accept such cookies only over https and
only from the host itself."""
MAX_COOKIES: Final = 4_096
MAX_NOTICE: Final = 300
"""The most characters of a notice."""


class PageRequest(Struct, kw_only=True):
    """A request to a page: caller, parameters, and methods to run operations and respond."""

    services: PageServices
    caller: Caller | None
    """The signed-in user; None on public pages and without a session."""
    http: WebRequest
    credentials: RequestCredentials
    values: Mapping[str, str]
    """The values of the path's parameters, by name."""
    query: Words
    form: Words
    csrf: str = ""
    cookies: Mapping[str, str]
    undoable: str = ""
    """The id of the last change that this request made, if the change can be undone."""

    @property
    def user(self) -> Caller:
        """The signed-in caller; use it on pages that are not public."""
        assert self.caller is not None, "a page that is not public has a caller"
        return self.caller

    @property
    def is_partial(self) -> bool:
        """True if a script asks for a partial instead of a whole page."""
        fields = self.http.fields
        return fields.get("hx-request") == "true" and "hx-history-restore-request" not in fields

    @property
    def url(self) -> str:
        """The public base URL of the system, to paste into programs."""
        if self.services.public_url:
            return self.services.public_url
        host = self.http.fields.get("host", "")
        scheme = "https" if self.credentials.secure else "http"
        return f"{scheme}://{host}" if HOST_NAME.fullmatch(host) else ""

    # Operations

    async def run(self, operation: str, /, **arguments: Any) -> Any:
        """Run an operation as the signed-in caller and return its result.

        Raises ServiceError if the operation is refused, and InternalOperationError if it fails.
        """
        return (await self.outcome(operation, **arguments)).result

    async def outcome(self, operation: str, /, **arguments: Any) -> Outcome:
        """Run an operation as the signed-in caller, and return its outcome.

        The outcome has the result and the effects, such as changed objects. Arguments that are
        UNSET are left out.
        """
        runner = self.services.runner
        found = runner.registry[operation]
        given = {name: value for name, value in arguments.items() if value is not UNSET}
        outcome = await runner.run(found, lambda: convert(found, given, from_text=True), self.user)
        if outcome.change_id and can_be_undone(effect.kind for effect in outcome.effects):
            self.undoable = outcome.change_id
        return outcome

    # Answers

    async def page(self, template: str, /, *, status: int = 200, **context: Any) -> Html:
        """Return a whole page, rendered from `template`, which extends `frame.html`."""
        waiting = PendingCounts()
        if self.caller is not None:
            waiting = await self.services.pending_counts.get(self.caller, self.run)
        context |= {
            "navigation": NAVIGATION,
            "waiting": waiting,
            "notice": self.cookies.get(NOTICE, "")[:MAX_NOTICE],
            "notice_undo": self.cookies.get(NOTICE_UNDO, ""),
            "theme": self.cookies.get(THEME, ""),
        }
        return self._html(template, context, status)

    def piece(
        self, template: str, /, *, status: int = 200, headers: bytes = b"", **context: Any
    ) -> Html:
        """Return a partial: HTML that a script inserts into the page."""
        return self._html(template, context, status, headers)

    def go(self, path: str, notice: str = "") -> Redirect | Html:
        """Return a redirect to another page, which shows `notice`.

        The notice offers to undo the change that this request made.
        """
        headers = self.cookie(NOTICE, notice[:MAX_NOTICE], seconds=60) if notice else b""
        if notice and self.undoable:
            headers += self.cookie(NOTICE_UNDO, self.undoable, seconds=60)
        if not is_local_path(path):
            path = "/"
        if self.is_partial:  # a script would follow the redirect and insert a whole page
            return Html("", headers=headers + f"hx-redirect: {path}\r\n".encode("ascii"))
        return Redirect(path, headers)

    def cookie(self, name: str, value: str, *, seconds: int) -> bytes:
        """Return the header line that sets a cookie; the value must not be secret."""
        name, end = (
            (f"{SECURE_COOKIE_PREFIX}{name}", "; Secure") if self.credentials.secure else (name, "")
        )
        pair = f"{name}={quote(value)}; Path=/; HttpOnly; SameSite=Lax; Max-Age={seconds}{end}"
        return f"set-cookie: {pair}\r\n".encode("ascii")

    def _html(
        self, template: str, context: dict[str, Any], status: int, headers: bytes = b""
    ) -> Html:
        context |= {
            "request": self,
            "caller": self.caller,
            "csrf": self.csrf,
            "path": self.http.path,
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


def read_cookies(header: str, *, secure: bool) -> dict[str, str]:
    """Return the values of Accord's cookies by name, from a `cookie` header.

    Over https only cookies with the secure prefix count, because no other host can set those.
    """
    known = (
        (f"{SECURE_COOKIE_PREFIX}{COOKIE_PREFIX}",)
        if secure
        else (f"{SECURE_COOKIE_PREFIX}{COOKIE_PREFIX}", COOKIE_PREFIX)
    )
    pairs = (each.strip().partition("=") for each in header[:MAX_COOKIES].split(";"))
    return {
        name.removeprefix(SECURE_COOKIE_PREFIX): unquote(value)
        for name, _, value in pairs
        if name.startswith(known)
    }


Verb: TypeAlias = Literal["GET", "POST"]
PageFunction: TypeAlias = "Callable[[PageRequest], Awaitable[PageResponse]]"


class PageRoute(Struct, frozen=True):
    """A page: a function and its path, such as `/items/{id}`.

    The values of the path's parameters are in `PageRequest.values`.
    """

    verb: Verb
    path: str
    function: PageFunction
    is_public: bool
    """True if the page needs no sign-in."""
    is_upload: bool = False
    """True if the page receives files: its body is limited only by the limit of the server."""


class Pages:
    """The routes of all pages in one module."""

    def __init__(self) -> None:
        self._routes: Final[list[PageRoute]] = []

    def __iter__(self) -> Iterator[PageRoute]:
        return iter(self._routes)

    def get(self, path: str, *, is_public: bool = False) -> Callable[[PageFunction], PageFunction]:
        """Register a function that answers GET requests to `path`."""
        return self._add("GET", path, is_public)

    def post(
        self, path: str, *, is_public: bool = False, is_upload: bool = False
    ) -> Callable[[PageFunction], PageFunction]:
        """Register a function that answers the POST requests of a form to `path`."""
        return self._add("POST", path, is_public, is_upload)

    def _add(
        self, verb: Verb, path: str, is_public: bool, is_upload: bool = False
    ) -> Callable[[PageFunction], PageFunction]:
        def decorate(function: PageFunction) -> PageFunction:
            self._routes.append(PageRoute(verb, path, function, is_public, is_upload))
            return function

        return decorate
