"""WWW-Authenticate headers of all kinds."""

from __future__ import annotations

import pytest
from hypothesis import given, strategies as st

from accord.mcp.client.auth.discovery import Challenge, challenge_in, read_challenges


@pytest.mark.parametrize(
    ("header", "challenge"),
    [
        ("", Challenge()),
        ("Bearer", Challenge(scheme="bearer")),
        ('Basic realm="a"', Challenge()),
        (
            'Bearer realm="x", error="invalid_token", resource_metadata="https://a/b?c=d,e"',
            Challenge(
                scheme="bearer", error="invalid_token", resource_metadata="https://a/b?c=d,e"
            ),
        ),
        (
            'Bearer scope="a b a", error=insufficient_scope',
            Challenge(scheme="bearer", scopes=("a", "b"), error="insufficient_scope"),
        ),
        (
            'BEARER Resource_Metadata = "https://a"',
            Challenge(scheme="bearer", resource_metadata="https://a"),
        ),
        (
            'Negotiate abc==, Basic realm="x", Bearer scope="y"',
            Challenge(scheme="bearer", scopes=("y",)),
        ),
        (
            'DPoP algs="ES256", error="use_dpop_nonce"',
            Challenge(scheme="dpop", error="use_dpop_nonce"),
        ),
        (
            'Bearer error="x", DPoP resource_metadata="https://a"',
            Challenge(scheme="dpop", resource_metadata="https://a"),
        ),
        ("Bearer, DPoP", Challenge(scheme="bearer")),
        (
            r'Bearer error="a\"b\\c"',
            Challenge(scheme="bearer", error=r"a\"b\c".replace('\\"', '"')),
        ),
        ('Bearer error="first", error="second"', Challenge(scheme="bearer", error="first")),
        ('Bearer scope="never ends', Challenge(scheme="bearer")),
        ('realm="no scheme"', Challenge()),
        (", ,Bearer ,, scope=a", Challenge(scheme="bearer", scopes=("a",))),
    ],
)
def test_a_challenge_is_read(header: str, challenge: Challenge) -> None:
    assert challenge_in(header) == challenge


@given(st.text(alphabet='Bearer DPoP,="\\ab\t', max_size=200))
def test_whatever_a_header_says_it_is_read_to_its_end(header: str) -> None:
    for challenge in read_challenges(header):
        assert challenge.scheme
