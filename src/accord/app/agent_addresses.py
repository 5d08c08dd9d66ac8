"""Which addresses agents may have, as the settings say."""

from __future__ import annotations

from ipaddress import ip_network

from accord.a2a.protocol.addresses import AddressPolicy
from accord.app.settings import Settings


def agent_addresses(settings: Settings) -> AddressPolicy:
    """`allow_agents` has names of hosts, addresses and networks, told apart by how they look."""
    networks = tuple(each for each in settings.allow_agents if _is_network(each))
    hosts = frozenset(
        each.lower().rstrip(".") for each in settings.allow_agents if each not in networks
    )
    return AddressPolicy(
        allow_private=settings.allow_private_agents, hosts=hosts, networks=networks
    )


def _is_network(text: str) -> bool:
    try:
        ip_network(text)
    except ValueError:
        return False
    return True
