"""What people may be called, and what they may be reached by. Pure."""

from __future__ import annotations

import re
from typing import Annotated, Final, TypeAlias

from msgspec import Meta

from accord.operations.accounts.common_passwords import is_common
from accord.operations.errors import InvalidError
from accord.operations.work import is_uuid

RESERVED: Final = frozenset({"unassigned"})
"""Usernames with a special meaning in filters."""
MIN_PASSWORD: Final = 10
GUESSED: Final = ("accord", "requirements", "requirement", "administrator", "admin", "password")
"""Words that a guess at a password of this system begins with."""
MIN_ELSE: Final = 5
"""Minimum number of letters or digits in a password apart from such words."""

Name: TypeAlias = Annotated[
    str,
    Meta(
        min_length=3,
        max_length=50,
        description="Letters of a-z, digits, '.', '_' and '-'; begins with a letter or digit.",
    ),
]
Email: TypeAlias = Annotated[str, Meta(max_length=254)]
Password: TypeAlias = Annotated[str, Meta(min_length=MIN_PASSWORD, max_length=256)]
Person: TypeAlias = Annotated[
    str, Meta(min_length=1, max_length=64, description="A username or the id of a user.")
]
Label: TypeAlias = Annotated[str, Meta(min_length=1, max_length=100)]
"""The name of a token, chosen by its owner."""

# ASCII only: letters of other scripts look alike and would allow impersonation.
_NAME: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{2,49}", re.ASCII)
_EMAIL: Final = re.compile(
    r"[^@\s\x00-\x1f\x7f<>\"(),:;\\]{1,64}@[^@\s\x00-\x1f\x7f<>\"(),:;\\]{1,253}"
)


def name_key(username: str) -> str:
    """Return the key by which usernames are compared: letter case is ignored."""
    return username.lower()


def is_name(text: str) -> bool:
    """Return True for a possible username."""
    return _NAME.fullmatch(text) is not None and not is_uuid(text)


def check_name(username: str) -> None:
    """Raise InvalidError for a text that cannot be a username."""
    if not is_name(username):
        raise InvalidError(
            "username",
            "must be 3 to 50 letters of a-z, digits, '.', '_' and '-', beginning with a letter or "
            "digit, and no UUID",
        )
    if name_key(username) in RESERVED:
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
    if is_common(password):
        raise InvalidError(field, "is among those that are guessed first: many have chosen it")
    if username and name_key(username) in password.lower() and len(password) < 2 * len(username):
        raise InvalidError(field, "must not be made of the username")
    if _is_guessed(password, username):
        raise InvalidError(field, "must not be made of words such as accord, admin or the username")


def _is_guessed(password: str, username: str) -> bool:
    """Return True for a guessable word with little else, such as a year."""
    folded = rest = password.casefold()
    for word in filter(None, (*GUESSED, name_key(username))):
        rest = rest.replace(word, " ")
    return rest != folded and sum(map(str.isalnum, rest)) < MIN_ELSE


def check_label(name: str) -> None:
    """Raise InvalidError for a name that is not printable or has outer blanks."""
    if not name.isprintable() or name != name.strip():
        raise InvalidError("name", "must be printable, without blanks at its ends")
