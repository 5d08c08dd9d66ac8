"""The head of the trail in a file, out of reach of whoever can write to the database only."""

from __future__ import annotations

import logging
import os
from pathlib import Path
from typing import Final

from accord.operations.audit.chain import Chain, Head

log = logging.getLogger("accord.audit")

NAME: Final = "audit-head"
"""The name of the file, in the data directory."""


def read_head_file(path: Path, chain: Chain) -> Head | None:
    """Return the head in the file; None without a file or a genuine head in it."""
    try:
        text = path.read_bytes()
    except FileNotFoundError:
        return None
    head = chain.head(text)
    if head is None:
        log.error("%s holds no genuine head of the audit trail", path)
    return head


def write_head_file(path: Path, chain: Chain, head: Head) -> None:
    """Replace the file atomically: a crash leaves the old one or the new one."""
    new = path.with_name(f"{path.name}.{os.getpid()}")
    with open(os.open(new, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "w") as file:
        file.write(chain.signed(head) + "\n")
    new.replace(path)
