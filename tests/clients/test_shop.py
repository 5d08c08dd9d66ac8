"""Every route of the shop, called by generated clients: the outcomes are those of HTTP requests."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Mapping
from operator import attrgetter
from pathlib import Path
from typing import Any, get_type_hints

import msgspec
import pytest

from accord import InvalidResultError, RpcError, serve
from accord.openrpc import expose
from accord.openrpc.clients import read_api, write_typescript
from accord.openrpc.clients.names import snake
from accord.openrpc.clients.stub import decoder
from tests.clients.modules import python_client
from tests.clients.typescript import build, run
from tests.exposure.test_in_process_shop import CASES, HEADERS, Case, requested, shop

FORWARD = ("authorization", "x-admin-key")
UNDOCUMENTED = ("GET /stats", "PATCH /products/2")
"""What the shop may answer to otherwise than its own document says."""

Outcomes = dict[str, Any]


class Exposed:
    """A shop that is served as methods, and made new for each case."""

    def __init__(self) -> None:
        self._app = shop()
        self.api = expose(self._app, forward=FORWARD)
        self.document = self.api.document()
        self.api.router.add(self.renew, "renew")

    def renew(self) -> None:
        vars(self._app.state.store).update(vars(shop().state.store))


@pytest.fixture(scope="module")
def expected() -> Outcomes:
    """What HTTP requests give."""

    async def request_all() -> Outcomes:
        return {str(case): await requested(shop(), case) for case in CASES}

    return asyncio.run(request_all())


@pytest.mark.req("O-14")
async def test_the_python_client_gives_what_the_requests_give(expected: Outcomes) -> None:
    exposed = Exposed()
    module = python_client(exposed.document, "shop_client")
    found = {}
    async with (
        exposed.api,
        serve(exposed.api.router, "http://127.0.0.1:0/rpc") as server,
        module.Client.connect(server.url, headers=HEADERS) as client,
    ):
        for case in CASES:
            exposed.renew()
            try:
                found[str(case)] = await called(client, case, vars(module))
            except InvalidResultError:
                assert case.request in UNDOCUMENTED
                found[str(case)] = expected[str(case)]
    assert found == expected


async def called(client: Any, case: Case, names: dict[str, Any]) -> Any:
    """What a call gives whose arguments have the types of the client, where those let them in."""
    method = attrgetter(case.name)(client)
    types = get_type_hints(method.__func__, names)
    arguments = {}
    for name, value in case.arguments.items():
        parameter = snake(name, "param")
        try:
            typed = decoder(types[parameter]).decode(msgspec.json.encode(value))
        except msgspec.ValidationError:
            typed = value
        arguments[parameter] = typed
    try:
        return json.loads(msgspec.json.encode(await method(**arguments)))
    except RpcError as error:
        return outcome(error.data)


def outcome(data: Mapping[str, Any]) -> dict[str, Any]:
    """An error of the shop, in the terms of HTTP."""
    return {name: data.get(name) for name in ("status", "body", "location")}


CALL_ALL = """
import { Client, RpcError } from "./shop.js";

const { url, headers, cases } = given;
const client = new Client({ url, headers });
const renewal = JSON.stringify({ jsonrpc: "2.0", id: 0, method: "renew" });

const call = async ([name, params]) => {
  const path = name.split(".");
  const method = path.pop();
  const place = path.reduce((at, part) => at[part], client);
  try {
    return { result: await place[method](params) };
  } catch (error) {
    if (!(error instanceof RpcError)) throw error;
    return { error: error.data };
  }
};

const answers = [];
for (const one of cases) {
  await fetch(url, { method: "POST", body: renewal, headers: { "Content-Type": "application/json" } });
  answers.push(await call(one));
}
say(answers);
"""


@pytest.mark.req("O-14")
async def test_the_typescript_client_gives_what_the_requests_give(
    expected: Outcomes, packages: Path, tmp_path: Path
) -> None:
    exposed = Exposed()
    api = read_api(exposed.document)
    (tmp_path / "shop.ts").write_text(write_typescript(api, command="accord openrpc client"))
    build(tmp_path, packages)
    cases = [(case.name, case.arguments) for case in CASES]
    async with exposed.api, serve(exposed.api.router, "http://127.0.0.1:0/rpc") as server:
        given = {"url": server.url, "headers": HEADERS, "cases": cases}
        answers = await asyncio.to_thread(run, CALL_ALL, tmp_path, given)
    assert expected == {
        str(case): outcome(answer["error"]) if "error" in answer else answer["result"]
        for case, answer in zip(CASES, answers, strict=True)
    }
