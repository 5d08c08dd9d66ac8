"""A router is a live table of methods, nested under prefixes, with interceptors around calls."""

from __future__ import annotations

import functools
import gc
import types
import weakref
from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from accord.jsonrpc.methods.context import Context
from accord.jsonrpc.methods.method import Proceed
from accord.jsonrpc.methods.router import Router, method
from accord.jsonrpc.protocol.channel import ChannelInfo
from accord.jsonrpc.protocol.errors import InvalidParamsError, RegistrationError

CONTEXT = Context("it", 1, channel=ChannelInfo(scheme="memory"))


def add(a: int, b: int) -> int:
    return a + b


def double(a: int) -> int:
    return 2 * a


async def wait(a: int) -> int:
    return a


def refused(act: Callable[[], Any]) -> str:
    with pytest.raises(RegistrationError) as caught:
        act()
    return str(caught.value).replace(f"{__name__}.", "")


# Declaring


def test_the_decorator_is_used_bare_or_with_options() -> None:
    router = Router()

    @router.method
    def bare(a: int) -> int:
        return a

    @router.method()
    def called(a: int) -> int:
        return a

    @router.method("renamed")
    def named(a: int) -> int:
        return a

    @router.method(name="slow", thread=True, deadline=5.0)
    def optioned(a: int) -> int:
        return a

    assert bare(1) == called(1) == named(1) == optioned(1) == 1
    assert list(router.methods) == ["bare", "called", "renamed", "slow"]
    assert router.methods["renamed"].function is named
    assert router.methods["slow"].mode == "thread"
    assert router.methods["slow"].deadline == 5.0


def test_adding_gives_the_method_that_is_served() -> None:
    router = Router()
    added = router.add(add, "sum")
    assert added is router.methods["sum"]
    assert added.invoke(b"[1, 2]", None) == 3


@pytest.mark.req("RPC-8a")
def test_names_of_the_protocol_are_refused_unless_it_is_the_protocol_that_adds_them() -> None:
    router = Router()
    assert refused(lambda: router.add(add, "rpc.add")) == (
        "method 'rpc.add' (add): names that begin with 'rpc.' are kept for the protocol"
    )
    assert router.methods == {}
    router.add(add, "rpc.add", protocol=True)
    router.add(add, "rpcadd")
    outer = Router()
    outer.include(router)
    assert list(outer.methods) == ["rpc.add", "rpcadd"]


@pytest.mark.req("RPC-8a")
def test_a_prefix_cannot_make_a_name_of_the_protocol() -> None:
    child, router = Router(), Router()
    child.add(add, "c.add")
    router.add(double)
    assert "'rpc.add'" in refused(lambda: router.include(child, prefix="rp"))
    assert list(router.methods) == ["double"]
    assert "'rpc.inherited'" in refused(lambda: router.register(Service(), prefix="rpc."))


@pytest.mark.parametrize("name", ["", 5])
def test_a_name_is_a_string_that_is_not_empty(name: Any) -> None:
    router = Router()
    expected = "add needs a name, a string that is not empty"
    assert refused(lambda: router.add(add, name)) == expected
    assert refused(lambda: router.method(name)(add)) == expected


def test_what_has_no_name_needs_one() -> None:
    router = Router()
    assert "needs a name" in refused(lambda: router.add(lambda: 1))
    assert "needs a name" in refused(lambda: router.add(functools.partial(add, 1)))
    router.add(lambda: 1, "one")
    router.add(functools.partial(add, 1), "increment")
    assert router.methods["one"].invoke(b"[]", None) == 1
    assert repr(router.methods["increment"]).startswith("<Method 'increment': inline functools")


def test_a_taken_name_is_refused_and_both_functions_are_named() -> None:
    router = Router()
    router.add(add)
    assert refused(lambda: router.add(double, "add")) == (
        "method 'add' is add already, and cannot be double too"
    )
    assert router.methods["add"].function is add


@pytest.mark.req("F-06")
def test_a_removed_method_is_gone_and_its_name_is_free() -> None:
    router = Router()
    router.add(add)
    router.remove("add")
    assert router.methods.get("add") is None
    router.add(double, "add")
    assert router.methods["add"].function is double
    assert refused(lambda: router.remove("x")) == "the router has no method 'x'"


def test_the_version_grows_with_every_change() -> None:
    router, child = Router(), Router()
    seen = [router.version]

    def note() -> None:
        seen.append(router.version)

    router.add(add)
    note()
    router.include(child)
    note()
    child.add(double)
    note()
    child.intercept(pass_on)
    note()
    child.remove("double")
    note()
    router.intercept(pass_on)
    note()
    assert seen == sorted(set(seen))


# Objects


class Base:
    @method
    def inherited(self) -> str:
        return "base"

    @method
    def overridden(self) -> str:
        return "base"

    @method
    def hidden(self) -> str:
        return "base"


class Service(Base):
    def __init__(self, greeting: str = "hello") -> None:
        self.greeting = greeting

    @method
    def run(self, name: str) -> str:
        """Greet."""
        return f"{self.greeting} {name}"

    @method("later", deadline=3.0)
    async def run_later(self, name: str) -> str:
        return name

    @method(thread=True)
    def block(self) -> None: ...

    @method
    def overridden(self) -> str:
        return "service"

    def hidden(self) -> str:
        return "overridden without a mark"

    @staticmethod
    @method
    def static(a: int) -> int:
        return a

    @method
    @staticmethod
    def marked_static(a: int) -> int:
        return -a

    @classmethod
    @method
    def build(cls) -> str:
        return cls.__name__

    def private(self) -> None: ...

    @property
    def explosive(self) -> None:
        raise AssertionError("looked at")


def test_an_object_is_registered_with_the_methods_that_are_marked() -> None:
    router = Router()
    router.register(Service("hi"), prefix="s.")
    assert sorted(router.methods) == [
        "s.block",
        "s.build",
        "s.inherited",
        "s.later",
        "s.marked_static",
        "s.overridden",
        "s.run",
        "s.static",
    ]
    results = {
        name: router.methods[f"s.{name}"].invoke(params, None)
        for name, params in {
            "run": b'["you"]',
            "inherited": b"[]",
            "overridden": b"[]",
            "static": b"[1]",
            "marked_static": b'{"a":1}',
            "build": b"[]",
        }.items()
    }
    assert results == {
        "run": "hi you",
        "inherited": "base",
        "overridden": "service",
        "static": 1,
        "marked_static": -1,
        "build": "Service",
    }
    assert router.methods["s.block"].mode == "thread"
    assert router.methods["s.later"].mode == "async"
    assert router.methods["s.later"].deadline == 3.0
    assert router.methods["s.run"].doc == "Greet."


def test_two_instances_live_under_two_prefixes() -> None:
    router = Router()
    router.register(Service("hi"), prefix="en.")
    router.register(Service("ciao"), prefix="it.")
    assert router.methods["en.run"].invoke(b'["you"]', None) == "hi you"
    assert router.methods["it.run"].invoke(b'["you"]', None) == "ciao you"


def test_a_class_of_static_methods_and_a_module_are_registered_too() -> None:
    class Tools:
        @staticmethod
        @method
        def static(a: int) -> int:
            return a

    module = types.ModuleType("tools")
    module.one = method(lambda: 1)  # type: ignore[attr-defined]
    module.two = lambda: 2  # type: ignore[attr-defined]
    router = Router()
    router.register(Tools)
    router.register(module, prefix="m.")
    assert sorted(router.methods) == ["m.one", "static"]


def test_an_unbound_method_is_refused_with_advice() -> None:
    assert refused(lambda: Router().register(Base)) == (
        "method 'inherited' (Base.inherited): it is defined in a class and takes self: mark it "
        "with accord.method and register an instance of the class"
    )


def test_nothing_marked_is_refused() -> None:
    assert refused(lambda: Router().register("text")) == (
        "'text' has no function marked with accord.method"
    )


def test_registering_is_all_or_nothing() -> None:
    router = Router()
    router.add(add, "run")
    before = dict(router.methods)
    assert refused(lambda: router.register(Service())) == (
        "method 'run' is add already, and cannot be Service.run too"
    )
    assert router.methods == before


def test_two_of_one_object_cannot_have_one_name() -> None:
    class Twice:
        @method("same")
        def first(self) -> None: ...

        @method("same")
        def second(self) -> None: ...

    router = Router()
    assert "method 'same' is" in refused(lambda: router.register(Twice()))
    assert router.methods == {}


def test_a_marked_function_is_added_as_its_mark_says() -> None:
    @method("blocking", thread=True, deadline=2.0)
    def block() -> None: ...

    router = Router()
    assert router.add(block).name == "blocking"
    assert router.methods["blocking"].mode == "thread"
    assert router.methods["blocking"].deadline == 2.0
    assert router.add(block, "other", deadline=1.0).deadline == 1.0
    assert router.add(block, "patient", deadline=None).deadline is None


# Nesting


def test_an_included_router_is_served_under_its_prefix() -> None:
    users, router = Router(), Router()
    users.add(add)
    router.include(users, prefix="users.")
    assert router.methods["users.add"].invoke(b"[1, 2]", None) == 3
    assert router.methods["users.add"].name == "users.add"
    assert users.methods["add"].name == "add"


@pytest.mark.req("F-06")
def test_what_is_added_or_removed_below_appears_and_disappears_above() -> None:
    root, middle, leaf = Router(), Router(), Router()
    get = root.methods.get  # what a dispatcher keeps
    root.include(middle, prefix="m.")
    middle.include(leaf, prefix="l.")
    leaf.add(add)
    assert get("m.l.add") is not None
    leaf.remove("add")
    assert get("m.l.add") is None
    assert root.methods == middle.methods == leaf.methods == {}


def test_one_router_may_be_included_in_many_places() -> None:
    root, left, right, leaf = Router(), Router(), Router(), Router()
    leaf.add(add)
    left.include(leaf)
    right.include(leaf)
    root.include(left, prefix="left.")
    root.include(right, prefix="right.")
    leaf.add(double)
    assert sorted(root.methods) == ["left.add", "left.double", "right.add", "right.double"]
    leaf.remove("add")
    assert sorted(root.methods) == ["left.double", "right.double"]


def test_cycles_are_refused() -> None:
    root, middle, leaf = Router(), Router(), Router()
    root.include(middle, prefix="m.")
    middle.include(leaf, prefix="l.")
    message = "a router cannot include itself, nor one that includes it"
    assert refused(lambda: root.include(root)) == message
    assert refused(lambda: leaf.include(root)) == message
    assert refused(lambda: leaf.include(middle)) == message


def test_a_clash_above_refuses_the_change_below_and_changes_nothing() -> None:
    root, child = Router(), Router()
    root.add(double, "c.add")
    root.include(child, prefix="c.")
    assert refused(lambda: child.add(add)) == (
        "method 'c.add' is double already, and cannot be add too"
    )
    assert child.methods == {}
    other = Router()
    other.add(wait, "add")
    assert refused(lambda: root.include(other, prefix="c.")) == (
        "method 'c.add' is double already, and cannot be wait too"
    )
    other.add(double)
    assert list(root.methods) == ["c.add"]


def test_a_method_of_an_included_router_is_removed_where_it_is_at_home() -> None:
    root, child = Router(), Router()
    child.add(add)
    root.include(child)
    assert refused(lambda: root.remove("add")) == (
        "the router has no method 'add' of its own; an included router has it"
    )


def test_a_router_does_not_keep_those_alive_that_include_it() -> None:
    shared = Router()
    parent = Router()
    parent.include(shared)
    gone = weakref.ref(parent)
    del parent
    gc.collect()
    assert gone() is None
    shared.add(add)
    assert list(shared.methods) == ["add"]


def test_a_router_in_between_lives_as_long_as_the_outer_one() -> None:
    root, leaf = Router(), Router()

    def nest() -> None:
        middle = Router()
        middle.include(leaf, prefix="l.")
        root.include(middle, prefix="m.")

    nest()
    gc.collect()
    leaf.add(add)
    assert list(root.methods) == ["m.l.add"]


# Interceptors


async def pass_on(context: Context, proceed: Proceed) -> Any:
    return await proceed()


def recorder(name: str, seen: list[str]) -> Callable[[Context, Proceed], Any]:
    async def interceptor(context: Context, proceed: Proceed) -> Any:
        seen.append(f"{name} before {context.method}")
        result = await proceed()
        seen.append(f"{name} after")
        return result

    return interceptor


async def test_interceptors_stand_around_a_call_in_their_order() -> None:
    seen: list[str] = []
    root, child = Router(), Router()
    root.intercept(recorder("outermost", seen))
    child.intercept(recorder("first", seen))
    child.intercept(recorder("second", seen))
    child.add(double)
    root.include(child, prefix="c.")
    assert await root.methods["c.double"].invoke(b"[4]", CONTEXT) == 8
    assert seen == [
        "outermost before it",
        "first before it",
        "second before it",
        "second after",
        "first after",
        "outermost after",
    ]


async def test_interceptors_added_later_hold_for_methods_that_are_there() -> None:
    seen: list[str] = []
    root, child = Router(), Router()
    child.add(double)
    root.include(child)
    child.intercept(recorder("inner", seen))
    root.intercept(recorder("outer", seen))
    assert await root.methods["double"].invoke(b"[1]", CONTEXT) == 2
    assert seen == ["outer before it", "inner before it", "inner after", "outer after"]
    seen.clear()
    assert await child.methods["double"].invoke(b"[1]", CONTEXT) == 2
    assert seen == ["inner before it", "inner after"]


@pytest.mark.req("F-11")
async def test_a_method_with_an_interceptor_runs_as_async_and_wants_the_context() -> None:
    router = Router()
    for function in (double, wait):
        router.add(function)
    router.intercept(pass_on)
    for name in ("double", "wait"):
        assert router.methods[name].mode == "async"
        assert router.methods[name].wants_context
    assert await router.methods["double"].invoke(b"[1]", CONTEXT) == 2
    assert await router.methods["wait"].invoke(b'{"a":1}', CONTEXT) == 1


@pytest.mark.req("F-11")
async def test_a_threaded_method_with_an_interceptor_still_runs_in_a_thread() -> None:
    threaded = []

    async def in_thread(function: Callable[[], Any]) -> Any:
        threaded.append(function)
        return function()

    context = Context("double", 1, channel=ChannelInfo(scheme="memory"))
    router = Router()
    router.add(double, thread=True)
    router.intercept(pass_on)
    with pytest.raises(RuntimeError, match="not served with a pool of threads"):
        await router.methods["double"].invoke(b"[1]", context)
    context.in_thread = in_thread
    assert await router.methods["double"].invoke(b"[1]", context) == 2
    assert len(threaded) == 1


async def test_an_interceptor_can_stop_a_call_or_change_its_result() -> None:
    router = Router()
    called = []

    @router.method
    def touch(a: int) -> int:
        called.append(a)
        return a

    @router.intercept
    async def decide(context: Context, proceed: Callable[[], Awaitable[Any]]) -> Any:
        if context.method == "refuse":
            raise PermissionError("no")
        if context.method == "answer":
            return "ready"
        return [await proceed(), await proceed()]

    def serve(name: str) -> Any:
        context = Context(name, 1, channel=ChannelInfo(scheme="memory"))
        return router.methods["touch"].invoke(b"[7]", context)

    with pytest.raises(PermissionError, match="no"):
        await serve("refuse")
    assert await serve("answer") == "ready"
    assert called == []
    assert await serve("twice") == [7, 7]
    assert called == [7, 7]


def test_wrong_params_do_not_reach_an_interceptor() -> None:
    seen: list[str] = []
    router = Router()
    router.add(double)
    router.intercept(recorder("it", seen))
    with pytest.raises(InvalidParamsError):
        router.methods["double"].invoke(b'["x"]', CONTEXT)
    assert seen == []


async def test_an_object_whose_call_is_async_can_be_an_interceptor() -> None:
    class Meter:
        calls = 0

        async def __call__(self, context: Context, proceed: Proceed) -> Any:
            self.calls += 1
            return await proceed()

    meter = Meter()
    router = Router()
    assert router.intercept(meter) is meter
    router.add(double)
    assert await router.methods["double"].invoke(b"[1]", CONTEXT) == 2
    assert meter.calls == 1


def test_an_interceptor_that_is_not_async_is_refused() -> None:
    def interceptor(context: Context, proceed: Proceed) -> Any: ...

    assert "is no async function: write async def interceptor(context, proceed)" in refused(
        lambda: Router().intercept(interceptor)
    )
