"""`rpc.discover`: the method that answers with the document (OpenRPC, Service Discovery Method)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated, Final, TypeAlias

from msgspec import Meta, Raw

from accord.jsonrpc.about import About
from accord.jsonrpc.router import Router

DISCOVER: Final = "rpc.discover"

# OpenRPC's own text refers to its meta-schema on the web here, which tools cannot follow offline.
OpenRpcDocument: TypeAlias = Annotated[
    Raw, Meta(title="OpenRPC document", extra_json_schema={"type": "object"})
]

_ABOUT: Final = About(
    summary="The OpenRPC document that describes the methods of this service.",
    result="An OpenRPC document.",
)


def add_discover(router: Router, document: Callable[[], bytes]) -> None:
    """Add the method to `router`; it answers with the bytes that `document` gives.

    Raises `RegistrationError` if the router has one already.
    """

    def discover() -> OpenRpcDocument:
        return Raw(document())

    router.add(discover, DISCOVER, about=_ABOUT, protocol=True)
