"""Secrets are read from allowed places only, and never appear in answers or logs."""

from __future__ import annotations

import os
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from accord.workflows.bridge.client_pool import MAX_SECRET_BYTES, SecretError, Secrets
from tests.a2a.scripted import http
from tests.workflows.bridge.unruly import Answer, done, refuse, reply, task03, unruly
from tests.workflows.bridge.yard import Yard, working

ENVIRON = {"ACCORD_SECRET_A": "s3cr3t", "PATH": "/bin", "ACCORD_SECRET_KEY": "x\r\nEvil: 1"}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    made = tmp_path / "secrets"
    made.mkdir()
    (made / "token").write_text("from-a-file\n")
    (made / "empty").write_text("")
    (made / "large").write_bytes(b"x" * (MAX_SECRET_BYTES + 1))
    (made / "folder").mkdir()
    (tmp_path / "outside").write_text("not for you")
    (made / "link").symlink_to(tmp_path / "outside")
    os.mkfifo(made / "pipe")
    return made


@pytest.fixture
def secrets(folder: Path) -> Secrets:
    return Secrets(folder, ENVIRON)


@pytest.fixture
async def yard(migrated_url: str, secrets: Secrets) -> AsyncIterator[Yard]:
    async with working(migrated_url, secrets=secrets) as made:
        yield made


def test_secrets_are_in_variables_and_files(secrets: Secrets) -> None:
    assert secrets.read("env:ACCORD_SECRET_A") == "s3cr3t"
    assert secrets.read("file:token") == "from-a-file"


@pytest.mark.parametrize(
    ("reference", "message"),
    [
        ("env:PATH", "'env:PATH' is neither env:ACCORD_SECRET_NAME nor file:NAME"),
        ("env:ACCORD_SECRET_", "neither"),
        ("env:ACCORD_SECRET_B", "there is no secret env:ACCORD_SECRET_B"),
        ("env:ACCORD_SECRET_KEY", "has characters that cannot be sent"),
        ("s3cr3t", "neither"),
        ("file:../outside", "neither"),
        ("file:/etc/passwd", "neither"),
        ("file:..", "neither"),
        ("file:folder/x", "neither"),
        ("file:.hidden", "neither"),
        ("file:tok\0en", "neither"),
        ("file:nowhere", "cannot be read: No such file or directory"),
        ("file:link", "cannot be read: Too many levels of symbolic links"),
        ("file:folder", "cannot be read: Is a directory"),
        ("file:empty", "there is no secret file:empty"),
        ("file:pipe", "there is no secret file:pipe"),
        ("file:large", "over the limit of 65,536 bytes"),
    ],
)
def test_nothing_else_is_read(secrets: Secrets, reference: str, message: str) -> None:
    with pytest.raises(SecretError) as refused:
        secrets.read(reference)
    assert message in str(refused.value)


def test_without_a_folder_there_are_no_files() -> None:
    with pytest.raises(SecretError, match="no folder of secrets is configured"):
        Secrets(None, {}).read("file:token")


@pytest.mark.parametrize(
    ("auth", "header", "value"),
    [
        ({"type": "bearer", "secret": "file:token"}, "authorization", "Bearer from-a-file"),
        ({"type": "api_key", "secret": "env:ACCORD_SECRET_A"}, "x-api-key", "s3cr3t"),
        (
            {"type": "api_key", "secret": "env:ACCORD_SECRET_A", "header": "X-Key"},
            "x-key",
            "s3cr3t",
        ),
    ],
)
@pytest.mark.parametrize("wire", ["a2a-0.3", "plain"])
async def test_calls_carry_them(
    yard: Yard, wire: str, auth: object, header: str, value: str, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level("DEBUG")
    async with unruly(lambda asked, n: done(asked) if wire != "plain" else b"") as agent:
        await yard.register("a", agent.url, wire=wire, auth=auth)
        await yard.told(await yard.ask("a"))
    assert agent.asked[0].headers[header] == value
    assert "s3cr3t" not in caplog.text
    assert "from-a-file" not in caplog.text


async def test_a_secret_that_is_replaced_is_used_at_once(yard: Yard, folder: Path) -> None:
    async with unruly(lambda asked, n: done(asked)) as agent:
        await yard.register("a", agent.url, auth={"type": "bearer", "secret": "file:token"})
        await yard.told(await yard.ask("a"))
        (folder / "token").write_text("another\n")
        await yard.told(await yard.ask("a"))
    assert [asked.headers["authorization"] for asked in agent.asked] == [
        "Bearer from-a-file",
        "Bearer another",
    ]


@pytest.mark.req("W-17")
@pytest.mark.parametrize(
    ("wire", "answer"),
    [
        ("a2a-0.3", lambda asked, n: http(b"you sent s3cr3t", status=403)),
        ("a2a-0.3", lambda asked, n: refuse(asked, -32602, "not s3cr3t")),
        ("a2a-0.3", lambda asked, n: reply(asked, task03("failed", "s3cr3t"))),
        ("plain", lambda asked, n: http(b'{"sent": "s3cr3t"}')),
    ],
)
async def test_an_agent_that_repeats_its_secret_does_not_make_it_known(
    yard: Yard, wire: str, answer: Answer, caplog: pytest.LogCaptureFixture
) -> None:
    async with unruly(answer) as agent:
        auth = {"type": "api_key", "secret": "env:ACCORD_SECRET_A"}
        await yard.register("a", agent.url, wire=wire, auth=auth)
        told = await yard.told(await yard.ask("a"))
    assert "[redacted]" in told.error.details["answered"]
    shown = f"{told.error} {await yard.letters()} {[each.__dict__ for each in caplog.records]}"
    assert "s3cr3t" not in shown


async def test_without_its_secret_an_agent_is_not_called(yard: Yard) -> None:
    async with unruly(lambda asked, n: done(asked)) as agent:
        auth = {"type": "bearer", "secret": "env:ACCORD_SECRET_B"}
        await yard.register("a", agent.url, auth=auth)
        told = await yard.told(await yard.ask("a"))
    assert (told.error.code, agent.asked) == ("secret", [])
    assert told.error.message == "there is no secret env:ACCORD_SECRET_B"
