"""Signing in and out over REST: `POST /sessions` and `DELETE /sessions/current`.

The one thing over REST that is no operation: it is there before anybody is known. A password
goes to the accounts and nowhere else.
"""

from __future__ import annotations

from typing import Annotated, Final

from msgspec import Meta

from accord.jsonrpc.parameters import Parameter
from accord.operations.accounts.accounts import MAX_PASSWORD
from accord.operations.accounts.authentication import RequestAuthenticator
from accord.operations.accounts.credentials import (
    SESSION_SECONDS,
    Credentials,
    expired_cookie,
    session_cookie,
)
from accord.operations.arguments import Part
from accord.operations.errors import InvalidError, NotFoundError
from accord.operations.faces.answers import JSON, Answer, encode
from accord.operations.faces.query import read_query
from accord.operations.faces.rest_head import RestHead, Words

SIGN_IN: Final = "/sessions"
SIGN_OUT: Final = "/sessions/current"

PARAMETERS: Final = (
    Parameter(
        "username",
        Annotated[str, Meta(min_length=1, max_length=64)],
        "keyword_only",
        required=True,
    ),
    Parameter(
        "password",
        Annotated[str, Meta(min_length=1, max_length=MAX_PASSWORD)],
        "keyword_only",
        required=True,
    ),
)


class SignIn:
    """Begins a login session; implements `Target`."""

    is_private = False
    takes_body = True
    texts = ()
    writes = True

    def __init__(self, authenticator: RequestAuthenticator, root: str) -> None:
        self._authenticator = authenticator
        self._part = Part("SignIn", PARAMETERS)
        self._location = f"location: {root}{SIGN_OUT}\r\n".encode("ascii")

    def read_words(self, values: tuple[str, ...], query: str) -> Words:
        return read_query(query, known=frozenset(), lists=frozenset())

    async def answer(self, head: RestHead, credentials: Credentials, body: bytes) -> Answer:
        self.read_words(head.values, head.request.query)
        given = self._part.decode(body or b"{}")
        if head.conditions.idempotency_key is not None:
            raise InvalidError("idempotency_key", "nobody signs in twice by accident")
        signed_in = await self._authenticator.sign_in(
            given["username"], given["password"], credentials
        )
        cookie = session_cookie(signed_in.token, secure=credentials.secure, max_age=SESSION_SECONDS)
        lines = JSON + self._location + b"set-cookie: %b\r\n" % cookie.encode("ascii")
        return Answer(201, lines, encode(signed_in))


class SignOut:
    """Ends the login session that asks; implements `Target`."""

    is_private = True
    takes_body = False
    texts = ()
    writes = True

    def __init__(self, authenticator: RequestAuthenticator) -> None:
        self._authenticator = authenticator

    def read_words(self, values: tuple[str, ...], query: str) -> Words:
        return read_query(query, known=frozenset(), lists=frozenset())

    async def answer(self, head: RestHead, credentials: Credentials, body: bytes) -> Answer:
        caller = await self._authenticator.caller(credentials)
        self.read_words(head.values, head.request.query)
        if caller.via != "session":
            raise NotFoundError("you have not signed in: a token is revoked, not signed out")
        await self._authenticator.accounts.sign_out(credentials, caller)
        cookie = expired_cookie(secure=credentials.secure)
        return Answer(204, b"set-cookie: %b\r\n" % cookie.encode("ascii"))
