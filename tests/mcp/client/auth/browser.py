"""What a browser does with a user who allows everything."""

from __future__ import annotations

from accord.transports.http.requester import Requester
from accord.transports.options import Options
from accord.transports.urls import parse_web_address

REDIRECT = "http://127.0.0.1:33418/callback"


class Browser:
    """Goes where it is sent, and remembers it."""

    def __init__(self) -> None:
        self.visited: list[str] = []
        self.shown: list[tuple[int, str]] = []
        """Pages of the program itself."""

    async def redirected(self, url: str) -> str:
        """Where the authorization server sends the user: a `redirect_handler`."""
        self.visited.append(url)
        status, location, _ = await fetch(url)
        assert status == 302
        return location

    async def follow(self, url: str) -> None:
        """Visit the program's page too: an `open_browser`."""
        status, _, body = await fetch(await self.redirected(url))
        self.shown.append((status, body))


async def fetch(url: str) -> tuple[int, str, str]:
    """The status, location and body of a page."""
    requester = Requester(Options())
    try:
        response = await requester.request("GET", parse_web_address(url), {})
        body = await response.read(100_000)
        return response.status, response.headers.get("location", ""), body.decode()
    finally:
        requester.close()
