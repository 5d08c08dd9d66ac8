"""A pool of clients for agents, with their connections, addresses and secrets.

When the registration or the secret of an agent changes, its client is replaced; running calls
finish on the old client. Secrets come only from environment variables named `ACCORD_SECRET_…` and
from files of one folder. They are read again for each call, so they can be rotated at any time.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from pathlib import Path
from types import TracebackType
from typing import Any, Final, TypeAlias

import msgspec
from msgspec import Struct

from accord.a2a.client import Client, Trace
from accord.a2a.exchange import ApiKey, Auth, Bearer, Exchanger
from accord.a2a.protocol.addresses import AddressPolicy
from accord.a2a.protocol.calls import BOM, MAX_BODY_KEPT
from accord.a2a.protocol.errors import MalformedAnswerError, RefusedError
from accord.a2a.protocol.fields import Wire
from accord.a2a.protocol.model import TERMINAL, TaskState, state_of
from accord.a2a.protocol.outcome import ResultError, TaskResult
from accord.jsonrpc.protocol.codec import decode_json
from accord.jsonrpc.protocol.errors import ConnectError
from accord.transports.urls import WebAddress, parse_web_address
from accord.workflows.storage.agents import AgentAuth, AgentBearerAuth, AgentRow, ApiKeyAuth


def web_address(url: str) -> WebAddress:
    """Parse a URL into a web address. Raise RefusedError unless it is a valid http or https URL."""
    try:
        address = parse_web_address(url)
    except ConnectError as error:
        raise RefusedError("url", error.message) from error
    if address.scheme not in ("http", "https"):
        raise RefusedError("url", f"{address} is neither http nor https")
    return address


MAX_SECRET_BYTES: Final = 65_536

_VARIABLE: Final = re.compile(r"ACCORD_SECRET_[A-Z0-9_]{1,100}")
_FILE: Final = re.compile(r"[A-Za-z0-9_][A-Za-z0-9._-]{0,99}")
_PRINTABLE: Final = re.compile(r"[\x20-\x7e]+")


class SecretError(Exception):
    """A secret is missing or unreadable; the message has its reference, never its value."""


class Secrets:
    """A reader of secrets from the environment variables `environ` and the files in `folder`."""

    def __init__(self, folder: Path | None, environ: Mapping[str, str]) -> None:
        self._folder = folder
        self._environ = environ

    def read(self, reference: str) -> str:
        """Return the secret that `env:ACCORD_SECRET_NAME` or `file:NAME` refers to.

        Raise SecretError if the reference is invalid, or the secret is missing or unusable.
        """
        place, _, name = reference.partition(":")
        if place == "env" and _VARIABLE.fullmatch(name):
            found = self._environ.get(name)
        elif place == "file" and _FILE.fullmatch(name):
            found = self._read_file(name)
        else:
            raise SecretError(f"{reference[:80]!r} is neither env:ACCORD_SECRET_NAME nor file:NAME")
        if not found:
            raise SecretError(f"there is no secret {reference}")
        if not _PRINTABLE.fullmatch(found):
            raise SecretError(f"the secret {reference} has characters that cannot be sent")
        return found

    def _read_file(self, name: str) -> str | None:
        """Return the text of a secret file, without trailing line breaks.

        Symbolic links are not followed, so a name can only refer to a file inside the folder. Raise
        SecretError if the file cannot be read or is too large.
        """
        if self._folder is None:
            raise SecretError(
                "no folder of secrets is configured: start accord with --secrets FOLDER (setting"
                " secrets, ACCORD_SECRETS)"
            )
        try:
            fd = os.open(self._folder / name, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
            try:
                data = os.read(fd, MAX_SECRET_BYTES + 1)
            finally:
                os.close(fd)
        except OSError as error:
            raise SecretError(f"the secret file:{name} cannot be read: {error.strerror}") from None
        if len(data) > MAX_SECRET_BYTES:
            raise SecretError(
                f"the secret file:{name} is over the limit of {MAX_SECRET_BYTES:,} bytes"
            )
        return data.decode("utf-8", "replace").rstrip("\r\n")


MAX_ERROR: Final = 2_000
"""The maximum length of an error message that an agent sent as JSON, in characters."""
NO_OUTPUT: Final = "the agent's answer has no output: the whole of it is the output"

_MEMBERS: Final = frozenset(("task_id", "status", "output", "error"))
_JSON: Final = {"accept": "application/json", "content-type": "application/json"}


class _PlainRequest(Struct, frozen=True):
    task_id: str
    input: Any


class PlainAnswer(Struct, frozen=True):
    """The result in an agent's answer to a `PlainClient`, and a warning.

    `warning` names the deviation of the answer from the plain format; it is empty if there is none.
    """

    result: TaskResult
    warning: str = ""


class PlainClient:
    """A client of one agent that is called by plain HTTP instead of A2A.

    Each call is a POST request; input and result are plain JSON. The client is an asynchronous
    context manager.
    """

    def __init__(
        self,
        url: str,
        *,
        auth: Auth | None,
        policy: AddressPolicy,
        timeout: float,
        max_bytes: int,
        pool: int,
    ) -> None:
        self._address = web_address(url)
        self._auth = {} if auth is None else auth.headers
        self._settings: dict[str, Any] = {
            "policy": policy,
            "tls": None,
            "timeout": timeout,
            "max_bytes": max_bytes,
            "pool": pool,
        }
        self._exchanger: Exchanger

    async def __aenter__(self) -> PlainClient:
        self._exchanger = Exchanger(**self._settings)
        return self

    async def __aexit__(
        self,
        exc_type: type[BaseException] | None,
        exc: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self._exchanger.close()

    async def call(self, input: Any, *, task_id: str, message_id: str, trace: Trace) -> PlainAnswer:
        """Send `input` to the agent, and return its answer. Raise CallError on failure.

        `message_id` is sent as the Idempotency-Key, so the agent can recognise a repeated message.
        """
        request = msgspec.json.encode(_PlainRequest(task_id, input))
        headers = {**trace.headers, **_JSON, "idempotency-key": message_id, **self._auth}
        if trace.tell is not None:
            trace.tell("sent", request)
        body = await self._exchanger.ask("POST", self._address, headers, request)
        if trace.tell is not None:
            trace.tell("received", body)
        return read_plain_answer(body, task_id)

    async def ping(self) -> None:
        """Send a GET request to the agent's URL. Raise CallError if it gets no usable response."""
        await self._exchanger.ask("GET", self._address, {**self._auth, "accept": "*/*"})


def read_plain_answer(body: bytes, task_id: str) -> PlainAnswer:
    """Decode an agent's answer in the plain format.

    Raise MalformedAnswerError if it is invalid. These deviations are tolerated: a synonym as the
    status, such as "done", and a missing status beside an output or an error. A status of
    unfinished work is invalid, because there is no way to poll for the result. If a success has no
    `output` but other members, the whole answer becomes the output.
    """
    try:
        answer = decode_json(body.removeprefix(BOM), dict[str, Any])
    except (ValueError, msgspec.DecodeError) as error:
        why = f"the agent's answer is not valid: {error}"
        raise MalformedAnswerError(why, body=body[:MAX_BODY_KEPT]) from None
    answered_id, status, failure = answer.get("task_id"), answer.get("status"), answer.get("error")
    if answered_id is None:
        why = "the agent's answer is not valid: Object missing required field `task_id`"
        raise MalformedAnswerError(why, body=body[:MAX_BODY_KEPT])
    if isinstance(answered_id, bool) or str(answered_id) != task_id:
        why = f"the answer is for task {str(answered_id)[:80]!r}, not {task_id!r}"
        raise MalformedAnswerError(why, body=body[:MAX_BODY_KEPT])
    succeeded = _succeeded(answer, body)
    known = "success" if succeeded else "error"
    warning = (
        "" if status == known else f"the status is {_quoted(status)}: it is taken as {known!r}"
    )
    if not succeeded:
        return PlainAnswer(TaskResult(task_id, "error", None, _error(failure)), warning)
    if "output" in answer or answer.keys() <= _MEMBERS:
        return PlainAnswer(TaskResult(task_id, "success", answer.get("output")), warning)
    warning = "; ".join(filter(None, (warning, NO_OUTPUT)))
    return PlainAnswer(TaskResult(task_id, "success", answer), warning)


def _succeeded(answer: dict[str, Any], body: bytes) -> bool:
    status = answer.get("status")
    if status in ("", None) and (answer.get("error") or answer.get("output") is not None):
        return not answer.get("error")
    state = state_of(status)
    if state is TaskState.COMPLETED:
        return True
    if state in TERMINAL:
        return False
    why = f"the agent's answer is not valid: the status is {_quoted(status)}"
    raise MalformedAnswerError(f"{why}, not 'success' or 'error'", body=body[:MAX_BODY_KEPT])


def _error(value: Any) -> ResultError:
    """Convert the `error` member of an answer, an object or any other value, to a ResultError."""
    error = value if isinstance(value, dict) else {"message": value}
    code: Any = error.get("code")
    message: Any = error.get("message") or (value if error is value else "")
    if message and not isinstance(message, str):
        message = msgspec.json.encode(message).decode()[:MAX_ERROR]
    is_code = isinstance(code, str | int) and not isinstance(code, bool)
    return ResultError(
        code if is_code else "agent_error", message or "the agent failed, and did not say why"
    )


def _quoted(value: Any) -> str:
    return repr(str("" if value is None else value)[:40])


MAX_ANSWER: Final = 4 * 1024 * 1024
"""The maximum size of an agent's answer in bytes; the limit for a step's output is smaller."""
MAX_CLIENTS: Final = 1_000

_WIRES: Final[dict[str, Wire | None]] = {"auto": None, "a2a-0.3": Wire.V03, "a2a-1.0": Wire.V10}

AgentClient: TypeAlias = Client | PlainClient


class _ClientKey(Struct, frozen=True):
    """The settings of a client; if they change, the client is replaced."""

    url: str
    wire: str
    timeout: float
    pool: int
    auth: Auth | None


class PooledClient:
    """A client in the pool, with the number of calls that use it."""

    __slots__ = ("client", "key", "retired", "users")

    def __init__(self, key: _ClientKey, client: AgentClient) -> None:
        self.key = key
        self.client = client
        self.users = 0
        self.retired = False

    @property
    def secrets(self) -> list[str]:
        """The credentials of the client, to be redacted in the agent's responses."""
        auth = self.key.auth
        values = [] if auth is None else list(auth.headers.values())
        return [each.removeprefix("Bearer ") for each in values if each]


class ClientPool:
    """The clients of agents in one process. Belongs to one event loop."""

    def __init__(self, policy: AddressPolicy, secrets: Secrets) -> None:
        self._policy = policy
        self._secrets = secrets
        self._clients: dict[str, PooledClient] = {}

    async def take(self, agent: AgentRow) -> PooledClient:
        """Return the client for an agent; the caller must pass it to `release` after use.

        Raise RefusedError if the agent's secret cannot be read or its URL is invalid.
        """
        pooled = await self._pooled(agent)
        pooled.users += 1
        return pooled

    async def release(self, pooled: PooledClient) -> None:
        """Return a client to the pool after a call.

        If the client was replaced, it is closed as soon as no call uses it.
        """
        pooled.users -= 1
        if pooled.retired and not pooled.users:
            await pooled.client.__aexit__(None, None, None)

    def forget(self, agent: AgentRow) -> None:
        """Drop an agent's client, so that the next call makes a new one.

        The new client reads the agent's card again.
        """
        pooled = self._clients.pop(agent.name, None)
        if pooled is not None:
            pooled.retired = True

    async def close(self) -> None:
        """Close all clients with their connections, even those in use."""
        clients, self._clients = self._clients, {}
        for pooled in clients.values():
            await pooled.client.__aexit__(None, None, None)

    async def _pooled(self, agent: AgentRow) -> PooledClient:
        key = _ClientKey(
            agent.url, agent.wire, agent.timeout, agent.max_concurrency, self._auth(agent.auth)
        )
        pooled = self._clients.get(agent.name)
        if pooled is not None and pooled.key == key:
            return pooled
        await self._retire(agent.name)
        if len(self._clients) >= MAX_CLIENTS:
            await self._retire(next(iter(self._clients)))
        made = PooledClient(key, self._client(key))
        self._clients[agent.name] = made
        await made.client.__aenter__()
        return made

    async def _retire(self, name: str) -> None:
        pooled = self._clients.pop(name, None)
        if pooled is not None:
            pooled.retired = True
            if not pooled.users:
                await pooled.client.__aexit__(None, None, None)

    def _client(self, key: _ClientKey) -> AgentClient:
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
        """Return the credentials of an agent; None if it has none.

        Secrets are read on every call, because they may have been rotated. Raise RefusedError if a
        secret cannot be read.
        """
        try:
            match auth:
                case AgentBearerAuth(secret=secret):
                    return Bearer(self._secrets.read(secret))
                case ApiKeyAuth(secret=secret, header=header):
                    return ApiKey(self._secrets.read(secret), header)
                case _:
                    return None
        except SecretError as error:
            raise RefusedError("secret", str(error)) from None
