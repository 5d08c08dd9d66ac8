"""The checks of how an agent answers requests that are wrong."""

from __future__ import annotations

from typing import Final

import msgspec

from accord.a2a.checker.conversation import Conversation
from accord.a2a.checker.envelope import Fault, Result, Said
from accord.a2a.protocol.versions import METHODS, VERSION, Verb, Wire

NO_METHOD: Final = "accord/no-such-method"
NO_VERSION: Final = "9.9"


async def check_errors(talk: Conversation) -> None:
    """Requests that are wrong, each in one way."""
    broken = await talk.post(b'{"jsonrpc": "2.0", "id": ', None)
    _expect(talk, "error-parse", broken, -32700)
    id = talk.new_id()
    no_request = await talk.post(msgspec.json.encode({"jsonrpc": "2.0", "id": id}), id)
    _expect(talk, "error-request", no_request, -32600)
    _expect(talk, "error-method", await talk.call(NO_METHOD, {}), -32601)
    _expect(talk, "error-params", await talk.ask(Verb.SEND, {}), -32602)
    if talk.wire is Wire.V03:
        talk.skipped("error-version", "0.3 has no header for versions")
    else:
        method = METHODS[talk.wire][Verb.GET]
        said = await talk.call(method, {"id": "x"}, {VERSION: NO_VERSION})
        _expect(talk, "error-version", said, -32009)


def _expect(talk: Conversation, rule: str, said: Said, code: int) -> None:
    if isinstance(said, Fault) and said.code == code:
        talk.passed(rule)
    else:
        talk.failed(rule, f"it was {'a result' if isinstance(said, Result) else said}")
