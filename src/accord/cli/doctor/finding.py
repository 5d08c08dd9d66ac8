"""Findings of the doctor's checks."""

from __future__ import annotations

from typing import Literal, TypeAlias

from msgspec import Struct

State: TypeAlias = Literal["ok", "warning", "problem", "not looked at"]


class Finding(Struct, frozen=True):
    """The result of checking one thing. It contains no secrets."""

    name: str
    state: State
    detail: str
    advice: str = ""
    """The next step."""


def ok(name: str, detail: str) -> Finding:
    return Finding(name, "ok", detail)


def warning(name: str, detail: str, advice: str) -> Finding:
    """Return a finding about something that works but may be unwanted."""
    return Finding(name, "warning", detail, advice)


def problem(name: str, detail: str, advice: str) -> Finding:
    """Return a finding about something that does not work."""
    return Finding(name, "problem", detail, advice)


def unseen(name: str, detail: str, advice: str = "") -> Finding:
    """Return a finding about something that was not checked; `detail` says why."""
    return Finding(name, "not looked at", detail, advice)
