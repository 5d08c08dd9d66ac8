"""What is secret does not stand in a log."""

from __future__ import annotations

import pytest
from hypothesis import given, strategies as st

from accord.operations.auth.credentials import make_token
from accord.operations.logs import MAX_DEPTH, MAX_TEXT, redact, redact_value

PAT = "accord_pat_" + "Ab1" * 12
JWT = "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiJhZGEifQ.c2lnbmF0dXJlLW9mLWl0"


@pytest.mark.req("H-18")
@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (f"token {PAT} is unknown", "token accord_pat_[redacted] is unknown"),
        (f"accord_ses_{'x' * 36}", "accord_ses_[redacted]"),
        (f"({PAT[:25]}", "(accord_pat_[redacted]"),  # what a cut left of one
        (f"jwt {JWT}.", "jwt [redacted]"),
        ("Authorization: Bearer abcdef", "Authorization: [redacted]"),
        ("authorization: Basic YTpi\r\nhost: x", "authorization: [redacted]\r\nhost: x"),
        ("{'authorization': 'Bearer abcdef', 'a': 1}", "{'authorization': '[redacted]', 'a': 1}"),
        ("(b'cookie', b'accord_session=x; a=b')", "(b'cookie', b'[redacted]')"),
        ("Set-Cookie: a=b; Path=/", "Set-Cookie: [redacted]"),
        ("curl -H 'X-CSRF-Token: abc'", "curl -H 'X-CSRF-Token: [redacted]'"),
        ("sent bearer abcdefgh to it", "sent bearer [redacted] to it"),
        ("postgresql://ada:hunter2@db/accord", "postgresql://ada:[redacted]@db/accord"),
        ("redis://:hunter2@cache", "redis://:[redacted]@cache"),
        ("https://example.org:8080/a@b", "https://example.org:8080/a@b"),
        ('{"password":"hunter2","a":1}', '{"password":"[redacted]","a":1}'),
        ('{"password": "with \\" quote", "a": 1}', '{"password": "[redacted]", "a": 1}'),
        ("{'new_password': 'hunter2'}", "{'new_password': '[redacted]'}"),
        ("create_user(password='hunter2')", "create_user(password='[redacted]')"),
        ("?access_token=abc&page=2", "?access_token=[redacted]&page=2"),
        ("ACCORD_SECRET_KEY=abc accord serve", "ACCORD_SECRET_KEY=[redacted] accord serve"),
        ('"{\\"password\\":\\"hunter2\\"}"', None),
        ("$argon2id$v=19$m=19456,t=2,p=1$c2FsdA$aGFzaA", "[redacted]"),
        ("-----BEGIN PRIVATE KEY-----\nMII\n-----END PRIVATE KEY----- end", "[redacted] end"),
        (
            "password: must have at least 10 characters",
            "password: must have at least 10 characters",
        ),
        ("the token of ada was revoked", "the token of ada was revoked"),
        ("monkey=1, keyboard=2", "monkey=1, keyboard=2"),
    ],
)
def test_secrets_are_replaced_and_the_rest_stays(text: str, expected: str | None) -> None:
    shown = redact(text)
    if expected is not None:
        assert shown == expected
    assert "hunter2" not in shown


def test_a_long_text_is_cut() -> None:
    assert redact("x" * 100_000) == f"{'x' * MAX_TEXT}… (100,000 characters)"


def test_values_are_redacted_by_the_names_of_their_fields() -> None:
    value = {
        "password": "hunter2",
        "Authorization": ["hunter2"],
        "nested": [{"token": "hunter2", "count": 3}],
        "body": f"token={PAT}".encode(),
        "none": None,
        "object": ValueError(PAT),
    }
    assert redact_value(value) == {
        "password": "[redacted]",
        "Authorization": "[redacted]",
        "nested": [{"token": "[redacted]", "count": 3}],
        "body": "token=[redacted]",
        "none": None,
        "object": "accord_pat_[redacted]",
    }


def test_values_are_bounded() -> None:
    deep: object = "x"
    for _ in range(1000):
        deep = [deep]
    assert str(redact_value(deep)).startswith("[" * MAX_DEPTH)
    assert len(redact_value(list(range(1000)))) == 50


def test_a_value_without_a_text_does_not_stop_a_line() -> None:
    class Broken:
        def __str__(self) -> str:
            raise RuntimeError("no")

    assert redact_value(Broken()) == "<Broken, which has no text: RuntimeError>"


@pytest.mark.req("H-18")
@given(st.text(), st.text(), st.sampled_from(["pat", "ses"]))
def test_a_token_is_found_wherever_it_stands(before: str, after: str, kind: str) -> None:
    token = make_token("pat" if kind == "pat" else "ses")
    assert token not in redact(f"{before} {token} {after}")
    assert token not in redact(f"{before}{token}{after}")


@given(st.text(alphabet="abcdefghijklmnopqrstuvwxyz ,.äß\n", max_size=200))
def test_plain_prose_stays_as_it_is(text: str) -> None:
    assert redact(text) == text or "bearer " in text or "basic " in text
