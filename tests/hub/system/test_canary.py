"""Secrets are sent to where they belong and to where they do not, by every face and into every
error. Afterwards they are looked for in all that is left behind: they are nowhere."""

from __future__ import annotations

import base64
import io
import logging
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest
from msgspec import Struct
from opentelemetry import trace
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

from accord.app import runtime
from accord.app.composition import all_operations
from accord.operations.context import OperationContext
from accord.operations.logs import JsonFormat, TextFormat
from accord.operations.operation import Rest
from accord.operations.registry import Registry
from tests.hub.system.installation import Answer, Installation, Wire, password_of, running
from tests.store.cluster import Cluster

failing = Registry()
FAILING = ("explode", "explode_writing")


@failing.read(rest=Rest("GET", "/explosions"), tag="tests")
async def explode(work: OperationContext, *, text: str = "") -> str:
    """Fail, and say with what."""
    try:
        raise ValueError(f"password={text!r}")
    except ValueError as error:
        raise RuntimeError(f"nothing can be done with {text}") from error


@failing.write(rest=Rest("POST", "/explosions"), tag="tests")
async def explode_writing(work: OperationContext, *, text: str, token: str = "") -> str:
    """Fail in a transaction, in the words of the database."""
    await work.db.fetch(f"SELECT '{text}' FROM no_such_table")
    return text


class Secrets(Struct, frozen=True):
    """What nobody may find."""

    token: str
    other: str
    """A token that is well-formed and nobody's."""
    session: str
    password: str
    garbage: str = "garbage0canary0garbage"
    database: str = "postgresql://svc:canary0password@db.example/accord"

    @property
    def recognized(self) -> tuple[str, ...]:
        """Those that are known for what they are wherever they stand."""
        return self.token, self.other, self.session, self.database

    @property
    def needles(self) -> tuple[str, ...]:
        """What is looked for: of tokens all that is random."""
        return (
            *(each[11:] for each in (self.token, self.other, self.session)),
            self.password,
            self.garbage,
            "canary0password",
            base64.b64encode(f"uma:{self.password}".encode()).decode(),
        )


@contextmanager
def overheard() -> Iterator[io.StringIO]:
    """All that is logged, at level debug, in both formats."""
    said = io.StringIO()
    root = logging.getLogger()
    handlers = []
    for form in (JsonFormat(), TextFormat()):
        handler = logging.StreamHandler(said)
        handler.setFormatter(form)
        handlers.append(handler)
        root.addHandler(handler)
    level = root.level
    root.setLevel(logging.DEBUG)
    try:
        yield said
    finally:
        root.setLevel(level)
        for handler in handlers:
            root.removeHandler(handler)


@pytest.fixture(params=["sqlite", "postgresql"])
def database(request: pytest.FixtureRequest) -> str:
    if request.param == "sqlite":
        return ""
    cluster: Cluster = request.getfixturevalue("cluster")
    return cluster.database()


@pytest.mark.req("H-18")
def test_secrets_are_nowhere(
    tmp_path: Path, database: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    spans = InMemorySpanExporter()
    provider = TracerProvider()
    provider.add_span_processor(SimpleSpanProcessor(spans))
    monkeypatch.setattr(trace, "get_tracer_provider", lambda: provider)
    monkeypatch.setattr(runtime, "all_operations", with_failing)
    data = tmp_path / "data"
    with overheard() as log, running(data, database, log_level="debug", tracing=True) as here:
        secrets = secrets_of(here)
        answers = list(pushed(here, secrets))
        here.settle()
        texts = dict(left_by(here))
    assert spans.get_finished_spans()
    assert "nothing can be done with" in log.getvalue(), "failures are logged"
    texts["log"] = log.getvalue()
    texts["traces"] = "\n".join(span.to_json() for span in spans.get_finished_spans())
    for file in (each for each in data.rglob("*") if each.is_file()):
        texts[file.name] = file.read_bytes().decode("latin-1")
    for what, answer in answers:
        texts[f"the answer to {what}"] = f"{answer.headers} {answer.body.decode()}"
    found = [
        (where, needle, text[max(0, text.find(needle) - 300) : text.find(needle) + 100])
        for where, text in texts.items()
        for needle in secrets.needles
        if needle in text
    ]
    assert found == []


def with_failing(*parts: Any) -> Registry:
    found = all_operations(*parts)
    found.include(failing)
    return found


def secrets_of(here: Installation) -> Secrets:
    here.local("create_user", username="uma", role="Administrator", password=password_of("uma"))
    revoked = here.token("uma", "revoked")
    here.local("revoke_token", id="revoked", user="uma")
    return Secrets(
        token=here.token("uma", "canary"),
        other=revoked,
        session=here.sign_in("uma"),
        password=password_of("uma"),
    )


def left_by(here: Installation) -> Iterator[tuple[str, str]]:
    """All tables, the metrics."""
    names = (
        "SELECT name FROM sqlite_master WHERE type = 'table'"
        if here.system.runtime.store.engine == "sqlite"
        else "SELECT table_name AS name FROM information_schema.tables "
        "WHERE table_schema = 'public'"
    )
    for row in here.rows(names):
        rows = here.rows(f'SELECT * FROM "{row["name"]}"')
        yield (
            f"the table {row['name']}",
            "\n".join(repr([each[place] for place in range(len(each))]) for each in rows),
        )
    yield "metrics", here.wire().ask("GET", "/metrics").body.decode()


def pushed(here: Installation, secrets: Secrets) -> Iterator[tuple[str, Answer]]:
    """Everything that is sent, and what is answered to it."""
    good = here.wire(secrets.token)
    for secret in secrets.recognized:
        yield from as_words(good, secret)
        for answer in told_back(good, secret):
            assert 400 <= answer.status < 500 or answer.status == 200, answer
    for name, value in credentials(secrets):
        wire = here.wire()
        for method, path, body in (
            ("GET", "/api/v1/epics", None),
            ("POST", "/api/v1/epics", {"title": 1}),
            ("GET", "/api/v1/nothing", None),
            ("GET", "/", None),
            ("GET", "/metrics", None),
            ("POST", "/rpc", {"jsonrpc": "2.0", "id": 1, "method": "list_epics"}),
            ("GET", "/rpc", None),
            ("POST", "/api/v1/mcp", {"jsonrpc": "2.0", "id": 1, "method": "tools/list"}),
            ("GET", "/api/v1/mcp", None),
            ("DELETE", "/api/v1/mcp", None),
        ):
            yield (
                f"{method} {path} with {name}",
                wire.ask(method, path, body, headers={name: value}),
            )
    yield from passwords(here, secrets)


def credentials(secrets: Secrets) -> Iterator[tuple[str, str]]:
    """Headers in which secrets belong, right and wrong."""
    basic = base64.b64encode(f"uma:{secrets.password}".encode()).decode()
    for value in (secrets.other, secrets.token[:-1], secrets.session + "x", secrets.garbage):
        yield "Authorization", f"Bearer {value}"
        yield "Authorization", f"bearer  {value} {value}"
        yield "Authorization", value
        yield "Cookie", f"accord_session={value}; __Host-accord_session={value}"
    yield "Authorization", f"Basic {basic}"
    yield "Authorization", f"Negotiate {secrets.garbage}"
    yield "Authorization", f"{secrets.garbage} {secrets.password}"
    yield "Proxy-Authorization", f"Basic {basic}"
    yield "X-Csrf-Token", secrets.garbage


def passwords(here: Installation, secrets: Secrets) -> Iterator[tuple[str, Answer]]:
    """Passwords, where they belong and beside."""
    nobody, session, word = here.wire(), here.wire(secrets.session), secrets.password
    bodies: list[Any] = [
        {"username": "nobody", "password": word},
        {"username": word, "password": word},
        {"username": "uma", "password": word, "more": 1},
        {"username": 1, "password": word},
        {"username": "uma", "password": [word]},
        {"username": "uma", "password": {"x": word}},
        {"username": "uma", "password": word * 300},
        {"password": word},
        [word],
        word,
    ]
    for body in bodies:
        yield f"sign in {body}", nobody.ask("POST", "/api/v1/sessions", body)
    raw = f'{{"username": "uma", "password": "{word}"'.encode()
    yield "sign in by half", nobody.ask("POST", "/api/v1/sessions", raw=raw)
    yield "sign in at another place", nobody.ask("POST", "/api/v1/session", raw=raw + b"}")
    form = {"Content-Type": "application/x-www-form-urlencoded"}
    yield "sign in by a form", nobody.ask("POST", "/api/v1/sessions", raw=raw, headers=form)
    for arguments in (
        {"current_password": word, "new_password": "short"},
        {"current_password": f"not {word}", "new_password": f"new {word}"},
        {"current_password": word, "new_password": word * 100},
        {"current_password": word, "new_password": f"new {word}", "more": 1},
        {"current_password": [word], "new_password": f"new {word}"},
        {"current_password": word, "new_password": f"new {word}", "dry_run": True},
    ):
        yield "password", session.rest("POST", "/users/me/password", **arguments)
        yield "password", session.rpc("change_own_password", **arguments)
        yield "password", session.tool("change_own_password", **arguments)
    for arguments in (
        {"username": "nina", "password": word, "dry_run": True},
        {"username": "n", "password": word},
        {"username": "nina", "password": word, "role": "King"},
        {"username": "nina", "password": word, "idempotency_key": "nina"},
    ):
        yield "user", session.rest("POST", "/users", **arguments)
        yield "user", session.rpc("create_user", **arguments)
    yield "set", session.rest("PUT", "/users/{id}/password", id="nobody", password=word)
    yield "set", session.rest("PUT", "/users/{id}/password", id="nina", password=word + "1")
    yield "set", session.rpc("set_password", id="nina", password=[word])
    made = session.rest("POST", "/tokens", name="phone", idempotency_key="phone")
    assert made.status == 201
    again = session.rest("POST", "/tokens", name="phone", idempotency_key="phone")
    yield "made again", again
    assert again.headers["idempotent-replayed"] == "true"


def as_words(good: Wire, secret: str) -> Iterator[tuple[str, Answer]]:
    """A secret where anything else is expected."""
    word = quote(secret, safe="")
    for path in (
        f"/api/v1/epics/{word}",
        f"/api/v1/{word}",
        f"/{word}",
        f"/rpc/{word}",
        f"/api/v1/mcp/{word}",
        f"/api/v1/epics?cursor={word}",
        f"/api/v1/epics?{word}=1",
        f"/api/v1/epics?status={word}",
        f"/api/v1/search?q={word}",
        f"/api/v1/search?q=till&token={word}",
        f"/api/v1/explosions?text={word}",
        f"/healthz?{word}",
        f"/api/v1/users/{word}",
        f"/api/v1/audit-events?actor={word}",
        f"/api/v1/changes/{word}",
    ):
        for method in ("GET", "DELETE", "PATCH", "OPTIONS", "BREW"):
            yield f"{method} {path}", good.ask(method, path)
    for name in (
        *("User-Agent", "Idempotency-Key", "If-Match", "If-None-Match", "Origin", "Host"),
        *("X-Correlation-Id", "Traceparent", "X-Forwarded-For", "Accept", "X-Api-Key"),
        *("Mcp-Session-Id", "Last-Event-Id", "Mcp-Method"),
    ):
        headers = {name: secret}
        yield f"{name} read", good.ask("GET", "/api/v1/epics", headers=headers)
        yield f"{name} write", good.ask("POST", "/api/v1/epics", {"title": "A"}, headers=headers)
        call = message("create_epic", {"title": "B"})
        yield f"{name} rpc", good.ask("POST", "/rpc", call, headers=headers)
        call = message("tools/call", {"name": "create_epic", "arguments": {"title": "C"}})
        yield f"{name} mcp", good.ask("POST", "/api/v1/mcp", call, headers=headers)
    arguments: list[Any] = [
        {secret: 1},
        {"title": "A", secret: secret},
        {"title": [secret]},
        {"title": "A", "status": secret},
        {"title": "A", "assignee": secret},
        {"title": "A", "priority": secret},
        {"title": "A", "description": secret, "status": "nonsense"},
        {"title": secret * 50},
        {"title": "A", "idempotency_key": secret},
        {"title": "B", "idempotency_key": secret},
        [secret],
    ]
    for body in arguments:
        yield f"{body} rest", good.ask("POST", "/api/v1/epics", body)
        yield f"{body} rpc", good.ask("POST", "/rpc", message("create_epic", body))
        tool = {"name": "create_epic", "arguments": body}
        yield f"{body} mcp", good.ask("POST", "/api/v1/mcp", message("tools/call", tool))
    for operation in FAILING:
        yield operation, good.rpc(operation, text=secret)
        yield operation, good.tool(operation, text=secret)
    yield "explode_writing", good.rest("POST", "/explosions", text=secret, token=secret)
    yield "level", good.mcp("logging/setLevel", level=secret)
    client = {"name": secret, "version": secret}
    hello = {"protocolVersion": secret, "capabilities": {secret: {}}, "clientInfo": client}
    begun = good.mcp("initialize", **hello)
    yield "initialize", begun
    if "mcp-session-id" in begun.headers:
        headers = {
            "Mcp-Session-Id": begun.headers["mcp-session-id"],
            "Accept": "application/json, text/event-stream",
        }
        done = {"jsonrpc": "2.0", "method": "notifications/initialized"}
        yield "initialized", good.ask("POST", "/api/v1/mcp", done, headers=headers)
        call = message("tools/call", {"name": "create_epic", "arguments": {"title": "C"}})
        yield "known client", good.ask("POST", "/api/v1/mcp", call, headers=headers)
    for path in ("/rpc", "/api/v1/mcp", "/api/v1/epics"):
        for raw in (f'{{"{secret}"', f'["{secret}"]', f'"{secret}"', secret, secret * 1_000):
            yield f"raw {path}", good.ask("POST", path, raw=raw.encode())


def told_back(good: Wire, secret: str) -> Iterator[Answer]:
    """A secret where a protocol says back what it does not know, to whoever said it."""
    for uri in (f"epic://{secret}", secret, f"requirement://{secret}/x"):
        yield good.mcp("resources/read", uri=uri)
        yield good.mcp("resources/subscribe", uri=uri)
    yield good.mcp("prompts/get", name=secret)
    yield good.mcp("tools/call", name=secret)
    yield good.mcp(secret)
    yield good.rpc(secret)
    ref = {"type": "ref/prompt", "name": secret}
    argument = {"name": secret, "value": secret}
    yield good.mcp("completion/complete", ref=ref, argument=argument)
    for path in ("/rpc", "/api/v1/mcp"):
        for raw in (
            f'{{"jsonrpc": "2.0", "id": "{secret}", "method": "{secret}"}}',
            f'{{"jsonrpc": "{secret}", "id": 1, "method": "list_epics"}}',
            f'{{"jsonrpc": "2.0", "id": "{secret}", "method": "list_epics", "params": 1}}',
        ):
            yield good.ask("POST", path, raw=raw.encode())
        for name in ("Content-Type", "Mcp-Protocol-Version"):
            yield good.ask("POST", path, message("tools/list", {}), headers={name: secret})


def message(method: str, params: Any) -> dict[str, Any]:
    return {"jsonrpc": "2.0", "id": 1, "method": method, "params": params}
