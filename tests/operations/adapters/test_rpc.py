"""Operations over JSON-RPC at `/rpc`: the same names, arguments and errors."""

from __future__ import annotations

import asyncio

import httpx
import pytest

from accord.jsonrpc.methods.context import Context
from accord.jsonrpc.protocol.channel import ChannelInfo, Limits
from accord.jsonrpc.protocol.errors import RpcError
from accord.operations.adapters.rpc import CALLER, rpc_router
from accord.operations.context import SYSTEM
from tests.operations.adapters.shop import Bucket, Shop, operations, shop_at


def request(method: str, id: int | None = 1, /, **params: object) -> dict[str, object]:
    called: dict[str, object] = {"jsonrpc": "2.0", "method": method, "params": params}
    return called if id is None else {**called, "id": id}


@pytest.mark.req("H-20")
async def test_operations_are_methods(shop: Shop) -> None:
    made = await shop.call("create_pen", id="p1", title="Quill")
    change = made["result"].pop("change_id")
    pen = {"id": "p1", "title": "Quill", "price": 1, "version": 1}
    assert made == {"jsonrpc": "2.0", "id": 1, "result": pen}
    assert change
    assert (await shop.call("get_pen", id="p1"))["result"] == pen
    gone = (await shop.call("delete_pen", id="p1"))["result"]
    assert gone["deleted"] == "p1"
    assert (await shop.call("list_pens"))["result"]["total"] == 0
    assert shop.trail.records[-1].face == "rpc"


async def test_writes_take_dry_run_and_a_key(shop: Shop) -> None:
    preview = (await shop.call("create_pen", id="p1", title="t", dry_run=True))["result"]
    assert (preview["dry_run"], preview["result"]["id"]) == (True, "p1")
    first = await shop.call("create_pen", id="p1", title="t", idempotency_key="k")
    assert await shop.call("create_pen", id="p1", title="t", idempotency_key="k") == first
    await shop.call("update_pen", id="p1", title="x", expected_version=1)
    stale = await shop.call("update_pen", id="p1", title="y", expected_version=1)
    assert (stale["error"]["code"], stale["error"]["data"]["reason"]) == (
        -32028,
        "version_mismatch",
    )


@pytest.mark.parametrize(
    ("params", "pointer"),
    [
        ({"id": "x"}, "/title"),
        ({"id": "x", "title": ""}, "/title"),
        ({"id": "x", "title": "t", "colour": "red"}, "/colour"),
        ({"id": "x", "title": "t\0"}, "/title"),
        (["x", "t"], ""),
        (None, "/id"),
    ],
)
async def test_bad_arguments_are_an_error_that_names_the_field(
    local: Shop, params: object, pointer: str
) -> None:
    body: dict[str, object] = {"jsonrpc": "2.0", "id": 1, "method": "create_pen"}
    if params is not None:
        body["params"] = params
    answer = await local.rpc(body)
    error = answer.json()["error"]
    assert (answer.status_code, error["code"]) == (200, -32602)
    assert error["data"]["reason"] == "validation_failed"
    assert [each["pointer"] for each in error["data"]["errors"]] == [pointer]
    assert error["data"]["correlation_id"] == answer.headers["x-correlation-id"]


async def test_batches_and_notifications_are_served(shop: Shop) -> None:
    batch = [
        request("create_pen", 1, id="a", title="t"),
        request("create_pen", None, id="b", title="t"),
        request("nothing", 2),
        {"jsonrpc": "2.0"},
    ]
    answer = await shop.rpc(batch)
    assert answer.status_code == 200
    told = {str(each["id"]): each.get("error", {}).get("code") for each in answer.json()}
    assert told == {"1": None, "2": -32601, "None": -32600}
    notified = await shop.rpc(request("create_pen", None, id="c", title="t"))
    assert (notified.status_code, notified.content) == (204, b"")
    listed = (await shop.call("list_pens"))["result"]
    assert [each["id"] for each in listed["items"]] == ["a", "b", "c"]


@pytest.mark.req("H-04")
@pytest.mark.parametrize(
    ("body", "code"),
    [(b"{", -32700), (b"\xff", -32700), (b"[" * 5_000, -32700), (b"[]", -32600), (b"1", -32600)],
)
async def test_what_is_no_message_is_answered_400(local: Shop, body: bytes, code: int) -> None:
    headers = {"content-type": "application/json"}
    answer = await local.client.post("/rpc", content=body, headers=headers)
    assert (answer.status_code, answer.json()["error"]["code"]) == (400, code)


@pytest.mark.req("H-05")
async def test_without_a_token_nothing_is_called(local: Shop) -> None:
    async with httpx.AsyncClient(base_url=local.url) as nobody:
        for headers in ({}, {"authorization": "Bearer x"}):
            answer = await nobody.post("/rpc", json=request("list_pens"), headers=headers)
            assert answer.status_code == 401
            assert answer.headers["www-authenticate"] == 'Bearer realm="accord"'
            error = answer.json()["error"]
            assert (answer.json()["id"], error["code"], error["message"]) == (
                None,
                -32051,
                "a valid token is required",
            )
        batch = await nobody.post("/rpc", json=[request("list_pens")])
        assert batch.status_code == 401


@pytest.mark.req("H-05")
async def test_want_of_permission_is_403_for_single_calls_only(local: Shop) -> None:
    await local.store.execute("UPDATE tokens SET scopes = 'read'")
    call = request("create_pen", 1, id="a", title="t")
    single = await local.rpc(call)
    assert (single.status_code, single.json()["error"]["code"]) == (403, -32055)
    assert single.headers["www-authenticate"] == (
        'Bearer error="insufficient_scope", scope="write"'
    )
    batch = await local.rpc([call, request("list_pens", 2)])
    assert batch.status_code == 200
    assert [each.get("error", {}).get("code") for each in batch.json()] == [-32055, None]
    assert (await local.rpc(request("create_pen", None, id="a", title="t"))).status_code == 204
    assert (await local.call("list_pens"))["result"]["total"] == 0


async def test_clients_that_drop_the_body_of_a_403_can_have_200(local_url: str) -> None:
    async with shop_at(local_url, rpc={"plain_refusals": True}) as shop:
        await shop.store.execute("UPDATE tokens SET scopes = 'read'")
        answer = await shop.rpc(request("create_pen", 1, id="a", title="t"))
    assert (answer.status_code, answer.json()["error"]["code"]) == (200, -32055)


@pytest.mark.req("H-16")
async def test_calls_are_limited_over_json_rpc_too(local_url: str) -> None:
    async with shop_at(local_url, limiter=Bucket(2)) as shop:
        answers = [await shop.rpc(request("list_pens")) for _ in range(3)]
    assert [each.status_code for each in answers] == [200, 200, 429]
    assert [each.headers["ratelimit"] for each in answers] == [
        *('"calls";r=1;t=60', '"calls";r=0;t=60', '"calls";r=0;t=60'),
    ]
    assert answers[2].headers["retry-after"] == "3"
    assert answers[2].json()["error"]["data"]["retry_after"] == 3


async def test_a_message_that_is_too_large_is_not_read(local: Shop) -> None:
    answer = await local.rpc(request("create_pen", 1, id="a", title="t" * 200_000))
    error = answer.json()["error"]
    assert (answer.status_code, error["code"]) == (413, -32012)
    assert error["data"] == {"reason": "message_too_large", "maxSize": 100_000, "unit": "bytes"}


async def test_more_requests_than_the_limit_are_told_to_come_again(local_url: str) -> None:
    async with shop_at(local_url, rpc={"limits": Limits(max_in_flight=0)}) as shop:
        answer = await shop.rpc(request("list_pens"))
    assert (answer.status_code, answer.json()["error"]["code"]) == (503, -32010)


@pytest.mark.parametrize(
    ("verb", "path", "status"),
    [
        ("GET", "/rpc", 405),
        ("DELETE", "/rpc", 405),
        ("POST", "/rpc/explore", 405),
        ("GET", "/rpc/nothing", 404),
        ("POST", "/rpc/nothing", 404),
        ("GET", "/rpc/explore", 200),
        ("GET", "/rpc/openrpc.json", 200),
    ],
)
async def test_other_paths_and_verbs(local: Shop, verb: str, path: str, status: int) -> None:
    async with httpx.AsyncClient(base_url=local.url) as nobody:
        assert (await nobody.request(verb, path)).status_code == status


async def test_a_form_is_no_call(local: Shop) -> None:
    headers = {"content-type": "text/plain"}
    assert (await local.client.post("/rpc", content=b"{}", headers=headers)).status_code == 415


async def test_pages_of_other_origins_are_not_let_in(local: Shop) -> None:
    answer = await local.rpc(request("list_pens"), headers={"origin": "https://evil.example"})
    assert answer.status_code == 403


async def test_the_document_describes_every_operation(local: Shop) -> None:
    document = (await local.client.get("/rpc/openrpc.json")).json()
    assert (await local.rpc(request("rpc.discover"))).json()["result"] == document
    described = {each["name"]: each for each in document["methods"]}
    assert set(described) == {each.name for each in operations} | {"rpc.discover"}
    create = described["create_pen"]
    assert (create["summary"], create["paramStructure"]) == ("Create pen", "by-name")
    assert [each["name"] for each in create["params"]] == [
        *("id", "title", "price", "dry_run", "idempotency_key"),
    ]
    assert document["info"]["title"] == "Pens"


async def test_a_router_without_a_caller_calls_nothing(local: Shop) -> None:
    router = rpc_router(local.runner)
    method = router.methods["list_pens"]
    context = Context("list_pens", 1, channel=ChannelInfo(scheme="memory"), state={})
    with pytest.raises(RpcError) as refused:
        await method.invoke(b"{}", context)
    assert refused.value.code == -32051
    context.state[CALLER] = SYSTEM
    assert (await method.invoke(b"{}", context)).total == 0


async def test_calls_at_once_are_all_answered(shop: Shop) -> None:
    await asyncio.gather(
        *(shop.call("create_pen", id=f"p{number:02d}", title="t") for number in range(30))
    )
    assert (await shop.call("list_pens"))["result"]["total"] == 30
