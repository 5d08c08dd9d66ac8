"""OAuth for clients: users, programs, workloads and enterprise identities.

Exports the names that applications need. Modules are loaded when they are first used.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from accord.lazy_names import lazy

_HOMES = {
    "AuthorizationError": "accord.mcp.client.auth.errors",
    "ClientCredentials": "accord.mcp.client.auth.client_credentials",
    "DiscoveryError": "accord.mcp.client.auth.errors",
    "EnterpriseManaged": "accord.mcp.client.auth.assertions",
    "FileStorage": "accord.mcp.client.auth.storage",
    "InsufficientScopeError": "accord.mcp.client.auth.errors",
    "MemoryStorage": "accord.mcp.client.auth.storage",
    "OAuth": "accord.mcp.client.auth.oauth",
    "OAuthError": "accord.mcp.client.auth.errors",
    "PrivateKey": "accord.mcp.client.auth.keys",
    "Storage": "accord.mcp.client.auth.storage",
    "UntrustedError": "accord.mcp.client.auth.errors",
    "WorkloadIdentity": "accord.mcp.client.auth.assertions",
}

__all__ = list(_HOMES)


__getattr__, __dir__ = lazy(__name__, _HOMES)

if TYPE_CHECKING:
    from accord.mcp.client.auth.assertions import (
        EnterpriseManaged as EnterpriseManaged,
        WorkloadIdentity as WorkloadIdentity,
    )
    from accord.mcp.client.auth.client_credentials import ClientCredentials as ClientCredentials
    from accord.mcp.client.auth.errors import (
        AuthorizationError as AuthorizationError,
        DiscoveryError as DiscoveryError,
        InsufficientScopeError as InsufficientScopeError,
        OAuthError as OAuthError,
        UntrustedError as UntrustedError,
    )
    from accord.mcp.client.auth.keys import PrivateKey as PrivateKey
    from accord.mcp.client.auth.oauth import OAuth as OAuth
    from accord.mcp.client.auth.storage import (
        FileStorage as FileStorage,
        MemoryStorage as MemoryStorage,
        Storage as Storage,
    )
