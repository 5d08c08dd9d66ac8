"""Schemas gathered into one document, which keeps their definitions in one place.

Equal definitions are shared. Two that have the same name and say different things keep
apart: the later one's name gets a suffix. The same schemas added in the same order give the
same names.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Literal, TypeAlias

from accord.schema.draft07 import to_draft07
from accord.schema.references import change_references, component_key, reference, referred
from accord.schema.schema import Json, Schema

Dialect: TypeAlias = Literal["draft-07", "2020-12"]


class Bundle:
    """Collects schemas; `definitions` is what belongs at the place that `refs` names."""

    def __init__(
        self,
        refs: str = "#/components/schemas/",
        dialect: Dialect = "draft-07",
        *,
        taken: Iterable[str] = (),
    ) -> None:
        """`taken` are keys that stand for something else already."""
        self.definitions: dict[str, Json] = {}
        """The definitions by their keys, in the dialect and with the references of the bundle."""
        self._refs = refs
        self._dialect = dialect
        self._taken = frozenset(taken)
        self._known: dict[str, Json] = {}
        """The same definitions as they came, but for their references."""

    def add(self, schema: Schema) -> Json:
        """`schema` as it stands in the document; its definitions are added to the others.

        A reference that leads nowhere becomes a schema that takes anything.
        """
        keys = self._keys(schema)
        for name, value in schema.definitions.items():
            if keys[name] not in self._known:
                self._known[keys[name]] = own = self._rewrite(value, keys)
                self.definitions[keys[name]] = self._translate(own)
        return self._translate(self._rewrite(schema.value, keys))

    def _keys(self, schema: Schema) -> dict[str, str]:
        """The key of each definition: a new one, or that of an equal one."""
        candidates = {name: _candidates(name, schema) for name in schema.definitions}
        keys = {name: next(each) for name, each in candidates.items()}
        settled = False
        while not settled:
            settled = True
            # Equal up to their references is not enough: a definition that refers to one
            # which keeps apart keeps apart itself, so look again after each change.
            owners: dict[str, str] = {}
            for name, value in schema.definitions.items():
                key = keys[name]
                free = key not in self._taken and owners.setdefault(key, name) == name
                if not free or self._differs(key, self._rewrite(value, keys)):
                    keys[name] = next(candidates[name])
                    settled = False
        return keys

    def _differs(self, key: str, value: Json) -> bool:
        return key in self._known and self._known[key] != value

    def _rewrite(self, value: Json, keys: dict[str, str]) -> Json:
        def change(ref: str) -> Json:
            found = referred(ref)
            if found is None or found[0] not in keys:
                return {}
            return {"$ref": reference(keys[found[0]], self._refs) + found[1]}

        return change_references(value, change)

    def _translate(self, value: Json) -> Json:
        return to_draft07(value) if self._dialect == "draft-07" else value


def _candidates(name: str, schema: Schema) -> Iterator[str]:
    key = component_key(name)
    yield key
    if schema.role is not None:
        key += schema.role
        yield key
    number = 2
    while True:
        yield f"{key}_{number}"
        number += 1
