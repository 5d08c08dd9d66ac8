"""Finds the resource that a URI belongs to, however many there are.

A URI of a resource is looked up; one of a template is only compared with templates that begin
as it does.
"""

from __future__ import annotations

from typing import Any

from accord.mcp.protocol.uri_template import UriTemplate
from accord.mcp.server.registry import Registry
from accord.mcp.server.resource import ServedResource


class ResourceIndex:
    """An index of a registry's resources by URI.

    Rebuilt after the registry has changed.
    """

    def __init__(self, registry: Registry[ServedResource]) -> None:
        self._registry = registry
        self._version = -1
        self._by_start: dict[str, list[tuple[int, ServedResource, UriTemplate]]] = {}
        self._lengths: tuple[int, ...] = ()

    def find(self, uri: str) -> tuple[ServedResource, dict[str, Any]] | None:
        """Return the resource and the variables of its template.

        Of several matching templates, the one added first.
        """
        found = self._registry.get(uri)
        if found is not None and found.template is None:
            return found, {}
        if self._version != self._registry.version:
            self._make()
        candidates = [
            each for length in self._lengths for each in self._by_start.get(uri[:length], ())
        ]
        if len(self._lengths) > 1:
            candidates.sort(key=lambda each: each[0])
        for _, resource, template in candidates:
            variables = template.match(uri)
            if variables is not None:
                return resource, dict(variables)
        return None

    def _make(self) -> None:
        self._by_start = {}
        for number, resource in self._registry.numbered():
            if resource.template is not None:
                start = _literal_start(resource.template.text)
                entry = (number, resource, resource.template)
                self._by_start.setdefault(start, []).append(entry)
        self._lengths = tuple(sorted(map(len, self._by_start)))
        self._lengths = tuple(dict.fromkeys(self._lengths))
        self._version = self._registry.version


def _literal_start(template: str) -> str:
    """Return the common start of a template's URIs.

    Empty if the start can be written in several ways.
    """
    start = template.partition("{")[0]
    return start if start.isascii() and "%" not in start else ""
