"""Workflows are an agent: our client starts runs, follows them and answers what they ask."""

from __future__ import annotations

import asyncio
import json
import shutil
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import httpx
import pytest
from msgspec.structs import replace

from accord.a2a import (
    AgentError,
    DataPart,
    Message,
    Task,
    TaskResult,
    TaskState,
    TextPart,
    UnknownOutcomeError,
    Wire,
    call,
)
from accord.a2a.checker.checker import CheckOptions, check
from accord.a2a.protocol.errors import RefusedError
from accord.a2a.protocol.extraction import extract
from accord.a2a.protocol.model import ArtifactUpdate, StatusUpdate
from accord.app.settings import Settings
from tests.a2a.schemas import validate
from tests.a2a.scripted import LOCAL
from tests.store.cluster import Cluster
from tests.workflows.agent.served import (
    ALL,
    GREET,
    Prepared,
    Running,
    message,
    prepare,
    said,
    send,
    serving,
)


@pytest.fixture(scope="module")
def prepared(tmp_path_factory: pytest.TempPathFactory) -> Prepared:
    return asyncio.run(prepare(_settings(tmp_path_factory.mktemp("prepared") / "data")))


@pytest.fixture
async def world(prepared: Prepared, tmp_path: Path) -> AsyncIterator[Running]:
    data = tmp_path / "data"
    shutil.copytree(prepared.data, data)
    async with serving(_settings(data), prepared) as running:
        yield running


async def post(world: Running, method: str, params: Any, token: str = "") -> str:
    headers = {"authorization": f"Bearer {token or world.token}", "A2A-Version": "1.0"}
    request = {"jsonrpc": "2.0", "id": "1", "method": method, "params": params}
    async with httpx.AsyncClient(headers=headers) as http:
        return (await http.post(world.url, json=request)).text


async def ask(world: Running, method: str, params: Any, token: str = "") -> Any:
    return json.loads(await post(world, method, params, token))


def _settings(data: Path) -> Settings:
    return Settings(data=str(data), port=0, allow_private_agents=True)


# Starting runs


@pytest.mark.req("W-12")
@pytest.mark.parametrize("wire", [*Wire, None], ids=str)
async def test_a_run_is_started_and_its_output_comes_back(
    world: Running, wire: Wire | None
) -> None:
    async with world.client(wire=wire) as client:
        told = await call(
            client, {"text": "Ann", "skill": "greet"}, task_id="t-1", message_id=f"m-{wire}"
        )
    assert told == TaskResult("t-1", "success", "Hello Ann")


async def test_a_run_belongs_to_whoever_sent_the_message(world: Running) -> None:
    async with world.client() as client:
        task = await send(client, message("Ann", "greet"))
    [row] = await world.system.runtime.store.fetch("SELECT * FROM runs")
    assert (row["id"], row["origin"], row["username"]) == (task.id, "a2a", "admin")
    assert row["scopes"] == "approve read run"
    assert task.metadata == {"workflow": "greet@1"}


async def test_the_input_is_what_the_message_says(world: Running) -> None:
    both = Message(
        message_id="m-5",
        role="user",
        parts=(TextPart(text="beside"), DataPart(data={"n": 2})),
        metadata={"skill": "count"},
    )
    async with world.client() as client:
        tasks = [
            await send(client, sent)
            for sent in (
                message("plain", "count", "m-1"),
                message('{"n": 1}', "count", "m-2"),
                message("[1, 2", "count", "m-3"),
                message("text", "count", "m-4", lang="de"),
                both,
            )
        ]
    assert [extract(task).data for task in tasks] == [
        ({"given": "plain"},),
        ({"given": {"n": 1}},),
        ({"given": "[1, 2"},),
        ({"given": {"text": "text", "lang": "de"}},),
        ({"given": {"n": 2}},),
    ]
    assert extract(tasks[0]).output == '{"given":"plain"}'


async def test_a_message_that_comes_again_is_the_same_run(world: Running) -> None:
    async with world.client() as client, world.client(world.other) as eve:
        first = await send(client, message("Ann", "greet"))
        again = await send(client, message("Ann", "greet"))
        both = await asyncio.gather(
            *(send(client, message("Bob", "greet", "m-2")) for _ in range(5))
        )
        others = await send(eve, message("Ann", "greet"))
    assert first == again
    assert len({task.id for task in both}) == 1
    assert others.id not in (first.id, both[0].id)
    [row] = await world.system.runtime.store.fetch("SELECT COUNT(*) AS count FROM runs")
    assert row["count"] == 3


REFUSED = [
    (message("x", "nobody"), -32602, "there is no workflow 'nobody'"),
    (message("x", "not a name!"), -32602, "there is no workflow 'not a name!'"),
    (
        Message(
            message_id="m",
            role="user",
            parts=(DataPart(data=[1]), TextPart(text="x")),
            metadata={"skill": "greet"},
        ),
        -32602,
        "input",
    ),
    (Message(message_id="m", role="user", parts=()), -32602, "message.parts must not be empty"),
    (
        Message(message_id="", role="user", parts=(TextPart(text="x"),)),
        -32602,
        "message.messageId must not be empty",
    ),
    (
        Message(message_id="m", role="user", parts=(TextPart(text="x"),)),
        -32602,
        "message.metadata.skill: must be a workflow: approve, ask, break, count",
    ),
    (
        Message(message_id="m", role="user", parts=(TextPart(text="x"),), context_id="mine"),
        -32602,
        'long; choose one by "metadata": {"skill": "approve"} in the message or in params',
    ),
    (
        Message(message_id="m", role="user", parts=(TextPart(text="x"),), context_id="x" * 201),
        -32602,
        "message.contextId has 201 characters, over the limit of 200",
    ),
    (
        Message(message_id="m", role="user", parts=(TextPart(text="x"),), task_id="nobody"),
        -32001,
        "There is no such task",
    ),
]


async def test_what_cannot_be_started_is_told(world: Running) -> None:
    async with world.client() as client:
        for sent, code, told in REFUSED:
            with pytest.raises(AgentError) as refused:
                await client.send(sent, id="t-1", message_id="m-1")
            assert (refused.value.code, told in refused.value.message) == (code, True), told
    assert await world.system.runtime.store.fetch("SELECT id FROM runs") == []


# Following them


async def test_a_run_is_followed_as_a_stream(world: Running) -> None:
    async with world.client() as client:
        events = [
            event
            async for event in client.stream(message("Ann", "greet"), id="t-1", message_id="m-1")
        ]
    first, *_, made, last = events
    assert isinstance(first, Task)
    assert isinstance(made, ArtifactUpdate)
    assert isinstance(last, StatusUpdate)
    assert made.artifact.parts == (TextPart(text="Hello Ann"),)
    assert last.status.state is TaskState.COMPLETED


async def test_a_failed_run_is_a_failed_task(world: Running) -> None:
    async with world.client() as client:
        task = await send(client, message("x", "break"))
    assert task.status.state is TaskState.FAILED
    assert "badly" in said(task)


async def test_a_run_is_cancelled(world: Running) -> None:
    async with world.client() as client:
        task = await send(client, message("x", "long"), blocking=False)
        assert task.status.state in (TaskState.SUBMITTED, TaskState.WORKING)
        ended = await client.cancel(task.id)
        assert ended.status.state is TaskState.CANCELED
        with pytest.raises(AgentError) as over:
            await client.cancel(task.id)
    assert over.value.code == -32002


async def test_runs_of_others_are_not_there(world: Running) -> None:
    async with world.client() as client, world.client(world.other) as eve:
        task = await send(client, message("Ann", "greet"))
        with pytest.raises(UnknownOutcomeError) as unknown:
            await eve.get(task.id)
        with pytest.raises(AgentError) as refused:
            await eve.cancel(task.id)
    assert (unknown.value.code, refused.value.code) == (-32001, -32001)


async def test_own_runs_are_listed_by_pages(world: Running) -> None:
    async with world.client() as client:
        tasks = [await send(client, message("Ann", "greet", f"m-{n}")) for n in range(3)]
    async with httpx.AsyncClient(headers={"authorization": f"Bearer {world.token}"}) as http:
        pages, token = [], ""
        while True:
            asked = {"pageSize": 2, "pageToken": token, "status": "TASK_STATE_COMPLETED"}
            request = {"jsonrpc": "2.0", "id": "1", "method": "ListTasks", "params": asked}
            answer = await http.post(world.url, json=request, headers={"A2A-Version": "1.0"})
            page = answer.json()["result"]
            pages.append([task["id"] for task in page["tasks"]])
            assert page["totalSize"] == 3
            token = page["nextPageToken"]
            if not token:
                break
    assert pages == [[tasks[2].id, tasks[1].id], [tasks[0].id]]


# Answering what they ask


async def test_a_signal_is_a_message(world: Running) -> None:
    async with world.client() as client:
        task = await send(client, message("x", "listen"))
        assert (task.status.state, said(task)) == (
            TaskState.INPUT_REQUIRED,
            "hear waits for the signal go",
        )
        done = await send(client, "now", "m-2", task_id=task.id)
        again = await send(client, "now", "m-2", task_id=task.id)
    assert (done.status.state, extract(done).output) == (TaskState.COMPLETED, "now")
    assert again == done


async def test_an_agent_that_asks_is_answered(world: Running) -> None:
    async with world.client() as client:
        task = await send(client, message("x", "ask"))
        assert (task.status.state, said(task)) == (
            TaskState.INPUT_REQUIRED,
            "city asks: Which city?",
        )
        done = await send(client, "Oslo", "m-2", task_id=task.id)
    assert extract(done).output == "you said: Oslo"


@pytest.mark.parametrize(
    ("sent", "state", "told"),
    [
        ("approve it is fine", TaskState.COMPLETED, "it is fine"),
        ("reject: no budget", TaskState.FAILED, "no budget"),
    ],
)
async def test_an_approval_is_a_message(
    world: Running, sent: str, state: TaskState, told: str
) -> None:
    async with world.client(await world.sign_in()) as client:
        task = await send(client, message("x", "approve"))
        assert said(task) == "gate waits for the approval of administrator"
        with pytest.raises(AgentError, match="say approve or reject"):
            await send(client, "well…", "m-2", task_id=task.id)
        done = await send(client, sent, "m-3", task_id=task.id)
        assert await send(client, sent, "m-3", task_id=task.id) == done
    assert done.status.state is state
    assert told in (extract(done).output if state is TaskState.COMPLETED else said(done))


@pytest.mark.req("H-31")
async def test_no_token_approves_a_task_that_its_owner_began(world: Running) -> None:
    async with world.client() as client:
        task = await send(client, message("x", "approve"))
        with pytest.raises(AgentError, match="nobody approves with a token what they started"):
            await send(client, "approve", "m-2", task_id=task.id)
        async with world.client(await world.sign_in()) as person:
            done = await send(person, "approve it is fine", "m-3", task_id=task.id)
    assert done.status.state is TaskState.COMPLETED


async def test_who_may_not_approve_is_told_so(world: Running) -> None:
    async with world.client(world.other) as eve:
        task = await send(eve, message("x", "approve"))
        with pytest.raises(AgentError) as refused:
            await send(eve, "approve", "m-2", task_id=task.id)
    assert refused.value.code == -32004
    assert "approve" in refused.value.message


@pytest.mark.req("W-25")
@pytest.mark.parametrize("wire", Wire, ids=str)
async def test_a_context_goes_on_over_several_turns(world: Running, wire: Wire) -> None:
    async with world.client(wire=wire) as client:
        first = await send(client, message("Ann", "greet"))
        ids = {"context_id": first.context_id}
        second = await send(client, "Bob", "m-2", **ids)  # the same workflow as before
        third = await send(client, replace(message("x", "count", "m-3"), **ids))
        fourth = await send(client, "y", "m-4", **ids)
        again = await send(client, "Bob", "m-2", **ids)
        other = await send(client, replace(message("Eve", "greet", "m-5"), context_id="mine"))
        own = await send(client, "Joe", "m-6", context_id="mine")
    tasks = (first, second, third, fourth)
    assert len({each.id for each in tasks}) == 4
    assert {each.context_id for each in tasks} == {first.context_id}
    assert [each.metadata["workflow"] for each in tasks] == ["greet@1"] * 2 + ["count@1"] * 2
    assert again == second
    assert [extract(each).output for each in (second, other, own)] == [
        *("Hello Bob", "Hello Eve", "Hello Joe")
    ]
    assert (other.context_id, own.context_id) == ("mine", "mine")


@pytest.mark.req("W-25")
async def test_contexts_of_others_are_not_seen(world: Running) -> None:
    async with world.client() as client, world.client(world.other) as eve:
        first = await send(client, message("Ann", "greet"))
        with pytest.raises(AgentError, match="must be a workflow"):
            await send(eve, "Bob", "m-2", context_id=first.context_id)
        theirs = await send(
            eve, replace(message("Bob", "greet", "m-3"), context_id=first.context_id)
        )
        with pytest.raises(UnknownOutcomeError):
            await client.get(theirs.id)


@pytest.mark.req("W-25")
async def test_tasks_of_a_context_are_listed(world: Running) -> None:
    async with world.client(wire=Wire.V10) as client:
        first = await send(client, message("Ann", "greet"))
        second = await send(client, "Bob", "m-2", context_id=first.context_id)
        await send(client, message("Joe", "greet", "m-3"))
    listed = await ask(world, "ListTasks", {"contextId": first.context_id, "historyLength": 1})
    page = listed["result"]
    assert [task["id"] for task in page["tasks"]] == [second.id, first.id]
    assert page["totalSize"] == 2
    assert [task["history"][0]["parts"] for task in page["tasks"]] == [
        [{"text": "Bob"}],
        [{"text": "Ann"}],
    ]


@pytest.mark.req("W-25")
@pytest.mark.parametrize("wire", Wire, ids=str)
async def test_a_task_has_its_history(world: Running, wire: Wire) -> None:
    async with world.client(wire=wire) as client:
        asking = await send(client, message("x", "ask"))
        done = await send(client, "Oslo", "m-2", task_id=asking.id)
        got = await client.get(asking.id)
        lengths = [
            [each.text for each in (await client.get(asking.id, history_length=length)).history]
            for length in (0, 1, 2, 9)
        ]
        sent = await send(client, message("Ann", "greet", "m-3"), history_length=0)
    said = ["x", "city asks: Which city?", "Oslo"]
    assert [each.text for each in asking.history] == said[:1]
    assert [(each.role, each.text) for each in got.history] == list(
        zip(("user", "agent", "user"), said, strict=True)
    )
    assert done.history == got.history
    assert {(each.task_id, each.context_id) for each in got.history} == {
        (asking.id, asking.context_id)
    }
    assert got.history[0].metadata == {"skill": "ask"}
    assert len({each.message_id for each in got.history}) == 3
    assert lengths == [[], said[2:], said[1:], said]
    assert sent.history == ()


@pytest.mark.req("W-25")
async def test_a_stream_has_as_much_history_as_was_asked_for(world: Running) -> None:
    params = {
        "message": {
            "messageId": "m-1",
            "role": "ROLE_USER",
            "parts": [{"text": "Ann"}],
            "metadata": {"skill": "greet"},
        }
    }
    for length, expected in ((0, 0), (5, 1), (None, 1)):
        params["configuration"] = {} if length is None else {"historyLength": length}  # type: ignore[dict-item]
        text = await post(world, "SendStreamingMessage", params)
        first = json.loads(text.partition("data: ")[2].partition("\n")[0])["result"]["task"]
        assert len(first.get("history", [])) == expected


@pytest.mark.req("W-25")
async def test_a_large_message_is_kept_in_part(world: Running) -> None:
    text = "é" * 200_000
    async with world.client() as client:
        task = await send(client, message(text, "count"))
        got = await client.get(task.id)
    [said] = got.history
    kept, note = (part.text for part in said.parts)  # type: ignore[union-attr]
    assert (kept, len(kept)) == (text[: len(kept)], 64 * 1024)
    assert note.startswith("(a message of 400,")


@pytest.mark.req("W-25")
async def test_runs_of_earlier_releases_are_contexts_of_their_own(world: Running) -> None:
    async with world.client() as client:
        asking = await send(client, message("x", "ask"))
        store = world.system.runtime.store
        for table in ("a2a_tasks", "a2a_messages"):

            async def forget(db: Any, table: str = table) -> None:
                await db.execute(f"DELETE FROM {table} WHERE run_id = $1", asking.id)

            await store.transact(forget)
        before = await client.get(asking.id)
        done = await send(client, "Oslo", "m-2", task_id=asking.id, context_id=asking.id)
        next_one = await send(client, "x", "m-3", context_id=asking.id)
    assert (before.context_id, [each.text for each in before.history]) == (asking.id, ["x"])
    assert [each.text for each in done.history] == ["x", "city asks: Which city?", "Oslo"]
    assert next_one.metadata["workflow"] == "ask@1"


@pytest.mark.req("W-26")
async def test_a_skill_may_be_chosen_for_the_request(world: Running) -> None:
    params = {
        "message": {"messageId": "m-1", "role": "ROLE_USER", "parts": [{"text": "Ann"}]},
        "metadata": {"skill": "greet"},
    }
    answer = await ask(world, "SendMessage", params)
    assert answer["result"]["task"]["artifacts"][0]["parts"] == [{"text": "Hello Ann"}]


async def test_a_task_that_is_over_says_how_to_go_on(world: Running) -> None:
    async with world.client() as client:
        task = await send(client, message("Ann", "greet"))
        with pytest.raises(AgentError, match=r"is over: leave out message\.taskId to begin"):
            await send(client, "Bob", "m-2", task_id=task.id)


async def test_a_run_that_waits_for_nobody_takes_no_message(world: Running) -> None:
    async with world.client() as client:
        task = await send(client, message("x", "long"), blocking=False)
        with pytest.raises(AgentError) as refused:
            await send(client, "hello?", "m-2", task_id=task.id)
    assert (refused.value.code, refused.value.message) == (
        -32004,
        "The task does not wait for a message",
    )


# Who may ask


@pytest.mark.req("W-27")
async def test_the_card_names_workflows_to_those_who_may_see_them(world: Running) -> None:
    async with world.client() as client, world.client("") as nobody:
        seen, unseen = await client.card(), await nobody.card()
    assert [skill.id for skill in seen.skills] == sorted(each["name"] for each in ALL)  # type: ignore[type-var]
    assert seen.skills[4].description == "Greets somebody."
    assert [skill.id for skill in unseen.skills] == ["run"]
    assert {each.url for each in seen.interfaces} == {world.url}
    async with httpx.AsyncClient() as http:
        root = await http.get(f"{world.system.url}/.well-known/agent-card.json")
        wrong = await http.get(
            f"{world.url}/.well-known/agent-card.json", headers={"authorization": "Bearer x"}
        )
        old = await http.get(
            f"{world.url}/.well-known/agent-card.json",
            headers={"authorization": f"Bearer {world.token}", "A2A-Version": "0.3"},
        )
    assert root.json()["supportedInterfaces"][0]["url"] == world.url
    assert not root.json().keys() & {"url", "protocolVersion", "security"}
    assert root.json()["securitySchemes"] == {
        "bearer": {"httpAuthSecurityScheme": {"scheme": "Bearer"}}
    }
    assert old.json()["url"] == world.url
    validate(old.json(), "AgentCard")
    assert wrong.status_code == 401


@pytest.mark.parametrize("token", ["", "accord_pat_wrong"])
async def test_nobody_is_not_let_in(world: Running, token: str) -> None:
    async with world.client(token, wire=Wire.V03) as client:
        with pytest.raises(RefusedError) as refused:
            await client.send("x", id="t-1", message_id="m-1")
    assert refused.value.code == "http_401"


async def test_a_token_without_the_scope_starts_nothing(world: Running) -> None:
    made = await world.system.runtime.run("create_token", name="r", user="eve", scopes=["read"])
    async with world.client(made.result.token) as client:
        with pytest.raises(AgentError) as refused:
            await client.send(message("x", "greet"), id="t-1", message_id="m-1")
    assert (refused.value.code, refused.value.message) == (
        -32004,
        "begin_task needs a token with the scope 'run'",
    )


SENT = {
    "message": {
        "messageId": "m-9",
        "role": "ROLE_USER",
        "parts": [{"text": "Ann"}],
        "metadata": {"skill": "greet"},
    }
}


@pytest.mark.req("W-26")
@pytest.mark.parametrize(
    ("method", "params"),
    [
        ("GetTask", {"id": "TASK"}),
        ("CancelTask", {"id": "TASK"}),
        ("ListTasks", {}),
        ("SubscribeToTask", {"id": "TASK"}),
        ("SendMessage", SENT),
        ("SendStreamingMessage", SENT),
        ("SendStreamingMessage", {**SENT, "configuration": {"returnImmediately": True}}),
    ],
)
async def test_a_token_that_may_only_run_is_told_which_scope_is_missing(
    world: Running, method: str, params: Any, caplog: pytest.LogCaptureFixture
) -> None:
    run = world.system.runtime.run
    made = await run("create_token", name="r", user="admin", scopes=["run"])
    async with world.client() as client:
        task = await send(client, message("x", "long"), blocking=False)
    params = {**params, **({"id": task.id} if "id" in params else {})}
    error = (await ask(world, method, params, made.result.token))["error"]
    assert error["code"] == -32004
    assert "needs a token with the scope 'read'" in error["message"]
    assert error["data"][0]["metadata"] == {"requiredScope": "read"}
    assert [each for each in caplog.records if each.levelname == "ERROR"] == []
    rows = await world.system.runtime.store.fetch("SELECT id FROM runs")
    assert [row["id"] for row in rows] == [task.id]


@pytest.mark.req("W-26")
async def test_a_token_that_may_only_run_starts_runs_and_has_a_card(world: Running) -> None:
    run = world.system.runtime.run
    made = await run("create_token", name="r", user="admin", scopes=["run"])
    async with world.client(made.result.token) as client:
        task = await send(client, message("Ann", "greet"), blocking=False)
        card = await client.card()
    assert task.status.state is TaskState.SUBMITTED
    assert [skill.id for skill in card.skills] == ["run"]


async def test_what_the_agent_does_is_on_record(world: Running) -> None:
    async with world.client() as client:
        task = await send(client, message("Ann", "greet"))
    await world.system.runtime.runner.trail.flush()  # type: ignore[attr-defined]
    rows = await world.system.runtime.store.fetch(
        "SELECT face, operation, target FROM audit_records WHERE operation = 'begin_task'"
    )
    assert [(row["face"], row["target"]) for row in rows] == [("a2a", task.id)]


@pytest.mark.req("W-13")
async def test_the_checker_finds_nothing_wrong(world: Running) -> None:
    run = world.system.runtime.run
    for definition in ALL:
        if definition is not GREET:
            await run("update_workflow", name=definition["name"], active=False)
    asking = CheckOptions(
        policy=LOCAL, credentials={"authorization": f"Bearer {world.token}"}, text="Ann"
    )
    report = await check(world.url, asking)
    assert [each for each in report.findings if each.outcome in ("fail", "warn")] == []


async def test_it_is_the_same_on_postgresql(cluster: Cluster, tmp_path: Path) -> None:
    database = cluster.database()
    settings = Settings(
        data=str(tmp_path / "data"),
        port=0,
        allow_private_agents=True,
        database=database,
        secret_key="a" * 64,
    )
    try:
        async with (
            serving(settings, await prepare(settings)) as world,
            world.client(wire=Wire.V10) as client,
        ):
            first = await send(client, message("Ann", "greet", "m-1"))
            again = await send(client, message("Ann", "greet", "m-1"))
            asking = await send(client, message("x", "listen", "m-2"))
            heard = await send(client, "now", "m-3", task_id=asking.id)
            turn = await send(client, "Bob", "m-5", context_id=first.context_id)
            long = await send(client, message("x", "long", "m-4"), blocking=False)
            ended = await client.cancel(long.id)
            request = {
                "jsonrpc": "2.0",
                "id": "1",
                "method": "ListTasks",
                "params": {"pageSize": 2},
            }
            headers = {"authorization": f"Bearer {world.token}", "A2A-Version": "1.0"}
            async with httpx.AsyncClient(headers=headers) as http:
                listed = (await http.post(world.url, json=request)).json()["result"]
    finally:
        cluster.drop(database)
    assert (extract(first).output, again) == ("Hello Ann", first)
    assert (asking.status.state, extract(heard).output) == (TaskState.INPUT_REQUIRED, "now")
    assert ended.status.state is TaskState.CANCELED
    assert (turn.context_id, extract(turn).output) == (first.context_id, "Hello Bob")
    assert [each.text for each in heard.history] == ["x", "hear waits for the signal go", "now"]
    assert [task["id"] for task in listed["tasks"]] == [long.id, turn.id]
    assert (listed["totalSize"], bool(listed["nextPageToken"])) == (4, True)
