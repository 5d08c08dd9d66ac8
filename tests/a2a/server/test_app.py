"""What an agent answers, byte by byte: heads, versions, malformed requests, lists, streams."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from typing import Any

import pytest

from accord.a2a import Agent, Wire
from accord.transports.http.requester import Requester
from accord.transports.options import Options
from accord.transports.urls import parse_web_address
from tests.a2a.schemas import validate
from tests.a2a.server.demo import make_agent

JSON = {"content-type": "application/json"}
V10 = {**JSON, "a2a-version": "1.0"}
MESSAGE = {
    "kind": "message",
    "messageId": "m",
    "role": "user",
    "parts": [{"kind": "text", "text": "hi"}],
}
NEW_MESSAGE = {"messageId": "m", "role": "ROLE_USER", "parts": [{"text": "hi"}]}


class Web:
    """Plain HTTP to an agent."""

    def __init__(self, url: str) -> None:
        self._requester = Requester(Options())
        self._url = url

    async def ask(
        self, method: str, path: str, headers: dict[str, str], body: bytes | None = None
    ) -> tuple[int, dict[str, str], bytes]:
        address = parse_web_address(self._url.rstrip("/") + path)
        response = await self._requester.request(method, address, headers, body)
        return response.status, dict(response.headers), await response.read(None)

    async def post(self, body: Any, headers: dict[str, str] = JSON) -> Any:
        data = body if isinstance(body, bytes) else json.dumps(body).encode()
        status, _, answer = await self.ask("POST", "/", headers, data)
        assert status == 200
        return json.loads(answer)

    async def call(self, method: str, params: Any, headers: dict[str, str] = JSON) -> Any:
        return await self.post(
            {"jsonrpc": "2.0", "id": 1, "method": method, "params": params}, headers
        )

    def close(self) -> None:
        self._requester.close()


@pytest.fixture
def agent() -> Agent:
    return make_agent()


@pytest.fixture
async def web(agent: Agent) -> AsyncIterator[Web]:
    async with agent.serve("http://127.0.0.1:0/", drain=0.0) as serving:
        web = Web(serving.url)
        yield web
        web.close()


async def test_the_card_is_a_page_with_a_tag(web: Web) -> None:
    path = "/.well-known/agent-card.json"
    status, headers, _ = await web.ask("GET", path, {})
    assert (status, headers["content-type"], headers["cache-control"]) == (
        200,
        "application/json",
        "public, max-age=300",
    )
    assert (await web.ask("GET", path, {"if-none-match": headers["etag"]}))[0] == 304
    assert (await web.ask("POST", path, JSON, b"{}"))[0] == 405


@pytest.mark.req("W-27")
async def test_the_card_is_in_the_format_that_is_asked_for(web: Web) -> None:
    path = "/.well-known/agent-card.json"
    _, plain, default = await web.ask("GET", path, {})
    _, _, new = await web.ask("GET", path, {"a2a-version": "1.0"})
    _, asked, old = await web.ask("GET", path, {"a2a-version": "0.3"})
    _, _, by_parameter = await web.ask("GET", f"{path}?A2A-Version=0.3", {})
    assert default == new
    assert old == by_parameter
    assert plain["vary"] == asked["vary"] == "a2a-version"
    assert plain["etag"] != asked["etag"]
    assert not json.loads(new).keys() & {"url", "protocolVersion", "preferredTransport"}
    assert "supportedInterfaces" not in json.loads(old)
    validate(json.loads(old), "AgentCard")


@pytest.mark.req("W-27")
async def test_an_agent_that_prefers_0_3_says_so_where_nothing_is_asked_for() -> None:
    agent = Agent("old", wires=(Wire.V03, Wire.V10), token="t")

    @agent.skill
    async def shout(text: str) -> str:
        return text.upper()

    async with agent.serve("http://127.0.0.1:0/") as serving:
        web = Web(serving.url)
        _, _, body = await web.ask("GET", "/.well-known/agent-card.json", {})
        web.close()
    card = json.loads(body)
    assert (card["url"], card["protocolVersion"]) == (serving.url, "0.3.0")
    assert card["securitySchemes"] == {"bearer": {"type": "http", "scheme": "Bearer"}}
    validate(card, "AgentCard")


async def test_the_card_says_where_the_agent_is_by_what_clients_call_it() -> None:
    async with make_agent().serve("http://127.0.0.1:0/team/demo") as serving:
        web = Web(serving.url)
        for path in ("/.well-known/agent-card.json",):
            _, _, body = await web.ask("GET", path, {})
            assert json.loads(body)["supportedInterfaces"][0]["url"] == serving.url
        web.close()
    async with make_agent().serve(
        "http://127.0.0.1:0/", public_url="https://a.example/"
    ) as serving:
        web = Web(serving.url)
        _, _, body = await web.ask("GET", "/.well-known/agent-card.json", {})
        assert json.loads(body)["supportedInterfaces"][0]["url"] == "https://a.example/"
        web.close()


@pytest.mark.parametrize(
    ("method", "path", "headers", "status"),
    [
        ("GET", "/", {}, 405),
        ("POST", "/elsewhere", JSON, 404),
        ("POST", "/", {"content-type": "text/plain"}, 415),
        ("POST", "/", {**JSON, "origin": "https://evil.example"}, 403),
    ],
)
async def test_heads_are_refused(
    web: Web, method: str, path: str, headers: dict[str, str], status: int
) -> None:
    body = b"{}" if method == "POST" else None
    assert (await web.ask(method, path, headers, body))[0] == status


@pytest.mark.parametrize(
    ("body", "headers", "id", "code"),
    [
        (b"{", JSON, None, -32700),
        (b"[]", JSON, None, -32600),
        (b'[{"jsonrpc": "2.0", "id": 1, "method": "tasks/get"}]', JSON, None, -32600),
        (b'{"id": 1, "method": "tasks/get"}', JSON, 1, -32600),
        (b'{"jsonrpc": "2.0", "id": 1, "result": 1}', JSON, None, -32600),
        (b'{"jsonrpc": "2.0", "id": 1, "method": "nothing"}', JSON, 1, -32601),
        (b'{"jsonrpc": "2.0", "method": "nothing"}', JSON, None, -32601),
        (b'{"jsonrpc": "2.0", "id": "a", "method": "message/send"}', JSON, "a", -32602),
        (b'{"jsonrpc": "2.0", "id": 1, "method": "message/send", "params": []}', JSON, 1, -32602),
        (
            b'{"jsonrpc": "2.0", "id": 1, "method": "tasks/get", "params": {"id": 5}}',
            JSON,
            1,
            -32602,
        ),
        (
            b'{"jsonrpc": "2.0", "id": 1, "method": "tasks/get", "params": {"id": "x"}}',
            JSON,
            1,
            -32001,
        ),
        (
            b'{"jsonrpc": "2.0", "id": 1, "method": "tasks/cancel", "params": {"id": "x"}}',
            JSON,
            1,
            -32001,
        ),
        (
            b'{"jsonrpc": "2.0", "id": 1, "method": "tasks/resubscribe", "params": {"id": "x"}}',
            JSON,
            1,
            -32001,
        ),
        (
            b'{"jsonrpc": "2.0", "id": 1, "method": "agent/getAuthenticatedExtendedCard"}',
            JSON,
            1,
            -32007,
        ),
        (b'{"jsonrpc": "2.0", "id": 1, "method": "GetExtendedAgentCard"}', V10, 1, -32004),
        (b'{"jsonrpc": "2.0", "id": 1, "method": "SendMessage"}', JSON, 1, -32009),
        (b'{"jsonrpc": "2.0", "id": 1, "method": "message/send"}', V10, 1, -32601),
        (
            b'{"jsonrpc": "2.0", "id": 1, "method": "GetTask"}',
            {**JSON, "a2a-version": "7.1"},
            1,
            -32009,
        ),
        (
            b'{"jsonrpc": "2.0", "id": 1, "method": "ListTasks", "params": {"pageToken": "x"}}',
            V10,
            1,
            -32602,
        ),
        (
            b'{"jsonrpc": "2.0", "id": 1, "method": "ListTasks", "params": {"statusTimestampAfter": "x"}}',
            V10,
            1,
            -32602,
        ),
        (
            b'{"jsonrpc": "2.0", "id": 1, "method": "GetTaskPushNotificationConfig", "params": {}}',
            V10,
            1,
            -32003,
        ),
    ],
)
async def test_what_is_wrong_is_an_error(
    web: Web, body: bytes, headers: dict[str, str], id: Any, code: int
) -> None:
    answer = await web.post(body, headers)
    assert (answer["id"], answer["error"]["code"]) == (id, code)
    assert isinstance(answer["error"].get("data", []), list)
    if headers is JSON:
        validate(answer, "JSONRPCErrorResponse")


async def test_a_body_that_is_too_large_is_refused(web: Web) -> None:
    status, _, body = await web.ask("POST", "/", JSON, b"x" * (8 * 1024 * 1024 + 1))
    assert (status, json.loads(body)["error"]["code"]) == (413, -32600)


async def test_the_version_may_be_a_parameter(web: Web) -> None:
    body = json.dumps({"jsonrpc": "2.0", "id": 1, "method": "ListTasks", "params": {}}).encode()
    status, _, answer = await web.ask("POST", "/?A2A-Version=1.0", JSON, body)
    assert (status, json.loads(answer)["result"]["totalSize"]) == (200, 0)


async def test_correlation_ids_come_back(web: Web) -> None:
    body = b'{"jsonrpc": "2.0", "id": 1, "method": "x"}'
    _, headers, _ = await web.ask("POST", "/", {**JSON, "x-correlation-id": "run-7"}, body)
    _, others, _ = await web.ask("POST", "/", {**JSON, "x-correlation-id": "caf\xe9"}, body)
    assert headers["x-correlation-id"] == "run-7"
    assert len(others["x-correlation-id"]) == 36


async def test_an_agent_of_one_format_refuses_the_other() -> None:
    async with make_agent(wires=[Wire.V10]).serve("http://127.0.0.1:0/") as serving:
        web = Web(serving.url)
        answer = await web.call("message/send", {"message": MESSAGE})
        assert answer["error"]["code"] == -32009
        web.close()


async def test_answers_of_0_3_are_what_the_official_schema_says(web: Web) -> None:
    sent = await web.call("message/send", {"message": MESSAGE})
    validate(sent, "SendMessageSuccessResponse")
    task_id = sent["result"]["id"]
    validate(await web.call("tasks/get", {"id": task_id}), "GetTaskSuccessResponse")
    direct = await web.call("message/send", {"message": {**MESSAGE, "metadata": {"skill": "echo"}}})
    validate(direct, "SendMessageSuccessResponse")
    made = await web.call("message/send", {"message": {**MESSAGE, "metadata": {"skill": "many"}}})
    validate(made, "SendMessageSuccessResponse")


async def test_a_stream_of_0_3_is_what_the_official_schema_says(web: Web) -> None:
    params = {"message": {**MESSAGE, "metadata": {"skill": "tell"}}}
    body = json.dumps(
        {"jsonrpc": "2.0", "id": 1, "method": "message/stream", "params": params}
    ).encode()
    status, headers, stream = await web.ask("POST", "/", JSON, body)
    told = [json.loads(line.removeprefix(b"data: ")) for line in stream.split(b"\n\n") if line]
    for each in told:
        validate(each, "SendStreamingMessageSuccessResponse")
    assert (status, headers["content-type"]) == (200, "text/event-stream")
    assert [each["result"]["kind"] for each in told] == [
        "task",
        "status-update",
        "artifact-update",
        "status-update",
    ]
    assert [each["result"].get("final") for each in told] == [None, False, None, True]


async def test_tasks_are_listed_in_pages_the_latest_first(web: Web) -> None:
    for n in range(5):
        message = {**NEW_MESSAGE, "messageId": f"m-{n}", "contextId": "odd" if n % 2 else "even"}
        await web.call("SendMessage", {"message": message}, V10)

    async def page(**params: Any) -> tuple[list[str], str, int]:
        result = (await web.call("ListTasks", params, V10))["result"]
        names = [task["history"][0]["messageId"] for task in result["tasks"]]
        return names, result["nextPageToken"], result["totalSize"]

    first, token, total = await page(pageSize=3)
    rest, end, _ = await page(pageSize=3, pageToken=token)
    assert (first, rest, end, total) == (["m-4", "m-3", "m-2"], ["m-1", "m-0"], "", 5)
    assert (await page(contextId="odd"))[0] == ["m-3", "m-1"]
    assert (await page(status="TASK_STATE_WORKING"))[0] == []
    assert (await page(statusTimestampAfter="2999-01-01T00:00:00Z"))[0] == []
    assert len((await page(statusTimestampAfter="2020-01-01T00:00:00"))[0]) == 5
    listed = (await web.call("ListTasks", {}, V10))["result"]["tasks"]
    whole = (await web.call("ListTasks", {"includeArtifacts": True}, V10))["result"]["tasks"]
    assert (["artifacts" in task for task in listed], ["artifacts" in task for task in whole]) == (
        [False] * 5,
        [True] * 5,
    )


async def test_webhooks_are_listed_and_got() -> None:
    from tests.a2a.scripted import LOCAL

    async with make_agent(webhooks=LOCAL).serve("http://127.0.0.1:0/", drain=0.0) as serving:
        web = Web(serving.url)
        params = {
            "message": {**MESSAGE, "metadata": {"skill": "wait"}},
            "configuration": {"blocking": False},
        }
        task_id = (await web.call("message/send", params))["result"]["id"]
        config = {"url": "http://127.0.0.1:1/", "id": "p-1"}
        kept = await web.call(
            "tasks/pushNotificationConfig/set",
            {"taskId": task_id, "pushNotificationConfig": config},
        )
        got = await web.call("tasks/pushNotificationConfig/get", {"id": task_id})
        listed = await web.call("tasks/pushNotificationConfig/list", {"id": task_id})
        missing = await web.call(
            "tasks/pushNotificationConfig/get", {"id": task_id, "pushNotificationConfigId": "p-2"}
        )
        gone = await web.call(
            "tasks/pushNotificationConfig/delete",
            {"id": task_id, "pushNotificationConfigId": "p-1"},
        )
        web.close()
    validate(kept, "SetTaskPushNotificationConfigSuccessResponse")
    validate(got, "GetTaskPushNotificationConfigSuccessResponse")
    validate(listed, "ListTaskPushNotificationConfigSuccessResponse")
    validate(gone, "DeleteTaskPushNotificationConfigSuccessResponse")
    assert got["result"] == kept["result"] == listed["result"][0]
    assert (missing["error"]["code"], gone["result"]) == (-32001, None)


async def test_a_client_that_leaves_does_not_end_its_task() -> None:
    started = asyncio.Event()
    async with make_agent(started).serve("http://127.0.0.1:0/", drain=0.0) as serving:
        web = Web(serving.url)
        params = {"message": {**NEW_MESSAGE, "metadata": {"skill": "wait"}}}
        asking = asyncio.create_task(web.call("SendMessage", params, V10))
        await started.wait()
        asking.cancel()
        listed = (await web.call("ListTasks", {}, V10))["result"]["tasks"]
        web.close()
    assert [task["status"]["state"] for task in listed] == ["TASK_STATE_WORKING"]


async def test_an_agent_is_an_asgi_application(agent: Agent) -> None:
    sent: list[dict[str, Any]] = []
    body = json.dumps(
        {"jsonrpc": "2.0", "id": 1, "method": "message/send", "params": {"message": MESSAGE}}
    )

    async def receive() -> dict[str, Any]:
        return {"type": "http.request", "body": body.encode(), "more_body": False}

    async def send(event: Any) -> None:
        sent.append(event)

    scope = {
        "type": "http",
        "method": "POST",
        "path": "/agent",
        "root_path": "",
        "query_string": b"",
        "headers": [(b"host", b"a.example"), (b"content-type", b"application/json")],
        "client": ("127.0.0.1", 1),
    }
    await agent.asgi("/agent")(scope, receive, send)
    answer = json.loads(b"".join(event.get("body", b"") for event in sent))
    assert (sent[0]["status"], answer["result"]["status"]["state"]) == (200, "completed")
