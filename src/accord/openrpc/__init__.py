"""OpenRPC: documents that describe methods, an explorer and generated clients.

The names that most programs need are imported on first access.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from accord import lazy_names

_HOMES = {
    "About": "accord.jsonrpc.methods.method",
    "Api": "accord.openrpc.api",
    "Contact": "accord.openrpc.info",
    "ErrorAbout": "accord.jsonrpc.methods.method",
    "Example": "accord.jsonrpc.methods.method",
    "ExternalDocs": "accord.jsonrpc.methods.method",
    "License": "accord.openrpc.info",
    "Link": "accord.jsonrpc.methods.method",
    "Server": "accord.openrpc.info",
    "ServerVariable": "accord.openrpc.info",
    "Tag": "accord.jsonrpc.methods.method",
    "expose": "accord.openrpc.expose",
}

__all__ = [*_HOMES]  # noqa: PLE0604 - every key is a str


__getattr__, __dir__ = lazy_names(__name__, _HOMES)

if TYPE_CHECKING:
    from accord.jsonrpc.methods.method import (
        About as About,
        ErrorAbout as ErrorAbout,
        Example as Example,
        ExternalDocs as ExternalDocs,
        Link as Link,
        Tag as Tag,
    )
    from accord.openrpc.api import Api as Api
    from accord.openrpc.expose import expose as expose
    from accord.openrpc.info import (
        Contact as Contact,
        License as License,
        Server as Server,
        ServerVariable as ServerVariable,
    )
