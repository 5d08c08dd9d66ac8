"""Composition of the system: operations, recorders, data checks, and additions of plugins.

A package that is installed is trusted code. The setting `plugins` names the distributions that may
add something; additions cannot replace what exists. A plugin that cannot be used is reported in the
log and by `accord plugin list`. Its kind decides whether a server starts without it:

    operations   no: clients and workflows rely on them
    steps        no: runs with these steps would fail, one after another
    importers    yes: a request for the format is refused as unknown
    transports   yes: only `connect` and `serve` load one, which is named by a URL
"""

from __future__ import annotations

import logging
import re
from collections.abc import Callable, Iterable, Sequence
from functools import lru_cache
from typing import Any, Final, Literal, TypeAlias

from msgspec import Struct

from accord.entry_points import Plugin, PluginError, find, installed, normalized
from accord.hub.demo_project import demo_operation
from accord.hub.exchange.formats import FORMATS, Format, Formats
from accord.hub.recorders import FOREIGN_KINDS, add_hints, announce, record
from accord.hub.registry import hub_operations
from accord.hub.revision_check import (
    OPERATIONS as HUB_OPERATIONS,
    PROVEN_TABLES as HUB_PROVEN,
    RevisionCheck,
)
from accord.hub.search_index import index
from accord.hub.storage.rows import TABLES
from accord.operations.adapters.openapi import openapi_document
from accord.operations.adapters.rest_routes import RestRoute
from accord.operations.audit.operations import operations as audit_operations
from accord.operations.audit.states import ACCOUNT_TABLES, StateCheck, StateRecorder
from accord.operations.audit.verify import DataCheck
from accord.operations.auth.operations import operations as accounts_operations
from accord.operations.context import RULES
from accord.operations.operation import Operation
from accord.operations.registry import Operations, Registry
from accord.operations.runner import Recorder
from accord.transports.connect import SCHEMES, Transport
from accord.workflows.core.definition import PluginStep
from accord.workflows.core.definition_fields import NAME, TYPES
from accord.workflows.registry import (
    OPERATIONS as WORKFLOW_OPERATIONS,
    PROVEN as WORKFLOWS_PROVEN,
    workflow_operations,
)
from accord.workflows.step_type import StepType, StepTypes
from accord.workflows.triggers.events import trigger

RECORDERS: Final[tuple[Recorder, ...]] = (record, index, add_hints, announce, trigger)
PROVEN_TABLES: Final = (*ACCOUNT_TABLES, *WORKFLOWS_PROVEN, *HUB_PROVEN)
"""Tables whose rows have no revisions, and are compared with their stored states."""
EVENT_KINDS: Final = frozenset((*TABLES, "baseline", "proposal", *FOREIGN_KINDS))
"""The kinds of all entities that operations change; names of events begin with them."""


def all_operations(formats: Formats | None = None, further: Registry | None = None) -> Registry:
    """Return the registry of all operations.

    `formats` are the exchange formats of the hub, `further` the operations of plugins.
    """
    registry = Registry()
    for part in (
        hub_operations(formats),
        workflow_operations(),
        accounts_operations,
        audit_operations,
    ):
        registry.include(part.fully_declared())
    registry.include(further or Registry())
    return registry


def state_keeper(key: bytes) -> StateRecorder:
    """Return the recorder of row states; `key` is that of the audit trail."""
    return StateRecorder(key, PROVEN_TABLES, FOREIGN_KINDS)


def data_checks() -> tuple[DataCheck, ...]:
    """Return the checks that compare data with the audit trail."""
    accounts = frozenset(each.name for each in accounts_operations if each.writes)
    hub = (*(each.name for each in hub_operations() if each.writes), demo_operation().name)
    alone = accounts | WORKFLOW_OPERATIONS
    return (StateCheck(PROVEN_TABLES, alone, HUB_OPERATIONS, [RevisionCheck(hub)]),)


log = logging.getLogger("accord.plugins")

ALL_PLUGINS: Final = "*"
TRANSPORT_GROUP: Final = "accord.transports"
SKIPPED_GROUPS: Final = frozenset({"accord.importers", TRANSPORT_GROUP})
"""Groups of entry points whose unusable plugins are skipped.

An unusable plugin of another group stops a server from starting.
"""

_PATH_HEAD: Final = re.compile(r"/([a-z][a-z0-9-]*)(/.*)?")
_RESERVED_PATHS: Final = frozenset({"mcp", "webhooks", "sessions", "openapi.json"})
"""Paths below `/api/v1` that are no operations."""
_SCHEME: Final = re.compile(r"[a-z][a-z0-9+.-]*")

State: TypeAlias = Literal["loaded", "off", "failed"]


class PluginState(Struct, frozen=True, kw_only=True):
    """A plugin and its state."""

    plugin: Plugin
    state: State
    """`loaded`; `failed` if unusable; `off` if `plugins` does not name its distribution."""
    adds: tuple[str, ...] = ()
    """The names of its additions."""
    why: str = ""
    """The reason why the plugin is not loaded; empty if it is."""


class Plugins(Struct, frozen=True, kw_only=True):
    """The additions of all plugins, and the state of each plugin."""

    operations: Registry
    steps: StepTypes
    formats: Formats
    states: tuple[PluginState, ...]
    missing: tuple[str, ...]
    """Distributions named in the setting `plugins` that have no plugin."""

    def require(self) -> None:
        """Raise PluginError if a named plugin is missing, or a required one is unusable.

        Plugins of `SKIPPED_GROUPS` are not required.
        """
        for each in self.states:
            if each.state == "failed" and each.plugin.group not in SKIPPED_GROUPS:
                raise PluginError(f"{each.why}: repair it, or take it out of `plugins`")
        if self.missing:
            names = ", ".join(self.missing)
            raise PluginError(f"plugins: {names} is not installed, or has no plugin")


def load_plugins(allowed: Iterable[str], *, transports: bool = False) -> Plugins:
    """Load the plugins of these distributions; `*` means all.

    Plugins that cannot be used are logged, once for each process. `transports` loads transports
    too, which only a report on plugins needs.
    """
    return _load_target(tuple(allowed), transports)


@lru_cache(maxsize=4)
def _load_target(allowed: tuple[str, ...], transports: bool) -> Plugins:
    loading = _PluginLoader()
    states = tuple(
        loading.load(each, allowed=_is_allowed(each, allowed))
        for each in installed()
        if transports or each.group != TRANSPORT_GROUP
    )
    for each in states:
        if each.state == "failed":
            log.error("%s", each.why)
        elif each.state == "loaded":
            log.info("%s adds %s", each.plugin, ", ".join(each.adds))
    there = {normalized(each.distribution) for each in installed()}
    return Plugins(
        operations=loading.operations,
        steps=StepTypes(loading.steps),
        formats=Formats(loading.formats),
        states=states,
        missing=tuple(
            each for each in allowed if each != ALL_PLUGINS and normalized(each) not in there
        ),
    )


def _is_allowed(plugin: Plugin, allowed: Sequence[str]) -> bool:
    if plugin.group == TRANSPORT_GROUP or ALL_PLUGINS in allowed:
        return True
    return normalized(plugin.distribution) in map(normalized, allowed)


class _PluginLoader:
    """A collector of everything that plugins add."""

    def __init__(self) -> None:
        self.operations = Registry()
        self.steps: dict[str, StepType] = {}
        self.formats: list[Format] = []
        self._ways: dict[str, Callable[[Plugin, Any], Iterable[str]]] = {
            "accord.operations": self._add_operations,
            TRANSPORT_GROUP: self._see_transport,
            "accord.steps": self._add_step,
            "accord.importers": self._add_format,
        }

    def load(self, plugin: Plugin, *, allowed: bool) -> PluginState:
        if not allowed:
            why = "the setting `plugins` does not name its package"
            return PluginState(plugin=plugin, state="off", why=why)
        try:
            find(plugin.group, plugin.name)
            adds = tuple(self._ways[plugin.group](plugin, plugin.load()))
        except PluginError as error:
            return PluginState(plugin=plugin, state="failed", why=str(error))
        return PluginState(plugin=plugin, state="loaded", adds=adds)

    def _add_operations(self, plugin: Plugin, value: Any) -> Iterable[str]:
        if not isinstance(value, Operations):
            raise plugin.refused(f"{plugin.value} is no accord.plugins.Operations")
        before = all_operations(further=self.operations)
        for operation in value:
            problem = _operation_problem(operation, before)
            if problem:
                raise plugin.refused(f"operation {operation.name!r}: {problem}")
        self.operations.include(value)
        return [each.name for each in value]

    def _see_transport(self, plugin: Plugin, value: Any) -> Iterable[str]:
        if plugin.name in SCHEMES or not _SCHEME.fullmatch(plugin.name):
            raise plugin.refused("its name is no URL scheme, or one of ours")
        if not isinstance(value, Transport):
            raise plugin.refused(f"{plugin.value} is no accord.plugins.Transport")
        return [f"{plugin.name}:"]

    def _add_step(self, plugin: Plugin, value: Any) -> Iterable[str]:
        reserved = TYPES | {PluginStep.__struct_config__.tag}
        if plugin.name in reserved or not NAME.fullmatch(plugin.name):
            raise plugin.refused("its name is no type of a step, or one of ours")
        if not isinstance(value, StepType):
            raise plugin.refused(f"{plugin.value} is not made by accord.plugins.step_type")
        self.steps[plugin.name] = value
        return [plugin.name]

    def _add_format(self, plugin: Plugin, value: Any) -> Iterable[str]:
        if not isinstance(value, Format) or value.name != plugin.name:
            raise plugin.refused(
                f"{plugin.value} is no accord.plugins.Format with the name {plugin.name!r}"
            )
        there = [*FORMATS.values(), *self.formats]
        if any(each.name == value.name for each in there):
            raise plugin.refused("its name is that of another format")
        taken = {suffix for each in there for suffix in each.suffixes}.intersection(value.suffixes)
        if taken or not value.suffixes:
            raise plugin.refused(f"files have no suffix of its own: {', '.join(sorted(taken))}")
        self.formats.append(value)
        return [plugin.name]


def _operation_problem(operation: Operation, before: Registry) -> str:
    """Return the reason why a plugin's operation cannot be added; empty if it can.

    `before` has the operations that were added earlier.
    """
    if before.get(operation.name) is not None:
        return "there is one of that name"
    if operation.right not in RULES:
        return f"there is no right {operation.right!r}, only {', '.join(RULES)}"
    taken = _RESERVED_PATHS | {_head(rest.path) for each in before for rest in each.rest}
    for rest in operation.rest:
        if _head(rest.path) in taken or not _PATH_HEAD.fullmatch(rest.path):
            return f"the path {rest.path} does not begin with a word of its own, as in /stale"
    alone = Registry()
    alone.add(operation)
    try:
        for rest in operation.rest:
            RestRoute(operation, rest, "")
        openapi_document(alone, title="", version="", root="")
    except Exception as error:  # noqa: BLE001 - each library refuses a type by errors of its own
        return f"{type(error).__name__}: {error}"
    return ""


def _head(path: str) -> str:
    found = _PATH_HEAD.fullmatch(path)
    return found[1] if found is not None else path
