"""One method as OpenRPC writes it down (OpenRPC 1.3.2, Method Object)."""

from __future__ import annotations

from typing import Any

from msgspec import UNSET

from accord.exposure.openapi import Security
from accord.jsonrpc.about import Example, Link
from accord.jsonrpc.errors import RegistrationError
from accord.openrpc.components import Components, external_docs, plain
from accord.openrpc.description import Description, Param
from accord.schema.schema import Json

RESULT = "result"
"""What results are called; OpenRPC wants a name, and JSON-RPC has this one."""


def method_object(about: Description, components: Components) -> Json:
    """Raises `RegistrationError` when an example does not fit the method."""
    params = [_descriptor(param, components) for param in about.params]
    result = {
        "name": RESULT,
        "description": about.result_description,
        "schema": components.schema(about.result),
    }
    value: dict[str, Any] = {
        "name": about.name,
        "summary": about.summary,
        "description": about.description,
        "tags": [components.tag(tag) for tag in about.tags],
        "paramStructure": about.structure,
        "params": params,
        "result": _without_empty(result, keep=("schema",)),
        "errors": _errors(about, components),
        "links": [_link(link) for link in about.links],
        "examples": [_example(about, example) for example in about.examples],
        "deprecated": about.deprecated,
    }
    if about.route is not None:
        value["x-route"] = f"{about.route.method} {about.route.path}"
        value["x-security"] = _security(about.route.security, components)
    if about.external_docs is not None:
        value["externalDocs"] = external_docs(about.external_docs)
    return _without_empty(value, keep=("params",))


def _descriptor(param: Param, components: Components) -> Json:
    value: dict[str, Any] = {
        "name": param.name,
        "description": param.description,
        "required": param.required,
        "schema": components.schema(param.schema),
        "deprecated": param.deprecated,
        "x-in": param.place,
        "x-name": param.wire_name,
        "x-variadic": param.variadic,
    }
    return _without_empty(value, keep=("schema",))


def _security(security: Security, components: Components) -> list[Json]:
    """What a route asks for, as OpenAPI writes it: alternatives, by the names of schemes."""
    names = {each.name: components.security_scheme(each) for each in security.schemes}
    return [
        {names[name]: scopes for name, scopes in alternative.items()}
        for alternative in security.requirements
    ]


def _errors(about: Description, components: Components) -> list[Json]:
    # OpenRPC 1.3.2, Method Object: "The Errors MUST have unique error codes."
    by_code = {error.code: error for error in reversed(about.errors)}
    return [components.error(error) for _, error in sorted(by_code.items(), reverse=True)]


def _link(link: Link) -> Json:
    value: dict[str, Any] = {
        "name": link.name,
        "summary": link.summary,
        "description": link.description,
        "method": link.method,
        "params": plain(link.params),
    }
    return _without_empty(value)


def _example(about: Description, example: Example) -> Json:
    value: dict[str, Any] = {
        "name": example.name,
        "summary": example.summary,
        "description": example.description,
        "params": [{"name": name, "value": plain(it)} for name, it in _given(about, example)],
    }
    if example.result is not UNSET:
        value["result"] = {"name": RESULT, "value": plain(example.result)}
    return _without_empty(value, keep=("params",))


def _given(about: Description, example: Example) -> list[tuple[str, Any]]:
    """What an example gives, in the order of the parameters and without a gap between them."""
    rest = dict(example.params)
    given: list[tuple[str, Any]] = []
    skipped: list[Param] = []
    for param in about.params:
        if param.name not in rest:
            skipped.append(param)
            continue
        if about.structure == "by-position":
            given += [(each.name, _default(about, example, each)) for each in skipped]
            skipped.clear()
        value = rest.pop(param.name)
        if not param.variadic:
            given.append((param.name, value))
        elif about.structure == "by-position":
            given += [(param.name, each) for each in value]
        else:
            given += value.items()
    if rest:
        raise _unfit(about, example, f"names '{next(iter(rest))}', which is no parameter")
    if any(param.required for param in skipped):
        missing = next(param.name for param in skipped if param.required)
        raise _unfit(about, example, f"lacks '{missing}', which is required")
    return given


def _default(about: Description, example: Example, param: Param) -> Any:
    if (
        param.required
        or not isinstance(param.schema.value, dict)
        or "default" not in param.schema.value
    ):
        raise _unfit(about, example, f"lacks '{param.name}', which stands before others")
    return param.schema.value["default"]


def _unfit(about: Description, example: Example, why: str) -> RegistrationError:
    return RegistrationError(f"method '{about.name}': its example '{example.name}' {why}")


def _without_empty(value: dict[str, Any], keep: tuple[str, ...] = ()) -> dict[str, Any]:
    """Without members that say nothing; what OpenRPC requires is kept."""
    return {key: it for key, it in value.items() if it or key in keep}
