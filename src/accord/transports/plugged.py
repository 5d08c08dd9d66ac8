"""Transports that plugins add, by the scheme of their URLs: the name of the entry point."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

from msgspec import Struct

from accord.entry_points import PluginError, find
from accord.jsonrpc.channel import Channel
from accord.jsonrpc.errors import ConnectError
from accord.transports.listener import Accept, Listener
from accord.transports.options import Options


class Transport(Struct, frozen=True, kw_only=True):
    """What a plugin gives: how its URLs are connected to, and listened on."""

    open: Callable[[str, Options], Awaitable[Channel]]
    """A connection to a URL. Raises ConnectError."""
    listen: Callable[[str, Accept, Options], Awaitable[Listener]]
    """Listens at a URL. Raises ConnectError."""


def plugged(scheme: str) -> Transport | None:
    """The transport of a plugin; None where there is none for that scheme. Raises ConnectError
    where it cannot be loaded."""
    try:
        found = find("accord.transports", scheme)
        if found is None:
            return None
        transport = found.load()
        if not isinstance(transport, Transport):
            raise found.refused(f"{found.value} is no accord.plugins.Transport")
    except PluginError as error:
        raise ConnectError(
            str(error), recoverable=False, advice="See accord plugin list, and its own page."
        ) from error
    return transport


def transport_of(scheme: str) -> Transport:
    """The same of a scheme that is known to be one of a plugin. Raises ConnectError."""
    transport = plugged(scheme)
    assert transport is not None, "the scheme was looked up before"
    return transport
