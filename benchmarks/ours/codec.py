"""Accord's codec as a subject: `read` gives the envelope, `decode` the typed message."""

from __future__ import annotations

import json
import sys
from typing import Any

from accord.jsonrpc.protocol.codec import decode, read
from accord.jsonrpc.protocol.messages import Envelope, Request, Success, encode
from benchmarks.peers.slices import measure


def parts(message: object) -> list[Any]:
    assert isinstance(message, Envelope | Request)
    return [message.id, message.method, json.loads(bytes(message.params))]  # type: ignore[arg-type]


def reads(count: int) -> None:
    for _ in range(count):
        read(DATA)


def decodes(count: int) -> None:
    for _ in range(count):
        decode(DATA)


def encodes(count: int) -> None:
    id, _, params = MESSAGE
    for _ in range(count):
        encode(Success(id, params))


DATA = sys.argv[2].encode()
MESSAGE = parts(decode(DATA))
match sys.argv[1]:
    case "read":
        measure(json.dumps(parts(read(DATA))), reads)
    case "decode":
        measure(json.dumps(MESSAGE), decodes)
    case "encode":
        measure(encode(Success(MESSAGE[0], MESSAGE[2])).decode(), encodes)
