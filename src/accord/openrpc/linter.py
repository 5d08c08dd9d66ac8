"""`lint`: faults of an OpenRPC document that the meta-schema cannot express.

linter         all rules, applied to one document
linter_rules   the rules, their findings, and a walk over the objects of a document
linter_checks  references, schemas and methods, with their params, errors, examples and links

The linter has no I/O. It reads a decoded document, and assumes nothing about it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import islice
from typing import Any, Final

from msgspec import UNSET

from accord.openrpc.info import DISCOVER, is_absolute, url_variables
from accord.openrpc.linter_checks import (
    MethodChecks,
    check_error,
    check_schema,
    follow,
    is_endless,
    is_local,
    resolve,
    subschemas,
)
from accord.openrpc.linter_rules import (
    RULES as RULES,
    DocumentFinding,
    ObjectVisit,
    Path,
    finding,
    has_shape,
    shown,
    walk,
)

MAX_FINDINGS: Final = 1000
"""Maximum number of findings that are returned."""

_VERSION: Final = re.compile(r"1\.[0-4]\.\d+(-rc\d+)?")
_KEY: Final = re.compile(r"[A-Za-z0-9._-]+")
_URLS: Final = {"info": "termsOfService", "contact": "url", "license": "url", "docs": "url"}
"""For each kind of object, the member that has the URL of a page."""


def lint(document: Any) -> list[DocumentFinding]:
    """Return the findings in a document that was decoded from JSON; empty if there are none."""
    return list(islice(_Linter(document).run(), MAX_FINDINGS))


class _Linter:
    """The state of linting one document."""

    def __init__(self, document: Any) -> None:
        self._document = document
        self._used: set[tuple[str, ...]] = set()
        """The components that something refers to, each as its group and its key."""
        self._tags: dict[str, tuple[Path, Any]] = {}
        self._discover: Path = ()

    def run(self) -> Iterator[DocumentFinding]:
        self._discover = self._discover_path()
        for found in walk(self._document):
            if isinstance(found, DocumentFinding):
                yield found
            else:
                yield from self._check(found)
        yield from MethodChecks(self._document).check()
        yield from self._check_components()

    def _check(self, visit: ObjectVisit) -> Iterator[DocumentFinding]:
        if visit.kind in _URLS:
            yield from _check_url(visit, _URLS[visit.kind])
        if visit.kind in _CHECKS:
            yield from _CHECKS[visit.kind](visit)
        match visit.kind:
            case "error":
                yield from check_error(visit.path, visit.value)
            case "tag":
                yield from self._check_tag(visit)
            case "reference":
                yield from self._check_reference(visit.path, visit.value, visit.wanted)
            case "schema":
                for path, schema in subschemas(visit.path, visit.value):
                    yield from check_schema(path, schema)
                    if isinstance(schema, dict) and "$ref" in schema:
                        yield from self._check_reference(path, schema, "schema")

    def _check_reference(self, path: Path, value: Any, wanted: str) -> Iterator[DocumentFinding]:
        ref = value["$ref"]
        if not isinstance(ref, str):
            return
        here = (*path, "$ref")
        if not is_local(ref):
            yield self._remote(here, ref)
            return
        self._used.add(tuple(ref.split("/")[2:4]))
        target = follow(self._document, ref)
        if target is UNSET:
            message = f"'{ref}' leads nowhere; references go from the root of the document"
            yield finding("ref-unresolved", here, message)
        elif is_endless(self._document, value):
            message = f"'{ref}' leads back to itself without ever saying anything"
            yield finding("ref-cycle", here, message)
        elif (end := resolve(self._document, value)) is not UNSET and not has_shape(wanted, end):
            yield finding(
                "ref-kind", here, f"'{ref}' does not lead to the {wanted} that must be here"
            )

    def _remote(self, path: Path, ref: str) -> DocumentFinding:
        if self._discover and path[: len(self._discover)] == self._discover:
            message = (
                f"'{ref}' is another document, which those who discover this one may be unable "
                'to read; say {"type": "object"} instead'
            )
            return finding("ref-remote-discover", path, message)
        message = f"'{ref}' is another document; put what it says into this one's components"
        return finding("ref-remote", path, message)

    def _check_tag(self, visit: ObjectVisit) -> Iterator[DocumentFinding]:
        name = visit.value.get("name")
        if not isinstance(name, str) or len(visit.value) == 1:
            return
        place, first = self._tags.setdefault(name, (visit.path, visit.value))
        if first != visit.value:
            message = (
                f"the tag '{name}' is described otherwise at {shown(place)}; describe it once, "
                "in components, and refer to it"
            )
            yield finding("tag-conflict", visit.path, message)

    def _check_components(self) -> Iterator[DocumentFinding]:
        document = self._document
        components = document.get("components") if isinstance(document, dict) else None
        for group, entries in (components if isinstance(components, dict) else {}).items():
            for key in entries if isinstance(entries, dict) and not group.startswith("x-") else ():
                yield from self._check_component(("components", group, key), group, key)

    def _check_component(self, path: Path, group: str, key: str) -> Iterator[DocumentFinding]:
        if not _KEY.fullmatch(key):
            message = f"{key!r} has other characters than letters, digits and '.', '-', '_'"
            yield finding("component-key", path, message)
            return
        if (group, key) not in self._used:
            yield finding("component-unused", path, "nothing refers to it; take it away")

    def _discover_path(self) -> Path:
        methods = self._document.get("methods") if isinstance(self._document, dict) else None
        for index, method in enumerate(methods if isinstance(methods, list) else []):
            if isinstance(method, dict) and method.get("name") == DISCOVER:
                return ("methods", index)
        return ()


def _check_version(visit: ObjectVisit) -> Iterator[DocumentFinding]:
    version = visit.value.get("openrpc")
    if isinstance(version, str) and not _VERSION.fullmatch(version):
        message = f"'{version}' is no version of OpenRPC that is known here; 1.3.2 is widely read"
        yield finding("version", (*visit.path, "openrpc"), message)


def _check_url(visit: ObjectVisit, member: str) -> Iterator[DocumentFinding]:
    url = visit.value.get(member)
    if isinstance(url, str) and not is_absolute(url):
        message = f"'{url}' is not an absolute URL, as https://example.com/page is"
        yield finding("url", (*visit.path, member), message)


def _check_email(visit: ObjectVisit) -> Iterator[DocumentFinding]:
    address = visit.value.get("email")
    if isinstance(address, str) and not re.fullmatch(r"[^@\s]+@[^@\s]+", address):
        yield finding("url", (*visit.path, "email"), f"'{address}' is not an e-mail address")


def _check_server(visit: ObjectVisit) -> Iterator[DocumentFinding]:
    url, variables = visit.value.get("url"), visit.value.get("variables", {})
    if not isinstance(url, str) or not isinstance(variables, dict):
        return
    if not is_absolute(url):
        message = f"'{url}' is not absolute, as https://example.com/rpc is; clients need all of it"
        yield finding("server-url", (*visit.path, "url"), message)
    used = url_variables(url)
    for name in used:
        if name not in variables:
            message = f"the URL has the variable '{name}', which 'variables' lacks; declare it"
            yield finding("server-variable", (*visit.path, "url"), message)
    for name, variable in variables.items():
        place = (*visit.path, "variables", name)
        if name not in used:
            message = f"the URL has no ${{{name}}}; put it there, or take the variable away"
            yield finding("server-variable", place, message)
        yield from _check_variable(place, variable)


def _check_variable(path: Path, variable: Any) -> Iterator[DocumentFinding]:
    if isinstance(variable, dict) and isinstance(values := variable.get("enum"), list):
        default = variable.get("default")
        if values and isinstance(default, str) and default not in values:
            message = f"the default '{default}' is not among the values in 'enum'; add it there"
            yield finding("server-variable", (*path, "default"), message)


_CHECKS: Final = {"document": _check_version, "contact": _check_email, "server": _check_server}
