"""Opaque values that clients bring back: cursors of lists, and sealed request state.

2026-07-28, multi round-trip requests: a `requestState` passes through the client, so it is sealed
with a key, bound to its request and limited in time.
"""

from __future__ import annotations

import binascii
import hmac
import re
from base64 import urlsafe_b64decode, urlsafe_b64encode
from collections.abc import Sequence
from hashlib import sha256
from typing import Final, Literal, TypeAlias

import msgspec

MAX_LENGTH: Final = 64
_CURSOR_FORM: Final = re.compile(rb"after:(0|[1-9][0-9]{0,8})")


def encode_cursor(start: int) -> str:
    """Return the cursor of the page that begins with item `start`."""
    return urlsafe_b64encode(b"after:%d" % start).rstrip(b"=").decode("ascii")


def decode_cursor(cursor: str) -> int | None:
    """Return the number of the first item on a cursor's page; None for an invalid cursor."""
    if len(cursor) > MAX_LENGTH or not cursor.isascii():
        return None
    try:
        text = urlsafe_b64decode(cursor.encode() + b"=" * (-len(cursor) % 4))
    except binascii.Error:
        return None
    found = _CURSOR_FORM.fullmatch(text)
    if found is None or encode_cursor(int(found[1])) != cursor:
        return None
    return int(found[1])


MIN_KEY_BYTES: Final = 32
MAX_SEALED: Final = 64 * 1024
"""Default maximum length of a sealed text in characters."""

Refusal: TypeAlias = Literal[
    "too_large", "malformed", "forged", "expired", "other_principal", "other_request"
]
"""The reason for refusing a sealed text. It is for logs only: clients get the same answer whatever
the reason is."""

_SEAL_FORM: Final = re.compile(r"[A-Za-z0-9_-]+")
_PURPOSE: Final = b"accord requestState 1"
_TIME: Final = 8
_BINDING: Final = 16
_SEAL: Final = 32
_OVERHEAD: Final = _TIME + 2 * _BINDING + _SEAL


class SealError(ValueError):
    """A text that was not sealed for this request, or has expired."""

    def __init__(self, kind: Refusal) -> None:
        super().__init__(f"request state is refused: {kind}")
        self.kind: Refusal = kind


class Sealer:
    """A sealer of texts, with key rotation.

    It seals with the first of its keys and opens texts that were sealed with any of them, so keys
    can be replaced while clients hold state. Raises ValueError for missing or short keys.
    """

    def __init__(self, keys: Sequence[bytes], *, max_sealed: int = MAX_SEALED) -> None:
        if not keys or any(len(key) < MIN_KEY_BYTES for key in keys):
            raise ValueError(f"sealing needs keys of {MIN_KEY_BYTES} or more bytes")
        # A key for this purpose only, because the secret may serve others too.
        self._keys = [hmac.digest(key, _PURPOSE, "sha256") for key in keys]
        self._max_sealed = max_sealed

    def seal(
        self,
        payload: bytes,
        *,
        principal: str | None,
        method: str,
        digest: bytes,
        now: float,
        ttl: float,
    ) -> str:
        """Return the payload as a sealed text for this principal and this request.

        Only a repetition of the same request can open the text, until `ttl` seconds after `now`.
        Raises ValueError if the sealed text would be too long.
        """
        key = self._keys[0]
        bound = _principal(key, principal) + _request(key, method, digest)
        body = int(now + ttl).to_bytes(_TIME) + bound + payload
        text = urlsafe_b64encode(body + hmac.digest(key, body, "sha256")).rstrip(b"=").decode()
        if len(text) > self._max_sealed:
            raise ValueError(
                f"request state of {len(text):,} characters is over the limit of "
                f"{self._max_sealed:,}"
            )
        return text

    def open(
        self, text: str, *, principal: str | None, method: str, digest: bytes, now: float
    ) -> bytes:
        """Return the payload of a sealed text.

        Raises `SealError` if the text is invalid, has expired, or was sealed for another principal
        or another request.
        """
        body, key = self._unsealed(text)
        expires, principal_digest, what = (
            body[:_TIME],
            body[_TIME : _TIME + _BINDING],
            body[_TIME + _BINDING : _TIME + 2 * _BINDING],
        )
        if not hmac.compare_digest(principal_digest, _principal(key, principal)):
            raise SealError("other_principal")
        if not hmac.compare_digest(what, _request(key, method, digest)):
            raise SealError("other_request")
        if now >= int.from_bytes(expires):
            raise SealError("expired")
        return body[_TIME + 2 * _BINDING :]

    def _unsealed(self, text: str) -> tuple[bytes, bytes]:
        """Check the seal of a text; return the sealed body and the key.

        Raises `SealError` if the text is too long, malformed, or not sealed with one of the keys.
        """
        if len(text) > self._max_sealed:
            raise SealError("too_large")
        if not _SEAL_FORM.fullmatch(text) or len(text) % 4 == 1:
            raise SealError("malformed")
        data = urlsafe_b64decode(text.encode() + b"=" * (-len(text) % 4))
        if len(data) < _OVERHEAD:
            raise SealError("malformed")
        body, seal = data[:-_SEAL], data[-_SEAL:]
        for key in self._keys:
            if hmac.compare_digest(seal, hmac.digest(key, body, "sha256")):
                return body, key
        raise SealError("forged")


def request_digest(subject: str, arguments: bytes = b"{}") -> bytes:
    """Return a digest of a request's subject and arguments.

    The subject is a name or a URI. Order and spacing of the arguments' JSON do not matter, so a
    repeated request has the same digest.
    """
    values = msgspec.json.decode(arguments)
    return sha256(msgspec.json.encode([subject, values], order="deterministic")).digest()


def _principal(key: bytes, principal: str | None) -> bytes:
    """Return a digest of the principal.

    An anonymous caller differs from a principal with an empty name.
    """
    name = b"nobody" if principal is None else b"principal " + principal.encode()
    return hmac.digest(key, name, "sha256")[:_BINDING]


def _request(key: bytes, method: str, digest: bytes) -> bytes:
    return hmac.digest(key, b"request " + digest.hex().encode() + method.encode(), "sha256")[
        :_BINDING
    ]
