"""An MCP server of the stateless era that wants tokens."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tests.mcp.client.auth.authority import Authority
from tests.mcp.client.auth.site import Answer, Asked, Site

_RESULTS: dict[str, Any] = {
    "server/discover": {
        "supportedVersions": ["2026-07-28"],
        "capabilities": {"tools": {}},
        "ttlMs": 0,
        "cacheScope": "private",
    },
    "tools/list": {"tools": [], "ttlMs": 0, "cacheScope": "private"},
    "tools/call": {"content": [{"type": "text", "text": "done"}]},
}


class Service(Site):
    """Takes the tokens of its authority; `check` may want more of a request."""

    def __init__(self, authority: Authority, *, path: str = "/mcp") -> None:
        super().__init__()
        self.authority = authority
        self.path = path
        self.metadata: dict[str, Any] = {}
        self.metadata_at: list[str] = [f"/.well-known/oauth-protected-resource{path}"]
        self.challenge: str | None = None
        """The WWW-Authenticate header; None for one that says where the metadata is."""
        self.check: Callable[[Asked, str], Answer | None] = lambda asked, token: None
        self.scheme = "Bearer"
        self.routes[f"POST {path}"] = self.call

    @property
    def endpoint(self) -> str:
        return f"{self.url}{self.path}"

    @property
    def tokens(self) -> list[str]:
        """What the calls presented, in order."""
        return [asked.headers.get("authorization", "") for asked in self.to(f"POST {self.path}")]

    def publish(self) -> None:
        for place in self.metadata_at:
            self.routes[f"GET {place}"] = self.describe

    def describe(self, asked: Asked) -> Answer:
        document = {
            "resource": self.endpoint,
            "authorization_servers": [self.authority.issuer],
            **self.metadata,
        }
        return Answer(json={name: value for name, value in document.items() if value is not None})

    def call(self, asked: Asked) -> Answer:
        scheme, _, token = asked.headers.get("authorization", "").partition(" ")
        if scheme != self.scheme or token not in self.authority.granted:
            return self.unauthorized()
        refused = self.check(asked, token)
        if refused is not None:
            return refused
        message = asked.json
        result = {"resultType": "complete", **_RESULTS[message["method"]]}
        return Answer(json={"jsonrpc": "2.0", "id": message["id"], "result": result})

    def unauthorized(self) -> Answer:
        challenge = self.challenge
        if challenge is None:
            at = f"{self.url}{self.metadata_at[0]}"
            challenge = f'{self.scheme} error="invalid_token", resource_metadata="{at}"'
        return Answer(401, headers={"www-authenticate": challenge})

    def insufficient(self, scope: str) -> Answer:
        challenge = f'Bearer error="insufficient_scope", scope="{scope}"'
        return Answer(403, headers={"www-authenticate": challenge})
