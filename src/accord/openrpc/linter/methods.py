"""What can be wrong with the methods of a document."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from typing import Any

from accord.jsonrpc.catalogue import CATALOGUE, RESERVED
from accord.jsonrpc.router import RESERVED_PREFIX
from accord.openrpc.discover import DISCOVER
from accord.openrpc.linter.finding import Finding, Path, finding
from accord.openrpc.linter.references import resolve

_SERVER_ERRORS = range(-32099, -32000 + 1)
"""JSON-RPC 2.0, section 5.1: what a server makes of these is its own affair."""


class Methods:
    """The methods of a document, those behind references included."""

    def __init__(self, document: Any) -> None:
        self._document = document
        listed = document.get("methods") if isinstance(document, dict) else None
        self._listed = [
            (("methods", index), method)
            for index, each in enumerate(listed if isinstance(listed, list) else [])
            if isinstance(method := resolve(document, each), dict)
        ]
        self._by_name = {
            name: method
            for _, method in reversed(self._listed)
            if isinstance(name := method.get("name"), str)
        }

    def check(self) -> Iterator[Finding]:
        names = ((path, method.get("name")) for path, method in self._listed)
        for path, name in _repeated(names):
            message = f"another method is called '{name}' already; give one of them another name"
            yield finding("method-duplicate", (*path, "name"), message)
        for path, method in self._listed:
            yield from self._check(path, method)

    def _check(self, path: Path, method: dict[str, Any]) -> Iterator[Finding]:
        yield from _check_name(path, method)
        yield from self._check_params(path, method)
        yield from self._check_errors(path, method)
        yield from self._check_tags(path, method)
        for index, example in self._items(method, "examples"):
            yield from self._check_example((*path, "examples", index), method, example)
        for index, link in self._items(method, "links"):
            yield from self._check_link((*path, "links", index), link)

    def _check_params(self, path: Path, method: dict[str, Any]) -> Iterator[Finding]:
        params = [((*path, "params", index), it) for index, it in self._items(method, "params")]
        for place, name in _repeated((place, it.get("name")) for place, it in params):
            message = f"another param is called '{name}' already; give one of them another name"
            yield finding("param-duplicate", (*place, "name"), message)
        optional = ""
        for place, param in params:
            if param.get("required") is not True:
                optional = optional or str(param.get("name"))
            elif optional:
                message = (
                    f"'{param.get('name')}' is required and stands behind '{optional}', which is "
                    "not; put required params first"
                )
                yield finding("param-order", place, message)

    def _check_errors(self, path: Path, method: dict[str, Any]) -> Iterator[Finding]:
        errors = [((*path, "errors", index), it) for index, it in self._items(method, "errors")]
        for place, code in _repeated((place, it.get("code")) for place, it in errors):
            message = f"the method has an error {code} already; its codes must differ"
            yield finding("error-duplicate", place, message)

    def _check_tags(self, path: Path, method: dict[str, Any]) -> Iterator[Finding]:
        tags = (((*path, "tags", index), it) for index, it in self._items(method, "tags"))
        for place, name in _repeated((place, it.get("name")) for place, it in tags):
            message = f"the method has the tag '{name}' already; take one of them away"
            yield finding("tag-duplicate", place, message)

    def _check_example(
        self, path: Path, method: dict[str, Any], example: dict[str, Any]
    ) -> Iterator[Finding]:
        params = [it for _, it in self._items(method, "params")]
        given = [it for _, it in self._items(example, "params")]
        by_position = method.get("paramStructure") == "by-position"
        yield from _check_given(path, params, given, by_position=by_position)
        if "result" in example and "result" not in method:
            message = (
                "the method has no result, so that it can only be notified, but the example has "
                "one; take it away, or describe the result of the method"
            )
            yield finding("example-result", (*path, "result"), message)

    def _check_link(self, path: Path, link: dict[str, Any]) -> Iterator[Finding]:
        name = link.get("method")
        if not isinstance(name, str):
            return
        method = self._by_name.get(name)
        if method is None:
            message = f"no method is called '{name}'; name one of this document"
            yield finding("link-method", (*path, "method"), message)
            return
        known = [it for _, it in self._items(method, "params")]
        given = link.get("params")
        if not isinstance(given, dict) or any(map(_is_variadic, known)):
            return
        for param in given:
            if param not in {it.get("name") for it in known}:
                message = f"'{name}' has no param '{param}'; give it only those it has"
                yield finding("link-param", (*path, "params", param), message)

    def _items(self, holder: dict[str, Any], member: str) -> Iterator[tuple[int, dict[str, Any]]]:
        """The objects of an array, those behind references included, with their indices."""
        listed = holder.get(member)
        for index, each in enumerate(listed if isinstance(listed, list) else []):
            if isinstance(found := resolve(self._document, each), dict):
                yield index, found


def check_error(path: Path, error: dict[str, Any]) -> Iterator[Finding]:
    """What is wrong with the code of one error."""
    code = error.get("code")
    if not isinstance(code, int) or code not in RESERVED or code in _SERVER_ERRORS:
        return
    if CATALOGUE.get(code) is None:
        message = (
            f"code {code} is reserved, and nothing is defined for it; applications use codes "
            f"outside {RESERVED[0]} to {RESERVED[-1]}"
        )
        yield finding("error-reserved", (*path, "code"), message)


def _check_name(path: Path, method: dict[str, Any]) -> Iterator[Finding]:
    name = method.get("name")
    if isinstance(name, str) and name.startswith(RESERVED_PREFIX) and name != DISCOVER:
        message = (
            f"'{name}': names that begin with '{RESERVED_PREFIX}' are kept for the protocol, "
            "which has no such method; give it another name"
        )
        yield finding("method-reserved", (*path, "name"), message)
    if "result" not in method:
        message = (
            f"'{name}' has no result, so that it can only be notified; describe its result if "
            'it has one, {"type": "null"} if that is nothing'
        )
        yield finding("method-without-result", path, message)


def _check_given(
    path: Path, params: list[dict[str, Any]], given: list[dict[str, Any]], *, by_position: bool
) -> Iterator[Finding]:
    variadic = any(map(_is_variadic, params))
    names = [it.get("name") for it in params]
    if by_position:
        missing = names[len(given) :]
        surplus = list(range(len(params), len(given)))
    else:
        have = {it.get("name") for it in given}
        missing = [name for name in names if name not in have]
        surplus = [index for index, it in enumerate(given) if it.get("name") not in names]
    required = {it.get("name") for it in params if it.get("required") is True}
    for name in missing:
        if name in required:
            message = f"the example lacks '{name}', which is required; add it"
            yield finding("example-param-missing", (*path, "params"), message)
    for index in [] if variadic else surplus:
        message = (
            f"the method has no param '{given[index].get('name')}'; take it away, or give it "
            "the name of one"
        )
        yield finding("example-param-unknown", (*path, "params", index), message)


def _is_variadic(param: dict[str, Any]) -> bool:
    return param.get("x-variadic") is True


def _repeated(items: Iterable[tuple[Path, Any]]) -> Iterator[tuple[Path, Any]]:
    """Those whose value was there before."""
    seen: Counter[Any] = Counter()
    for path, value in items:
        if isinstance(value, str | int):
            seen[value] += 1
            if seen[value] > 1:
                yield path, value
