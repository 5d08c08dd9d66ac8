"""Server entries of MCP host configuration files, rendered as JSON or TOML. Pure."""

from __future__ import annotations

import re
from typing import Any, Final

import msgspec

_BARE_KEY: Final = re.compile(r"[A-Za-z0-9_-]+")


def json_entry(table: str, name: str, entry: dict[str, Any]) -> str:
    """Return a JSON file that contains only this entry."""
    return pretty({table: {name: entry}}).decode()


def toml_entry(table: str, name: str, entry: dict[str, Any]) -> str:
    """Return the TOML table of the entry."""
    lines = [f"[{table}.{_toml_key(name)}]"]
    lines += [f"{_toml_key(key)} = {_toml_value(value)}" for key, value in entry.items()]
    return "\n".join(lines) + "\n"


def pretty(value: Any) -> bytes:
    """Return indented JSON."""
    return msgspec.json.format(msgspec.json.encode(value), indent=2) + b"\n"


def _toml_key(key: str) -> str:
    return key if _BARE_KEY.fullmatch(key) else _toml_value(key)


def _toml_value(value: Any) -> str:
    if isinstance(value, dict):
        members = (f"{_toml_key(key)} = {_toml_value(each)}" for key, each in value.items())
        return f"{{ {', '.join(members)} }}"
    if isinstance(value, list):
        return f"[{', '.join(map(_toml_value, value))}]"
    # TOML 1.0: basic strings have the escapes of JSON, and DEL must be escaped too
    return msgspec.json.encode(value).decode().replace("\x7f", "\\u007F")
