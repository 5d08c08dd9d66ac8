"""Lines to agents: a client with its connections for each, made anew when the agent's registration
or its secret changes. What is under way on an old line ends there."""

from __future__ import annotations

from typing import Final, TypeAlias

from msgspec import Struct

from accord.a2a.client.client import ApiKey, Auth, Bearer, Client
from accord.a2a.protocol.addresses import AddressPolicy
from accord.a2a.protocol.errors import RefusedError
from accord.a2a.protocol.fields import Wire
from accord.workflows.bridge.plain import PlainClient
from accord.workflows.bridge.secrets import SecretError, Secrets
from accord.workflows.storage.agents import AgentAuth, AgentRow, ApiKeyAuth, BearerAuth

MAX_ANSWER: Final = 4 * 1024 * 1024
"""Bytes of one answer; a step keeps less."""
MAX_LINES: Final = 1_000

_WIRES: Final[dict[str, Wire | None]] = {"auto": None, "a2a-0.3": Wire.V03, "a2a-1.0": Wire.V10}

AnyClient: TypeAlias = Client | PlainClient


class _Key(Struct, frozen=True):
    """What a line depends on."""

    url: str
    wire: str
    timeout: float
    pool: int
    auth: Auth | None


class Line:
    """A client, and how many use it."""

    __slots__ = ("client", "key", "retired", "users")

    def __init__(self, key: _Key, client: AnyClient) -> None:
        self.key = key
        self.client = client
        self.users = 0
        self.retired = False

    @property
    def secrets(self) -> list[str]:
        """What is not to be shown again if the agent repeats it."""
        auth = self.key.auth
        values = [] if auth is None else list(auth.headers.values())
        return [each.removeprefix("Bearer ") for each in values if each]


class Lines:
    """The lines of one process. Belongs to one event loop."""

    def __init__(self, policy: AddressPolicy, secrets: Secrets) -> None:
        self._policy = policy
        self._secrets = secrets
        self._lines: dict[str, Line] = {}

    async def take(self, agent: AgentRow) -> Line:
        """A line to this agent, to be let go of. Raises RefusedError where its secret cannot be
        had, or its URL is none."""
        line = await self._line(agent)
        line.users += 1
        return line

    async def let_go(self, line: Line) -> None:
        line.users -= 1
        if line.retired and not line.users:
            await line.client.__aexit__(None, None, None)

    def forget(self, agent: AgentRow) -> None:
        """Begin anew with an agent: its card may say something else by now."""
        line = self._lines.pop(agent.name, None)
        if line is not None:
            line.retired = True

    async def close(self) -> None:
        """End all connections, and what is under way on them."""
        lines, self._lines = self._lines, {}
        for line in lines.values():
            await line.client.__aexit__(None, None, None)

    async def _line(self, agent: AgentRow) -> Line:
        key = _Key(
            agent.url, agent.wire, agent.timeout, agent.max_concurrency, self._auth(agent.auth)
        )
        line = self._lines.get(agent.name)
        if line is not None and line.key == key:
            return line
        await self._retire(agent.name)
        if len(self._lines) >= MAX_LINES:
            await self._retire(next(iter(self._lines)))
        made = Line(key, self._client(key))
        self._lines[agent.name] = made
        await made.client.__aenter__()
        return made

    async def _retire(self, name: str) -> None:
        line = self._lines.pop(name, None)
        if line is not None:
            line.retired = True
            if not line.users:
                await line.client.__aexit__(None, None, None)

    def _client(self, key: _Key) -> AnyClient:
        if key.wire == "plain":
            return PlainClient(
                key.url,
                auth=key.auth,
                policy=self._policy,
                timeout=key.timeout,
                max_bytes=MAX_ANSWER,
                pool=key.pool,
            )
        return Client(
            key.url,
            wire=_WIRES[key.wire],
            auth=key.auth,
            policy=self._policy,
            timeout=key.timeout,
            max_bytes=MAX_ANSWER,
            pool=key.pool,
        )

    def _auth(self, auth: AgentAuth) -> Auth | None:
        """Read anew for every call: a secret may have been replaced."""
        try:
            match auth:
                case BearerAuth(secret=secret):
                    return Bearer(self._secrets.read(secret))
                case ApiKeyAuth(secret=secret, header=header):
                    return ApiKey(self._secrets.read(secret), header)
                case _:
                    return None
        except SecretError as error:
            raise RefusedError("secret", str(error)) from None
