"""Users, tokens and login sessions as values, and the rules for names and passwords.

Secrets appear in no `repr`. The most common leaked passwords are stored as sorted digests in
`common_passwords.bin`.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from functools import cache
from hashlib import sha256
from importlib.resources import files
from typing import Annotated, ClassVar, Final, TypeAlias

from msgspec import UNSET, Meta, Struct, UnsetType

from accord.operations.context import Changed, Role, Scope, is_uuid
from accord.operations.errors import InvalidError

COMMON_PASSWORDS_FILE: Final = "common_passwords.bin"
DIGEST_SIZE: Final = 5
"""Number of bytes kept of each digest of a common password.

Of all other passwords, one in eighty million is refused too, as it has the same digest by chance.
"""


def password_digest(password: str) -> bytes:
    """Return the digest of a password, ignoring letter case."""
    return sha256(password.casefold().encode(errors="replace")).digest()[:DIGEST_SIZE]


def is_common_password(password: str) -> bool:
    """Return True for a password from the list of leaked ones."""
    digests = _common_digests()
    digest = password_digest(password)
    place = bisect_left(digests, digest)
    return place < len(digests) and digests[place] == digest


@cache
def _common_digests() -> list[bytes]:
    raw = (files("accord.operations.auth") / COMMON_PASSWORDS_FILE).read_bytes()
    return [raw[at : at + DIGEST_SIZE] for at in range(0, len(raw), DIGEST_SIZE)]


RESERVED_USERNAMES: Final = frozenset({"unassigned"})
"""Usernames with a special meaning in filters."""
MIN_PASSWORD: Final = 10
GUESSABLE_WORDS: Final = (
    "accord",
    "requirements",
    "requirement",
    "administrator",
    "admin",
    "password",
)
"""Words that guessed passwords of this system are likely to begin with."""
MIN_OTHER_CHARACTERS: Final = 5
"""Minimum number of letters or digits in a password besides guessable words."""

Username: TypeAlias = Annotated[
    str,
    Meta(
        min_length=3,
        max_length=50,
        description="Letters of a-z, digits, '.', '_' and '-'; begins with a letter or digit.",
    ),
]
Email: TypeAlias = Annotated[str, Meta(max_length=254)]
Password: TypeAlias = Annotated[str, Meta(min_length=MIN_PASSWORD, max_length=256)]
UserReference: TypeAlias = Annotated[
    str, Meta(min_length=1, max_length=64, description="A username or the id of a user.")
]
TokenName: TypeAlias = Annotated[str, Meta(min_length=1, max_length=100)]
"""The name of a token, chosen by its owner."""

# ASCII only: letters of other scripts look alike and would allow impersonation.
_USERNAME: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{2,49}", re.ASCII)
_EMAIL: Final = re.compile(
    r"[^@\s\x00-\x1f\x7f<>\"(),:;\\]{1,64}@[^@\s\x00-\x1f\x7f<>\"(),:;\\]{1,253}"
)


def username_key(username: str) -> str:
    """Return the key by which usernames are compared: letter case is ignored."""
    return username.lower()


def is_username(text: str) -> bool:
    """Return True for a possible username."""
    return _USERNAME.fullmatch(text) is not None and not is_uuid(text)


def check_username(username: str) -> None:
    """Raise InvalidError for a text that cannot be a username."""
    if not is_username(username):
        raise InvalidError(
            "username",
            "must be 3 to 50 letters of a-z, digits, '.', '_' and '-', beginning with a letter or "
            "digit, and no UUID",
        )
    if username_key(username) in RESERVED_USERNAMES:
        raise InvalidError("username", f"{username!r} is reserved; choose another username")


def check_email(email: str) -> None:
    """Raise InvalidError for a text that is neither empty nor like an email address."""
    if email and _EMAIL.fullmatch(email) is None:
        raise InvalidError("email", "must be an address such as ada@example.org, or empty")


def check_password(password: str, username: str, field: str) -> None:
    """Raise InvalidError for a password that is easily guessed.

    The password is not repeated in the message.
    """
    if len(set(password)) < 4:
        raise InvalidError(field, "must have at least 4 different characters")
    if is_common_password(password):
        raise InvalidError(field, "is among those that are guessed first: many have chosen it")
    if (
        username
        and username_key(username) in password.lower()
        and len(password) < 2 * len(username)
    ):
        raise InvalidError(field, "must not be made of the username")
    if _is_guessable(password, username):
        raise InvalidError(field, "must not be made of words such as accord, admin or the username")


def _is_guessable(password: str, username: str) -> bool:
    """Return True for a guessable word with little else, such as a year."""
    folded = rest = password.casefold()
    for word in filter(None, (*GUESSABLE_WORDS, username_key(username))):
        rest = rest.replace(word, " ")
    return rest != folded and sum(map(str.isalnum, rest)) < MIN_OTHER_CHARACTERS


def check_token_name(name: str) -> None:
    """Raise InvalidError for a name that is not printable, or begins or ends blank."""
    if not name.isprintable() or name != name.strip():
        raise InvalidError("name", "must be printable, without blanks at its ends")


class User(Changed, kw_only=True):
    id: str
    username: str
    email: str
    role: Role
    active: bool
    temporary_password: bool
    """True if somebody else chose the password; pages ask for another one at each sign-in."""
    version: int
    created_at: str
    updated_at: str


class AccessToken(Changed, kw_only=True):
    __schema_name__: ClassVar[str] = "Token"

    id: str
    name: str
    user: str
    prefix: str
    """The first characters of the token."""
    last_four: str
    scopes: list[Scope]
    created_at: str
    expires_at: str
    last_used_at: str | None
    revoked_at: str | None


class NewToken(AccessToken, kw_only=True):
    token: str | UnsetType = UNSET
    """The token itself, which is returned only once, when it is created."""

    def __repr__(self) -> str:
        return f"NewToken({self.id!r}, {self.name!r}, {self.user!r}, …)"


class LoginSession(Changed, kw_only=True):
    id: str
    client: str
    """The name of the browser or program, as it calls itself."""
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
