"""Where tokens and registrations are kept between runs of a program.

What is kept is bytes under a key: a keyring, a database or an encrypted file takes three small
methods. All of it is secret.
"""

from __future__ import annotations

import asyncio
import os
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Protocol

import msgspec


class Storage(Protocol):
    """A store of secret values. Several clients may use it concurrently."""

    async def get(self, key: str) -> bytes | None: ...

    async def set(self, key: str, value: bytes) -> None: ...

    async def delete(self, key: str) -> None:
        """Delete a key; a missing key is no error."""


class MemoryStorage:
    """A store in memory, until the program ends."""

    def __init__(self) -> None:
        self._values: dict[str, bytes] = {}

    async def get(self, key: str) -> bytes | None:
        return self._values.get(key)

    async def set(self, key: str, value: bytes) -> None:
        self._values[key] = value

    async def delete(self, key: str) -> None:
        self._values.pop(key, None)


class FileStorage:
    """A store in one file that only its owner can read.

    The file is replaced atomically, under a lock, so that several programs may share it.

    Raises OSError if it cannot be read or written, PermissionError if others could read it,
    ValueError if its content is not such a file, and RuntimeError on systems without POSIX locks
    and modes.
    """

    def __init__(self, path: str | os.PathLike[str]) -> None:
        if os.name != "posix":
            raise RuntimeError("FileStorage needs a POSIX system: give the client another Storage")
        self._path = Path(path).expanduser()

    async def get(self, key: str) -> bytes | None:
        return (await asyncio.to_thread(self._read)).get(key)

    async def set(self, key: str, value: bytes) -> None:
        await asyncio.to_thread(self._change, lambda values: values.update({key: value}))

    async def delete(self, key: str) -> None:
        await asyncio.to_thread(self._change, lambda values: values.pop(key, None))

    def _read(self) -> dict[str, bytes]:
        try:
            with open(self._path, "rb") as file:
                if os.fstat(file.fileno()).st_mode & 0o077:
                    raise PermissionError(f"{self._path} holds secrets, and others can read it")
                return msgspec.json.decode(file.read(), type=dict[str, bytes])
        except FileNotFoundError:
            return {}
        except msgspec.DecodeError:
            raise ValueError(f"{self._path} is not a file of tokens") from None

    def _change(self, change: Callable[[dict[str, bytes]], object]) -> None:
        import fcntl  # POSIX only

        self._path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        lock = self._path.with_name(f"{self._path.name}.lock")
        with open(os.open(lock, os.O_RDWR | os.O_CREAT, 0o600), "rb+") as locked:
            fcntl.flock(locked, fcntl.LOCK_EX)
            values = self._read()
            change(values)
            self._write(msgspec.json.encode(values))

    def _write(self, data: bytes) -> None:
        # mkstemp creates a file that only its owner can open.
        handle, name = tempfile.mkstemp(dir=self._path.parent, prefix=f".{self._path.name}.")
        try:
            with open(handle, "wb") as file:
                file.write(data)
            os.replace(name, self._path)
        except BaseException:
            os.unlink(name)
            raise
