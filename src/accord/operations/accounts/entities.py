"""What operations on accounts give. What is secret is in no `repr`."""

from __future__ import annotations

from msgspec import UNSET, Struct, UnsetType

from accord.operations.rights import Role, Scope
from accord.operations.work import Changed


class User(Changed, kw_only=True):
    id: str
    username: str
    email: str
    role: Role
    active: bool
    temporary_password: bool
    """Whether somebody else chose the password; pages ask for another one at each sign-in."""
    version: int
    created_at: str
    updated_at: str


class Token(Changed, kw_only=True):
    id: str
    name: str
    user: str
    prefix: str
    """How it begins."""
    last_four: str
    scopes: list[Scope]
    created_at: str
    expires_at: str
    last_used_at: str | None
    revoked_at: str | None


class NewToken(Token, kw_only=True):
    token: str | UnsetType = UNSET
    """The token itself, which is shown this once."""

    def __repr__(self) -> str:
        return f"NewToken({self.id!r}, {self.name!r}, {self.user!r}, …)"


class LoginSession(Changed, kw_only=True):
    id: str
    client: str
    """What the browser or program calls itself."""
    address: str
    created_at: str
    seen_at: str
    expires_at: str


class SessionsEnded(Changed, kw_only=True):
    ended: int


class SignedIn(Struct, kw_only=True, frozen=True):
    """A login session that just began."""

    token: str
    """For programs: sent as a bearer token; pages have it in a cookie."""
    csrf_token: str
    """For pages: sent in X-CSRF-Token with everything that changes something."""
    expires_at: str
    user: User

    def __repr__(self) -> str:
        return f"SignedIn({self.user.username!r}, …)"


class FirstRun(Struct, kw_only=True, frozen=True):
    """The credentials of the first administrator, known to nobody else."""

    username: str
    password: str
    token: str

    def __repr__(self) -> str:
        return f"FirstRun({self.username!r}, …)"
