"""Many do the same at the same moment: numbers, versions, idempotency keys, tokens."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from typing import Any, Literal, TypeAlias

import pytest

from accord import RpcError
from accord.mcp import Client
from accord.store import Store, open_store
from tests.hub.races.line import Answer, Line, lines, unique
from tests.hub.races.racing import Racing
from tests.patience import PATIENCE as PATIENCE

WRITERS = 32

Mode: TypeAlias = Literal["modern", "legacy"]


async def ask_all(writers: list[Line], *request: Any, **headers: str) -> list[Answer]:
    """The same request on all connections."""
    return await asyncio.gather(*(writer.ask(*request, **headers) for writer in writers))


async def numbers_in(store: Store) -> tuple[list[int], int]:
    """The numbers of all epics, and the last one that was given."""
    rows = await store.fetch("SELECT number FROM items WHERE kind = 'epic' ORDER BY number")
    last = await store.fetch("SELECT last FROM counters WHERE kind = 'epic'")
    return [row["number"] for row in rows], last[0]["last"]


@pytest.mark.req("H-01")
async def test_reference_numbers_are_unique_and_without_gaps_after_refused_writes(
    racing: Racing,
) -> None:
    epic = {"title": "numbered"}
    refused = [
        {"operation": "create_epic", "arguments": epic},
        {"operation": "create_user_story", "arguments": {"epic_id": "$1.id", "title": "s"}},
        {"operation": "delete_epic", "arguments": {"id": "EP-999999"}},
    ]
    async with (
        lines(racing.url, racing.token, WRITERS) as writers,
        open_store(racing.database) as store,
    ):

        async def write(place: int, writer: Line) -> list[str]:
            made = []
            for number in range(8):
                match (place + number) % 4:
                    case 0:
                        answer = await writer.ask("POST", "/changes", {"steps": refused})
                        assert answer.status == 404, answer
                    case 1:
                        answer = await writer.ask("POST", "/epics?dry_run=true", epic)
                        assert answer.status == 200, answer
                    case 2:
                        called = await writer.tool("create_epic", **epic)
                        made.append(called.json["result"]["structuredContent"]["reference_id"])
                    case _:
                        answer = await writer.ask("POST", "/epics", epic)
                        made.append(answer.json["reference_id"])
            return made

        _, before = await numbers_in(store)
        found = await asyncio.gather(*(write(*each) for each in enumerate(writers)))
        numbers, last = await numbers_in(store)
    made = sorted(int(name.removeprefix("EP-")) for names in found for name in names)
    assert len(made) == WRITERS * 4
    assert made == list(range(before + 1, last + 1)) == [each for each in numbers if each > before]


async def test_of_many_updates_of_the_same_version_exactly_one_wins(racing: Racing) -> None:
    async with lines(racing.url, racing.token, WRITERS) as writers:
        made = await writers[0].ask("POST", "/epics", {"title": "0"})
        path = f"/epics/{made.json['reference_id']}"
        for version in range(1, 9):
            answers = await asyncio.gather(
                *(
                    writer.ask("PATCH", path, {"title": unique("t")}, if_match=f'"{version}"')
                    for writer in writers
                )
            )
            won = [each for each in answers if each.status == 200]
            lost = [each for each in answers if each.status == 412]
            assert (len(won), len(lost)) == (1, WRITERS - 1)
            title = won[0].json["title"]
            now = (await writers[0].ask("GET", path)).json
            assert (now["title"], now["version"]) == (title, version + 1)
            for each in lost:
                assert each.json["current_version"] == version + 1
                [difference] = each.json["differences"]
                assert (difference["field"], difference["after"]) == ("title", title)


async def test_the_same_idempotency_key_from_many_at_once_is_one_write(racing: Racing) -> None:
    async with lines(racing.url, racing.token, WRITERS) as writers:
        for _ in range(5):
            key, title = unique("key"), unique("once")
            answers = await ask_all(
                *(writers, "POST", "/epics", {"title": title}), idempotency_key=key
            )
            assert {each.status for each in answers} == {201}
            assert all(each.json == answers[0].json for each in answers)
            replayed = [each for each in answers if "idempotent-replayed" in each.headers]
            assert len(replayed) == WRITERS - 1
            found = (await writers[0].ask("GET", f"/search?q={title}")).json
            assert [each["reference_id"] for each in found["items"]] == [
                answers[0].json["reference_id"]
            ]
            others = await ask_all(
                *(writers, "POST", "/epics", {"title": "another"}), idempotency_key=key
            )
            assert {each.status for each in others} == {409}


class Burst:
    """Requests that go on until they are refused, each of which knows whether it was sent after
    something was over."""

    def __init__(self) -> None:
        self.over = False
        self.before: list[int] = []
        self.after: list[int] = []
        self.begun = asyncio.Event()

    async def send(self, line: Line, place: int) -> None:
        """A line's requests, by REST and tools, reading and writing; some after it was over."""
        late = 0
        while late < 5:
            is_late = self.over
            match place % 4:
                case 0:
                    answer = await line.ask("GET", "/epics?limit=1")
                case 1:
                    answer = await line.tool("list_epics", limit=1)
                case 2:
                    answer = await line.ask("POST", "/epics", {"title": "burst"})
                case _:
                    answer = await line.tool("create_epic", title="burst")
            place += 1
            late += is_late
            (self.after if is_late else self.before).append(answer.status)
            if len(self.before) > 40:
                self.begun.set()


@pytest.mark.req("H-15")
@pytest.mark.parametrize("how", ["token", "user"])
async def test_what_is_sent_after_a_token_was_revoked_or_its_owner_deactivated_is_refused(
    racing: Racing, how: str
) -> None:
    name, token = await racing.user()
    burst = Burst()
    async with (
        lines(racing.url, racing.session, 1) as (admin,),
        lines(racing.url, token, 16) as callers,
    ):
        sending = [
            asyncio.create_task(burst.send(line, place)) for place, line in enumerate(callers)
        ]
        await burst.begun.wait()
        if how == "token":
            answer = await admin.ask("DELETE", f"/tokens/t?user={name}")
        else:
            answer = await admin.ask("PATCH", f"/users/{name}", {"active": False})
        burst.over = True
        assert answer.status in (200, 204), answer
        await asyncio.gather(*sending)
    assert set(burst.before) <= {200, 201, 401}
    assert {200, 201} <= set(burst.before)
    assert set(burst.after) == {401}
    assert len(burst.after) == 16 * 5


@pytest.mark.req("H-15")
@pytest.mark.parametrize("mode", ["modern", "legacy"])
@pytest.mark.parametrize("how", ["token", "user"])
async def test_who_listens_hears_nothing_more_after_that(
    racing: Racing, how: str, mode: Mode
) -> None:
    name, token = await racing.user()
    place = f"{racing.url}/api/v1/mcp"
    async with lines(racing.url, racing.session, 1) as (admin,):
        made = (await admin.ask("POST", "/epics", {"title": "0"})).json
        path, uri = f"/epics/{made['id']}", f"epic://{made['reference_id']}"
        with suppress(RpcError):  # that it wants to hear no more is refused, too
            async with (
                Client(place, mode=mode, auth=racing.token) as other,
                other.listen(resources=[uri]) as others,
                Client(place, mode=mode, auth=token) as client,
                client.listen(resources=[uri]) as changes,
            ):
                await admin.ask("PATCH", path, {"title": "1"})
                assert (await changes.next(timeout=PATIENCE)).uri == uri
                assert (await others.next(timeout=PATIENCE)).uri == uri
                if how == "token":
                    await admin.ask("DELETE", f"/tokens/t?user={name}")
                else:
                    await admin.ask("PATCH", f"/users/{name}", {"active": False})
                await admin.ask("PATCH", path, {"title": "2"})
                assert (await others.next(timeout=PATIENCE)).uri == uri
                with pytest.raises(TimeoutError):
                    await changes.next(timeout=0.5)


@pytest.mark.req("H-06")
@pytest.mark.parametrize("mode", ["modern", "legacy"])
async def test_whoever_subscribed_hears_in_whichever_process_they_listen(
    racing: Racing, mode: Mode
) -> None:
    async with lines(racing.url, racing.token, 1) as (writer,):

        async def listen(number: int) -> None:
            made = (await writer.ask("POST", "/epics", {"title": f"{number}"})).json
            uri = f"epic://{made['reference_id']}"
            async with (
                Client(f"{racing.url}/api/v1/mcp", mode=mode, auth=racing.token) as client,
                client.listen(resources=[uri]) as changes,
            ):
                await writer.ask("PATCH", f"/epics/{made['id']}", {"title": "heard"})
                assert (await changes.next(timeout=PATIENCE)).uri == uri

        for number in range(10):
            await listen(number)
