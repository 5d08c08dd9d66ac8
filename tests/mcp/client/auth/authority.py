"""An authorization server that is as right, or as wrong, as a test wants it."""

from __future__ import annotations

import base64
import hashlib
from typing import Any
from urllib.parse import urlencode

from tests.mcp.client.auth.site import Answer, Asked, Site


class Authority(Site):
    """Gives tokens to everyone who follows the rules; `metadata`, `answer` and `token` are put
    over what it would say."""

    def __init__(self, prefix: str = "") -> None:
        super().__init__()
        self.prefix = prefix
        self.metadata: dict[str, Any] = {}
        self.well_known = ["/.well-known/oauth-authorization-server" + prefix]
        self.answer: dict[str, str | None] = {}
        """Parameters of the authorization response; None leaves one out."""
        self.token: dict[str, Any] = {}
        """Members of the token response; None leaves one out."""
        self.refuses: dict[str, str] = {}
        """Errors, by grant type."""
        self.registered: list[dict[str, Any]] = []
        self.clients: dict[str, str] = {"known": "secret"}
        self.codes: dict[str, dict[str, str]] = {}
        self.refresh_tokens: set[str] = set()
        self._issued = 0
        self.granted: dict[str, str] = {}
        """Scopes of the tokens that were given."""
        self.routes = {
            f"GET {prefix}/authorize": self.authorize,
            f"POST {prefix}/token": self.give,
            f"POST {prefix}/register": self.register,
        }

    @property
    def issuer(self) -> str:
        return f"{self.url}{self.prefix}"

    def publish(self) -> None:
        """Have metadata, at the places of `well_known`."""
        for place in self.well_known:
            self.routes[f"GET {place}"] = self.describe

    def describe(self, asked: Asked) -> Answer:
        document = {
            "issuer": self.issuer,
            "authorization_endpoint": f"{self.issuer}/authorize",
            "token_endpoint": f"{self.issuer}/token",
            "registration_endpoint": f"{self.issuer}/register",
            "code_challenge_methods_supported": ["S256"],
            "token_endpoint_auth_methods_supported": ["none"],
            **self.metadata,
        }
        return Answer(json=_given(document))

    def authorize(self, asked: Asked) -> Answer:
        parameters = asked.parameters
        code = f"code-{len(self.codes) + 1}"
        self.codes[code] = parameters
        answer = {"code": code, "state": parameters["state"], **self.answer}
        location = f"{parameters['redirect_uri']}?{urlencode(_given(answer))}"
        return Answer(302, headers={"location": location})

    def give(self, asked: Asked) -> Answer:
        form = asked.form
        grant = form["grant_type"]
        if grant in self.refuses:
            return Answer(400, {"error": self.refuses[grant], "error_description": "no"})
        if grant == "authorization_code":
            scope = self._redeem(form)
        elif grant == "refresh_token":
            if form["refresh_token"] not in self.refresh_tokens:
                return Answer(400, {"error": "invalid_grant"})
            self.refresh_tokens.remove(form["refresh_token"])
            scope = form.get("scope", "")
        else:
            scope = form.get("scope", "")
        return Answer(json=self._issue(scope))

    def _redeem(self, form: dict[str, str]) -> str:
        asked = self.codes.pop(form["code"])
        digest = hashlib.sha256(form["code_verifier"].encode()).digest()
        challenge = base64.urlsafe_b64encode(digest).rstrip(b"=").decode()
        assert (challenge, "S256") == (asked["code_challenge"], asked["code_challenge_method"])
        assert form["redirect_uri"] == asked["redirect_uri"]
        assert form["resource"] == asked["resource"]
        return asked.get("scope", "")

    def _issue(self, scope: str) -> dict[str, Any]:
        self._issued += 1
        number = self._issued
        given = {
            "access_token": f"token-{number}",
            "token_type": "Bearer",
            "expires_in": 3600,
            "refresh_token": f"refresh-{number}",
            **self.token,
        }
        self.granted[str(given["access_token"])] = str(given.get("scope", scope))
        if given["refresh_token"] is not None:
            self.refresh_tokens.add(str(given["refresh_token"]))
        return _given(given)

    def register(self, asked: Asked) -> Answer:
        self.registered.append(asked.json)
        return Answer(201, {**asked.json, "client_id": f"client-{len(self.registered)}"})


def _given(values: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in values.items() if value is not None}
