"""What is fuzzed, by name. A target takes any bytes, and raises when a promise is broken.

Each module here has one function, `target`: a context manager that gives the check to call
with one input after the other. Modules are imported when they are asked for, so that a
fuzzer can instrument what they import.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager
from importlib import import_module
from typing import Final, TypeAlias

Check: TypeAlias = Callable[[bytes], None]

NAMES: Final = ("codec", "framing", "http", "websocket", "dispatcher", "mcp", "cost")


def load(name: str) -> AbstractContextManager[Check]:
    """The target called `name`."""
    opened: AbstractContextManager[Check] = import_module(f"fuzz.targets.{name}").target()
    return opened
