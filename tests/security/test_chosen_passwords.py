"""Which passwords nobody may choose, and that all others may be chosen."""

from __future__ import annotations

import pytest

from accord.operations.auth.passwords import random_password
from accord.operations.auth.users import (
    DIGEST_SIZE,
    check_password,
    is_common_password,
    password_digest,
)
from accord.operations.errors import InvalidError
from tools.common_passwords import PLACE, digests


@pytest.mark.parametrize(
    "password",
    [
        *("1234567890", "Password123", "PASSWORD123", "qwertyuiop", "1q2w3e4r5t", "iloveyou123"),
        *("aaaaaaaaaaaa", "abababababab"),
        *(
            "accord-admin-2024",
            "adminaccord1",
            "Requirements!!1",
            "ada.lovelace99",
            "!ada.lovelace!",
        ),
    ],
)
def test_a_password_that_is_guessed_first_is_refused_and_not_repeated(password: str) -> None:
    with pytest.raises(InvalidError) as refused:
        check_password(password, "ada.lovelace", "new_password")
    assert [each.pointer for each in refused.value.errors] == ["/new_password"]
    assert password not in str(refused.value)


@pytest.mark.parametrize(
    "password",
    [
        *("correct horse battery staple", "all in lower case", "98437198273", "!§$%&/()=?"),
        *(
            "пароль из слов",
            "my password is a sentence",
            "\U0001f40e\U0001f50b\U0001f4ce x 12",
            "wx" + "yz" * 120,
        ),
    ],
)
def test_any_other_may_be_chosen_whatever_it_is_made_of(password: str) -> None:
    check_password(password, "ada.lovelace", "password")


def test_passwords_that_are_made_for_somebody_may_be_chosen() -> None:
    for _ in range(100):
        check_password(random_password(), "ada.lovelace", "password")


def test_some_13_000_are_known_and_none_of_them_can_be_read() -> None:
    kept = PLACE.read_bytes()
    assert (
        13_000
        <= len({kept[at : at + DIGEST_SIZE] for at in range(0, len(kept), DIGEST_SIZE)})
        < 14_000
    )
    assert b"password" not in kept
    assert is_common_password("1234567890")


def test_the_file_has_those_in_order_that_are_long_enough() -> None:
    assert digests(["short", "long enough", "Long Enough", "another one"]) == b"".join(
        sorted({password_digest("long enough"), password_digest("another one")})
    )
