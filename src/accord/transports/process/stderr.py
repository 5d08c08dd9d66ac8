"""Split a program's stderr into lines of text of bounded length."""

from __future__ import annotations

import logging
from collections import deque
from collections.abc import Callable

log = logging.getLogger("accord.process")

MAX_LINE_BYTES = 4096
"""Maximum length of a line that is passed on whole; longer lines are split."""
KEPT_LINES = 20
"""Number of last lines that an error contains."""
MAX_KEPT_CHARACTERS = 500
"""Maximum length of each of these lines."""


class StderrLines:
    """A splitter of bytes into lines that passes each line on and keeps the last ones."""

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
        """Pass on a last line without a newline, at the end of the stream."""
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
