"""What a program writes to stderr, as lines of text of bounded length."""

from __future__ import annotations

import logging
from collections import deque
from collections.abc import Callable

log = logging.getLogger("accord.process")

MAX_LINE_BYTES = 4096
"""Longest line that is passed on in one; a longer one comes in parts."""
KEPT_LINES = 20
"""How many of the last lines an error shows."""
MAX_KEPT_CHARACTERS = 500
"""How much of each."""


class StderrLines:
    """Cuts bytes into lines, passes each on, and keeps the last ones."""

    def __init__(self, sink: Callable[[str], None]) -> None:
        self.last: deque[str] = deque(maxlen=KEPT_LINES)
        self._sink = sink
        self._partial = b""

    def feed(self, data: bytes) -> None:
        *lines, self._partial = (self._partial + data).split(b"\n")
        for line in lines:
            self._pass_on(line)
        whole = len(self._partial) - len(self._partial) % MAX_LINE_BYTES
        if whole:
            self._pass_on(self._partial[:whole])
            self._partial = self._partial[whole:]

    def end(self) -> None:
        """Nothing more comes: a last line without a newline is one too."""
        if self._partial:
            self._pass_on(self._partial)
            self._partial = b""

    def _pass_on(self, line: bytes) -> None:
        for start in range(0, max(len(line), 1), MAX_LINE_BYTES):
            part = line[start : start + MAX_LINE_BYTES]
            text = part.decode(errors="backslashreplace").removesuffix("\r")
            self.last.append(text[:MAX_KEPT_CHARACTERS])
            try:
                self._sink(text)
            except Exception:
                log.exception("a function that takes lines of stderr failed")
