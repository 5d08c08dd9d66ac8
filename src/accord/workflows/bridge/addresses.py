"""Addresses that tasks name, before anybody is asked."""

from __future__ import annotations

from accord.a2a.protocol.errors import RefusedError
from accord.jsonrpc.errors import ConnectError
from accord.transports.web_address import WebAddress, parse


def web_address(url: str) -> WebAddress:
    """The address that a URL of http or https names. Raises RefusedError."""
    try:
        address = parse(url)
    except ConnectError as error:
        raise RefusedError("url", error.message) from error
    if address.scheme not in ("http", "https"):
        raise RefusedError("url", f"{address} is neither http nor https")
    return address
