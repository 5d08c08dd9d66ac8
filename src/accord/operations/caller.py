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
    """Somebody, and the way they came."""

    user_id: str
    username: str
    role: Role
    via: Via
    face: Face
    scopes: frozenset[Scope] = frozenset()
    """Of the token; without meaning for callers who signed in."""
    token_id: str = ""
    client: str = ""
    """The program that acts for them, as it calls itself."""
    address: str = ""
    correlation_id: str = ""
    expires_at: str = ""
    """When the token or the login session ends."""
    traceparent: str = ""
    """The span that the call belongs to (W3C Trace Context), where the client told one."""
    run_id: str = ""
    """Of the workflow's run that calls in their name."""

    @property
    def is_administrator(self) -> bool:
        return self.role == "Administrator"

    def may(self, right: Right) -> bool:
        rule = RULES[right]
        if self.role not in rule.roles or (rule.scope is None and self.run_id):
            return False
        return self.via != "token" or rule.scope in self.scopes

    def require(self, right: Right, operation: str) -> None:
        """Raises ForbiddenError, which says whether it is the role or the token that lacks it."""
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
        """Administrators may do it to all, others to what is theirs. Raises ForbiddenError."""
        if not self.is_administrator and owner_id != self.user_id:
            raise ForbiddenError(f"{what} belongs to somebody else")


MAX_CLIENT: Final = 200


@lru_cache(1_024)  # programs say the same in every request
def client_name(text: str) -> str:
    """What a program calls itself, as it can be written down: printable, of limited length, and
    without secrets that should stand elsewhere."""
    name = redact(text)[:MAX_CLIENT]
    return name if name.isprintable() else "".join(c if c.isprintable() else "?" for c in name)


LOCAL: Final = Caller(user_id="", username="local", role="Administrator", via="local", face="cli")
"""Whoever may read the data directory, on the machine itself: they have everything anyway."""
SYSTEM: Final = Caller(
    user_id="", username="accord", role="Administrator", via="system", face="system"
)
"""Accord itself: what it does at its first start, and by the clock."""
