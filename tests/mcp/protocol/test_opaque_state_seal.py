"""Sealed state: opened by the same principal's same request in time, and by nothing else."""

from __future__ import annotations

from base64 import urlsafe_b64decode, urlsafe_b64encode
from typing import Any

import pytest
from hypothesis import given, strategies as st

from accord.mcp.protocol.opaque_state import Sealer, SealError, request_digest

OLD, NEW = b"o" * 32, b"n" * 32
DIGEST = request_digest("book", b'{"from":"A","to":"B"}')
NOW = 1_800_000_000.5
PLACE: dict[str, Any] = {"principal": "ada", "method": "tools/call", "digest": DIGEST}


def refusal(sealer: Sealer, text: str, **changes: Any) -> str:
    with pytest.raises(SealError) as refused:
        sealer.open(text, **{**PLACE, "now": NOW, **changes})
    assert str(refused.value) == f"request state is refused: {refused.value.kind}"
    return refused.value.kind


def sealed(sealer: Sealer, payload: bytes = b"state", **changes: Any) -> str:
    return sealer.seal(payload, **{**PLACE, "now": NOW, "ttl": 600, **changes})


@pytest.mark.req("M-06")
@given(
    st.binary(max_size=1_000),
    st.one_of(st.none(), st.text(st.characters(exclude_categories=["Cs"]))),
)
def test_what_is_sealed_is_opened(payload: bytes, principal: str | None) -> None:
    sealer = Sealer([NEW])
    text = sealed(sealer, payload, principal=principal)
    assert sealer.open(text, **{**PLACE, "principal": principal}, now=NOW) == payload


@pytest.mark.req("M-06")
@pytest.mark.parametrize(
    ("changes", "kind"),
    [
        ({"principal": "bob"}, "other_principal"),
        ({"principal": None}, "other_principal"),
        ({"principal": ""}, "other_principal"),
        ({"method": "prompts/get"}, "other_request"),
        ({"digest": request_digest("book", b'{"from":"A","to":"C"}')}, "other_request"),
        ({"digest": request_digest("cancel", b'{"from":"A","to":"B"}')}, "other_request"),
        ({"now": NOW + 600}, "expired"),
        ({"now": NOW + 10**9}, "expired"),
    ],
)
def test_a_seal_is_for_one_principal_one_request_and_a_time(
    changes: dict[str, Any], kind: str
) -> None:
    sealer = Sealer([NEW])
    assert refusal(sealer, sealed(sealer), **changes) == kind


def test_nobody_is_not_somebody_without_a_name() -> None:
    sealer = Sealer([NEW])
    assert refusal(sealer, sealed(sealer, principal=None), principal="") == "other_principal"


def test_a_seal_holds_until_its_time_is_over() -> None:
    sealer = Sealer([NEW])
    assert sealer.open(sealed(sealer), **PLACE, now=NOW + 599) == b"state"


@pytest.mark.req("M-06")
def test_no_bit_can_be_changed() -> None:
    sealer = Sealer([NEW])
    data = urlsafe_b64decode(sealed(sealer, b"states"))
    for index in range(len(data) * 8):
        changed = bytearray(data)
        changed[index // 8] ^= 1 << index % 8
        assert refusal(sealer, urlsafe_b64encode(changed).rstrip(b"=").decode()) == "forged"


@pytest.mark.parametrize(
    "text", ["", "x", "abcd", "!" * 200, "A" * 94, "A" * 97, "ä" * 100, "A" * 100 + "\n"]
)
def test_what_is_no_sealed_text_is_refused(text: str) -> None:
    assert refusal(Sealer([NEW]), text) == "malformed"


def test_keys_are_replaced_while_clients_hold_state() -> None:
    before, during, after = Sealer([OLD]), Sealer([NEW, OLD]), Sealer([NEW])
    assert during.open(sealed(before), **PLACE, now=NOW) == b"state"
    assert after.open(sealed(during), **PLACE, now=NOW) == b"state"
    assert refusal(after, sealed(before)) == "forged"


def test_long_texts_are_neither_made_nor_read() -> None:
    sealer = Sealer([NEW], max_sealed=100)
    assert refusal(sealer, "A" * 101) == "too_large"
    with pytest.raises(
        ValueError, match=r"^request state of 102 characters is over the limit of 100$"
    ):
        sealed(sealer, b"four")


@pytest.mark.parametrize("keys", [[], [b"short"], [NEW, b"x" * 31]])
def test_keys_must_be_long(keys: list[bytes]) -> None:
    with pytest.raises(ValueError, match=r"^sealing needs keys of 32 or more bytes$"):
        Sealer(keys)


def test_a_request_is_the_same_however_its_arguments_are_written() -> None:
    assert request_digest("x", b'{"a":1,"b":{"c":2,"d":"\xc3\xa4"}}') == request_digest(
        "x", b' { "b": {"d":"\\u00e4", "c":2}, "a": 1 } '
    )
    assert request_digest("x") == request_digest("x", b"{}") != request_digest("x", b"null")
