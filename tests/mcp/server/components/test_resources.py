"""Resources and templates: listed, read, subscribed to, from functions, values and files."""

from __future__ import annotations

import asyncio
import os
from pathlib import Path
from typing import Any

import pytest

from accord import RegistrationError, RpcError
from accord.mcp import (
    Annotations,
    Client,
    Image,
    McpLimits,
    Principal,
    ResourceContents,
    ResourceNotFoundError,
    Server,
)
from accord.mcp.client.client import Mode
from tests.mcp.server.direct import Caller

pytestmark = pytest.mark.req("M-05")


@pytest.fixture(params=["modern", "legacy"])
def mode(request: pytest.FixtureRequest) -> Mode:
    return request.param  # type: ignore[no-any-return]


async def read(server: Server, uri: str, mode: Mode = "modern") -> list[ResourceContents]:
    async with Client(server, mode=mode) as client:
        return (await client.read_resource(uri)).contents


async def test_resources_and_templates_are_listed_apart(mode: Mode) -> None:
    server = Server("s")

    @server.resource("data://all", title="All", annotations=Annotations(priority=1.0), size=3)
    def everything() -> str:
        """Everything."""
        return "all"

    @server.resource("data://{id}", mime_type="text/markdown")
    def one(id: int) -> str:
        return f"*{id}*"

    async with Client(server, mode=mode) as client:
        (resource,) = await client.list_resources()
        (template,) = await client.list_resource_templates()
    assert (resource.uri, resource.name, resource.title) == ("data://all", "everything", "All")
    assert (resource.description, resource.size) == ("Everything.", 3)
    assert resource.annotations == Annotations(priority=1.0)
    assert (template.uri_template, template.mime_type) == ("data://{id}", "text/markdown")


@pytest.mark.parametrize(
    ("value", "contents"),
    [
        ("text", ResourceContents.of("x:y", "text", "text/plain")),
        ({"a": 1}, ResourceContents.of("x:y", '{"a":1}', "application/json")),
        (b"bytes", ResourceContents.of("x:y", b"bytes", "application/octet-stream")),
        (Image(b"GIF8"), ResourceContents.of("x:y", b"GIF8", "image/gif")),
        (
            ResourceContents.of("x:z", "mine", "text/css"),
            ResourceContents.of("x:z", "mine", "text/css"),
        ),
        ([ResourceContents.of("x:1", "a")], ResourceContents.of("x:1", "a")),
    ],
)
async def test_contents_are_what_a_function_returns(
    value: Any, contents: ResourceContents, mode: Mode
) -> None:
    server = Server("s")
    server.resource("x:y", name="y")(lambda: value)
    assert await read(server, "x:y", mode) == [contents]


async def test_variables_become_what_parameters_are() -> None:
    server = Server("s")

    @server.resource("shop://{shop}/items{?limit,sold}")
    async def items(shop: str, limit: int = 10, sold: bool = False) -> list[Any]:
        return [shop, limit, sold]

    assert (await read(server, "shop://a/items?limit=3&sold=true"))[0].text == '["a",3,true]'
    assert (await read(server, "shop://a/items"))[0].text == '["a",10,false]'
    with pytest.raises(RpcError, match="limit"):
        await read(server, "shop://a/items?limit=many")


@pytest.mark.parametrize(
    ("uri", "function", "match"),
    [
        ("x:{a}", lambda: "", "nothing takes 'a'"),
        ("x:y", lambda a: "", "does not give parameter 'a'"),
        ("x:{a", lambda a: "", "x:{a"),
    ],
)
def test_a_template_and_its_function_must_fit(uri: str, function: Any, match: str) -> None:
    with pytest.raises(RegistrationError, match=match):
        Server("s").resource(uri)(function)


async def test_what_is_not_there_is_told_so(mode: Mode) -> None:
    server = Server("s")

    @server.resource("user://{name}")
    async def user(name: str) -> str:
        raise ResourceNotFoundError(name)

    codes = []
    for uri in ("user://eve", "other://x"):
        with pytest.raises(RpcError) as caught:
            await read(server, uri, mode)
        codes.append(caught.value.code)
        assert caught.value.data == {"reason": "resource_not_found", "uri": uri}
    assert codes == [-32602 if mode == "modern" else -32002] * 2


async def test_the_first_of_several_templates_is_taken() -> None:
    server = Server("s")
    server.resource("a://{x}/{y}", name="two")(lambda x, y: "two")
    server.resource("a://{+rest}", name="rest")(lambda rest: "rest")
    server.resource("a://b/{y}", name="b")(lambda y: "b")
    server.resource("a://b/c", name="exact")(lambda: "exact")
    assert [(await read(server, uri))[0].text for uri in ("a://b/c", "a://b/d", "a://b")] == [
        "exact",
        "two",
        "rest",
    ]


async def test_a_template_can_be_added_later() -> None:
    server = Server("s")
    server.add_resource("a://{x}", lambda x: "first", name="a")
    assert (await read(server, "a://1"))[0].text == "first"
    server.resources.remove("a://{x}")
    server.add_resource("a://{y}", lambda y: "second", name="a")
    assert (await read(server, "a://1"))[0].text == "second"


async def test_a_resource_may_be_a_value(mode: Mode) -> None:
    server = Server("s")
    server.add_resource("x:text", "hello")
    server.add_resource("x:bytes", b"\x00", mime_type="application/x")
    async with Client(server, mode=mode) as client:
        listed = [(it.uri, it.name, it.size) for it in await client.list_resources()]
    assert listed == [("x:text", "x:text", 5), ("x:bytes", "x:bytes", 1)]
    assert await read(server, "x:text", mode) == [
        ResourceContents.of("x:text", "hello", "text/plain")
    ]
    assert await read(server, "x:bytes", mode) == [
        ResourceContents.of("x:bytes", b"\x00", "application/x")
    ]


# Files


async def test_a_file_is_read_each_time(tmp_path: Path) -> None:
    file = tmp_path / "notes.md"
    file.write_text("one")
    server = Server("s")
    resource = server.add_file(file)
    uri = file.as_uri()
    assert resource.address == uri
    assert await read(server, uri) == [ResourceContents.of(uri, "one", "text/markdown")]
    file.write_text("two")
    assert (await read(server, uri))[0].text == "two"
    file.unlink()
    with pytest.raises(RpcError, match="Resource not found"):
        await read(server, uri)


async def test_binary_files_are_blobs(tmp_path: Path) -> None:
    for name, data in (("a.png", b"\x89PNG"), ("b", b"a\0b"), ("c", b"text"), ("d.txt", b"\xff")):
        (tmp_path / name).write_bytes(data)
    server = Server("s")
    server.add_folder("f:///{+path}", tmp_path)
    found = [(await read(server, f"f:///{name}"))[0] for name in ("a.png", "b", "c", "d.txt")]
    assert found == [
        ResourceContents.of("f:///a.png", b"\x89PNG", "image/png"),
        ResourceContents.of("f:///b", b"a\0b", "application/octet-stream"),
        ResourceContents.of("f:///c", "text", "text/plain"),
        ResourceContents.of("f:///d.txt", b"\xff", "text/plain"),
    ]


@pytest.mark.parametrize(
    "path",
    [
        "../secret",
        "..%2Fsecret",
        "/etc/passwd",
        "sub/../../secret",
        "link",
        "sub",
        "a%00b",
        "x" * 999,
    ],
)
async def test_nothing_outside_of_a_folder_can_be_reached(tmp_path: Path, path: str) -> None:
    (tmp_path / "secret").write_text("secret")
    folder = tmp_path / "open"
    (folder / "sub").mkdir(parents=True)
    os.symlink(tmp_path / "secret", folder / "link")
    server = Server("s")
    server.add_folder("f:///{+path}", folder)
    with pytest.raises(RpcError, match="Resource not found"):
        await read(server, f"f:///{path}")


def test_files_and_folders_must_be_there(tmp_path: Path) -> None:
    server = Server("s")
    with pytest.raises(RegistrationError, match="there is no file"):
        server.add_file(tmp_path / "nope")
    with pytest.raises(RegistrationError, match="there is no folder"):
        server.add_folder("f:{+path}", tmp_path / "nope")
    with pytest.raises(RegistrationError, match="one variable"):
        server.add_folder("f:all", tmp_path)
    with pytest.raises(RegistrationError, match=r"f:\{"):
        server.add_folder("f:{", tmp_path)


# Hearing of changes


@pytest.mark.req("M-14")
async def test_subscribers_hear_of_new_contents_until_they_unsubscribe(mode: Mode) -> None:
    server = Server("s")
    server.resource("x://{name}", name="x")(lambda name: name)
    async with Client(server, mode=mode) as client:
        async with client.listen(resources=["x://a"]) as changes:
            server.resource_updated("x://b")
            server.resource_updated("x://a")
            assert (await changes.next(5)).uri == "x://a"
        server.resource_updated("x://a")
        await client.ping()


@pytest.mark.req("M-14")
async def test_changes_of_one_turn_are_told_once() -> None:
    server = Server("s")
    heard: list[Any] = []

    class Ear:
        principal = None

        def hear(self, change: Any) -> None:
            heard.append((change.method, change.uri))

    server.listeners.add(Ear())
    for name in ("a", "b"):
        server.add_resource(f"x:{name}", name)
        server.resource_updated("x:a")
    assert heard == []
    await asyncio.sleep(0)
    assert heard == [
        ("notifications/resources/list_changed", ""),
        ("notifications/resources/updated", "x:a"),
    ]


async def test_changes_may_come_from_threads(mode: Mode) -> None:
    server = Server("s")

    @server.tool
    def grow() -> None:
        server.add_resource("x:new", "new")

    server.add_resource("x:old", "old")
    async with Client(server, mode=mode) as client, client.listen(resources=True) as changes:
        await client.call_tool("grow")
        assert (await changes.next(5)).kind == "resources"
        assert [it.uri for it in await client.list_resources()] == ["x:old", "x:new"]


async def test_only_what_can_be_read_can_be_subscribed_to(mode: Mode) -> None:
    server = Server("s", limits=McpLimits(max_subscriptions=1))
    server.add_resource("x:a", "a")
    server.add_resource("x:b", "b")
    server.add_resource("x:admin", "secret", scopes=("admin",))
    async with Client(server, mode=mode) as client:
        if mode == "legacy":
            for uri, message in (("x:admin", "permissions"), ("x:nope", "not found")):
                with pytest.raises(RpcError, match=message):
                    await client.subscribe(uri)
            await client.subscribe("x:a")
            await client.subscribe("x:a")
            with pytest.raises(RpcError, match="1 subscriptions, the limit"):
                await client.subscribe("x:b")
            await client.unsubscribe("x:a")
            await client.subscribe("x:b")
        else:
            async with client.listen(resources=["x:a"]) as changes:
                server.resource_updated("x:admin")
                server.resource_updated("x:a")
                assert (await changes.next(5)).uri == "x:a"


# Limits


async def test_reading_takes_no_longer_and_gives_no_more_than_allowed() -> None:
    server = Server("s", limits=McpLimits(call_seconds=0.01, max_result_bytes=1_000))

    @server.resource("x:slow")
    async def slow() -> str:
        await asyncio.Event().wait()
        return ""

    server.add_resource("x:large", "x" * 1_000)
    with pytest.raises(RpcError) as late:
        await read(server, "x:slow")
    with pytest.raises(RpcError) as large:
        await read(server, "x:large")
    assert late.value.data == {"reason": "timeout"}
    assert large.value.data == {"reason": "content_too_large", "maxSize": 1_000}


async def test_what_a_principal_alone_can_read_is_private() -> None:
    server = Server("s")
    server.add_resource("x:open", "a", ttl_ms=5_000)
    server.add_resource("x:admin", "b", scopes=("admin",), ttl_ms=5_000)
    admin = Caller(Principal(subject="a", scopes=frozenset({"admin"})))
    found = [
        (await caller.ask(server, "resources/read", uri=uri))["result"]
        for caller, uri in ((Caller(), "x:open"), (admin, "x:open"), (admin, "x:admin"))
    ]
    assert [(it["ttlMs"], it["cacheScope"]) for it in found] == [
        (5_000, "public"),
        (5_000, "private"),
        (5_000, "private"),
    ]
    refused = await Caller().ask(server, "resources/read", uri="x:admin")
    assert refused["error"]["data"]["reason"] == "insufficient_permissions"
