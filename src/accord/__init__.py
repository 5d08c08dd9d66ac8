"""Accord: how people, programs and AI agents agree on things.

This module holds the names that most programs need. They are loaded when first used, so
that `import accord` costs next to nothing.
"""

from __future__ import annotations

import logging
import sys
from importlib import import_module
from typing import TYPE_CHECKING, Any

__version__ = "0.1.0"

# The program decides about logging: without a handler of its own, Python would print warnings of
# this library to stderr.
logging.getLogger(__name__).addHandler(logging.NullHandler())


class _OldPaths:
    """A finder of modules that moved, used after all other finders found nothing."""

    @staticmethod
    def find_spec(fullname: str, _path: Any = None, _target: Any = None) -> Any:
        if not fullname.startswith("accord."):
            return None
        from accord import deprecated

        return deprecated.find_spec(fullname)


sys.meta_path.append(_OldPaths)

_HOMES = {
    "AccordError": "accord.jsonrpc.protocol.errors",
    "Backoff": "accord.transports.reconnect",
    "BusyError": "accord.jsonrpc.protocol.errors",
    "CallTimeoutError": "accord.jsonrpc.protocol.errors",
    "ConnectError": "accord.jsonrpc.protocol.errors",
    "ConnectionClosedError": "accord.jsonrpc.protocol.errors",
    "ConnectionLostError": "accord.jsonrpc.protocol.errors",
    "Context": "accord.jsonrpc.methods.context",
    "IdsExhaustedError": "accord.jsonrpc.protocol.errors",
    "InternalError": "accord.jsonrpc.protocol.errors",
    "InvalidParamsError": "accord.jsonrpc.protocol.errors",
    "InvalidRequestError": "accord.jsonrpc.protocol.errors",
    "InvalidResultError": "accord.jsonrpc.protocol.errors",
    "Limits": "accord.jsonrpc.protocol.channel",
    "MessageTooLargeError": "accord.jsonrpc.protocol.errors",
    "MethodNotFoundError": "accord.jsonrpc.protocol.errors",
    "ParseError": "accord.jsonrpc.protocol.errors",
    "Peer": "accord.jsonrpc.runtime.peer",
    "RegistrationError": "accord.jsonrpc.protocol.errors",
    "Router": "accord.jsonrpc.methods.router",
    "RpcError": "accord.jsonrpc.protocol.errors",
    "ServerError": "accord.jsonrpc.protocol.errors",
    "ServerLimits": "accord.jsonrpc.protocol.channel",
    "State": "accord.jsonrpc.protocol.channel",
    "ThreadPool": "accord.jsonrpc.runtime.threads",
    "TransportError": "accord.jsonrpc.protocol.errors",
    "connect": "accord.transports.connect",
    "method": "accord.jsonrpc.methods.router",
    "run": "accord.transports.serve",
    "serve": "accord.transports.serve",
}

__all__ = ["__version__", *_HOMES]  # noqa: PLE0604 - every key is a str


def lazy_names(
    package: str, homes: Mapping[str, str]
) -> tuple[Callable[[str], Any], Callable[[], list[str]]]:
    """Return the `__getattr__` and `__dir__` of a package whose names are loaded when first used.

    `homes` maps each name to the module that defines it.
    """

    def get(name: str) -> Any:
        home = homes.get(name)
        if home is None:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        value = getattr(import_module(home), name)
        setattr(sys.modules[package], name, value)
        return value

    return get, lambda: sorted(homes)


__getattr__, _ = lazy_names(__name__, _HOMES)


def __dir__() -> list[str]:
    return sorted(__all__)


if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from accord.jsonrpc.methods.context import Context as Context
    from accord.jsonrpc.methods.router import Router as Router, method as method
    from accord.jsonrpc.protocol.channel import (
        Limits as Limits,
        ServerLimits as ServerLimits,
        State as State,
    )
    from accord.jsonrpc.protocol.errors import (
        AccordError as AccordError,
        BusyError as BusyError,
        CallTimeoutError as CallTimeoutError,
        ConnectError as ConnectError,
        ConnectionClosedError as ConnectionClosedError,
        ConnectionLostError as ConnectionLostError,
        IdsExhaustedError as IdsExhaustedError,
        InternalError as InternalError,
        InvalidParamsError as InvalidParamsError,
        InvalidRequestError as InvalidRequestError,
        InvalidResultError as InvalidResultError,
        MessageTooLargeError as MessageTooLargeError,
        MethodNotFoundError as MethodNotFoundError,
        ParseError as ParseError,
        RegistrationError as RegistrationError,
        RpcError as RpcError,
        ServerError as ServerError,
        TransportError as TransportError,
    )
    from accord.jsonrpc.runtime.peer import Peer as Peer
    from accord.jsonrpc.runtime.threads import ThreadPool as ThreadPool
    from accord.transports.connect import connect as connect
    from accord.transports.reconnect import Backoff as Backoff
    from accord.transports.serve import run as run, serve as serve
