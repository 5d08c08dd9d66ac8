"""How agents are reached, as the settings say: which addresses they may have, where secrets are."""

from __future__ import annotations

import os
from ipaddress import ip_network
from pathlib import Path
from typing import Final

from accord.a2a.protocol.addresses import AddressPolicy
from accord.app.settings import Settings
from accord.workflows.bridge.client_pool import Secrets

ADVICE: Final = (
    "start accord with --allow-agents and the host or its network (setting allow_agents,"
    " ACCORD_ALLOW_AGENTS)"
)


def agent_addresses(settings: Settings) -> AddressPolicy:
    """`allow_agents` has names of hosts, addresses and networks, told apart by how they look."""
    networks = tuple(each for each in settings.allow_agents if _is_network(each))
    hosts = frozenset(
        each.lower().rstrip(".") for each in settings.allow_agents if each not in networks
    )
    return AddressPolicy(
        allow_private=settings.allow_private_agents,
        hosts=hosts,
        networks=networks,
        advice=ADVICE,
    )


def agent_secrets(settings: Settings) -> Secrets:
    """Where the secrets of agents and webhooks are found."""
    return Secrets(Path(settings.secrets) if settings.secrets else None, os.environ)


def _is_network(text: str) -> bool:
    try:
        ip_network(text)
    except ValueError:
        return False
    return True
