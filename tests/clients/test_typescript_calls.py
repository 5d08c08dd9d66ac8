"""The generated TypeScript client against a live server, in Node."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest

from accord import Context, Router, RpcError, serve
from accord.openrpc import Api
from accord.openrpc.clients import read_api, write_typescript
from tests.clients.documents import EVERYTHING, document
from tests.clients.echo import Echo
from tests.clients.typescript import build, check, run
from tests.openrpc.zoo import zoo

Run = Callable[..., Coroutine[Any, Any, Any]]

IMPORTS = """
import * as all from "./everything.js";
import * as zoo from "./zoo.js";
import * as nowhere from "./nowhere.js";

const outcome = async (promise) => {
  try {
    return { result: await promise };
  } catch (error) {
    return { name: error.name, message: error.message, code: error.code, data: error.data };
  }
};
"""


@pytest.fixture(scope="module")
def folder(packages: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Compiled clients."""
    folder = tmp_path_factory.mktemp("clients")
    documents = {
        "everything": EVERYTHING,
        "zoo": Api(zoo(), title="Zoo", version="1").document(),
        "nowhere": document(servers=[{"url": "tcp://127.0.0.1:7000"}]),
    }
    for name, each in documents.items():
        source = write_typescript(read_api(each), command="accord openrpc client")
        (folder / f"{name}.ts").write_text(source)
    build(folder, packages)
    return folder


@pytest.fixture
def node(folder: Path) -> Run:
    """Runs a script against a router that is served; gives what the script says."""

    async def node(router: Router, script: str, given: Any = None) -> Any:
        async with serve(router, "http://127.0.0.1:0/rpc") as server:
            source = f'{IMPORTS}\nconst url = "{server.url}";\n{script}'
            return await asyncio.to_thread(run, source, folder, given)

    return node


@pytest.mark.req("O-14")
async def test_every_method_of_a_router_is_called(node: Run) -> None:
    api = Api(zoo(), title="Zoo", version="1")
    found = await node(
        api.router,
        """
        const client = new zoo.Client({ url });
        say([
          await client.walk({ tree: { value: 1, children: [{ value: 2 }] } }),
          await client.list_pets({ limit: 5 }),
          await client.list_pets(),
          await client.list_nodes(),
          await client.adopt({ pet: { type: "dog", name: "Rex", tricks: { sit: 1 } }, level: 2 }),
          await client.adopt({ pet: { type: "cat", name: "Tom" } }),
          await client.paint({ colour: "red", mode: 3 }),
          await client.order({
            order: { id: "6b8f7c5e-3d0a-4f6b-9a51-2f1f0c7f9d3e", lines: [["cup", 2]] },
            at: [1, 2.5],
            when: "2026-01-31T12:00:00Z",
            days: ["2026-01-31"],
          }),
          await client.configure({ options: { name: "x", colour: "green" }, tags: ["a"] }),
          await client.open_account({ account: { owner: "Ann" }, wait: "PT60S" }),
          await client.sum_all({ numbers: [1, 2, 3] }),
          await client.sum_all(),
          await client.gather({ name: "x", others: { yes: true, no: false } }),
          await client.anything({ value: [1, { a: null }], raw: 1 }),
          await client.pair({ size: [1, "x"], matrix: [[1.5]], rest: [1, 2] }),
          (await client.rpc.discover()).info,
        ]);
        """,
    )
    assert found == [
        {"value": 1, "children": [{"value": 2, "children": []}]},
        {"items": [], "next": None},
        {"items": [], "next": None},
        {"items": [], "next": None},
        {"type": "dog", "name": "Rex", "tricks": {"sit": 1}},
        {"type": "cat", "name": "Tom", "lives": 9},
        "red",
        {"id": "6b8f7c5e-3d0a-4f6b-9a51-2f1f0c7f9d3e", "lines": [["cup", 2]]},
        {"name": "x", "colour": "green"},
        {"owner": "Ann", "balance": "0", "parent": None},
        6,
        0,
        {"yes": True, "no": False},
        [1, {"a": None}],
        [0, 0],
        {"title": "Zoo", "version": "1"},
    ]


async def test_params_go_by_position_where_the_document_says_so(node: Run) -> None:
    router = Echo("things.add.now")
    found = await node(
        router,
        """
        const { now } = new all.Client({ url }).things.add;
        const thing = { kind: "lamp", on: true };
        say([
          await now({ thing }),
          await now({ thing, notes: null }),
          await outcome((async () => now({ thing, at: "2026-01-31" }))()),
        ]);
        """,
    )
    lamp = {"kind": "lamp", "on": True}
    why = "parameter 2 is left out, and goes by position: those after it cannot be given without it"
    assert found == [lamp, lamp, {"name": "TypeError", "message": why}]
    assert router.seen == [[lamp], [lamp, None]]


async def test_errors_are_thrown_with_code_and_data(node: Run) -> None:
    router = Router()

    @router.method("things.get")
    def get(id: UUID) -> None:
        raise RpcError("Nothing there", code=1001, data={"id": id.int})

    found = await node(
        router,
        """
        const client = new all.Client({ url });
        const error = await client.things.get({ id: "00000000-0000-0000-0000-000000000001" })
          .catch((error) => error);
        say([
          error instanceof all.RpcError,
          error.code === all.ErrorCode.ThingNotFound,
          await outcome(Promise.reject(error)),
          await outcome(client.things.get({ id: 5 })),
          await outcome(client.tree({ from: null })),
        ]);
        """,
    )
    assert found[:3] == [
        True,
        True,
        {"name": "RpcError", "message": "Nothing there", "code": 1001, "data": {"id": 1}},
    ]
    assert [(each["name"], each["code"]) for each in found[3:]] == [
        ("RpcError", -32602),
        ("RpcError", -32601),
    ]


async def test_calls_of_a_batch_leave_together(node: Run) -> None:
    router, told = Router(), asyncio.Event()
    router.add(lambda: 3, name="things")
    router.add(lambda message: told.set(), name="Log.Write")
    found = await node(
        router,
        """
        let posts = 0;
        const counting = (...request) => { posts += 1; return fetch(...request); };
        const client = new all.Client({ url, fetch: counting });
        const [count, none, missing] = await client.batch((batch) => [
          batch.things_2(),
          batch.Log.Write({ message: "hello" }),
          batch.tree({ from: null }),
        ]);
        say([
          count,
          none.status,
          missing.reason.code,
          posts,
          await client.batch(() => []),
          await outcome(client.batch((batch) => [batch.batch(() => [])])),
          (await client.batch((batch) => [batch.things_2()], { signal: AbortSignal.abort() }))[0]
            .status,
        ]);
        """,
    )
    assert found == [
        {"status": "fulfilled", "value": 3},
        "fulfilled",
        -32601,
        1,
        [],
        {"result": [{"status": "rejected", "reason": {}}]},
        "rejected",
    ]
    assert told.is_set()


async def test_a_notification_is_not_answered(node: Run) -> None:
    router, told = Router(), asyncio.Event()
    router.add(lambda message: told.set(), name="Log.Write")
    script = 'say({ none: await new all.Client({ url }).Log.Write({ message: "x" }) });'
    assert await node(router, script) == {}
    assert told.is_set()


async def test_calls_are_given_up_by_signal_and_by_time(node: Run) -> None:
    router = Router()

    @router.method
    async def things() -> int:
        await asyncio.Event().wait()
        return 1

    found = await node(
        router,
        """
        const client = new all.Client({ url, timeout: 20 });
        const controller = new AbortController();
        setTimeout(() => controller.abort(), 20);
        const aborted = client.things_2({ timeout: null, signal: controller.signal });
        const timed = new all.Client({ url }).things_2({ timeout: 20 });
        say((await Promise.all([client.things_2(), aborted, timed].map(outcome)))
          .map((each) => each.name));
        """,
    )
    assert found == ["TimeoutError", "AbortError", "TimeoutError"]


async def test_headers_go_with_every_call_and_with_one(node: Run) -> None:
    router = Router()

    @router.method
    def things(context: Context) -> list[Any]:
        headers = dict(context.headers or {})
        return [headers.get("authorization"), headers.get("x-one")]

    found = await node(
        router,
        """
        const client = new all.Client({ url, headers: { Authorization: "Bearer t" } });
        say([await client.things_2(), await client.things_2({ headers: { "X-One": "1" } })]);
        """,
    )
    assert found == [["Bearer t", None], ["Bearer t", "1"]]


async def test_answers_that_are_none_are_refused(node: Run) -> None:
    found = await node(
        Router(),
        """
        const answering = (text) => new all.Client({ transport: async () => text });
        const texts = ["", "[]", "{", "5", '{"id": 7, "result": 1}', '{"id": 1}', '{"id": 1, "error": 5}'];
        say([
          ...(await Promise.all(texts.map((text) => outcome(answering(text).things_2())))),
          await outcome(answering('{"id": null, "error": {"code": -32700, "message": "no"}}').things_2()),
          await outcome(new all.Client({ url: url + "x" }).things_2()),
        ]);
        """,
    )
    unanswered = {
        "name": "InvalidResponseError",
        "message": "the call of things was not answered",
    }
    neither = "the answer has neither a result nor an error"
    assert found == [
        unanswered,
        unanswered,
        {"name": "InvalidResponseError", "message": "the answer is not JSON"},
        unanswered,
        unanswered,
        {"name": "InvalidResponseError", "message": neither},
        {"name": "InvalidResponseError", "message": neither},
        {"name": "RpcError", "message": "no", "code": -32700},
        {"name": "InvalidResponseError", "message": "the server answered 404"},
    ]


async def test_a_client_needs_a_url_if_the_document_names_none_for_http(node: Run) -> None:
    script = "say(await outcome((async () => new nowhere.Client())()));"
    assert await node(Router(), script) == {
        "name": "TypeError",
        "message": "the client needs a url: the document names no server",
    }


async def test_errors_of_the_types_are_found_by_the_compiler(
    folder: Path, packages: Path, tmp_path: Path
) -> None:
    (tmp_path / "zoo.ts").write_text((folder / "zoo.ts").read_text())
    (tmp_path / "use.ts").write_text(
        """import { Client } from "./zoo.js";
export const client = new Client({ url: "http://127.0.0.1/" });
export const name: Promise<string> = client.adopt({ pet: { type: "cat", name: "x" } }).then((pet) =>
  pet.type === "cat" ? String(pet.lives) : Object.keys(pet.tricks).join(),
);
client.adopt({ pet: { type: "cow", name: "x" } });
client.paint({});
client.paint({ colour: "blue" });
client.missing();
"""
    )
    complaints = [
        line.split(":")[0] for line in check(tmp_path, packages).splitlines() if line[0] != " "
    ]
    assert [line.partition("use.ts")[2] for line in complaints] == [
        "(6,23)",
        "(7,14)",
        "(8,16)",
        "(9,8)",
    ]
