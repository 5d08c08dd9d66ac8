"""A client of the official SDK that has to get in: `python official.py token TOKEN | oauth URL MODE`.

Prints which tools it sees and what came of calling two of them. For `oauth` it goes where its
user would be sent.
"""

# mypy: disable-error-code="import-not-found,unused-ignore"

from __future__ import annotations

import asyncio
import json
import sys
from typing import Any
from urllib.parse import parse_qs, urlsplit

import httpx2
from mcp import Client
from mcp.client.auth import OAuthClientProvider
from mcp.client.auth.oauth2 import AuthorizationCodeResult
from mcp.client.streamable_http import streamable_http_client
from mcp.shared._httpx_utils import create_mcp_http_client
from mcp.shared.auth import OAuthClientMetadata


class Storage:
    """Keeps what it is given."""

    def __init__(self) -> None:
        self._tokens: Any = None
        self._client: Any = None

    async def get_tokens(self) -> Any:
        return self._tokens

    async def set_tokens(self, tokens: Any) -> None:
        self._tokens = tokens

    async def get_client_info(self) -> Any:
        return self._client

    async def set_client_info(self, client_info: Any) -> None:
        self._client = client_info


class User:
    """Allows everything."""

    def __init__(self) -> None:
        self._location = ""

    async def go(self, url: str) -> None:
        async with httpx2.AsyncClient() as browser:
            self._location = (await browser.get(url)).headers["location"]

    async def came_back(self) -> AuthorizationCodeResult:
        answer = parse_qs(urlsplit(self._location).query)
        return AuthorizationCodeResult(
            code=answer["code"][0],
            state=answer["state"][0],
            iss=answer.get("iss", [None])[0],
        )


def oauth(url: str) -> OAuthClientProvider:
    user = User()
    metadata = OAuthClientMetadata(
        client_name="official", redirect_uris=["http://127.0.0.1:3030/callback"]
    )
    return OAuthClientProvider(url, metadata, Storage(), user.go, user.came_back)


async def main(kind: str, token: str, url: str, mode: str) -> None:
    if kind == "token":
        http = create_mcp_http_client(headers={"authorization": f"Bearer {token}"})
    else:
        http = create_mcp_http_client(auth=oauth(url))
    async with (
        http,
        Client(streamable_http_client(url, http_client=http), mode=mode) as client,
    ):
        tools = [tool.name for tool in (await client.list_tools()).tools]
        whoami = (await client.call_tool("whoami", {})).content[0].text
        ordered = (await client.call_tool("order", {"what": "a lamp"})).content[0].text
    print(json.dumps({"tools": tools, "whoami": whoami, "ordered": ordered}))


asyncio.run(main(*sys.argv[1:5]))
