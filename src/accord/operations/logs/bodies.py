"""Messages in full, for debugging: only at level debug, bounded and redacted."""

from __future__ import annotations

import logging
from typing import Final

from accord.operations.logs.redaction import redact

MAX_BODY: Final = 4_096


def log_body(log: logging.Logger, what: str, body: bytes | memoryview) -> None:
    """Log a request or an answer in full; nothing unless `log` is at level debug."""
    if not log.isEnabledFor(logging.DEBUG):
        return
    # A secret that the cut goes through is found by its beginning.
    text = redact(bytes(body[:MAX_BODY]).decode("utf-8", "backslashreplace"))
    more = f"… ({len(body):,} bytes)" if len(body) > MAX_BODY else ""
    log.debug("%s: %s%s", what, text, more)
