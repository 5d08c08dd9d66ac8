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
"""Whether somebody may use a component, by what it gives being true; asked often, and must be
quick. None is who did not have to say who they are."""


class Restricted(Protocol):
    """Something that is not for everybody."""

    @property
    def scopes(self) -> frozenset[str]:
        """What a principal needs."""

    @property
    def allow(self) -> Allow | None:
        """Who decides beside that; None where nobody does."""


def check_allow(allow: Allow | None) -> Allow | None:
    """Raises RegistrationError for a function whose answers would always be taken for yes."""
    if iscoroutinefunction(allow):
        raise RegistrationError("`allow` is a plain function of the principal, not an async one")
    return allow


def is_permitted(component: Restricted, principal: Principal | None) -> bool:
    """Whether a principal may use a component."""
    if component.scopes and (principal is None or not component.scopes <= principal.scopes):
        return False
    if component.allow is None:
        return True
    said = component.allow(principal)
    return bool(said) and not isawaitable(said)
