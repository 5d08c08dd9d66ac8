"""A settings file of another program, with one more entry in one of its tables.

Everything else in the file stays as it is, to the last digit; what cannot be read is not
touched. The file is replaced as a whole, after a copy of it was made.
"""

from __future__ import annotations

import os
import shutil
import tempfile
import tomllib
from pathlib import Path
from typing import Any

import msgspec
from msgspec import Raw

from accord.cli.exits import UsageError
from accord.jsonrpc.nesting import decode_json
from accord.mcp.host_entries import json_entry, pretty, toml_entry


class SettingsFile:
    """One such file, which need not exist."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._target = path.resolve()  # settings are often links into a folder that is shared
        try:
            self._text = self._target.read_bytes()
            self.exists = True
        except FileNotFoundError:
            self._text = b""
            self.exists = False
        except OSError as error:
            raise UsageError(f"{path}: {error.strerror}") from None

    def entry(self, table: str, name: str) -> Any:
        """The entry `name` of a table; None if there is none. Raises `UsageError` for a file that
        cannot be read."""
        if self._is_toml:
            return self._toml().get(table, {}).get(name)
        _, entries = self._json(table)
        return msgspec.json.decode(entries[name]) if name in entries else None

    def entries(self, table: str) -> dict[str, Any]:
        """All entries of a table. Raises `UsageError` for a file that cannot be read."""
        if self._is_toml:
            found = self._toml().get(table, {})
            return found if isinstance(found, dict) else {}
        _, entries = self._json(table)
        return {name: msgspec.json.decode(entry) for name, entry in entries.items()}

    def put(self, table: str, name: str, entry: dict[str, Any]) -> Path | None:
        """Write the file with this entry in the table; where the former file was copied to, None
        if there was none."""
        text = self._with_toml(table, name, entry) if self._is_toml else None
        return self._replace(text or self._with_json(table, name, entry))

    def written(self, table: str, name: str, entry: dict[str, Any]) -> str:
        """The entry as it stands in such a file."""
        if self._is_toml:
            return toml_entry(table, name, entry).strip()
        return json_entry(table, name, entry).strip()

    @property
    def _is_toml(self) -> bool:
        return self.path.suffix == ".toml"

    # JSON

    def _json(self, table: str) -> tuple[dict[str, Raw], dict[str, Raw]]:
        text = self._text.removeprefix(b"\xef\xbb\xbf")
        try:
            members = decode_json(text if text.strip() else b"{}", dict[str, Raw])
            entries = msgspec.json.decode(members.get(table, b"{}"), type=dict[str, Raw])
        except msgspec.DecodeError as error:
            raise UsageError(
                f"{self.path} is left as it is, because it is no plain JSON ({error}); comments "
                "are none. Write the entry yourself: --dry-run shows it"
            ) from None
        return members, entries

    def _with_json(self, table: str, name: str, entry: dict[str, Any]) -> bytes:
        members, entries = self._json(table)
        entries[name] = Raw(msgspec.json.encode(entry))
        members[table] = Raw(msgspec.json.encode(entries))
        return pretty(members)

    # TOML

    def _toml(self) -> dict[str, Any]:
        try:
            return tomllib.loads(self._text.decode())
        except ValueError as error:
            raise UsageError(
                f"{self.path} is left as it is, because it is no TOML: {error}"
            ) from None

    def _with_toml(self, table: str, name: str, entry: dict[str, Any]) -> bytes:
        if name in self._toml().get(table, {}):
            raise UsageError(
                f"{self.path} has a [{table}.{name}] already, and accord does not rewrite TOML; "
                "take it out first, or choose another name by --name"
            )
        text = self._text.rstrip() + b"\n\n" if self._text.strip() else b""
        text += toml_entry(table, name, entry).encode()
        try:
            tomllib.loads(text.decode())
        except tomllib.TOMLDecodeError:
            raise UsageError(
                f"{self.path} is left as it is, because nothing can be added to its {table}; "
                "write the entry yourself: --dry-run shows it"
            ) from None
        return text

    # Writing

    def _replace(self, text: bytes) -> Path | None:
        try:
            return self._replace_file(text)
        except OSError as error:
            raise UsageError(f"{error.filename or self.path}: {error.strerror}") from None

    def _replace_file(self, text: bytes) -> Path | None:
        target = self._target
        target.parent.mkdir(parents=True, exist_ok=True)
        backup = target.with_name(f"{target.name}.bak") if self.exists else None
        # mkstemp makes a file that nobody else can read: entries may hold tokens.
        handle, name = tempfile.mkstemp(dir=target.parent, prefix=f".{target.name}.")
        try:
            with open(handle, "wb") as file:
                file.write(text)
                file.flush()
                os.fsync(file.fileno())
            if backup is not None:
                shutil.copy2(target, backup)
                shutil.copymode(target, name)
            os.replace(name, target)
        except BaseException:
            os.unlink(name)
            raise
        return backup
