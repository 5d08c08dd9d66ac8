"""Who calls over MCP."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from accord.mcp import Context, Server
from accord.operations.adapters.mcp_tools import CALLER, TokenAuthenticator
from accord.operations.auth.credentials import Addresses, bearer, make_token
from accord.operations.context import Caller
from tests.mcp.server.http.service import modern_headers, request, serving, with_meta
from tests.operations.auth.world import PASSWORD, World

WHO = {"name": "whoami", "arguments": {}}
BODY = request("tools/call", with_meta(WHO))
HEADERS = {**modern_headers("tools/call", WHO), "user-agent": "curl"}


def make_server() -> Server:
    server = Server("who")

    @server.tool
    async def whoami(context: Context) -> str:
        assert context.principal is not None
        caller = context.principal.claims[CALLER]
        assert isinstance(caller, Caller)
        assert (context.principal.subject, context.principal.client_id) == (
            caller.user_id,
            caller.token_id,
        )
        assert context.principal.expires is not None
        return f"{caller.username} {caller.via} {caller.face} {caller.client} {caller.address}"

    return server


@pytest.mark.req("H-03", "H-05")
async def test_tokens_and_sessions_say_who_calls_over_mcp(world: World) -> None:
    await world.call("set_password", id="uma", password=PASSWORD)
    token, session = await world.token("uma"), (await world.sign_in("uma")).token
    addresses = Addresses(["127.0.0.0/8", "::1"])
    auth = TokenAuthenticator(world.accounts, addresses)
    async with serving(make_server(), auth=auth) as site:
        said = []
        for secret in (token, session):
            answer = await site.post(
                BODY, **HEADERS, authorization=f"Bearer {secret}", x_forwarded_for="192.0.2.9"
            )
            said.append(answer.json["result"]["content"][0]["text"])
    assert said == ["uma token mcp curl 192.0.2.9", "uma session mcp curl 192.0.2.9"]


@pytest.mark.req("H-03", "H-15", "H-17")
async def test_everybody_else_gets_the_same_401(world: World) -> None:
    revoked = await world.token("uma")
    await world.call("revoke_token", "uma", id="laptop")
    expired = await world.token("uma", "old")
    await world.store.execute(
        "UPDATE tokens SET expires_at = $1 WHERE name = $2", world.now(), "old"
    )
    inactive = await world.token("otto")
    await world.call("update_user", id="otto", active=False)
    unknown, broken = make_token("pat"), "accord_pat_" + "0" * 36
    world.trail.records.clear()
    auth = TokenAuthenticator(world.accounts)
    async with serving(make_server(), auth=auth) as site:
        answers = [
            await site.post(BODY, **HEADERS, authorization=f"Bearer {token}")
            for token in (revoked, expired, inactive, unknown, broken, make_token("ses"))
        ]
    assert {answer.status for answer in answers} == {401}
    assert len({answer.body for answer in answers}) == 1
    assert len({answer.headers["www-authenticate"] for answer in answers}) == 1
    assert answers[0].headers["www-authenticate"].startswith("Bearer ")
    assert [each[2:] for each in world.trail.told()] == [
        ("unauthenticated", reason)
        for reason in ("revoked", "expired", "inactive", "unknown", "malformed", "unknown")
    ]
    assert {record.address for record in world.trail.records} == {"127.0.0.1"}


@pytest.mark.req("H-15")
async def test_a_token_is_known_at_once_where_nothing_is_waited_for(world: World) -> None:
    token = await world.token("uma")
    credentials = replace(bearer(token), face="mcp", address="192.0.2.9")

    def known() -> Caller | None:
        return world.accounts.caller_now(credentials)

    caller = known()
    assert world.accounts.may_know_now == (world.store.engine == "sqlite")
    if world.store.engine == "postgresql":
        assert caller is None
        return
    asked = await world.accounts.caller(credentials)
    assert caller == asked
    await world.call("revoke_token", "uma", id="laptop")
    world.trail.records.clear()
    assert known() is None
    assert world.trail.told() == []  # whoever is asked next puts it on record


async def test_a_database_that_cannot_be_asked_is_503_and_not_401(world: World) -> None:
    token = await world.token("uma")
    auth = TokenAuthenticator(world.accounts)
    async with serving(make_server(), auth=auth) as site:
        await world.store.close()
        answer = await site.post(BODY, **HEADERS, authorization=f"Bearer {token}")
    assert answer.status == 503


@pytest.mark.req("H-41")
@pytest.mark.parametrize(
    "header",
    ["Bearer", "bearer", "Basic dW1hOnB3", "Bearer a b", "Bearer a, Bearer b", "=,=", '""'],
)
async def test_a_header_without_a_usable_token_is_a_wrong_token(world: World, header: str) -> None:
    world.trail.records.clear()
    async with serving(make_server(), auth=TokenAuthenticator(world.accounts)) as site:
        answer = await site.post(BODY, **HEADERS, authorization=header)
        wrong = await site.post(BODY, **HEADERS, authorization=f"Bearer {make_token('pat')}")
    assert (answer.status, answer.body) == (401, wrong.body)
    assert answer.headers["www-authenticate"] == wrong.headers["www-authenticate"]
    assert [each[3] for each in world.trail.told()] == ["malformed", "unknown"]
