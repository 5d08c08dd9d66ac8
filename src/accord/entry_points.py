"""Installed plugins: entry points of distributions, in four groups.

Programs without plugins pay nothing: the search is made at the first look-up, and the code of a
plugin is imported when it is loaded. This module knows nothing of what plugins add.
"""

from __future__ import annotations

import re
from functools import cache
from typing import Any, Final, Literal, TypeAlias, get_args

from msgspec import Struct

Group: TypeAlias = Literal[
    "accord.operations", "accord.transports", "accord.steps", "accord.importers"
]

GROUPS: Final[tuple[Group, ...]] = get_args(Group)

_SEPARATORS: Final = re.compile(r"[-_.]+")


class PluginError(Exception):
    """An unusable plugin; the message names it and says why."""


class Plugin(Struct, frozen=True, kw_only=True):
    """An entry point of an installed distribution."""

    group: Group
    name: str
    """The name, unique in its group: a URL scheme, a step type or a format."""
    value: str
    """The object to load, such as `accord_mail:mail`."""
    distribution: str
    version: str

    def __str__(self) -> str:
        return f"plugin {self.name!r} of {self.distribution} {self.version}"

    def load(self) -> Any:
        """Import and return the plugin's object.

        Raises PluginError for every exception that the plugin's code raises.
        """
        from importlib.metadata import EntryPoint

        try:
            return EntryPoint(self.name, self.value, self.group).load()
        except (Exception, SystemExit) as error:
            what = f"{self.value} cannot be loaded: {type(error).__name__}: {error}"
            raise self.refused(what) from error

    def refused(self, why: str) -> PluginError:
        """Return the error to raise for this plugin."""
        return PluginError(f"{self}: {why}")


@cache
def installed() -> tuple[Plugin, ...]:
    """Return all installed plugins, by group and name, without loading any."""
    from importlib.metadata import entry_points

    found = [
        Plugin(
            group=group,
            name=each.name,
            value=each.value,
            distribution=each.dist.name if each.dist is not None else "",
            version=each.dist.version if each.dist is not None else "",
        )
        for group in GROUPS
        for each in entry_points(group=group)
    ]
    return tuple(sorted(found, key=lambda each: (GROUPS.index(each.group), each.name)))


def names_in(group: Group) -> list[str]:
    """Return the names of the plugins in a group."""
    return [each.name for each in installed() if each.group == group]


def find(group: Group, name: str) -> Plugin | None:
    """Return the plugin of that name, or None.

    Raises PluginError if two plugins of the group have the name.
    """
    there = [each for each in installed() if each.group == group and each.name == name]
    if len(there) > 1:
        owners = " and ".join(each.distribution for each in there)
        raise PluginError(f"there are two plugins {name!r} in {group}: of {owners}")
    return there[0] if there else None


def normalized(distribution: str) -> str:
    """Return a distribution's name as it is compared: `Accord_Mail` is `accord-mail`."""
    return _SEPARATORS.sub("-", distribution).lower()
