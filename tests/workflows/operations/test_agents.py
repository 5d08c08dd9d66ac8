"""Agents are registered by administrators, at addresses that are allowed, without secrets."""

from __future__ import annotations

from pathlib import Path

import pytest

from accord.operations.errors import ConflictError, InvalidError, NotFoundError, StaleError
from tests.workflows.operations.office import ECHO, Office, open_office

URL = "http://127.0.0.1:9/"


async def test_an_agent_is_kept_as_it_was_registered(office: Office) -> None:
    auth = {"type": "api_key", "secret": "env:ACCORD_SECRET_REVIEW", "header": "X-Key"}
    made = await office.call(
        "create_agent", name="review", url=URL, wire="a2a-0.3", auth=auth, timeout=5
    )
    found = await office.call("get_agent", name="review")
    assert (found.url, found.wire, found.timeout, found.health) == (URL, "a2a-0.3", 5.0, "unknown")
    assert (found.auth.secret, found.auth.header) == ("env:ACCORD_SECRET_REVIEW", "X-Key")
    assert found.retry.attempts == 3
    assert found.id == made.id
    page = await office.call("list_agents")
    assert ([each.name for each in page.items], page.total) == (["review"], 1)


@pytest.mark.parametrize(
    ("given", "field"),
    [
        ({"url": "ftp://agents.example/"}, "/url"),
        ({"url": "ws://agents.example/"}, "/url"),
        ({"url": "http://user:word@agents.example/"}, "/url"),
        ({"url": "http://169.254.169.254/"}, "/url"),
        ({"auth": {"type": "bearer", "secret": "hunter2"}}, "/auth/secret"),
        ({"auth": {"type": "bearer", "secret": "env:PATH"}}, "/auth/secret"),
        ({"auth": {"type": "bearer", "secret": "file:../../etc/passwd"}}, "/auth/secret"),
        ({"timeout": 301}, "/timeout"),
        ({"retry": {"attempts": 0}}, "/retry/attempts"),
        ({"name": "a b"}, "/name"),
    ],
)
async def test_what_cannot_be_is_refused_by_name(
    office: Office, given: dict[str, object], field: str
) -> None:
    with pytest.raises(InvalidError) as refused:
        await office.call("create_agent", **{"name": "review", "url": URL, **given})
    assert [each.pointer for each in refused.value.errors] == [field]


@pytest.mark.req("W-12")
async def test_private_addresses_have_to_be_allowed(tmp_path: Path, migrated_url: str) -> None:
    allowed = {"allow_private_agents": False, "allow_agents": ["10.0.0.0/8", "localhost"]}
    async with open_office(tmp_path, migrated_url, **allowed) as office:
        for url in ("http://127.0.0.1/", "http://192.168.1.1/", "http://[::1]/"):
            with pytest.raises(InvalidError, match="private"):
                await office.call("create_agent", name="agent", url=url)
        await office.call("create_agent", name="one", url="http://10.1.2.3/")
        await office.call("create_agent", name="two", url="http://localhost:9/")


async def test_a_host_without_an_address_is_noted(office: Office) -> None:
    outcome = await office.outcome("create_agent", name="review", url="https://agents.invalid/")
    assert [hint.code for hint in outcome.hints] == ["unknown_host"]


async def test_changes_count_versions_and_find_who_was_first(office: Office) -> None:
    await office.call("create_agent", name="review", url=URL)
    changed = await office.call("update_agent", name="review", active=False, expected_version=1)
    assert (changed.active, changed.version) == (False, 2)
    same = await office.call("update_agent", name="review", active=False)
    assert same.version == 2
    with pytest.raises(StaleError):
        await office.call("update_agent", name="review", timeout=9, expected_version=1)


async def test_one_that_a_task_waits_for_is_not_deleted(busy: Office) -> None:
    await busy.save(ECHO)
    id = await busy.start("echo", "slow 30")
    await busy.until(id, "running")
    with pytest.raises(ConflictError, match="1 tasks wait for demo"):
        await busy.call("delete_agent", name="demo")
    await busy.call("cancel_run", run=id)
    await busy.until(id, "cancelled")


async def test_one_that_nobody_needs_is_deleted(office: Office) -> None:
    await office.call("create_agent", name="review", url=URL)
    with pytest.raises(ConflictError, match="already"):
        await office.call("create_agent", name="review", url=URL)
    assert (await office.call("delete_agent", name="review")).deleted == "review"
    with pytest.raises(NotFoundError, match="there are none"):
        await office.call("get_agent", name="review")


@pytest.mark.req("W-12")
async def test_an_agent_is_asked_how_it_is(busy: Office) -> None:
    found = await busy.call("check_agent_health", name="demo")
    assert (found.health, found.health_detail) == ("healthy", "")
    await busy.call("create_agent", name="gone", url=URL)
    assert (await busy.call("check_agent_health", name="gone")).health == "unhealthy"
