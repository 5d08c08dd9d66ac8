"""Find transports that plugins add, by the scheme of their URLs: the entry point's name."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

from msgspec import Struct

from accord.entry_points import PluginError, find
from accord.jsonrpc.protocol.channel import Channel
from accord.jsonrpc.protocol.errors import ConnectError
from accord.transports.options import Accept, Listener, Options


class Transport(Struct, frozen=True, kw_only=True):
    """A transport of a plugin: functions that connect to its URLs and listen on them."""

    open: Callable[[str, Options], Awaitable[Channel]]
    """Connects to a URL. Raises ConnectError."""
    listen: Callable[[str, Accept, Options], Awaitable[Listener]]
    """Listens at a URL. Raises ConnectError."""


def plugged(scheme: str) -> Transport | None:
    """Return the plugin's transport for `scheme`, None if there is none.

    Raises ConnectError if it cannot be loaded.
    """
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
    """Return the transport for a scheme that a plugin is known to have. Raises ConnectError."""
    transport = plugged(scheme)
    assert transport is not None, "the scheme was looked up before"
    return transport
