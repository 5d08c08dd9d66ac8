"""Finds out who asks: from the head of a request, the connection it came over, and the accounts."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec import Struct

from accord.jsonrpc.channel import ChannelInfo
from accord.operations.accounts.accounts import Accounts
from accord.operations.accounts.addresses import Addresses
from accord.operations.accounts.credentials import Credentials, credentials_in
from accord.operations.caller import Caller, Face
from accord.operations.faces.asking import Asking, new_correlation_id


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
        self._addresses = Addresses(trusted_proxies)

    def visit(self, asking: Asking, channel: ChannelInfo) -> Visit:
        """Where a request came from."""
        fields = asking.fields
        return Visit(
            asking,
            self._addresses.client(channel.address, fields),
            self._addresses.is_secure(channel.address, channel.scheme, fields),
            asking.correlation_id or new_correlation_id(),
        )

    async def caller(self, visit: Visit) -> Caller:
        """Who it is. Raises UnauthenticatedError."""
        return await self._accounts.caller(
            visit.credentials,
            face=self._face,
            client=visit.asking.client,
            address=visit.address,
            correlation_id=visit.correlation_id,
        )
