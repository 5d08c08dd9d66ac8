"""Findings of the doctor's checks."""

from __future__ import annotations

from typing import Literal, TypeAlias

from msgspec import Struct

State: TypeAlias = Literal["ok", "warning", "problem", "not looked at"]


class Finding(Struct, frozen=True):
    """What is said of one thing. Holds no secrets."""

    name: str
    state: State
    detail: str
    advice: str = ""
    """What to do next."""


def ok(name: str, detail: str) -> Finding:
    return Finding(name, "ok", detail)


def warning(name: str, detail: str, advice: str) -> Finding:
    """Something that works, and may not be wanted."""
    return Finding(name, "warning", detail, advice)


def problem(name: str, detail: str, advice: str) -> Finding:
    """Something that does not work."""
    return Finding(name, "problem", detail, advice)


def unseen(name: str, detail: str, advice: str = "") -> Finding:
    """Something that was not looked at; `detail` is why."""
    return Finding(name, "not looked at", detail, advice)
