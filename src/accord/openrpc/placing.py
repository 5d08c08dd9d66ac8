"""Puts an endpoint into a Starlette or FastAPI application, at a path without redirects.

A mount answers `/rpc` with a redirect to `/rpc/`, which many clients do not follow with their
POST. Routes of our own answer both, and everything below.
"""

from __future__ import annotations

from typing import Any

from accord.jsonrpc.errors import RegistrationError


def check_path(path: str) -> str:
    """`path` without a slash at its end. Raises `RegistrationError` if it is not like `/rpc`."""
    trimmed = path.rstrip("/")
    if not trimmed.startswith("/") or "{" in trimmed or "//" in trimmed:
        raise RegistrationError(f"at={path!r} is no path such as '/rpc'")
    return trimmed


def put_into(app: Any, endpoint: Any, path: str) -> None:
    """Serve `endpoint` at `path` of `app`, before anything else that would match it.

    Raises `RegistrationError` for an application of another kind.
    """
    routes = getattr(getattr(app, "router", None), "routes", None)
    if not isinstance(routes, list):
        raise RegistrationError(
            f"at={path!r} is for applications of Starlette and FastAPI; "
            "serve what expose() gives beside this one instead"
        )
    from starlette.routing import Route

    routes[:0] = [
        Route(path, endpoint, include_in_schema=False),
        Route(f"{path}/{{rest:path}}", endpoint, include_in_schema=False),
    ]
