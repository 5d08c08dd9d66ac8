"""Where a request comes from, also behind proxies that are trusted. Pure.

`X-Forwarded-For` can be written by anybody. It is believed as far as trusted proxies wrote it: from
its end, up to the first address that is not one of theirs.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import lru_cache
from ipaddress import IPv4Address, IPv6Address, ip_address, ip_network
from typing import Final

MAX_HOPS: Final = 16


class Addresses:
    """The trusted proxies of one installation, and the client addresses behind them.

    Raises ValueError for text that is no network.
    """

    def __init__(self, trusted: Iterable[str] = ()) -> None:
        self._trusted = [ip_network(each, strict=False) for each in trusted]
        self.has_proxies = bool(self._trusted)
        """True if the headers of some proxies are believed."""

    def client(self, peer: str, fields: Mapping[str, str]) -> str:
        """Return the address of the client that sent a request.

        `peer` is the other end of the connection, with or without its port. Returns an empty string
        if the peer has no address, as with a Unix socket.
        """
        known = _parsed(peer)
        if known is None:
            return ""
        address, text = known
        if not self._is_trusted(address):
            return text
        for hop in reversed(fields.get("x-forwarded-for", "").split(",")[-MAX_HOPS:]):
            behind = _parsed(hop.strip())
            if behind is None:
                break
            address, text = behind
            if not self._is_trusted(address):
                break
        return text

    def is_secure(self, peer: str, scheme: str, fields: Mapping[str, str]) -> bool:
        """Return True if the client used https, to us or to a trusted proxy."""
        if scheme == "https":
            return True
        known = _parsed(peer)
        if known is None or not self._is_trusted(known[0]):
            return False
        return fields.get("x-forwarded-proto", "").strip().lower() == "https"

    def _is_trusted(self, address: IPv4Address | IPv6Address) -> bool:
        return any(address in network for network in self._trusted)


def _parsed(text: str) -> tuple[IPv4Address | IPv6Address, str] | None:
    """Parse `1.2.3.4`, `1.2.3.4:80`, `::1` or `[::1]:80`; return address and text."""
    if text.startswith("["):
        text = text[1:].partition("]")[0]
    elif text.count(":") == 1:
        text = text.partition(":")[0]
    return _address(text)


@lru_cache(1024)
def _address(text: str) -> tuple[IPv4Address | IPv6Address, str] | None:
    try:
        address = ip_address(text)
    except ValueError:
        return None
    mapped = address.ipv4_mapped if isinstance(address, IPv6Address) else None
    address = mapped or address
    return address, str(address)
