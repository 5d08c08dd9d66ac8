"""Who calls an operation, and how."""

from __future__ import annotations

from functools import lru_cache
from typing import Final, Literal, TypeAlias

from msgspec import Struct

from accord.operations.errors import ForbiddenError
from accord.operations.logs.redaction import redact
from accord.operations.rights import RULES, Right, Role, Scope

Via: TypeAlias = Literal["token", "session", "local", "system"]
"""`local` is the command line on the machine itself, `system` is Accord."""
Face: TypeAlias = Literal["rest", "rpc", "mcp", "a2a", "cli", "web", "system"]


class Caller(Struct, frozen=True, kw_only=True):
    """A user or the system, and the way a call came in."""

    user_id: str
    username: str
    role: Role
    via: Via
    face: Face
    scopes: frozenset[Scope] = frozenset()
    """Scopes of the token; meaningless for callers with a session."""
    token_id: str = ""
    client: str = ""
    """The name of the client program, as it calls itself."""
    address: str = ""
    correlation_id: str = ""
    expires_at: str = ""
    """The time at which the token or the login session ends."""
    traceparent: str = ""
    """The span of the call (W3C Trace Context), if the client sent one."""
    run_id: str = ""
    """The workflow run that calls in the name of this user."""

    @property
    def is_administrator(self) -> bool:
        return self.role == "Administrator"

    def may(self, right: Right) -> bool:
        rule = RULES[right]
        if self.role not in rule.roles or (rule.scope is None and self.run_id):
            return False
        return self.via != "token" or rule.scope in self.scopes

    def require(self, right: Right, operation: str) -> None:
        """Raise ForbiddenError, naming the missing role or scope, without this right."""
        if self.may(right):
            return
        rule = RULES[right]
        if self.role not in rule.roles:
            needed = " or ".join(sorted(rule.roles))
            raise ForbiddenError(
                f"{operation} needs the role {needed}; {self.username} is {self.role}",
                required_roles=sorted(rule.roles),
            )
        if rule.scope is None:
            raise ForbiddenError(
                f"{operation} needs you to sign in: no token and no workflow run can do it"
            )
        way = ""
        if right == "write" and self.may("propose"):
            way = ": propose it by propose_changes, for a person to accept"
        raise ForbiddenError(
            f"{operation} needs a token with the scope {rule.scope!r}{way}",
            required_scope=rule.scope,
        )

    def require_own(self, owner_id: str, what: str) -> None:
        """Raise ForbiddenError unless the caller is the owner or an administrator."""
        if not self.is_administrator and owner_id != self.user_id:
            raise ForbiddenError(f"{what} belongs to somebody else")


MAX_CLIENT: Final = 200


@lru_cache(1_024)  # programs send the same name in every request
def client_name(text: str) -> str:
    """Return a client name that is safe to record.

    It is printable, of limited length, and without misplaced secrets.
    """
    name = redact(text)[:MAX_CLIENT]
    return name if name.isprintable() else "".join(c if c.isprintable() else "?" for c in name)


LOCAL: Final = Caller(user_id="", username="local", role="Administrator", via="local", face="cli")
"""A user with access to the data directory on the machine itself, who has full access anyway."""
SYSTEM: Final = Caller(
    user_id="", username="accord", role="Administrator", via="system", face="system"
)
"""Accord itself: the first start, and scheduled work."""
