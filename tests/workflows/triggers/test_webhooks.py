"""Webhooks, over real HTTP: signed deliveries start runs, once each."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest
from msgspec import json
from msgspec.structs import replace

from accord.jsonrpc.protocol.channel import Limits
from accord.operations.ratelimit.bucket import MemoryLimiter
from accord.transports.http.server import listen_web
from accord.transports.options import Options
from accord.workflows.bridge.client_pool import Secrets
from accord.workflows.triggers.webhooks import (
    DEDUPLICATION_SECONDS,
    MAX_BODY,
    Deliveries,
    WebhookApp,
    sign,
)
from tests.workflows.triggers.site import NOW, Site

SECRETS = {"ACCORD_SECRET_BUILD": "a secret"}
BUILD = """name: build
input: {type: object, required: [branch]}
on: [{webhook: build, secret: "env:ACCORD_SECRET_BUILD"}]"""
BODY = b'{"branch": "main"}'


class Answer:
    """The answer to a delivery."""

    def __init__(self, data: bytes) -> None:
        head, _, self.body = data.partition(b"\r\n\r\n")
        lines = head.decode().split("\r\n")
        self.status = int(lines[0].split()[1])
        self.headers = dict(line.lower().split(": ", 1) for line in lines[1:])

    @property
    def json(self) -> Any:
        return json.decode(self.body)


class Sender:
    """Sends to the webhooks of a site."""

    def __init__(self, site: Site, port: int) -> None:
        self.site = site
        self._port = port

    async def send(
        self,
        body: bytes = BODY,
        *,
        path: str = "/hooks/build",
        method: str = "POST",
        secret: str = "a secret",
        late: float = 0,
        delivery: str = "",
        chunked: bool = False,
        **headers: str,
    ) -> Answer:
        fields = {
            "content-type": "application/json",
            "accord-signature": sign(secret, int(self.site.now - late), body),
            **({"accord-delivery": delivery} if delivery else {}),
            **{name.replace("_", "-"): value for name, value in headers.items()},
        }
        lines = "".join(f"{name}: {value}\r\n" for name, value in fields.items() if value)
        head = f"{method} {path} HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n{lines}"
        reader, writer = await asyncio.open_connection("127.0.0.1", self._port)
        if chunked:
            head += "transfer-encoding: chunked\r\n"
            body = b"%x\r\n%b\r\n0\r\n\r\n" % (len(body), body)
        else:
            head += f"content-length: {len(body)}\r\n"
        writer.write(f"{head}\r\n".encode() + body)
        try:
            return Answer(await reader.read())
        finally:
            writer.close()


@pytest.fixture
async def sender(site: Site) -> AsyncIterator[Sender]:
    async with sending(site) as found:
        yield found


@asynccontextmanager
async def sending(site: Site, **options: Any) -> AsyncIterator[Sender]:
    secrets = Secrets(None, SECRETS)
    deliveries = Deliveries(site.store, secrets, site.world.trail, now=lambda: site.now)
    limiter = MemoryLimiter(1, 40, clock=lambda: 0.0)
    app = WebhookApp(deliveries, runs="/api/v1/runs", limiter=limiter, **options)
    await app.start()
    limits = replace(Limits(), max_message_bytes=2 * MAX_BODY, max_queued_bytes=4 * MAX_BODY)
    listener = await listen_web("http://127.0.0.1:0/hooks", app, Options(limits=limits))
    try:
        yield Sender(site, int(listener.url.rpartition(":")[2].partition("/")[0]))
    finally:
        await app.close(5)
        await listener.close()


@pytest.mark.req("W-07")
async def test_a_signed_delivery_starts_a_run_as_who_saved_the_workflow(
    site: Site, sender: Sender
) -> None:
    await site.save(BUILD)
    answer = await sender.send(x_correlation_id="from-afar")
    assert answer.status == 202
    run_id = answer.json["run_id"]
    assert answer.json == {"run_id": run_id, "workflow": "build", "duplicate": False}
    assert answer.headers["location"] == f"/api/v1/runs/{run_id}"
    [run] = await site.runs()
    assert (run["id"], run["origin"], run["username"]) == (run_id, "webhook", "ada")
    assert (run["input"], run["correlation_id"]) == ({"branch": "main"}, "from-afar")
    [record] = site.world.trail.records
    assert (record.actor, record.operation, record.target, record.outcome) == (
        *("ada", "webhook", f"build@1, {run_id}", "done"),
    )
    assert (record.address, record.correlation_id) == ("127.0.0.1", "from-afar")


async def test_the_input_can_be_mapped(site: Site, sender: Sender) -> None:
    await site.save(
        """name: mapped
on:
  - webhook: build
    secret: env:ACCORD_SECRET_BUILD
    input: {branch: "${request.body.branch}", delivery: "${request.id}"}"""
    )
    assert (await sender.send(delivery="d-1")).status == 202
    assert [run["input"] for run in await site.runs()] == [{"branch": "main", "delivery": "d-1"}]


async def test_a_delivery_that_is_sent_again_starts_nothing(site: Site, sender: Sender) -> None:
    await site.save(BUILD)
    first = await sender.send(delivery="d-1")
    site.now += 100
    again = await sender.send(delivery="d-1")
    assert again.json == {**first.json, "duplicate": True}
    changed = await sender.send(delivery="d-2", late=100)  # somebody else sends what was signed
    assert changed.json == again.json
    other = await sender.send(delivery="d-3")
    assert other.json["run_id"] != first.json["run_id"]
    assert len(await site.runs()) == 2


async def test_without_an_id_the_same_signature_starts_nothing(site: Site, sender: Sender) -> None:
    await site.save(BUILD)
    first, again = await sender.send(), await sender.send()
    assert (first.json["run_id"], again.json["duplicate"]) == (again.json["run_id"], True)


async def test_deliveries_are_forgotten_after_some_days(site: Site, sender: Sender) -> None:
    await site.save(BUILD)
    await sender.send(delivery="d-1")
    site.now += DEDUPLICATION_SECONDS + 1
    await sender.send(delivery="d-2")
    rows = await site.store.fetch("SELECT key FROM webhook_deliveries WHERE created_at = $1", NOW)
    assert list(rows) == []


@pytest.mark.parametrize(
    "wrong",
    [
        {"secret": "another"},
        {"late": 301},
        {"late": -301},
        {"accord_signature": ""},
        {"accord_signature": "t=1,v1=zz"},
        {"path": "/hooks/unknown"},
    ],
)
async def test_what_is_not_genuine_is_refused_in_the_same_words(
    site: Site, sender: Sender, wrong: dict[str, Any]
) -> None:
    await site.save(BUILD)
    answer = await sender.send(**wrong)
    assert (answer.status, answer.json["code"]) == (403, "bad_signature")
    assert answer.json["detail"] == (
        "there is no such webhook, or the signature is missing, old or wrong"
    )
    assert await site.runs() == []
    [record] = site.world.trail.records
    reason = ("unknown_webhook", "") if "path" in wrong else ("bad_signature", "build")
    assert (record.outcome, record.error, record.target) == ("unauthenticated", *reason)


async def test_a_webhook_without_its_secret_refuses_all_and_says_why_in_the_log(
    site: Site, sender: Sender, caplog: pytest.LogCaptureFixture
) -> None:
    await site.save('name: build\non: [{webhook: build, secret: "env:ACCORD_SECRET_GONE"}]')
    assert (await sender.send()).status == 403
    assert "the webhook build has no secret" in caplog.text
    assert "env:ACCORD_SECRET_GONE" in caplog.text


@pytest.mark.parametrize(
    ("request_", "status", "code"),
    [
        ({"body": b"no"}, 400, "malformed_request"),
        ({"body": b'{"branch":"main","branch":"x"}'}, 422, "validation_failed"),
        ({"body": b"[" * 10_000}, 400, "malformed_request"),
        ({"delivery": "no spaces"}, 400, "malformed_request"),
        ({"body": b"[]"}, 422, "validation_failed"),
        ({"method": "GET"}, 405, "method_not_allowed"),
        ({"path": "/hooks/a/b"}, 404, "not_found"),
        ({"path": "/hooks"}, 404, "not_found"),
        ({"content_type": "text/plain"}, 415, "unsupported_media_type"),
        ({"content_encoding": "gzip"}, 415, "unsupported_media_type"),
        ({"body": b" " * (MAX_BODY + 1)}, 413, "content_too_large"),
        ({"body": b" " * (MAX_BODY + 1), "chunked": True}, 413, "content_too_large"),
        ({"body": b" " * (3 * MAX_BODY), "chunked": True}, 413, "content_too_large"),
    ],
)
async def test_what_cannot_be_taken_is_refused_with_a_reason(
    site: Site, sender: Sender, request_: dict[str, Any], status: int, code: str
) -> None:
    await site.save(BUILD)
    answer = await sender.send(**request_)
    assert (answer.status, answer.json["code"]) == (status, code)
    assert await site.runs() == []


async def test_an_input_that_does_not_fit_is_kept(site: Site, sender: Sender) -> None:
    await site.save(BUILD)
    answer = await sender.send(b"[]")
    said = "the input does not fit the workflow: the value is not of type object"
    assert answer.json["detail"] == said
    assert await site.letters() == [("bad_input", "build", said)]


async def test_whoever_sends_too_much_has_to_wait(site: Site, sender: Sender) -> None:
    await site.save(BUILD)
    for _ in range(3):
        assert (await sender.send(secret="guess")).status == 403
    for number in range(7):
        assert (await sender.send(delivery=f"d{number}")).status == 202
    late = await sender.send()
    assert late.status == 429
    assert int(late.headers["retry-after"]) >= 1


async def test_nothing_runs_in_the_name_of_who_is_not_active(site: Site, sender: Sender) -> None:
    await site.save(BUILD)
    await site.store.execute("UPDATE users SET active = 0 WHERE username = 'ada'")
    assert (await sender.send()).status == 422
    assert [code for code, _, _ in await site.letters()] == ["starter_inactive"]


async def test_more_than_can_be_taken_at_once_may_come_again(site: Site) -> None:
    await site.save(BUILD)
    async with sending(site, max_in_flight=0) as sender:
        answer = await sender.send()
    assert (answer.status, answer.headers["retry-after"]) == (503, "1")


async def test_while_the_database_is_away_senders_are_told_to_come_again(
    site: Site, sender: Sender
) -> None:
    await site.save(BUILD)
    await site.store.close()
    answer = await sender.send()
    assert (answer.status, answer.json["code"]) == (503, "unavailable")
