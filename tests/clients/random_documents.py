"""Documents made at random, with names and texts that want to be code."""

from __future__ import annotations

from collections.abc import Callable
from random import Random
from typing import Any, Final

from tests.clients.documents import Json, document, method, param, ref

HOSTILE: Final = (
    '"""',
    "'''",
    "\\",
    '\\"',
    "*/ process.exit(1) /*",
    "${process.exit(1)}`",
    "\u2028process.exit(1)\u2029",
    '"""\nimport os\nos._exit(1)\n"""',
    "');__import__('os')._exit(1)#",
    "\x00\r\n\x0b\x0c\x85",
    "\u202eevil\u2066",
    "𝓊𝓃𝒾𝒸ℴ𝒹ℯ ﬁ ß İ",
    "数 値",
    "class",
    "None",
    "self",
    "__class__",
    "__proto__",
    "constructor",
    "toString",
    "int",
    "list",
    "dt",
    "Any",
    "Client",
    "Error",
    "Promise",
    "a.b.c",
    "..",
    "",
    " ",
    "1",
    "a" * 300,
    "user id",
    "userId",
    "user_id",
    "//",
    "<!--",
    "</script>",
)
SCHEMAS: Final = 8


def random_document(seed: int) -> Json:
    """The same document for the same seed."""
    random = Random(seed)
    names = _distinct(random, SCHEMAS)
    made = _Maker(random, names)
    return document(
        *(made.method(name) for name in _distinct(random, 12)),
        schemas={name: made.schema(0) for name in names},
        info={each: made.text() for each in ("title", "version", "description")},
        servers=[{"url": made.text()}, {"url": f"http://{made.text()}"}],
    )


def _distinct(random: Random, count: int) -> list[str]:
    return random.sample(HOSTILE, count)


class _Maker:
    def __init__(self, random: Random, names: list[str]) -> None:
        self._random = random
        self._names = names

    def text(self) -> str:
        return "".join(self._random.choices(HOSTILE, k=self._random.randint(1, 3)))

    def method(self, name: str) -> Json:
        random = self._random
        params = [
            param(each, self.schema(0), required=random.random() < 0.5, description=self.text())
            for each in _distinct(random, random.randint(0, 6))
        ]
        return method(
            name,
            *params,
            result=self.schema(0) if random.random() < 0.9 else None,
            summary=self.text(),
            description=self.text(),
            paramStructure=random.choice(["by-name", "by-position", "either"]),
            errors=[{"code": random.randint(-5, 5), "message": self.text()}],
            deprecated=random.random() < 0.5,
        )

    def schema(self, depth: int) -> Any:
        random = self._random
        kinds: list[Callable[[int], Any]] = [self._ref, self._constants, self._primitive, self._any]
        if depth < 3:
            containers = (self._array, self._tuple, self._map, self._combined)
            kinds += [*(self._object,) * 3, *containers * 2]
        made = random.choice(kinds)(depth + 1)
        if isinstance(made, dict) and "$ref" not in made and random.random() < 0.3:
            made |= {"title": self.text(), "description": self.text()}
        return made

    def _ref(self, _: int) -> Json:
        name = self._random.choice(self._names)
        return ref(name.replace("~", "~0").replace("/", "~1").replace("%", "%25"))

    def _constants(self, _: int) -> Json:
        values: list[Any] = [*HOSTILE, 1, -5, 2.5, 1e300, 2**70, True, False, None, [], {}]
        return {"enum": self._random.choices(values, k=self._random.randint(1, 4))}

    def _primitive(self, _: int) -> Json:
        kinds = ["string", "integer", "number", "boolean", "null"]
        formats = ["date-time", "date", "time", "duration", "uuid", "byte", "email", self.text()]
        kind = self._random.choice([*kinds, self._random.sample(kinds, 2)])
        return {"type": kind, "format": self._random.choice(formats)}

    def _any(self, _: int) -> Any:
        return self._random.choice([True, False, {}])

    def _object(self, depth: int) -> Json:
        names = _distinct(self._random, self._random.randint(1, 5))
        return {
            "type": "object",
            "properties": {name: self.schema(depth) for name in names},
            "required": names[: self._random.randint(0, 3)],
            "additionalProperties": self._random.choice([True, False]),
        }

    def _array(self, depth: int) -> Json:
        return {"type": "array", "items": self.schema(depth)}

    def _tuple(self, depth: int) -> Json:
        items = [self.schema(depth) for _ in range(self._random.randint(0, 3))]
        more = self._random.choice([{}, {"minItems": 1}, {"additionalItems": self.schema(depth)}])
        return {"type": "array", "items": items, **more}

    def _map(self, depth: int) -> Json:
        return {"type": "object", "additionalProperties": self.schema(depth)}

    def _combined(self, depth: int) -> Json:
        word = self._random.choice(["anyOf", "oneOf", "allOf"])
        return {word: [self.schema(depth) for _ in range(self._random.randint(1, 3))]}
