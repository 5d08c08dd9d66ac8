"""Finds out who asks: from the head of a request, the connection it came over, and the accounts."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import Final

from msgspec import Struct
from msgspec.structs import replace

from accord.jsonrpc.channel import ChannelInfo
from accord.operations.accounts.accounts import Accounts
from accord.operations.accounts.addresses import Addresses
from accord.operations.accounts.credentials import Credentials, credentials_in
from accord.operations.caller import Caller, Face
from accord.operations.faces.asking import Asking, new_correlation_id, sent_traceparent
from accord.telemetry.current import current_traceparent

MOST_PLACES: Final = 4_096
"""How many connections are remembered with where they come from: clients repeat themselves."""


class Visit(Struct, frozen=True):
    """One request that is being answered, and where it came from."""

    asking: Asking
    address: str
    secure: bool
    """Whether it came by https."""
    correlation_id: str

    @property
    def credentials(self) -> Credentials:
        asking = self.asking
        if asking.credentials is not None:
            return asking.credentials
        return credentials_in(asking.method, asking.fields, secure=self.secure)


class Entrance:
    """The way in of one face. Raises ValueError for a proxy that is no network."""

    def __init__(
        self, accounts: Accounts, face: Face, *, trusted_proxies: Sequence[str] = ()
    ) -> None:
        self._accounts = accounts
        self._face: Face = face
        addresses = Addresses(trusted_proxies)

        @lru_cache(MOST_PLACES)
        def place(peer: str, scheme: str, forwarded: str, proto: str) -> tuple[str, bool]:
            fields = {"x-forwarded-for": forwarded, "x-forwarded-proto": proto}
            return addresses.client(peer, fields), addresses.is_secure(peer, scheme, fields)

        self._place = place

    def visit(self, asking: Asking, channel: ChannelInfo) -> Visit:
        """Where a request came from."""
        get = asking.fields.get
        address, secure = self._place(
            channel.address,
            channel.scheme,
            get("x-forwarded-for", ""),
            get("x-forwarded-proto", ""),
        )
        return Visit(asking, address, secure, asking.correlation_id or new_correlation_id())

    async def caller(self, visit: Visit) -> Caller:
        """Who it is. Raises UnauthenticatedError."""
        caller = await self._accounts.caller(
            visit.credentials,
            face=self._face,
            client=visit.asking.client,
            address=visit.address,
            correlation_id=visit.correlation_id,
        )
        trace = current_traceparent() or sent_traceparent(visit.asking.fields)
        return replace(caller, traceparent=trace) if trace else caller
