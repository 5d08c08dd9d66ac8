"""Streams of the handshake era: what travels on which, and how they are resumed."""

from __future__ import annotations

import asyncio
from typing import Any

import msgspec
import pytest

from accord.jsonrpc.protocol.errors import ConnectionLostError
from accord.jsonrpc.protocol.framing import SseEvent
from accord.mcp import Context, Server
from accord.mcp.server.http.endpoint_state import Event, MemoryEvents
from accord.mcp.server.http.http_session import HttpSession
from accord.mcp.server.http.sessions import SessionCall
from accord.mcp.server.session import link_of
from tests.mcp.server.http.service import (
    Carrier,
    Gate,
    Shaken,
    initialize,
    make_server,
    notification,
    serving,
)
from tests.patience import PATIENCE


def text_of(message: Any) -> str:
    text: str = message["result"]["content"][0]["text"]
    return text


async def test_a_stream_begins_with_an_id_to_resume_from(carrier: Carrier) -> None:
    async with serving(carrier=carrier) as site:
        shaken = await site.session()
        answer = await shaken.request(
            "tools/call", name="report", arguments={"steps": 1}, _meta={"progressToken": 9}
        )
        assert answer.headers["x-accel-buffering"] == "no"
        priming, progress, last = answer.events
        assert priming == SseEvent(b"", id="1-0")
        assert (progress.id, msgspec.json.decode(progress.data)["params"]["progress"]) == ("1-1", 1)
        assert (last.id, text_of(msgspec.json.decode(last.data))) == ("1-2", "reported")


@pytest.mark.parametrize("version", ["2025-03-26", "2025-06-18"])
async def test_older_clients_get_no_event_without_a_message(version: str) -> None:
    async with serving() as site:
        shaken = await site.session(version)
        answer = await shaken.request(
            "tools/call", name="report", arguments={}, _meta={"progressToken": 9}
        )
        assert [event.id for event in answer.events] == ["1-1", "1-2", "1-3"]
        assert all(event.data for event in answer.events)


async def test_what_belongs_to_no_request_travels_on_the_get_stream(carrier: Carrier) -> None:
    server = make_server()
    async with serving(server, carrier) as site:
        shaken, other = await site.session(), await site.session()
        await shaken.request("resources/subscribe", uri="note://one")
        async with shaken.listening() as stream, other.listening() as others:
            assert await stream.event() == SseEvent(b"", id="0-0")
            await others.event()
            server.resource_updated("note://one")
            server.add_tool(lambda: "", name="another")
            assert (await stream.message())["params"] == {"uri": "note://one"}
            changed = {"jsonrpc": "2.0", "method": "notifications/tools/list_changed", "params": {}}
            assert await stream.message() == changed
            assert await others.message() == changed  # and nothing before it


async def test_a_second_get_takes_the_place_of_the_first(carrier: Carrier) -> None:
    server = make_server()
    async with serving(server, carrier) as site:
        shaken = await site.session()
        async with shaken.listening() as first, shaken.listening() as second:
            await second.event()
            assert await first.rest() == []
            server.add_tool(lambda: "", name="another")
            assert (await second.message())["method"] == "notifications/tools/list_changed"


@pytest.mark.req("M-09")
async def test_a_lost_stream_is_resumed_where_it_was(carrier: Carrier) -> None:
    gate = Gate()
    async with serving(make_server(gate), carrier) as site:
        shaken = await site.session()
        async with shaken.calling("report_and_wait", id=5) as stream:
            await stream.event()
            begun = await stream.event()
        await site.until(lambda: site.endpoint.pulse.streams <= 1)
        async with shaken.listening(begun.id) as stream:
            gate.opened.set()
            answer = msgspec.json.decode((await stream.event()).data)
            assert (answer["id"], text_of(answer)) == (5, "waited")
            assert await stream.rest() == []
        # What has ended can still be read again, and only this stream of it.
        await shaken.request("tools/call", id=6, name="report", _meta={"progressToken": 1})
        async with shaken.listening("1-0") as stream:
            messages = await stream.rest()
            assert [message.get("method") for message in messages] == [
                "notifications/message",
                None,
            ]
        async with shaken.listening("1-2") as stream:
            assert await stream.rest() == []


async def test_announcements_that_were_missed_are_sent_again(carrier: Carrier) -> None:
    server = make_server()
    async with serving(server, carrier) as site:
        shaken = await site.session()
        async with shaken.listening() as stream:
            last = (await stream.event()).id
        await site.until(lambda: site.endpoint.pulse.streams == 0)
        server.add_tool(lambda: "", name="another")
        async with shaken.listening(last) as stream:
            event = await stream.event()
            assert event.id == "0-1"
            server.tools.remove("another")
            assert (await stream.event()).id == "0-2"


async def test_nobody_keeps_announcements_for_those_who_never_listened() -> None:
    server = make_server()
    events = MemoryEvents()
    async with serving(server, events=events) as site:
        await site.session()
        server.add_tool(lambda: "", name="another")
        assert events.count == 0


async def test_a_handler_lets_its_connection_go_and_the_client_comes_back(
    carrier: Carrier,
) -> None:
    gate = Gate()
    async with serving(make_server(gate), carrier) as site:
        shaken = await site.session()
        answer = await shaken.call("let_go", id=3)
        assert (answer.status, answer.body) == (200, b"id: 1-0\ndata: \n\nretry: 500\n\n")
        async with shaken.listening("1-0") as stream:
            gate.opened.set()
            (message,) = await stream.rest()
            assert (message["id"], text_of(message)) == (3, "came back")


@pytest.mark.parametrize("last", ["nonsense", "9-9", "1-7", "-1-0", "1-0-0", "0-1"])
async def test_an_event_that_nobody_knows_cannot_be_resumed_from(last: str) -> None:
    async with serving() as site:
        shaken = await site.session()
        await shaken.request("tools/call", name="report", _meta={"progressToken": 1})
        async with shaken.listening(last) as answer:
            assert answer.status == 400


async def test_events_of_another_session_cannot_be_had() -> None:
    async with serving() as site:
        shaken, other = await site.session(), await site.session()
        await shaken.request("tools/call", name="report", _meta={"progressToken": 1})
        async with other.listening("1-0") as answer:
            assert answer.status == 400


async def test_a_request_that_takes_long_becomes_a_stream(carrier: Carrier) -> None:
    gate = Gate()
    async with serving(make_server(gate), carrier, pulse_seconds=0.02) as site:
        shaken = await site.session()
        async with shaken.calling("wait") as stream:
            assert stream.headers["content-type"] == "text/event-stream"
            assert await stream.event() == SseEvent(b"", id="1-0")
            gate.opened.set()
            assert text_of(await stream.message()) == "waited"


# What a server asks its client


async def asking_session(site: Any, version: str = "2025-11-25") -> Shaken:
    answer = await site.post(initialize(version, elicitation={}))
    shaken = Shaken(site, answer.headers["mcp-session-id"], version, {})
    await shaken.post(notification("notifications/initialized"))
    return shaken


def asking_server() -> Server:
    server = Server("asker")

    @server.tool
    async def ask(context: Context) -> str:
        link = link_of(context._incoming.context)
        answer = await link.ask("elicitation/create", {"message": "?"}, into=dict, timeout=20)
        return f"{answer}"

    return server


@pytest.mark.req("M-06")
async def test_a_question_travels_on_the_stream_of_its_request(carrier: Carrier) -> None:
    async with serving(asking_server(), carrier) as site:
        shaken = await asking_session(site)
        async with shaken.listening() as announcements, shaken.calling("ask", id="a") as stream:
            question = await stream.message()
            assert (question["method"], question["params"]) == (
                "elicitation/create",
                {"message": "?"},
            )
            answer = {"jsonrpc": "2.0", "id": question["id"], "result": {"action": "decline"}}
            accepted = await shaken.post(answer)
            assert (accepted.status, accepted.body) == (202, b"")
            (last,) = await stream.rest()
            assert (last["id"], text_of(last)) == ("a", "{'action': 'decline'}")
            await announcements.event()


async def test_an_answer_counts_only_in_its_own_session() -> None:
    async with serving(asking_server()) as site:
        shaken, other = await asking_session(site), await asking_session(site)
        async with shaken.calling("ask") as stream:
            question = await stream.message()
            forged = {"jsonrpc": "2.0", "id": question["id"], "result": {"action": "accept"}}
            assert (await other.post(forged)).status == 202
            real = {"jsonrpc": "2.0", "id": question["id"], "result": {"action": "decline"}}
            await shaken.post(real)
            assert text_of(await stream.message()) == "{'action': 'decline'}"


async def test_a_question_that_is_given_up_is_taken_back() -> None:
    async with serving(asking_server()) as site:
        shaken = await asking_session(site)
        async with shaken.listening() as announcements, shaken.calling("ask", id=4) as stream:
            question = await stream.message()
            await shaken.post(notification("notifications/cancelled", {"requestId": 4}))
            assert await stream.rest() == []
            assert await announcements.message() == {
                "jsonrpc": "2.0",
                "method": "notifications/cancelled",
                "params": {
                    "requestId": question["id"],
                    "reason": "nobody waits for it any more",
                },
            }


async def test_nobody_can_be_asked_who_has_gone_and_does_not_listen() -> None:
    gate = Gate()
    server = Server("asker")

    @server.tool
    async def ask(context: Context) -> str:
        await gate.pass_through()
        link = link_of(context._incoming.context)
        try:
            await link.ask("elicitation/create", {"message": "?"}, into=dict, timeout=20)
        except ConnectionLostError:
            lost.set()
        return ""

    lost = asyncio.Event()
    async with serving(server) as site:
        shaken = await asking_session(site)
        call = asyncio.create_task(shaken.call("ask"))
        await gate.entered.wait()
        call.cancel()
        session = site.endpoint.sessions.find(shaken.id, None)
        assert isinstance(session, HttpSession)
        (serving_it,) = (session.calls or {}).values()
        assert isinstance(serving_it, SessionCall)
        await site.until(lambda: not serving_it._post.can_send)
        gate.opened.set()
        await asyncio.wait_for(lost.wait(), PATIENCE)


async def test_a_question_waits_while_its_client_reconnects(carrier: Carrier) -> None:
    async with serving(asking_server(), carrier) as site:
        shaken = await asking_session(site)
        async with shaken.calling("ask") as stream:
            await stream.event()
            asked = await stream.event()
        question = msgspec.json.decode(asked.data)
        answer = {"jsonrpc": "2.0", "id": question["id"], "result": {"action": "cancel"}}
        async with shaken.listening(asked.id) as stream:
            await shaken.post(answer)
            assert text_of(await stream.message()) == "{'action': 'cancel'}"


# What was sent, in memory


def test_events_are_kept_within_limits() -> None:
    events = MemoryEvents(max_bytes=100, max_events=5, max_per_session=3)
    for number in range(1, 6):
        events.append("a", 1, Event(number, b"x" * 10))
    assert (events.count, events.size) == (3, 30)
    assert events.after("a", 1, 2) == [Event(n, b"x" * 10) for n in (3, 4, 5)]
    assert events.after("a", 1, 1) is None  # one of them is forgotten
    events.append("b", 1, Event(1, b"y" * 90))
    assert events.after("a", 1, 4) == [Event(5, b"x" * 10)]
    assert events.after("a", 1, 3) is None
    events.append("b", 1, Event(2, b"y" * 90))
    assert events.after("a", 1, 4) is None
    assert events.after("b", 1, 0) is None
    assert events.after("b", 1, 1) == [Event(2, b"y" * 90)]
    events.forget("b")
    events.forget("b")
    assert (events.count, events.size) == (0, 0)


async def test_streams_show_that_they_are_alive(carrier: Carrier) -> None:
    async with serving(carrier=carrier, pulse_seconds=0.01) as site:
        shaken = await site.session()
        async with shaken.listening() as stream:
            seen = b""
            async with asyncio.timeout(PATIENCE):
                while b":\n\n" not in seen:
                    seen += await anext(stream._chunks)
