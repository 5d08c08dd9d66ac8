"""Who may use a component: whose principal has its scopes, and whom its function allows.

Lists and calls ask here, so that what is listed can be called and nothing else.
"""

from __future__ import annotations

from collections.abc import Callable
from inspect import isawaitable, iscoroutinefunction
from typing import Protocol, TypeAlias

from accord.jsonrpc.errors import RegistrationError
from accord.mcp.server.principal import Principal

Allow: TypeAlias = Callable[[Principal | None], object]
"""Returns a true value if a principal may use a component. It is called often and must be quick.
The principal is None for an anonymous caller."""


class Restricted(Protocol):
    """A component with access rules."""

    @property
    def scopes(self) -> frozenset[str]:
        """The scopes that a principal needs."""

    @property
    def allow(self) -> Allow | None:
        """A further condition; None for none."""


def check_allow(allow: Allow | None) -> Allow | None:
    """Raise RegistrationError for an async function.

    Its coroutines would always count as true.
    """
    if iscoroutinefunction(allow):
        raise RegistrationError("`allow` is a plain function of the principal, not an async one")
    return allow


def is_permitted(component: Restricted, principal: Principal | None) -> bool:
    """Return whether a principal may use a component."""
    if component.scopes and (principal is None or not component.scopes <= principal.scopes):
        return False
    if component.allow is None:
        return True
    said = component.allow(principal)
    return bool(said) and not isawaitable(said)
