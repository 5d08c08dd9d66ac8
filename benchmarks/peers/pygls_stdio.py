"""pygls over stdio, its plain JSON-RPC server: `echo` as a plain function."""

# mypy: disable-error-code="import-not-found"

from __future__ import annotations

import logging
from typing import Any

from pygls.protocol import JsonRPCProtocol, default_converter
from pygls.server import JsonRPCServer


def echo(params: Any) -> Any:
    return params.text


logging.disable(logging.WARNING)
server = JsonRPCServer(JsonRPCProtocol, default_converter)
server.protocol.fm.feature("echo")(echo)
server.start_io()
