"""What the definitions of classes are called: as the class, and unlike any other class."""

from __future__ import annotations

from collections.abc import Iterable
from types import UnionType
from typing import Any

from accord.schema.references import component_key


def title(cls: Any) -> str:
    """The class as one reads it: `User`, `Page[int]`."""
    arguments = getattr(cls, "__args__", ())
    if not arguments:
        return _own_title(cls)
    if isinstance(cls, UnionType):
        return " | ".join(map(title, arguments))
    return f"{_own_title(cls.__origin__)}[{', '.join(title(each) for each in arguments)}]"


def _own_title(cls: Any) -> str:
    """Return the class's `__schema_name__`, or its Python name.

    Documents that clients were generated from keep a name when the class gets a better one.
    A subclass does not inherit it.
    """
    pinned = getattr(cls, "__dict__", {}).get("__schema_name__")
    return str(getattr(cls, "__name__", cls) if pinned is None else pinned)


def name_classes(classes: Iterable[Any]) -> dict[Any, str]:
    """A name for each class. Those of the same name are called by their modules too."""
    by_name: dict[str, list[Any]] = {}
    for cls in classes:
        by_name.setdefault(component_key(title(cls)), []).append(cls)
    names: dict[Any, str] = {}
    for name, same in by_name.items():
        if len(same) == 1 or len({component_key(_full(cls)) for cls in same}) < len(same):
            numbered = [name, *(f"{name}_{number}" for number in range(2, len(same) + 1))]
            names.update(zip(same, numbered, strict=True))
        else:
            names.update((cls, component_key(_full(cls))) for cls in same)
    return names


def _full(cls: Any) -> str:
    origin = getattr(cls, "__origin__", cls)
    arguments = getattr(cls, "__args__", ())
    inner = f"[{', '.join(_full(each) for each in arguments)}]" if arguments else ""
    return f"{getattr(origin, '__module__', '')}.{getattr(origin, '__qualname__', origin)}{inner}"
