"""For any signature: a call made as the document says is a call that the router takes."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

import msgspec
import pytest
from hypothesis import given, strategies as st

from accord import InvalidParamsError, Router
from accord.openrpc.document import RouterDocument
from accord.openrpc.info import Info
from accord.openrpc.linter import lint

KINDS = (
    inspect.Parameter.POSITIONAL_ONLY,
    inspect.Parameter.POSITIONAL_OR_KEYWORD,
    inspect.Parameter.VAR_POSITIONAL,
    inspect.Parameter.KEYWORD_ONLY,
    inspect.Parameter.VAR_KEYWORD,
)
VARIADIC = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)
POSITIONAL = KINDS[:2]


@st.composite
def functions(draw: st.DrawFn) -> Callable[..., Any]:
    """A function of integers with any signature that Python allows."""
    parameters: list[inspect.Parameter] = []
    optional = False
    for kind in KINDS:
        for _ in range(draw(st.integers(0, 1 if kind in VARIADIC else 2))):
            has_default = kind not in VARIADIC and draw(st.booleans())
            if kind in POSITIONAL:
                optional = has_default = optional or has_default
            default = 0 if has_default else inspect.Parameter.empty
            name = f"p{len(parameters)}"
            parameters.append(inspect.Parameter(name, kind, default=default, annotation=int))

    def function(*args: int, **kwargs: int) -> int:
        return sum(args) + sum(kwargs.values())

    function.__signature__ = inspect.Signature(parameters, return_annotation=int)  # type: ignore[attr-defined]
    return function


def can_be_called(function: Callable[..., Any]) -> bool:
    """Whether one array or object can hold all that is required."""
    required = {
        each.kind
        for each in inspect.signature(function).parameters.values()
        if each.default is inspect.Parameter.empty and each.kind not in VARIADIC
    }
    return not {inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.KEYWORD_ONLY} <= required


@pytest.mark.req("O-07", "O-08")
@given(functions(), st.data())
def test_what_the_document_allows_is_taken(
    function: Callable[..., Any], data: st.DataObject
) -> None:
    router = Router()
    method = router.add(function, "it")
    document = RouterDocument(router, Info(title="x", version="1")).to_json()
    assert lint(document) == []
    [described] = document["methods"]
    if not can_be_called(function):
        return
    params, structure = described["params"], described["paramStructure"]
    if structure == "either":
        structure = data.draw(st.sampled_from(["by-name", "by-position"]))
    required = sum(each.get("required", False) for each in params)
    given: Any
    if structure == "by-position":
        given = [1] * data.draw(st.integers(required, len(params)))
    else:
        given = {
            each["name"]: 1 for each in params if each.get("required") or data.draw(st.booleans())
        }
    assert method.invoke(msgspec.json.encode(given), None) >= required
    if required:
        fewer = given[: required - 1] if isinstance(given, list) else {}
        with pytest.raises(InvalidParamsError):
            method.invoke(msgspec.json.encode(fewer), None)
