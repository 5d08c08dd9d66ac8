"""Looks the names of hosts up, and lets through only what the policy allows.

The addresses that were judged are those that are connected to: a name that resolves to
something else a moment later (DNS rebinding) gains nothing.
"""

from __future__ import annotations

import asyncio
import socket

from accord.a2a.protocol.addresses import AddressPolicy
from accord.jsonrpc.errors import TransportError
from accord.transports.web_address import WebAddress


class AddressRefusedError(TransportError):
    """The address of a host must not be connected to."""

    default_message = "Address refused"
    recoverable = False
    advice = "Allow the host or its network where that is meant to be asked; the message says how."


class Guard:
    """Resolves for a `Requester`."""

    def __init__(self, policy: AddressPolicy) -> None:
        self._policy = policy

    async def resolve(self, address: WebAddress) -> list[str]:
        """The addresses of a host. Raises AddressRefusedError if any of them must not be
        connected to, and OSError where there are none."""
        found = await asyncio.get_running_loop().getaddrinfo(
            address.host, address.port, type=socket.SOCK_STREAM
        )
        hosts = list(dict.fromkeys(str(each[4][0]) for each in found))
        for host in hosts:
            why = self._policy.refusal(address.host, host)
            if why:
                raise AddressRefusedError(f"{address} is not asked: {why}")
        return hosts
