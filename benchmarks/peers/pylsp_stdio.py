"""python-lsp-jsonrpc over stdio: `echo` as a plain function."""

# mypy: disable-error-code="import-not-found"

from __future__ import annotations

import sys
from typing import Any

from pylsp_jsonrpc.endpoint import Endpoint
from pylsp_jsonrpc.streams import JsonRpcStreamReader, JsonRpcStreamWriter


def echo(params: dict[str, Any]) -> Any:
    return params["text"]


writer = JsonRpcStreamWriter(sys.stdout.buffer)
JsonRpcStreamReader(sys.stdin.buffer).listen(Endpoint({"echo": echo}, writer.write).consume)
