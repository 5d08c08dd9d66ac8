"""`accord openrpc document`: the OpenRPC document of a router or web application in a module."""

from __future__ import annotations

import argparse
import inspect
import os
import sys
from importlib import import_module
from typing import Any, Final

import msgspec

from accord.cli import exits
from accord.cli.exits import UsageError
from accord.cli.output import pretty, print_line
from accord.cli.parser import Parser
from accord.jsonrpc.errors import RegistrationError
from accord.jsonrpc.router import Router
from accord.openrpc.api import Api
from accord.openrpc.document import OPENRPC, Document
from accord.openrpc.exposure import expose
from accord.openrpc.info import Info, Server
from accord.openrpc.web_info import UNNAMED, UNVERSIONED

USAGE: Final = "accord openrpc document [options] MODULE:ATTRIBUTE"

DESCRIPTION: Final = """\
Print the OpenRPC document of what a module holds: an accord.Router, an accord.openrpc.Api, an
application of Starlette or FastAPI, or a function without parameters that returns one of them.
The document of a web application is that of the Api mounted in it; if there is none, all its
routes are described.

examples:
  accord openrpc document service:router --title Users --api-version 1.0
  accord openrpc document service:app --server https://api.example.com/rpc > openrpc.json
"""

_FLAGS: Final = ("title", "api_version", "openrpc")


def configure(parser: Parser) -> None:
    add = parser.add_argument
    add("target", metavar="MODULE:ATTRIBUTE", nargs="?", help="what to describe")
    add("--title", help="what the API is called")
    add("--api-version", metavar="VERSION", help="the version of the API")
    add("--server", metavar="URL", help="where it is served")
    add("--openrpc", metavar="VERSION", help=f"the version of OpenRPC (default: {OPENRPC})")
    add("--json", action="store_true", help="print it on one line")


def run(arguments: argparse.Namespace) -> int:
    try:
        document = _document(_load(arguments.target), arguments)
    except (RegistrationError, ValueError) as error:
        raise UsageError(str(error)) from error
    body = msgspec.json.encode(document)
    print_line(body if arguments.json else pretty(body, sys.stdout))
    return exits.OK


def _load(target: str | None) -> Any:
    """Raises `UsageError` when there is no such thing."""
    module_name, colon, path = (target or "").partition(":")
    if not module_name or not colon or not path:
        raise UsageError("say what to describe as MODULE:ATTRIBUTE, such as service:app")
    sys.path.insert(0, os.getcwd())
    try:
        found: Any = import_module(module_name)
    except Exception as error:  # whatever the module does when it is imported
        why = f"{type(error).__name__}: {error}"
        raise UsageError(f"{module_name} cannot be imported: {why}") from error
    for name in path.split("."):
        try:
            found = getattr(found, name)
        except AttributeError:
            raise UsageError(f"{module_name} has no {path}") from None
    return found() if inspect.isfunction(found) else found


def _document(target: Any, arguments: argparse.Namespace) -> dict[str, Any]:
    title, version = arguments.title, arguments.api_version
    openrpc = arguments.openrpc or OPENRPC
    servers = [Server(arguments.server)] if arguments.server else []
    if isinstance(target, Router):
        info = Info(title=title or UNNAMED, version=version or UNVERSIONED)
        return Document(target, info, servers=servers, openrpc=openrpc).to_json()
    api = target if isinstance(target, Api) else _mounted(target)
    if api is None:
        api = expose(target, title=title, version=version, servers=servers, openrpc=openrpc)
        return api.document()
    for flag in _FLAGS:
        if getattr(arguments, flag) is not None:
            name = flag.replace("_", "-")
            raise UsageError(f"--{name} has no meaning for an Api, which says so itself")
    return api.document(arguments.server or "")


def _mounted(app: Any) -> Api | None:
    """The first `Api` that an application has mounted."""
    mounts = (getattr(route, "app", None) for route in getattr(app, "routes", ()))
    return next((mount for mount in mounts if isinstance(mount, Api)), None)
