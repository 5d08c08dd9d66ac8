"""OAuth for clients: users, programs, workloads and enterprise identities.

Exports the names that applications need. Modules are loaded when they are first used.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from accord import lazy_names

_HOMES = {
    "AuthorizationError": "accord.mcp.client.auth.web",
    "ClientCredentials": "accord.mcp.client.auth.client_credentials",
    "DiscoveryError": "accord.mcp.client.auth.web",
    "EnterpriseManaged": "accord.mcp.client.auth.client_credentials",
    "FileStorage": "accord.mcp.client.auth.tokens",
    "InsufficientScopeError": "accord.mcp.client.auth.web",
    "MemoryStorage": "accord.mcp.client.auth.tokens",
    "OAuth": "accord.mcp.client.auth.authorization_code",
    "OAuthError": "accord.mcp.client.auth.web",
    "PrivateKey": "accord.mcp.client.auth.dpop",
    "Storage": "accord.mcp.client.auth.tokens",
    "UntrustedError": "accord.mcp.client.auth.web",
    "WorkloadIdentity": "accord.mcp.client.auth.client_credentials",
}

__all__ = list(_HOMES)


__getattr__, __dir__ = lazy_names(__name__, _HOMES)

if TYPE_CHECKING:
    from accord.mcp.client.auth.authorization_code import OAuth as OAuth
    from accord.mcp.client.auth.client_credentials import (
        ClientCredentials as ClientCredentials,
        EnterpriseManaged as EnterpriseManaged,
        WorkloadIdentity as WorkloadIdentity,
    )
    from accord.mcp.client.auth.dpop import PrivateKey as PrivateKey
    from accord.mcp.client.auth.tokens import (
        FileStorage as FileStorage,
        MemoryStorage as MemoryStorage,
        Storage as Storage,
    )
    from accord.mcp.client.auth.web import (
        AuthorizationError as AuthorizationError,
        DiscoveryError as DiscoveryError,
        InsufficientScopeError as InsufficientScopeError,
        OAuthError as OAuthError,
        UntrustedError as UntrustedError,
    )
