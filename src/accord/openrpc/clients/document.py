"""Reads an OpenRPC document of any origin into the model that clients are generated from.

The reader requires only the parts that clients need, and says where something is wrong. The
document is not trusted: its texts become values here and never code.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final
from urllib.parse import urlsplit

from accord.openrpc.clients.model import (
    ANYTHING,
    ApiError,
    ApiMethod,
    ApiModel,
    ApiParameter,
    Type,
    break_alias_cycles,
)
from accord.openrpc.clients.resolution import (
    DocumentError,
    Json,
    SourceDocument,
    below,
    dict_in,
    expect,
    list_in,
    shown,
)
from accord.openrpc.clients.schemas import Schemas, description

MAX_METHODS: Final = 20_000


def read_api(content: Any) -> ApiModel:
    """Return the model of an OpenRPC document.

    Raises `DocumentError` if no client can be generated from the document.
    """
    expect(content, dict, "#", "an OpenRPC document is an object")
    reader = _Reader(content)
    info = dict_in(content, "info", "#")
    methods = reader.methods()
    return ApiModel(
        title=_text(info, "title"),
        version=_text(info, "version"),
        description=_text(info, "description"),
        urls=tuple(_servers(content)),
        declarations=reader.declarations(),
        methods=methods,
    )


class _Reader:
    def __init__(self, content: Json) -> None:
        self._content = content
        self._document = SourceDocument(content)
        self._schemas = Schemas(self._document)
        components = dict_in(content, "components", "#")
        for name in dict_in(components, "schemas", "#/components"):
            place = below("#", "components", "schemas", name)
            self._schemas.declare(place, place)

    def declarations(self) -> dict[str, Any]:
        self._schemas.finish()
        return break_alias_cycles(self._schemas.declarations)

    def methods(self) -> tuple[ApiMethod, ...]:
        found: dict[str, ApiMethod] = {}
        listed = expect(self._content.get("methods"), list, "#/methods", "methods are an array")
        if len(listed) > MAX_METHODS:
            raise DocumentError(f"#/methods: {len(listed):,} methods, the most are {MAX_METHODS:,}")
        for index, entry in enumerate(listed):
            where = below("#", "methods", index)
            method = self._method(self._object(entry, where, "a method"), where)
            if method.name in found:
                raise DocumentError(f"{where}: there are two methods {shown(method.name)}")
            found[method.name] = method
        return tuple(found.values())

    def _method(self, entry: Json, where: str) -> ApiMethod:
        name = expect(entry.get("name"), str, where, "a method has a name, a string")
        structure = entry.get("paramStructure", "either")
        if structure not in ("by-name", "by-position", "either"):
            raise DocumentError(f"{where}: paramStructure cannot be {shown(str(structure))}")
        result, result_doc = self._result(entry, where, name)
        return ApiMethod(
            name=name,
            parameters=self._parameters(entry, where, name),
            by_position=structure == "by-position",
            result=result,
            result_doc=result_doc,
            summary=_text(entry, "summary"),
            description=_text(entry, "description"),
            errors=self._errors(entry, where),
            deprecated=entry.get("deprecated") is True,
        )

    def _parameters(self, entry: Json, where: str, method: str) -> tuple[ApiParameter, ...]:
        found: dict[str, ApiParameter] = {}
        for index, param in enumerate(list_in(entry, "params", where)):
            at = below(where, "params", index)
            described = self._object(param, at, "a parameter")
            name = expect(described.get("name"), str, at, "a parameter has a name, a string")
            if name in found:
                raise DocumentError(f"{at}: there are two parameters {shown(name)}")
            found[name] = ApiParameter(
                name,
                self._schema(described, at, (method, name)),
                described.get("required") is True,
                _param_doc(described),
                described.get("deprecated") is True,
                described.get("x-variadic") is True,
            )
        return tuple(found.values())

    def _result(self, entry: Json, where: str, method: str) -> tuple[Type | None, str]:
        if "result" not in entry:
            return None, ""
        at = below(where, "result")
        described = self._object(entry["result"], at, "a result")
        return self._schema(described, at, (method, "result")), _param_doc(described)

    def _schema(self, described: Json, where: str, hint: tuple[str, ...]) -> Type:
        if "schema" not in described:
            return ANYTHING
        return self._schemas.read(described["schema"], below(where, "schema"), hint)

    def _errors(self, entry: Json, where: str) -> tuple[ApiError, ...]:
        found: dict[int, ApiError] = {}
        for index, error in enumerate(list_in(entry, "errors", where)):
            at = below(where, "errors", index)
            described = self._object(error, at, "an error")
            code = expect(described.get("code"), int, at, "an error has a code, a whole number")
            found.setdefault(code, ApiError(code, _text(described, "message")))
        return tuple(found.values())

    def _object(self, value: Any, where: str, what: str) -> Json:
        found: Json = expect(
            self._document.follow(value, where), dict, where, f"{what} is an object"
        )
        return found


def _servers(content: Json) -> Iterator[str]:
    """Yield the absolute URLs under `servers` that contain no variables."""
    servers = content.get("servers")
    for server in servers if isinstance(servers, list) else ():
        url = server.get("url") if isinstance(server, dict) else None
        if isinstance(url, str) and _is_usable(url):
            yield url


def _is_usable(url: str) -> bool:
    try:
        parts = urlsplit(url)
    except ValueError:
        return False
    has_variables = "{" in url
    return url.isprintable() and not has_variables and bool(parts.scheme and parts.netloc)


def _text(entry: Json, word: str) -> str:
    found = entry.get(word)
    return found if isinstance(found, str) else ""


def _param_doc(described: Json) -> str:
    return (
        _text(described, "description")
        or _text(described, "summary")
        or description(described.get("schema"))
    )
