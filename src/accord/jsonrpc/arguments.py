"""The arguments of a call by name, for interceptors to look at. Pure.

They are decoded anew, and only when somebody asks. The arguments of the call itself are not
kept for that: the context is among them, and the two would hold each other.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, TypeAlias

import msgspec
from msgspec import UNSET, Raw

from accord.jsonrpc.call_plan import Planner
from accord.jsonrpc.channel import ChannelInfo
from accord.jsonrpc.context import Context
from accord.jsonrpc.parameters import Signature
from accord.jsonrpc.params_form import Params

Naming: TypeAlias = Callable[[Params], dict[str, Any]]
"""Returns the arguments in params by the names of the parameters."""

_NOBODY = Context("", channel=ChannelInfo(scheme=""))
"""Takes the place of the context among the arguments."""


def naming(signature: Signature, planner: Planner) -> Naming:
    """Return the function that names the arguments for a signature."""
    places = [each.name for each in signature.parameters if each.by_position]
    several = [each.name for each in signature.parameters if each.kind == "var_positional"]
    plan = planner.plan(partial(_name, places, several))
    defaults = {
        each.name: each.default for each in signature.parameters if each.default is not UNSET
    }

    def named(params: Params) -> dict[str, Any]:
        return {**defaults, **plan(params, _NOBODY)}

    return named


def members(params: Params) -> dict[str, Any]:
    """Return the members of the params if they are an object.

    For methods that read their own params.
    """
    decoded = None if params is UNSET else msgspec.json.decode(params)
    return decoded if isinstance(decoded, dict) else {}


def _name(places: list[str], several: list[str], /, *args: Any, **kwargs: Any) -> dict[str, Any]:
    """Collect arguments into a dict by name; called in place of the function."""
    given = [_plain(value) for value in args if value is not _NOBODY]
    found = {name: _plain(value) for name, value in kwargs.items() if value is not _NOBODY}
    found.update(zip(places, given, strict=False))
    found.update((name, given[len(places) :]) for name in several)
    return found


def _plain(value: Any) -> Any:
    return msgspec.json.decode(value) if isinstance(value, Raw) else value
