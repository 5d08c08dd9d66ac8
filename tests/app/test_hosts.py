"""The agent card says where the server is, and never repeats a host that anybody made up."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from accord.a2a import Agent
from accord.a2a.protocol.card import WELL_KNOWN
from accord.app.settings import Settings
from accord.app.system import open_system, prepare
from tests.transports.asgi.service import uvicorn_serving
from tests.transports.http.service import Answer, RawClient

FOREIGN = ("evil.example", "evil.example:80", "6.6.6.6", "localhost.evil.example", "[::2]", "a@b")


async def card(url: str, host: str, verb: str = "GET", path: str = WELL_KNOWN) -> Answer:
    parts = urlsplit(url)
    connection = await asyncio.open_connection("127.0.0.1", parts.port)
    client = RawClient(*connection)
    try:
        client.send(f"{verb} {path} HTTP/1.1\r\nHost: {host}\r\n\r\n".encode())
        return await client.answer(head_only=verb == "HEAD")
    finally:
        await client.close()


def urls_in(answer: Answer) -> set[str]:
    """All URLs of the agent that a card names, in either format."""
    told = json.loads(answer.body)
    interfaces = told.get("supportedInterfaces", []) + told.get("additionalInterfaces", [])
    return {each["url"] for each in interfaces} | ({told["url"]} if "url" in told else set())


@pytest.mark.req("H-42")
@pytest.mark.parametrize("host", ["127.0.0.1", "0.0.0.0"])
async def test_the_card_has_the_address_that_was_reached(tmp_path: Path, host: str) -> None:
    settings = Settings(data=str(tmp_path / "data"), port=0, host=host, log_level="error")
    await prepare(settings)
    async with open_system(settings) as system:
        port = urlsplit(system.url).port
        for name in (f"127.0.0.1:{port}", f"localhost:{port}", "localhost"):
            for path in (WELL_KNOWN, f"/a2a{WELL_KNOWN}"):
                told = await card(system.url, name, path=path)
                assert (told.status, urls_in(told)) == (200, {f"http://127.0.0.1:{port}/a2a"})
        for name in FOREIGN:
            for verb in ("GET", "HEAD"):
                told = await card(system.url, name, verb)
                assert (name, told.status) == (name, 400 if name == "a@b" else 421)
                assert name.encode() not in told.body


@pytest.mark.req("H-42")
async def test_hosts_that_are_configured_are_named(tmp_path: Path) -> None:
    settings = Settings(
        data=str(tmp_path / "data"), port=0, allowed_hosts=["hub.example"], log_level="error"
    )
    await prepare(settings)
    async with open_system(settings) as system:
        told = await card(system.url, "hub.example:81")
        assert (told.status, urls_in(told)) == (200, {"http://hub.example:81/a2a"})
        assert (await card(system.url, "evil.example")).status == 421


@pytest.mark.req("H-42")
async def test_with_a_public_url_the_card_has_that(tmp_path: Path) -> None:
    settings = Settings(
        data=str(tmp_path / "data"), port=0, public_url="https://hub.example", log_level="error"
    )
    await prepare(settings)
    async with open_system(settings) as system:
        for name in ("hub.example", "127.0.0.1", "evil.example"):
            told = await card(system.url, name)
            assert (told.status, urls_in(told)) == (200, {"https://hub.example/a2a"})


def agent() -> Agent:
    made = Agent("echo")

    @made.skill
    def echo(text: str) -> str:
        return text

    return made


@pytest.mark.req("H-42")
async def test_agents_of_the_library_name_the_address_that_was_reached() -> None:
    async with agent().serve("http://127.0.0.1:0/agent") as serving:
        told = await card(serving.url, "localhost")
        assert (told.status, urls_in(told)) == (200, {serving.url})
        for name in FOREIGN[:-1]:
            assert (await card(serving.url, name)).status == 421
    async with agent().serve("http://127.0.0.1:0/", public_url="https://agent.example/") as serving:
        told = await card(serving.url, "evil.example")
        assert (told.status, urls_in(told)) == (200, {"https://agent.example/"})


@pytest.mark.req("H-42")
async def test_agents_under_asgi_name_the_address_that_was_reached() -> None:
    async with uvicorn_serving(agent().asgi()) as port:
        url = f"http://127.0.0.1:{port}/"
        told = await card(url, f"localhost:{port}")
        assert (told.status, urls_in(told)) == (200, {url})
        assert (await card(url, "evil.example")).status == 421
