"""Masking is its own inverse, whatever the size and wherever it starts."""

from __future__ import annotations

import pytest
from hypothesis import given, settings, strategies as st

from accord.transports.websocket.masking import mask, rotate

KEYS = st.binary(min_size=4, max_size=4)


def slow_mask(payload: bytes, key: bytes) -> bytes:
    # RFC 6455, section 5.3, to the letter
    return bytes(octet ^ key[i % 4] for i, octet in enumerate(payload))


@settings(deadline=None)
@given(payload=st.binary(max_size=1000), key=KEYS)
def test_masking_follows_the_formula(payload: bytes, key: bytes) -> None:
    assert mask(payload, key) == slow_mask(payload, key)


@pytest.mark.parametrize("size", [0, 1, 3, 4, 399, 400, 401, 402, 403, 404, 65_537])
def test_both_ways_of_masking_follow_the_formula(size: int) -> None:
    payload = bytes(i * 7 % 256 for i in range(size))
    assert mask(memoryview(payload), memoryview(b"\x00\xff\x81\x7e")) == slow_mask(
        payload, b"\x00\xff\x81\x7e"
    )


@settings(deadline=None)
@given(payload=st.binary(max_size=600), key=KEYS, data=st.data())
def test_a_payload_can_be_masked_in_pieces(payload: bytes, key: bytes, data: st.DataObject) -> None:
    cut = data.draw(st.integers(0, len(payload)))
    pieces = mask(payload[:cut], key) + mask(payload[cut:], rotate(key, cut))
    assert pieces == mask(payload, key)
