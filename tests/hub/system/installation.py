"""A whole installation that runs in this process, in a thread of its own, and who calls it.

Tests talk to it as any program does: over HTTP. Only what operators do on the machine itself is
done without it.
"""

from __future__ import annotations

import asyncio
import select
import threading
from collections.abc import Coroutine, Iterator
from contextlib import contextmanager
from http.client import HTTPConnection
from pathlib import Path
from typing import Any, TypeVar
from urllib.parse import quote, urlencode, urlsplit

import msgspec
from msgspec import Struct

from accord.app.settings import Settings
from accord.app.system import System, open_system
from accord.operations.audit.trail import AuditTrail
from accord.operations.context import ROLES, SCOPES, Role
from accord.store.store import Row
from tests.patience import PATIENCE as PATIENCE

T = TypeVar("T")

KEY = "a key of the tests that is long enough for everything that is derived from it"
NAMES: dict[Role, str] = {"Administrator": "ada", "User": "uma", "Commenter": "carl"}
SESSION, PLAIN = "session", "plain"
"""Credentials: of a login session, and a token whose maker named no scopes."""
REST, RPC, MCP = "rest", "rpc", "mcp"


class Answer(Struct, frozen=True):
    """What came back."""

    status: int
    headers: dict[str, str]
    body: bytes

    @property
    def json(self) -> Any:
        return msgspec.json.decode(self.body)


class Wire:
    """A connection that is kept, and what is shown on it to say who calls."""

    def __init__(self, url: str, token: str = "") -> None:
        at = urlsplit(url)
        self._connection = HTTPConnection(at.hostname or "", at.port, timeout=PATIENCE)
        self._own = {"Authorization": f"Bearer {token}"} if token else {}

    def close(self) -> None:
        self._connection.close()

    def ask(
        self,
        method: str,
        path: str,
        body: Any = None,
        *,
        raw: bytes | None = None,
        headers: dict[str, str] | None = None,
    ) -> Answer:
        """`raw` is sent as it is, `body` as JSON."""
        sent = msgspec.json.encode(body) if raw is None and body is not None else raw
        lines = {**self._own, **({"Content-Type": "application/json"} if sent else {})}
        if self._was_closed():
            self._connection.close()  # the next request connects again
        try:
            self._connection.request(method, path, sent, {**lines, **(headers or {})})
            response = self._connection.getresponse()
            read = response.read()
        except OSError:
            self._connection.close()
            raise
        found = {name.lower(): value for name, value in response.getheaders()}
        return Answer(response.status, found, read)

    def _was_closed(self) -> bool:
        """Whether the server ended the connection, as it does with those that are idle for long."""
        sock = self._connection.sock
        return sock is not None and bool(select.select([sock], [], [], 0)[0])

    def rest(self, verb: str, path: str, /, **arguments: Any) -> Answer:
        """A call over REST: `{names}` in its path are filled, the others go where they belong."""
        given = dict(arguments)
        for name in [each[1:-1] for each in path.split("/") if each.startswith("{")]:
            path = path.replace(f"{{{name}}}", quote(str(given.pop(name)), safe=""))
        if verb in ("GET", "DELETE"):
            query = urlencode(_words(given), doseq=True)
            return self.ask(verb, f"/api/v1{path}{query and '?'}{query}")
        if "definition" in given:  # which is the whole body
            query = urlencode(_words({k: v for k, v in given.items() if k != "definition"}))
            return self.ask(verb, f"/api/v1{path}{query and '?'}{query}", given["definition"])
        return self.ask(verb, f"/api/v1{path}", given)

    def rpc(self, operation: str, /, **arguments: Any) -> Answer:
        message = {"jsonrpc": "2.0", "id": 1, "method": operation, "params": arguments}
        return self.ask("POST", "/rpc", message)

    def mcp(self, method: str, /, **params: Any) -> Answer:
        message = {"jsonrpc": "2.0", "id": 1, "method": method, "params": params}
        return self.ask("POST", "/api/v1/mcp", message)

    def tool(self, operation: str, /, **arguments: Any) -> Answer:
        return self.mcp("tools/call", name=operation, arguments=arguments)


class Installation:
    """What runs, and how it is reached."""

    def __init__(self, system: System, loop: asyncio.AbstractEventLoop) -> None:
        self.system = system
        self.url = system.url
        self.database = system.settings.database_url
        self._loop = loop
        self._wires: dict[str, Wire] = {}

    def local(self, operation: str, /, **arguments: Any) -> Any:
        """The result of an operation, as the operator has it done on the machine itself."""
        return self.do(self.system.runtime.run(operation, **arguments)).result

    def do(self, work: Coroutine[Any, Any, T]) -> T:
        """What comes of something that runs beside the server."""
        return asyncio.run_coroutine_threadsafe(work, self._loop).result(PATIENCE)

    def rows(self, statement: str) -> list[Row]:
        """What stands in the database."""

        async def read() -> list[Row]:
            return await self.system.runtime.store.fetch(statement)

        return self.do(read())

    def settle(self) -> None:
        """Have everything written that is written later."""

        async def write() -> None:
            await self.system.runtime.accounts.flush()
            trail = self.system.runtime.runner.trail
            assert isinstance(trail, AuditTrail)
            await trail.flush()

        self.do(write())

    def wire(self, token: str = "") -> Wire:
        """A connection of whoever has the token."""
        if token not in self._wires:
            self._wires[token] = Wire(self.url, token)
        return self._wires[token]

    def sign_in(self, name: str) -> str:
        """The token of a new login session."""
        answer = self.wire().rest("POST", "/sessions", username=name, password=password_of(name))
        assert answer.status == 201, answer
        token: str = answer.json["token"]
        return token

    def add(self, name: str, role: Role) -> str:
        """A new person's login session."""
        self.local("create_user", username=name, role=role, password=password_of(name))
        return self.sign_in(name)

    def token(self, user: str, name: str, *scopes: str) -> str:
        """A new token."""
        made = self.local("create_token", user=user, name=name, scopes=list(scopes) or None)
        token: str = made.token
        return token

    def close(self) -> None:
        for wire in self._wires.values():
            wire.close()


class Staff:
    """Somebody of each role, with every kind of credential.

    Each got a token for each single scope while they were administrators, so that what a token
    says is more than its owner may do: both have to be looked at.
    """

    def __init__(self, here: Installation) -> None:
        self.tokens: dict[tuple[Role, str], str] = {}
        for role in ROLES:
            name = NAMES[role]
            here.local(
                "create_user", username=name, role="Administrator", password=password_of(name)
            )
            for scope in SCOPES:
                self.tokens[role, scope] = here.token(name, scope, scope)
            here.local("update_user", id=name, role=role)
            self.tokens[role, PLAIN] = here.token(name, PLAIN)
            self.tokens[role, SESSION] = here.sign_in(name)


def password_of(name: str) -> str:
    return f"the-password-of-{name}"


@contextmanager
def running(data: Path, database: str = "", **settings: Any) -> Iterator[Installation]:
    """A system on `data`, or on a database of PostgreSQL, at a port of its own."""
    chosen = Settings(
        data=str(data),
        database=database,
        secret_key=KEY if database else "",
        port=0,
        **{"rate_limit": 0, **settings},
    )
    ready, found = threading.Event(), list[Installation | BaseException]()
    stop: asyncio.Event | None = None

    async def serve() -> None:
        nonlocal stop
        stop = asyncio.Event()
        async with open_system(chosen) as system:
            found.append(Installation(system, asyncio.get_running_loop()))
            ready.set()
            await stop.wait()

    def run() -> None:
        try:
            asyncio.run(serve())
        except BaseException as error:
            found.insert(0, error)
            ready.set()

    thread = threading.Thread(target=run, name="installation")
    thread.start()
    ready.wait(PATIENCE)
    here = found[0]
    if isinstance(here, BaseException):
        raise here
    try:
        yield here
    finally:
        here.close()
        assert stop is not None
        here._loop.call_soon_threadsafe(stop.set)
        thread.join(PATIENCE)
    assert found == [here], found


def _words(given: dict[str, Any]) -> dict[str, Any]:
    """Values as a query says them."""
    return {
        name: str(value).lower() if isinstance(value, bool) else value
        for name, value in given.items()
    }
