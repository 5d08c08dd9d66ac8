"""The server that a Python file holds, as `accord mcp run` and `accord mcp install` name it."""

from __future__ import annotations

import inspect
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from types import ModuleType
from typing import Any, Final

from msgspec import Struct

from accord.cli.exits import UsageError
from accord.mcp.server.server import Server
from accord.transports.stdio import StandardStreams

_UNNAMED: Final = "accord_mcp_file"
"""What a module is called whose own name is taken."""


class ServerFile(Struct, frozen=True):
    """A file, and the name of the server in it where that is said."""

    path: Path
    name: str = ""

    @staticmethod
    def read(text: str | None) -> ServerFile:
        """What FILE or FILE:NAME says. Raises `UsageError`."""
        if not text:
            raise UsageError("a FILE is missing, such as server.py or server.py:NAME")
        file, colon, name = text.rpartition(":")
        if not colon or Path(text).exists():
            file, name = text, ""
        path = Path(file)
        if not path.is_file():
            raise UsageError(f"there is no file {file}")
        return ServerFile(path.resolve(), name)

    def __str__(self) -> str:
        return f"{self.path}:{self.name}" if self.name else str(self.path)


def load_server(file: ServerFile) -> Server:
    """The server of a file, which is run as a module. Raises `UsageError`."""
    module = _run(file.path)
    shown = file.path.name
    if file.name:
        return _named(module, file.name, shown)
    found = _servers(module)
    if not found:
        raise UsageError(
            f"{shown} has no server: give a variable of it an accord.mcp.Server, or name the "
            f"function that makes one, as in {shown}:make_server"
        )
    if len(found) > 1:
        names = ", ".join(found)
        first = next(iter(found))
        raise UsageError(f"{shown} has several servers ({names}): say which, as in {shown}:{first}")
    return next(iter(found.values()))


@contextmanager
def messages_only() -> Iterator[None]:
    """Keeps stdin and stdout for messages while a file is run, which may print or read what it
    likes. Raises `ConnectError` where they are closed."""
    streams = StandardStreams()
    os.close(streams.reading)
    os.close(streams.writing)
    try:
        yield
    finally:
        streams.give_back()


def _run(path: Path) -> ModuleType:
    name = path.stem if path.stem not in sys.modules else _UNNAMED
    spec = spec_from_file_location(name, path)
    if spec is None or spec.loader is None:
        raise UsageError(f"{path.name} is no Python file")
    module = module_from_spec(spec)
    sys.modules[name] = module  # annotations are looked up there
    sys.path.insert(0, str(path.parent))
    try:
        spec.loader.exec_module(module)
    except SystemExit as error:
        raise UsageError(f"{path.name} ends the program when it is run: {error}") from error
    except Exception as error:  # whatever the file does
        why = f"{type(error).__name__}: {error}"
        raise UsageError(f"{path.name} cannot be run: {why}") from error
    return module


def _named(module: ModuleType, name: str, shown: str) -> Server:
    found: Any = module
    for part in name.split("."):
        try:
            found = getattr(found, part)
        except AttributeError:
            raise UsageError(f"{shown} has no {name}{_known(module)}") from None
    if inspect.isfunction(found):
        found = found()
    if not isinstance(found, Server):
        kind = type(found).__name__
        raise UsageError(f"{name} of {shown} is no accord.mcp.Server but a {kind}{_known(module)}")
    return found


def _servers(module: ModuleType) -> dict[str, Server]:
    """The servers among the variables of a module, each by the first of its names."""
    found: dict[str, Server] = {}
    for name, value in vars(module).items():
        if isinstance(value, Server) and not any(value is each for each in found.values()):
            found[name] = value
    return found


def _known(module: ModuleType) -> str:
    names = ", ".join(_servers(module))
    return f"; its servers are {names}" if names else ""
