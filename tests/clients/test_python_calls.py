"""The generated Python client against a live server: params and results of every kind go round."""

from __future__ import annotations

import asyncio
import datetime as dt
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from decimal import Decimal
from types import ModuleType
from typing import Any
from uuid import UUID

import pytest

from accord import (
    CallTimeoutError,
    InvalidParamsError,
    InvalidResultError,
    Router,
    RpcError,
    State,
    serve,
)
from accord.openrpc import Api
from tests.clients.collisions import collisions
from tests.clients.documents import EVERYTHING, document, method, param, ref
from tests.clients.echo import Echo
from tests.clients.modules import python_client
from tests.openrpc.zoo import zoo

ZOO = python_client(Api(zoo(), title="Zoo", version="1").document(), "zoo_client")
ALL = python_client(EVERYTHING, "everything_client")


@asynccontextmanager
async def client(
    module: ModuleType, router: Router, url: str = "memory:clients"
) -> AsyncIterator[Any]:
    async with serve(router, url) as server, module.Client.connect(server.url) as client:
        yield client


@pytest.mark.req("O-14")
@pytest.mark.parametrize("url", ["memory:clients", "tcp://127.0.0.1:0", "http://127.0.0.1:0/rpc"])
async def test_every_method_of_a_router_is_called_with_its_types(url: str) -> None:
    api = Api(zoo(), title="Zoo", version="1")
    async with client(ZOO, api.router, url) as zoo_client:
        node = ZOO.NodeInput(value=1, children=[ZOO.NodeInput(value=2)])
        assert await zoo_client.walk(node) == ZOO.Node(
            value=1, children=[ZOO.Node(value=2, children=[])]
        )
        assert await zoo_client.list_pets(limit=5) == ZOO.PageCatDog(items=[], next=None)
        assert await zoo_client.list_nodes() == ZOO.PageNode(items=[], next=None)
        dog = await zoo_client.adopt(ZOO.AdoptPetDog(name="Rex", tricks={"sit": 1}), level=2)
        assert dog == ZOO.AdoptResultDogOutput(name="Rex", tricks={"sit": 1})
        cat = await zoo_client.adopt(ZOO.AdoptPetCat(name="Tom"))
        assert cat == ZOO.AdoptResultCatOutput(name="Tom", lives=9)
        assert await zoo_client.paint("red", mode=3) == "red"
        order = ZOO.Order(id=UUID(int=7), lines=[["cup", 2]])
        day = dt.date(2026, 1, 31)
        at = dt.datetime(2026, 1, 31, 12, tzinfo=dt.UTC)
        assert await zoo_client.order(order, [1, 2.5], at, [day]) == ZOO.OrderOutput(
            id=UUID(int=7), lines=[["cup", 2]]
        )
        options = ZOO.Options(name="x", colour="green")
        assert await zoo_client.configure(options, tags=["a"]) == options
        account = ZOO.Account(owner="Ann", parent=ZOO.Account(owner="Bob", balance="1.50"))
        assert await zoo_client.open_account(account, wait=dt.timedelta(minutes=1)) == (
            ZOO.AccountOutput(
                owner="Ann",
                balance="0",
                parent=ZOO.AccountOutput(owner="Bob", balance="1.50", parent=None),
            )
        )
        assert await zoo_client.sum_all(1, 2, 3) == 6
        assert await zoo_client.gather("x", yes=True, no=False) == {"yes": True, "no": False}
        assert await zoo_client.anything([1, {"a": None}], raw=1) == [1, {"a": None}]
        assert await zoo_client.pair([1, "x"], [[1.5]], [1, 2]) == [0.0, 0.0]
        found = await zoo_client.rpc.discover()
        assert found["info"] == {"title": "Zoo", "version": "1"}


async def test_records_keep_their_names_on_the_wire_and_what_is_left_out_is_not_sent() -> None:
    router = Echo("things.add.now")
    async with client(ALL, router) as things:
        cup = ALL.Cup(name="Mug", made_on=dt.date(2026, 1, 31), price=Decimal("9.90"), litres=0.3)
        lamp = ALL.Lamp(on=True, size=None)
        assert await things.things.add.now(cup) == cup
        assert await things.things.add.now(lamp, notes=None) == lamp
    assert router.seen == [
        [{"kind": "cup", "name": "Mug", "madeOn": "2026-01-31", "price": "9.90", "litres": 0.3}],
        [{"kind": "lamp", "on": True, "size": None}, None],
    ]


async def test_a_parameter_by_position_cannot_be_left_out_before_another() -> None:
    async with client(ALL, Echo("things.add.now")) as things:
        with pytest.raises(ValueError, match="parameter 2 is left out, and goes by position"):
            things.things.add.now(ALL.Lamp(on=True), at=dt.datetime(2026, 1, 31, tzinfo=dt.UTC))


@pytest.mark.parametrize(
    "tree", [None, "leaf", [], {}, ["a", {"b": [None, {"c": "d"}]}], {"a": {"b": {"c": []}}}]
)
async def test_recursive_types_without_a_class_go_round(tree: Any) -> None:
    async with client(ALL, Echo("tree")) as things:
        assert await things.tree(tree) == tree


async def test_what_a_dictionary_holds_beyond_its_known_members_is_kept() -> None:
    anything = document(
        method("put", param("range", ref("Range")), result=ref("Range")),
        schemas=EVERYTHING["components"]["schemas"],
    )
    module = python_client(anything, "range_client")
    until = dt.datetime(2026, 1, 31, tzinfo=dt.UTC)
    thing = module.Lamp(on=False)
    sent = {"from-id": 1, "until": until, "thing": thing, "other": [1]}
    async with client(module, Echo("put")) as ranges:
        assert await ranges.put(sent) == sent
        with pytest.raises(InvalidResultError, match="missing required field `from-id`"):
            await ranges.put({"until": until})
        with pytest.raises(InvalidResultError, match="Expected an object for Range"):
            await ranges.put([])


async def test_of_records_that_fit_the_one_that_knows_most_is_taken() -> None:
    small = {"type": "object", "properties": {"a": {"type": "integer"}}}
    large = {"type": "object", "properties": {"a": {"type": "integer"}, "b": {"type": "integer"}}}
    either = {"anyOf": [ref("Small"), ref("Large"), {"type": "array", "items": ref("Large")}]}
    module = python_client(
        document(method("m", param("x", either), result=either), schemas={"Small": small, "Large": large}),
        "either_client",
    )  # fmt: skip
    async with client(module, Echo("m")) as each:
        assert await each.m(module.Small(a=1)) == module.Small(a=1)
        assert await each.m(module.Large(a=1, b=2)) == module.Large(a=1, b=2)
        assert await each.m([module.Large(b=2)]) == [module.Large(b=2)]
        assert isinstance(await each.m(module.Small(a=1)), module.MResult)
        assert not isinstance(5, module.MResult)
        with pytest.raises(InvalidResultError, match="no variant of it fits"):
            await each.m(5)


async def test_a_result_that_is_not_what_the_document_says_is_refused() -> None:
    router = Router()
    router.add(lambda: "no number", name="things")
    async with client(ALL, router) as things:
        with pytest.raises(InvalidResultError) as caught:
            await things.things_2()
    assert str(caught.value) == (
        "the result of things is not what the document says: Expected `int`, got `str`"
    )


async def test_documented_errors_are_exceptions_of_their_own() -> None:
    router = Router()

    @router.method("things.get")
    def get(id: UUID) -> None:
        raise RpcError("Nothing there", code=1000 + id.int, data={"id": id.int})

    async with client(ALL, router) as things:
        with pytest.raises(ALL.ThingNotFoundError) as caught:
            await things.things.get(UUID(int=1))
        error = caught.value
        assert (error.code, error.message, error.data) == (1001, "Nothing there", {"id": 1})
        assert error.remote
        with pytest.raises(ALL.ItSGoneError):
            await things.things.get(UUID(int=2))
        with pytest.raises(RpcError) as other:
            await things.things.get(UUID(int=3))
        assert type(other.value) is RpcError
        with pytest.raises(InvalidParamsError):
            await things.things.get("no UUID")


async def test_a_method_without_a_result_is_a_notification() -> None:
    router, told = Router(), asyncio.Event()
    router.add(lambda message: told.set(), name="Log.Write")
    async with client(ALL, router) as things:
        assert await things.log.write("hello") is None
        await told.wait()
        assert things.peer.statistics.calls_sent == 0


async def test_calls_of_a_batch_leave_together() -> None:
    router, told = Router(), asyncio.Event()
    router.add(lambda: 3, name="things")
    router.add(lambda: "batch", name="batch")
    router.add(lambda message: told.set(), name="Log.Write")

    @router.method("things.get")
    def get(id: UUID) -> None:
        raise RpcError("Nothing there", code=1001)

    async with client(ALL, router) as things:
        async with things.batch() as batch:
            count = batch.things_2()
            word = batch.batch_()
            missing = batch.things.get(UUID(int=1))
            batch.log.write("hello")
            unheard = batch.things_2()
        assert (await count, await word) == (3, "batch")
        with pytest.raises(ALL.ThingNotFoundError):
            await missing
        await told.wait()
        unheard.close()


async def test_results_of_a_batch_can_be_gathered_in_tasks() -> None:
    router = Router()
    router.add(lambda: 3, name="things")
    async with client(ALL, router) as things:
        async with things.batch() as batch:
            calls = [batch.things_2(), batch.things_2()]
        async with asyncio.TaskGroup() as group:
            tasks = [group.create_task(call) for call in calls]
        assert [task.result() for task in tasks] == [3, 3]


async def test_calls_can_have_a_timeout_of_their_own() -> None:
    router, forever = Router(), asyncio.Event()

    @router.method
    async def things() -> int:
        await forever.wait()
        return 1

    async with client(ALL, router) as slow:
        with pytest.raises(CallTimeoutError):
            await slow.using(timeout=0.01).things_2()
        waiting = asyncio.create_task(slow.using(timeout=None).things_2())
        forever.set()
        assert await waiting == 1


async def test_a_client_can_be_awaited_and_closed() -> None:
    async with serve(Echo("tree"), "memory:clients") as server:
        things = await ALL.Client.connect(server.url)
        async with things as same:
            assert await same.tree("x") == "x"
        assert things.peer.state is State.CLOSED
        again = await ALL.Client.connect(server.url)
        await again.close()
        assert again.peer.state is State.CLOSED


def test_a_client_connects_where_the_document_says_and_nowhere_that_starts_a_program() -> None:
    assert ALL.Client._url == "https://example.com/rpc"
    nowhere = python_client(document(servers=[{"url": "stdio:rm file"}]), "nowhere_client")
    with pytest.raises(ValueError, match="connect needs a URL: the document names no server"):
        nowhere.Client.connect()


async def test_a_blocking_client_calls_from_a_thread() -> None:
    blocking = python_client(EVERYTHING, "blocking_client", blocking=True)
    router, told = Echo("tree", "things.add.now"), asyncio.Event()
    loop = asyncio.get_running_loop()
    router.add(lambda message: loop.call_soon_threadsafe(told.set), name="Log.Write")

    @router.method("things.get")
    def get(id: UUID) -> None:
        raise RpcError("Nothing there", code=1001)

    def use(url: str) -> list[Any]:
        with blocking.Client.connect(url) as things:
            things.log.write("hello")
            with pytest.raises(blocking.ThingNotFoundError):
                things.things.get(UUID(int=1))
            return [
                things.tree({"a": []}),
                things.using(timeout=5.0).things.add.now(blocking.Lamp(on=True)),
            ]

    async with serve(router, "tcp://127.0.0.1:0") as server:
        assert await asyncio.to_thread(use, server.url) == [{"a": []}, blocking.Lamp(on=True)]
        await told.wait()


async def test_flat_clients_have_all_methods_in_one_place() -> None:
    flat = python_client(EVERYTHING, "flat_client", flat=True)
    async with client(flat, Echo("things.add.now")) as things:
        assert await things.things_add_now(flat.Lamp(on=True)) == flat.Lamp(on=True)


# Names that the source around them has as well


@pytest.mark.req("O-15")
async def test_params_arrive_whatever_they_are_called() -> None:
    module = python_client(collisions("by-name"), "collisions_client")
    names = ("params", "given", "property", "cls")
    router = Echo(*(f"members.{name}" for name in names))
    async with client(module, router) as made:
        for name in names:
            method = getattr(made.members, f"{name}_" if name == "given" else name)
            assert await method(["a"], second_with_a_long_name_to_break_it="b") == ["a"]
    assert router.seen == [
        {name: ["a"], "second_with_a_long_name_to_break_it": "b"} for name in names
    ]
