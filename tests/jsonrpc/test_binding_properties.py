"""For any signature, params bind exactly as Python binds arguments."""

from __future__ import annotations

import string
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given, strategies as st
from msgspec import Struct
from msgspec.json import encode

from accord.jsonrpc.binding import Binder
from accord.jsonrpc.channel import ChannelInfo
from accord.jsonrpc.context import Context
from accord.jsonrpc.errors import InvalidParamsError
from accord.jsonrpc.method import make_method
from accord.jsonrpc.parameters import read_signature

CONTEXT = Context("it", 1, channel=ChannelInfo(scheme="memory"))
NAMES = string.ascii_lowercase[:8]
SOURCE = "def it({}): return {{name: value for name, value in locals().items() if name != 'ctx'}}"


class Shape(Struct, frozen=True):
    """A signature: how many parameters of each kind, and how many of them have defaults."""

    positional_only: int
    either: int
    positional_defaults: int
    keyword_only: tuple[bool, ...]
    rest: bool
    others: bool
    context: int | None
    """Before which parameter the context stands; None for nowhere, -1 for by keyword."""
    annotation: str

    def function(self, *, with_context: bool) -> Callable[..., Any]:
        scope: dict[str, Any] = {"Context": Context, "Any": Any}
        exec(SOURCE.format(", ".join(self._parameters(with_context))), scope)
        function: Callable[..., Any] = scope["it"]
        return function

    def _parameters(self, with_context: bool) -> list[str]:
        count = self.positional_only + self.either
        required = count - self.positional_defaults
        parts = []
        for index, name in enumerate(NAMES[:count]):
            default = "" if index < required else f" = {index}"
            if with_context and index == self.context:
                parts.append("ctx: Context" + (" = None" if default and index > required else ""))
            parts.append(f"{name}: {self.annotation}{default}")
            if index + 1 == self.positional_only:
                parts.append("/")
        by_keyword = with_context and self.context == -1
        if self.rest:
            parts.append(f"*rest: {self.annotation}")
        elif self.keyword_only or by_keyword:
            parts.append("*")
        for name, has_default in zip(NAMES[count:], self.keyword_only, strict=False):
            parts.append(f"{name}: {self.annotation}{' = -1' if has_default else ''}")
        if by_keyword:
            parts.append("ctx: Context")
        if self.others:
            parts.append(f"**others: {self.annotation}")
        return parts


@st.composite
def shapes(draw: st.DrawFn) -> Shape:
    positional_only = draw(st.integers(0, 2))
    either = draw(st.integers(0, 3))
    count = positional_only + either
    return Shape(
        positional_only,
        either,
        draw(st.integers(0, count)),
        tuple(draw(st.lists(st.booleans(), max_size=3))),
        draw(st.booleans()),
        draw(st.booleans()),
        draw(st.none() | st.integers(-1, max(0, count - 1))),
        draw(st.sampled_from(["int", "Any"])),
    )


VALUES = st.integers(-9, 9)
BY_POSITION = st.lists(VALUES, max_size=7)
BY_NAME = st.dictionaries(st.sampled_from(NAMES), VALUES, max_size=7)


@pytest.mark.req("F-07", "RPC-4.2a", "RPC-4.2b")
@given(shape=shapes(), params=BY_POSITION | BY_NAME)
def test_params_bind_as_python_binds_arguments(
    shape: Shape, params: list[int] | dict[str, int]
) -> None:
    oracle = shape.function(with_context=False)
    served = shape.function(with_context=True)
    data = encode(params)
    try:
        expected = oracle(*params) if isinstance(params, list) else oracle(**params)
    except TypeError:
        with pytest.raises(InvalidParamsError):
            make_method(served, "it").invoke(data, CONTEXT)
        return
    assert make_method(served, "it").invoke(data, CONTEXT) == expected
    args, kwargs = Binder(read_signature(served)).bind(data, CONTEXT)
    assert served(*args, **kwargs) == expected


@pytest.mark.req("F-07", "F-30")
@given(
    shape=shapes(),
    params=st.recursive(
        st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
        lambda inner: st.lists(inner) | st.dictionaries(st.text() | st.sampled_from(NAMES), inner),
    ),
)
def test_whatever_the_params_are_they_bind_or_are_refused_as_invalid_params(
    shape: Shape, params: Any
) -> None:
    method = make_method(shape.function(with_context=True), "it")
    data: Any = None
    try:
        method.invoke(encode(params), CONTEXT)
    except InvalidParamsError as error:
        data = error.data
    assert data is None or {"reason", "parameter", "path", "expected", "got"} <= set(data)
