"""Address policy for agents: a guard against requests into one's own network (SSRF). Pure.

Check the address that is actually connected to, after its name has been resolved: the name may
resolve to another address a moment later.
"""

from __future__ import annotations

from ipaddress import IPv4Address, IPv6Address, ip_address, ip_network
from typing import Final, TypeAlias

from msgspec import Struct

Address: TypeAlias = IPv4Address | IPv6Address

_METADATA: Final = frozenset((ip_address("fd00:ec2::254"), ip_address("fd20:ce::254")))
"""Addresses of cloud metadata services, besides the link-local 169.254.169.254."""
_NAT64: Final = ip_network("64:ff9b::/96")


class AddressPolicy(Struct, frozen=True, kw_only=True):
    """The addresses that may be connected to.

    Public addresses are always allowed. Private and loopback addresses are allowed if `hosts`
    contains the host name (as written in the URL), if `networks` contain the address, or if
    `allow_private` is true. Link-local addresses, and those of cloud metadata services, are never
    allowed.
    """

    allow_private: bool = False
    hosts: frozenset[str] = frozenset()
    networks: tuple[str, ...] = ()
    advice: str = "name its host in `hosts`, or its network in `networks`, of the AddressPolicy"
    """The end of a refusal's message: how an operator allows a private address."""

    def __post_init__(self) -> None:
        """Raise ValueError for a malformed network."""
        for network in self.networks:
            ip_network(network)

    def refusal(self, host: str, address: str) -> str:
        """Return the reason to refuse `address`, to which `host` resolved.

        Returns "" if the address is allowed.
        """
        try:
            ip = _embedded(ip_address(address.partition("%")[0]))
        except ValueError:
            return f"{address!r} is not an address"
        if ip.is_link_local or ip in _METADATA:
            return f"{ip} is link-local, where clouds keep secrets: agents are never there"
        if ip.is_multicast or ip.is_unspecified or _reserved(ip):
            return f"{ip} is not the address of a machine"
        if _is_public(ip) or self._allows(host, ip):
            return ""
        return f"{ip} is private, and not allowed here: {self.advice}"

    def _allows(self, host: str, ip: Address) -> bool:
        if self.allow_private or host.lower().rstrip(".") in self.hosts:
            return True
        return any(ip in ip_network(network) for network in self.networks)


def _embedded(ip: Address) -> Address:
    """Return the IPv4 address embedded in an IPv6 address, or the address itself."""
    if isinstance(ip, IPv4Address):
        return ip
    if ip in _NAT64:
        return IPv4Address(int(ip) & 0xFFFFFFFF)
    teredo = None if ip.teredo is None else ip.teredo[1]
    return ip.ipv4_mapped or ip.sixtofour or teredo or ip


def _is_public(ip: Address) -> bool:
    # RFC 3879 deprecates site-local addresses, but some networks still use them.
    return ip.is_global and not (isinstance(ip, IPv6Address) and ip.is_site_local)


def _reserved(ip: Address) -> bool:
    # ::1 is in a range that is called reserved, and is loopback all the same
    if ip.is_loopback:
        return False
    return ip.is_reserved or (isinstance(ip, IPv4Address) and ip in ip_network("0.0.0.0/8"))
