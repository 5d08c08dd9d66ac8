"""Cursors: where the next page of a list begins, in a form that clients do not take apart."""

from __future__ import annotations

import binascii
import re
from base64 import urlsafe_b64decode, urlsafe_b64encode
from typing import Final

MAX_LENGTH: Final = 64
_FORM: Final = re.compile(rb"after:(0|[1-9][0-9]{0,8})")


def encode_cursor(start: int) -> str:
    """Return the cursor of the page that begins with item `start`."""
    return urlsafe_b64encode(b"after:%d" % start).rstrip(b"=").decode("ascii")


def decode_cursor(cursor: str) -> int | None:
    """Return the first item of a cursor's page; None for a foreign cursor."""
    if len(cursor) > MAX_LENGTH or not cursor.isascii():
        return None
    try:
        text = urlsafe_b64decode(cursor.encode() + b"=" * (-len(cursor) % 4))
    except binascii.Error:
        return None
    found = _FORM.fullmatch(text)
    if found is None or encode_cursor(int(found[1])) != cursor:
        return None
    return int(found[1])
