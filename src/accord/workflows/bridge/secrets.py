"""Secrets, found where a reference says: nowhere but in variables named ACCORD_SECRET_… and in the
files of one folder. They are read when they are used, so that they can be changed any time."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Final

MAX_BYTES: Final = 65_536

_VARIABLE: Final = re.compile(r"ACCORD_SECRET_[A-Z0-9_]{1,100}")
_FILE: Final = re.compile(r"[A-Za-z0-9_][A-Za-z0-9._-]{0,99}")
_PRINTABLE: Final = re.compile(r"[\x20-\x7e]+")


class SecretError(Exception):
    """A secret cannot be had; the message names the reference and never what it stands for."""


class Secrets:
    """Reads secrets from `environ` and from `folder`."""

    def __init__(self, folder: Path | None, environ: Mapping[str, str]) -> None:
        self._folder = folder
        self._environ = environ

    def read(self, reference: str) -> str:
        """The secret that `env:ACCORD_SECRET_NAME` or `file:NAME` stands for. Raises
        SecretError."""
        place, _, name = reference.partition(":")
        if place == "env" and _VARIABLE.fullmatch(name):
            found = self._environ.get(name)
        elif place == "file" and _FILE.fullmatch(name):
            found = self._read_file(name)
        else:
            raise SecretError(f"{reference[:80]!r} is neither env:ACCORD_SECRET_NAME nor file:NAME")
        if not found:
            raise SecretError(f"there is no secret {reference}")
        if not _PRINTABLE.fullmatch(found):
            raise SecretError(f"the secret {reference} has characters that cannot be sent")
        return found

    def _read_file(self, name: str) -> str | None:
        """What a file says, without the line break at its end. Links are not followed: a name
        stands for a file of this folder, and for nothing else."""
        if self._folder is None:
            raise SecretError(
                "no folder of secrets is configured: start accord with --secrets FOLDER (setting"
                " secrets, ACCORD_SECRETS)"
            )
        try:
            fd = os.open(self._folder / name, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
            try:
                data = os.read(fd, MAX_BYTES + 1)
            finally:
                os.close(fd)
        except OSError as error:
            raise SecretError(f"the secret file:{name} cannot be read: {error.strerror}") from None
        if len(data) > MAX_BYTES:
            raise SecretError(f"the secret file:{name} is over the limit of {MAX_BYTES:,} bytes")
        return data.decode("utf-8", "replace").rstrip("\r\n")
