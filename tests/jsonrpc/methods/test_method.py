"""A method binds params as Python binds arguments, and runs as it was declared."""

from __future__ import annotations

import functools
import inspect
from collections.abc import AsyncIterator, Callable, Iterator
from typing import Annotated, Any

import pytest
from msgspec import UNSET, Raw
from msgspec.json import encode

from accord.jsonrpc.methods.context import Context
from accord.jsonrpc.methods.method import Method, make_method
from accord.jsonrpc.methods.signature import Parameter
from accord.jsonrpc.protocol.channel import ChannelInfo
from accord.jsonrpc.protocol.errors import InvalidParamsError, RegistrationError

CONTEXT = Context("it", 1, channel=ChannelInfo(scheme="memory"))


def call(function: Callable[..., Any], params: Any = UNSET) -> Any:
    """Serve one call of `function` with `params`, as a router would."""
    return make_method(function, "it").invoke(UNSET if params is UNSET else encode(params), CONTEXT)


def refusal(function: Callable[..., Any], params: Any = UNSET) -> str:
    with pytest.raises(InvalidParamsError) as caught:
        call(function, params)
    return caught.value.message


def subtract(minuend: int, subtrahend: int) -> int:
    """The difference."""
    return minuend - subtrahend


def power(base: int, exponent: int = 2, modulus: int | None = None) -> Any:
    return base, exponent, modulus


def search(text: str, *, limit: int = 10, deep: bool = False) -> Any:
    return text, limit, deep


def tagged(text: str, *, tag: str) -> Any:
    return text, tag


def first_only(a: int, b: int = 5, /, c: int = 6) -> Any:
    return a, b, c


def rest(first: int, *others: int) -> Any:
    return first, others


def total(*numbers: int) -> int:
    return sum(numbers)


def labels(prefix: str = "", **values: int) -> Any:
    return prefix, values


def everything(a: int, /, b: int, *c: int, d: int, e: int = 0, **f: int) -> Any:
    return a, b, c, d, e, f


def nothing() -> str:
    return "done"


def dunder(__a: int, __b: int = 2) -> Any:
    return __a, __b


@pytest.mark.req("F-07", "RPC-4.2a", "RPC-4.2b")
@pytest.mark.parametrize(
    ("function", "params", "result"),
    [
        (subtract, [42, 23], 19),
        (subtract, {"subtrahend": 23, "minuend": 42}, 19),
        (power, [3], (3, 2, None)),
        (power, [3, 4], (3, 4, None)),
        (power, [3, 4, 5], (3, 4, 5)),
        (power, {"base": 3}, (3, 2, None)),
        (power, {"base": 3, "modulus": 7}, (3, 2, 7)),
        (search, ["x"], ("x", 10, False)),
        (search, {"text": "x"}, ("x", 10, False)),
        (search, {"text": "x", "deep": True}, ("x", 10, True)),
        (tagged, {"text": "x", "tag": "y"}, ("x", "y")),
        (first_only, [1], (1, 5, 6)),
        (first_only, [1, 2, 3], (1, 2, 3)),
        (rest, [1], (1, ())),
        (rest, [1, 2, 3], (1, (2, 3))),
        (rest, {"first": 1}, (1, ())),
        (total, UNSET, 0),
        (total, [], 0),
        (total, {}, 0),
        (total, [1, 2, 3], 6),
        (labels, {"prefix": "p", "x": 1, "y": 2}, ("p", {"x": 1, "y": 2})),
        (labels, ["p"], ("p", {})),
        (labels, UNSET, ("", {})),
        (nothing, UNSET, "done"),
        (nothing, None, "done"),
        (nothing, [], "done"),
        (nothing, {}, "done"),
        (dunder, [1], (1, 2)),
        (dunder, {"__a": 1, "__b": 3}, (1, 3)),
    ],
)
def test_params_bind_by_position_and_by_name(
    function: Callable[..., Any], params: Any, result: Any
) -> None:
    assert call(function, params) == result


def test_absent_params_use_every_default() -> None:
    def page(size: int = 20, *, start: int = 0) -> Any:
        return size, start

    assert call(page) == (20, 0)
    assert call(page, None) == (20, 0)


@pytest.mark.req("F-07")
@pytest.mark.parametrize(
    ("function", "params", "message"),
    [
        (nothing, [1], "parameter 'params': the method takes 0 parameters by position, 1 came"),
        (nothing, {"a": 1}, "parameter 'a': no such parameter (allowed by name: none)"),
        (subtract, UNSET, "parameter 'minuend': expected int, got nothing (and 1 more)"),
        (subtract, [], "parameter 'minuend': expected int, got nothing (and 1 more)"),
        (subtract, [1], "parameter 'subtrahend': expected int, got nothing"),
        (subtract, {"minuend": 1}, "parameter 'subtrahend': expected int, got nothing"),
        (
            subtract,
            [1, 2, 3],
            "parameter 'params': the method takes 2 parameters by position, 3 came",
        ),
        (subtract, [1, "2"], "parameter 'subtrahend': expected int, got str"),
        (
            subtract,
            {"minuend": None, "subtrahend": 2},
            "parameter 'minuend': expected int, got null",
        ),
        (
            subtract,
            {"minuend": 1, "subtrahend": 2, "minuent": 3},
            "parameter 'minuent': no such parameter, did you mean 'minuend'? "
            "(allowed by name: 'minuend', 'subtrahend')",
        ),
        (tagged, ["x"], "parameter 'tag': expected str, got nothing"),
        (
            search,
            ["x", 5],
            "parameter 'params': the method takes 1 parameter by position, 2 came",
        ),
        (
            first_only,
            {"a": 1},
            "parameter 'a': it is taken by position only: send params as an array (and 1 more)",
        ),
        (rest, [1, 2, "3"], "parameter 'others[1]': expected int, got str"),
        (
            rest,
            {"first": 1, "others": [2]},
            "parameter 'others': no such parameter (allowed by name: 'first')",
        ),
        (total, [1, None], "parameter 'numbers[1]': expected int, got null"),
        (labels, {"prefix": "p", "x": "1"}, "parameter 'x': expected int, got str"),
        (labels, ["p", 1], "parameter 'params': the method takes 1 parameter by position, 2 came"),
        (everything, [1, 2, 3], "parameter 'd': expected int, got nothing"),
    ],
)
def test_params_that_do_not_fit_are_refused_by_name(
    function: Callable[..., Any], params: Any, message: str
) -> None:
    assert refusal(function, params) == message


@pytest.mark.req("F-30")
@pytest.mark.parametrize("function", [nothing, subtract, search, total, labels])
@pytest.mark.parametrize("params", [b"5", b'"text"', b"true", b"[1", b"\xff", b'{"\xff": 1}', b""])
def test_params_that_are_no_array_or_object_are_refused(
    function: Callable[..., Any], params: bytes
) -> None:
    method = make_method(function, "it")
    with pytest.raises(InvalidParamsError) as caught:
        method.invoke(params, None)
    assert caught.value.message.startswith("parameter 'params': not decodable: ")
    assert caught.value.data["expected"] == "array or object"


def test_raw_params_are_taken_like_bytes() -> None:
    assert make_method(subtract, "it").invoke(Raw(b"[3, 1]"), None) == 2
    assert make_method(power, "it").invoke(Raw(b'{"base": 3}'), None) == (3, 2, None)
    assert make_method(nothing, "it").invoke(Raw(b"null"), None) == "done"


def test_a_default_is_the_very_object_that_the_function_declares() -> None:
    shared: list[int] = []
    weird = object()

    def remember(a: int = 1, seen: list[int] = shared, mark: Any = weird) -> Any:
        return seen, mark

    def later(*, a: int = 1, seen: list[int] = shared, mark: Any = weird) -> Any:
        return seen, mark

    for function in (remember, later):
        choices: list[Any] = [UNSET, [], {}, {"a": 2}]
        for params in choices:
            seen, mark = call(function, params)
            assert seen is shared
            assert mark is weird


# The context


def with_context(c: Context, a: int) -> Any:
    return c, a


def with_context_last(a: int, c: Context) -> Any:
    return c, a


def with_context_between(a: int, c: Context, b: int = 2) -> Any:
    return c, a, b


def with_context_by_keyword(a: int, *, c: Context) -> Any:
    return c, a


def with_context_and_keywords(a: int = 1, *, c: Context, b: int = 2) -> Any:
    return c, a, b


def with_optional_context(a: int, c: Context | None = None) -> Any:
    return c, a


def with_annotated_context(c: Annotated[Context, "of this call"], a: int) -> Any:
    return c, a


def with_context_and_rest(a: int, c: Context, *others: int) -> Any:
    return c, a, others


def with_rest_and_context(*others: int, c: Context) -> Any:
    return c, others


def with_first_context_and_others(c: Context, /, a: int, **others: int) -> Any:
    return c, a, others


def with_context_only(c: Context) -> Any:
    return c


@pytest.mark.parametrize(
    ("function", "params", "result"),
    [
        (with_context, [1], (CONTEXT, 1)),
        (with_context, {"a": 1}, (CONTEXT, 1)),
        (with_context_last, [1], (CONTEXT, 1)),
        (with_context_last, {"a": 1}, (CONTEXT, 1)),
        (with_context_between, [1], (CONTEXT, 1, 2)),
        (with_context_between, [1, 3], (CONTEXT, 1, 3)),
        (with_context_between, {"b": 3, "a": 1}, (CONTEXT, 1, 3)),
        (with_context_by_keyword, [1], (CONTEXT, 1)),
        (with_context_by_keyword, {"a": 1}, (CONTEXT, 1)),
        (with_context_and_keywords, UNSET, (CONTEXT, 1, 2)),
        (with_context_and_keywords, [3], (CONTEXT, 3, 2)),
        (with_context_and_keywords, {"b": 3}, (CONTEXT, 1, 3)),
        (with_optional_context, [1], (CONTEXT, 1)),
        (with_annotated_context, [1], (CONTEXT, 1)),
        (with_context_and_rest, [1, 2, 3], (CONTEXT, 1, (2, 3))),
        (with_rest_and_context, [1, 2], (CONTEXT, (1, 2))),
        (with_first_context_and_others, {"a": 1, "c": 2}, (CONTEXT, 1, {"c": 2})),
        (with_context_only, UNSET, CONTEXT),
        (with_context_only, {}, CONTEXT),
    ],
)
def test_the_context_is_put_where_the_function_wants_it(
    function: Callable[..., Any], params: Any, result: Any
) -> None:
    method = make_method(function, "it")
    assert method.wants_context
    assert "c" not in [parameter.name for parameter in method.parameters]
    assert call(function, params) == result


def test_a_caller_can_neither_see_nor_give_the_context() -> None:
    def open_ended(c: Context, **others: int) -> Any:
        return c, others

    allowed = "(allowed by name: 'a')"
    assert refusal(with_context, {"a": 1, "c": 2}) == f"parameter 'c': no such parameter {allowed}"
    assert refusal(with_context, [1, 2]).endswith("takes 1 parameter by position, 2 came")
    assert refusal(open_ended, {"x": 1, "c": 2}).startswith("parameter 'c': no such parameter")


def test_a_caller_cannot_give_what_is_given_already() -> None:
    class Service:
        def collect(self, **others: int) -> Any:
            return others

        def __call__(self, **others: int) -> Any:
            return others

    def labelled(a: int, b: int, /, c: int, **others: int) -> Any:
        return a, b, c, others

    for function in (Service().collect, Service()):
        assert call(function, {"x": 1}) == {"x": 1}
        assert refusal(function, {"self": 1}).startswith("parameter 'self': no such parameter")
    partly = functools.partial(labelled, 1, 2, 3)
    assert call(partly, {"a": 7, "d": 8}) == (1, 2, 3, {"a": 7, "d": 8})
    assert refusal(partly, {"c": 9}).startswith("parameter 'c': no such parameter")


def test_a_context_that_was_not_made_is_not_needed() -> None:
    method = make_method(subtract, "it")
    assert not method.wants_context
    assert method.invoke(b"[2, 1]", None) == 1


# How it runs


async def wait(a: int) -> int:
    return a


@pytest.mark.req("F-11")
def test_the_mode_follows_from_the_function_and_its_options() -> None:
    class Asynchronous:
        async def __call__(self, a: int) -> int:
            return a

    assert make_method(subtract, "it").mode == "inline"
    assert make_method(subtract, "it", thread=True).mode == "thread"
    assert make_method(wait, "it").mode == "async"
    assert make_method(functools.partial(wait, 1), "it").mode == "async"
    assert make_method(Asynchronous(), "it").mode == "async"


async def test_an_async_method_gives_its_coroutine() -> None:
    coroutine = make_method(wait, "it").invoke(b"[7]", None)
    assert inspect.iscoroutine(coroutine)
    assert await coroutine == 7


def test_wrong_params_of_an_async_method_are_raised_before_there_is_a_coroutine() -> None:
    assert refusal(wait, ["7"]) == "parameter 'a': expected int, got str"


def test_an_error_in_the_handler_is_not_taken_for_one_in_the_params() -> None:
    def careless(a: int, b: int = 0) -> None:
        len(a)  # type: ignore[arg-type]

    def misled(a: int) -> None:
        Raw.copy(3)  # type: ignore[arg-type]

    for function, params in ((careless, [1]), (careless, {"a": 1}), (misled, [1])):
        with pytest.raises(TypeError) as caught:
            call(function, params)
        assert caught.value.__context__ is None


def test_binding_gives_a_call_that_is_still_to_be_made() -> None:
    made = []

    def record(a: int, *, b: int = 2) -> None:
        made.append((a, b))

    bound = make_method(record, "it").bind(b'{"a": 1}', None)
    assert made == []
    bound()
    assert made == [(1, 2)]


def test_a_method_knows_what_it_takes_and_gives() -> None:
    method = make_method(power, "power")
    assert method.name == "power"
    assert method.function is power
    assert method.deadline is UNSET
    assert method.parameters == (
        Parameter("base", int, "positional_or_keyword", True, UNSET),
        Parameter("exponent", int, "positional_or_keyword", False, 2),
        Parameter("modulus", int | None, "positional_or_keyword", False, None),
    )
    assert method.returns is Any
    assert method.doc == ""
    assert make_method(subtract, "it").doc == "The difference."
    assert make_method(subtract, "it").returns is int
    assert repr(method) == f"<Method 'power': inline {__name__}.power>"


def test_every_kind_of_parameter_is_described() -> None:
    described = [(it.name, it.kind, it.required) for it in make_method(everything, "it").parameters]
    assert described == [
        ("a", "positional_only", True),
        ("b", "positional_or_keyword", True),
        ("c", "var_positional", False),
        ("d", "keyword_only", True),
        ("e", "keyword_only", False),
        ("f", "var_keyword", False),
    ]


def test_anything_that_can_be_called_can_be_a_method() -> None:
    class Adder:
        def __init__(self, start: int) -> None:
            self.start = start

        def add(self, a: int) -> int:
            """Add to the start."""
            return self.start + a

        def __call__(self, a: int) -> int:
            return self.start - a

    @functools.wraps(subtract)
    def wrapped(*args: Any, **kwargs: Any) -> int:
        return 10 * subtract(*args, **kwargs)

    assert call(Adder(3).add, [1]) == 4
    assert call(Adder(3), {"a": 1}) == 2
    assert call(wrapped, {"minuend": 3, "subtrahend": 1}) == 20
    assert refusal(wrapped, ["3", 1]) == "parameter 'minuend': expected int, got str"
    assert call(functools.partial(subtract, 10), [1]) == 9
    assert call(functools.lru_cache(subtract), [3, 1]) == 2
    assert call(lambda a: a, ["x"]) == "x"
    assert call(divmod, [7, 2]) == (3, 1)
    assert make_method(Adder(3).add, "it").doc == "Add to the start."
    assert make_method(functools.partial(subtract, 10), "it").doc == "The difference."


def refused(function: Callable[..., Any], **options: Any) -> str:
    with pytest.raises(RegistrationError) as caught:
        make_method(function, "it", **options)
    return str(caught.value).replace(__name__, "tests")


class Unbound:
    def method(self, a: int) -> None: ...

    @staticmethod
    def static(a: int) -> int:
        return a


def count() -> Iterator[int]:
    yield 1


async def count_slowly() -> AsyncIterator[int]:
    yield 1


def two_contexts(a: Context, b: Context) -> None: ...


def many_contexts(*contexts: Context) -> None: ...


def test_what_cannot_be_a_method_is_refused_with_the_reason() -> None:
    assert refused(Unbound) == (
        "method 'it' (tests.Unbound): it is a class, and a method must be a function"
    )
    assert refused(Unbound.method) == (
        "method 'it' (tests.Unbound.method): it is defined in a class and takes self: mark it "
        "with accord.method and register an instance of the class"
    )
    assert refused(count) == (
        "method 'it' (tests.count): it is a generator, and a call has one result"
    )
    assert refused(count_slowly) == (
        "method 'it' (tests.count_slowly): it is a generator, and a call has one result"
    )
    assert refused(wait, thread=True) == (
        "method 'it' (tests.wait): it is async, and thread=True is for functions that block"
    )
    assert refused(two_contexts) == (
        "method 'it' (tests.two_contexts): parameters 'a' and 'b' both ask for the context"
    )
    assert refused(many_contexts) == (
        "method 'it' (tests.many_contexts): parameter 'contexts' asks for many contexts; "
        "there is one"
    )
    assert "its signature cannot be read: " in refused(max)
    assert make_method(Unbound.static, "it").invoke(b"[1]", None) == 1


@pytest.mark.req("F-11")
def test_a_deadline_needs_something_that_can_be_stopped() -> None:
    assert make_method(wait, "it", deadline=5).deadline == 5
    assert make_method(subtract, "it", thread=True, deadline=0.5).deadline == 0.5
    assert make_method(wait, "it", deadline=None).deadline is None
    assert refused(subtract, deadline=5) == (
        "method 'it' (tests.subtract): it runs inline, where nothing can stop it at a deadline: "
        "make it async, or let it run in a thread with thread=True"
    )
    for wrong in (0, -1.0, float("inf"), float("nan")):
        assert refused(wait, deadline=wrong) == (
            f"method 'it' (tests.wait): its deadline of {wrong} s is not a number above 0"
        )


def misspelt(a: Missing) -> None: ...  # type: ignore[name-defined]  # noqa: F821


def returns_unknown() -> Missing: ...  # type: ignore[name-defined]  # noqa: F821


def test_an_annotation_that_cannot_be_resolved_is_refused_by_name() -> None:
    advice = (
        "cannot be resolved: name 'Missing' is not defined; what it names must exist at run time "
        "at the top level of its module, not under TYPE_CHECKING and not inside a function"
    )
    assert refused(misspelt) == (
        f"method 'it' (tests.misspelt): the annotation 'Missing' of parameter 'a' {advice}"
    )
    assert refused(returns_unknown) == (
        f"method 'it' (tests.returns_unknown): the annotation 'Missing' of the result {advice}"
    )


def test_a_method_is_frozen() -> None:
    method: Method = make_method(subtract, "it")
    with pytest.raises(AttributeError):
        method.name = "other"  # type: ignore[misc]
