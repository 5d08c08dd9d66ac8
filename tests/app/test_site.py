"""A site of several applications, each at its path."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from accord.app.site import RoutedHead, SystemSite
from accord.jsonrpc.protocol.channel import ChannelInfo
from accord.transports.http.heads import Fields, WebRequest
from accord.transports.http.replies import Reply, text_reply
from accord.transports.http.web_app import JSON, Exchange, LivingApp, Stream


class App(LivingApp[str]):
    """Says where it was asked."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.heard: list[str] = []

    def judge(self, request: WebRequest) -> Reply | str:
        return text_reply(403, self.name) if request.place == "no" else f"{request.place}"

    def too_large(self, request: WebRequest, most: int) -> Reply:
        return text_reply(413, f"{self.name} {request.place} {most}")

    def handle(self, judged: str, body: bytes, exchange: Exchange) -> None:
        exchange.reply(f"{self.name} {judged}".encode())

    async def start(self) -> None:
        self.heard.append("start")

    async def close(self, drain: float) -> None:
        self.heard.append(f"close {drain}")


class Answered:
    """An exchange that keeps its answer."""

    on_gone: Callable[[], None] | None = None

    def __init__(self) -> None:
        self.body = b""

    @property
    def channel(self) -> ChannelInfo:
        raise NotImplementedError

    def reply(self, body: bytes, *, status: int = 200, headers: bytes = JSON) -> None:
        self.body = body

    def stream(self, *, status: int = 200, headers: bytes = JSON) -> Stream:
        raise NotImplementedError


def asked(path: str) -> WebRequest:
    return WebRequest("GET", path, path.removeprefix("/"), "", Fields([]), 0, True)


@pytest.mark.parametrize(
    ("path", "answer"),
    [
        ("/api/v1/mcp", b"mcp "),
        ("/api/v1/mcp/sse", b"mcp sse"),
        ("/api/v1/mcpx", b"rest mcpx"),
        ("/api/v1", b"rest "),
        ("/api/v1/epics/EP-001", b"rest epics/EP-001"),
        ("/", b"pages "),
        ("/api", b"pages api"),
    ],
)
def test_the_longest_path_that_fits_decides(path: str, answer: bytes) -> None:
    site = SystemSite({"": App("pages"), "/api/v1": App("rest"), "/api/v1/mcp": App("mcp")})
    judged = site.judge(asked(path))
    assert isinstance(judged, RoutedHead)
    exchange = Answered()
    site.handle(judged, b"", exchange)
    assert exchange.body == answer


def test_a_refusal_is_passed_on() -> None:
    site = SystemSite({"/a": App("a")})
    assert site.judge(asked("/a/no")) == text_reply(403, "a")
    assert site.too_large(asked("/a/x"), 5) == text_reply(413, "a x 5")


def test_where_nothing_is_404_is_answered() -> None:
    site = SystemSite({"/a": App("a")})
    assert site.judge(asked("/b")) == text_reply(404, "there is nothing here")
    assert site.too_large(asked("/b"), 5).status == 413


async def test_all_begin_and_end_with_the_site() -> None:
    apps = {"/a": App("a"), "/b": App("b")}
    site = SystemSite(apps)
    await site.start()
    await site.close(2.0)
    assert [app.heard for app in apps.values()] == [["start", "close 2.0"]] * 2
