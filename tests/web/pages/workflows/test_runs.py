"""Runs as they happen, and what people have them do."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

import pytest
import pytest_asyncio
from playwright.async_api import Browser, Page, Route, expect

from accord.a2a.demo import DemoAgent
from accord.a2a.server.serving import serve
from tests.web.checks import overflow, violations
from tests.web.house import House, Visitor, visiting
from tests.web.workshop import Workshop, workshop

pytestmark = [pytest.mark.asyncio(loop_scope="session"), pytest.mark.req("H-21")]

LONG = "w" * 20_000
HEAR = {
    "name": "hear",
    "steps": [{"name": "listen", "type": "wait", "signal": "go"}],
    "output": "${steps.listen.output}",
}
USELESS = {
    "name": "useless",
    "steps": [
        {"name": "first", "type": "agent", "agent": "ears-review", "input": "which one?"},
        {
            "name": "load",
            "type": "call",
            "operation": "get_requirement",
            "input": {"id": "${steps.first.output}"},
        },
    ],
}
PUBLISH = {
    "name": "publish",
    "steps": [
        {
            "name": "ok",
            "type": "wait",
            "approval": {
                "by": ["Administrator"],
                "timeout": 86_400,
                "message": "Publish ${input.title}?",
                "data": "${input}",
            },
        }
    ],
}
OUTER = {
    "name": "outer",
    "steps": [
        {
            "name": "each",
            "type": "loop",
            "over": "${input}",
            "body": [
                {
                    "name": "inner",
                    "type": "workflow",
                    "workflow": "gate-free",
                    "input": "${loop.item}",
                }
            ],
        }
    ],
}
GATE_FREE = {
    "name": "gate-free",
    "steps": [{"name": "rest", "type": "wait", "for": 0}],
    "output": "${input}",
}


@pytest_asyncio.fixture(loop_scope="session", scope="module")
async def shop(house: House) -> AsyncIterator[Workshop]:
    async with workshop(house) as shop:
        await shop.save(HEAR, GATE_FREE, OUTER)
        await house.add_person("carla", "Commenter")
        await house.add_person("ulla", "User")
        yield shop


async def came_to(page: Page, said: str) -> None:
    """Wait for the page that says what was done, with its scripts."""
    await expect(page.locator(".notice")).to_contain_text(said)
    await page.wait_for_load_state()


async def test_a_run_changes_in_place_and_what_one_reads_stays(
    visitor: Visitor, shop: Workshop, axe: str
) -> None:
    page = visitor.page
    id = await shop.under_way()
    await visitor.open(f"/runs/{id}")
    state, panel, graph = (
        page.locator("#run-state"),
        page.locator("#run-step"),
        page.locator("svg.graph"),
    )
    await expect(panel.get_by_role("heading", name="security")).to_be_visible()
    await expect(panel).to_contain_text("agent threat-model · message")
    await expect(graph.locator("[data-node=ambiguity]")).to_contain_text("done")
    await expect(graph.locator("[data-node=security]")).to_contain_text("running")
    await expect(page.locator("#run-line")).to_contain_text("started by admin")
    await expect(page.locator("#run-line")).to_contain_text('{"requirement":"REQ-001"}')
    await expect(page.get_by_role("button", name="Approve")).to_have_count(0)
    assert await violations(page, axe) == []
    await graph.get_by_role("link", name="load").click()
    await expect(panel.get_by_role("heading", name="load")).to_be_visible()
    assert visitor.path == f"/runs/{id}?step=load"
    await page.locator("#run-timeline").get_by_role("link", name="ambiguity").focus()
    await page.evaluate("document.body.dataset.seen = 'yes'")
    shop.agents["threat-model"].go.set()
    await expect(state).to_contain_text("Waiting")
    await expect(page.locator("#run-events")).to_contain_text("approval: started")
    await expect(page.locator("#pop-approve summary")).to_be_visible()
    assert await page.evaluate("document.body.dataset.seen") == "yes"  # it was not loaded again
    await expect(panel.get_by_role("heading", name="load")).to_be_visible()
    await expect(
        page.locator("#run-timeline").get_by_role("link", name="ambiguity")
    ).to_be_focused()
    await page.go_back()
    await expect(panel.get_by_role("heading", name="approval")).to_be_visible()
    await shop.house.do("approve_run", run=id)
    await expect(state).to_contain_text("Completed")
    await expect(graph.locator("[data-node=comment]")).to_contain_text("2 of 2 done")
    await expect(page.locator("#live")).to_have_text("")


async def test_a_stream_that_breaks_is_said_and_opened_again(
    visitor: Visitor, shop: Workshop
) -> None:
    page = visitor.page
    id = await shop.start("hear")
    await shop.until(id, "waiting")

    async def refuse(route: Route) -> None:
        await route.abort()

    await page.route("**/events?*", refuse)
    await visitor.open(f"/runs/{id}")
    await expect(page.locator("#live")).to_contain_text("Not connected. Trying again in")
    await page.unroute("**/events?*", refuse)
    await expect(page.locator("#live")).to_have_text("")
    await page.get_by_role("textbox", name="Signal go").fill('{"why": "not"}')
    await page.get_by_role("button", name="Send signal").click()
    await expect(page.locator("#run-state")).to_contain_text("Completed")
    assert (await shop.until(id, "completed")).output == {"why": "not"}
    visitor.faults.clear()  # browsers log what was refused


async def test_steps_are_chosen_and_runs_commanded_by_keys(
    visitor: Visitor, shop: Workshop
) -> None:
    page = visitor.page
    id = await shop.start("gate")
    await shop.until(id, "waiting")
    await visitor.open("/runs?workflow=gate&state=waiting")
    await page.keyboard.press("j")  # the newest is the first
    await page.keyboard.press("Enter")
    await page.wait_for_url(f"**/runs/{id}")
    await page.keyboard.press("p")
    await came_to(page, "Paused: what is under way goes on")
    await expect(page.locator("#run-state")).to_contain_text("Paused")
    await page.keyboard.press("p")
    await came_to(page, "Resumed.")
    await expect(page.locator("#run-state")).to_contain_text("Waiting")
    await page.keyboard.press("j")
    await expect(page.locator("#run-timeline a")).to_be_focused()
    await page.keyboard.press("x")
    await expect(page.locator("#reject-reason")).to_be_focused()
    await page.keyboard.press("Escape")
    await expect(page.locator("#pop-reject summary")).to_be_focused()
    await page.keyboard.press("Enter")
    await expect(page.locator("#reject-reason")).to_be_focused()
    await page.keyboard.type("Not like this")
    await page.keyboard.press("Tab")
    await page.keyboard.press("Enter")
    await came_to(page, "Rejected.")
    await expect(page.locator("#run-state")).to_contain_text("Failed")
    await expect(page.locator("#run-step")).to_contain_text("rejected")
    await expect(page.locator("#run-events")).to_contain_text("rejected by admin: Not like this")
    await page.keyboard.press("r")
    await came_to(page, "Retrying what did not complete.")
    await expect(page.locator("#run-state")).to_contain_text("Waiting")
    await page.get_by_text("Cancel", exact=True).click()
    await page.get_by_label("Why (optional)").fill("enough")
    await page.get_by_role("button", name="Cancel run").click()
    await expect(page.locator("#run-state")).to_contain_text("Cancelled")


async def test_everything_works_without_scripts(
    browser: Browser, house: House, shop: Workshop
) -> None:
    id = await shop.start("gate")
    await shop.until(id, "waiting")
    async with visiting(browser, house, java_script_enabled=False) as visitor:
        page = visitor.page
        await visitor.open(f"/runs/{id}")
        await page.get_by_role("link", name="Run input and output").click()
        await expect(page.locator("#run-step")).to_contain_text(id)
        await expect(page.get_by_role("link", name="Refresh")).to_be_visible()
        await page.locator("#pop-approve summary").click()
        await page.get_by_label("Comment (optional)").last.fill("plainly")
        await page.locator("#pop-approve").get_by_role("button", name="Approve").click()
        await expect(page.get_by_text("Approved.")).to_be_visible()
        assert (await shop.until(id, "completed")).output == "plainly"
        late = await shop.start("gate")
        await shop.until(late, "waiting")
        await visitor.open("/approvals")
        await house.do("approve_run", run=late)
        await shop.until(late, "completed")
        row = page.locator("li", has_text=f"run {late[-8:]}")
        await row.get_by_role("button", name="Reject ok of gate").click()
        await expect(page.get_by_text("Nothing was done: the run is completed")).to_be_visible()


async def test_loops_and_their_runs_are_linked_and_long_values_are_cut(
    visitor: Visitor, shop: Workshop
) -> None:
    page = visitor.page
    id = await shop.start("outer", ["a", LONG])
    await shop.until(id, "completed")
    await visitor.open(f"/runs/{id}")
    await expect(page.locator("[data-node=inner]")).to_contain_text("2 of 2 done")
    await page.locator("#run-timeline").get_by_role("link", name="inner[1]").click()
    panel = page.locator("#run-step")
    await expect(panel.get_by_role("link", name="Show all 20,000 characters")).to_have_count(2)
    await panel.get_by_role("link", name="Show all").first.click()
    await expect(page.locator("pre")).to_have_text(LONG)
    await visitor.open(f"/runs/{id}?step=inner[1]")
    await panel.locator(".call").get_by_role("link").click()
    await expect(page.locator(".where")).to_contain_text("gate-free v1")
    await page.locator("#run-line").get_by_role("link", name=f"run {id[-8:]}").click()
    await expect(page.locator(".where")).to_contain_text("outer v1")
    for path, said in (("steps", "inner[0]"), ("history", "the run completed")):
        await visitor.open(f"/runs/{id}/{path}")
        await expect(page.locator("main")).to_contain_text(said)
    await visitor.open(f"/runs/{id}/value?of=secrets")
    await expect(page.locator("main")).to_contain_text("There is input, output, error, prompt")
    visitor.faults.clear()  # browsers log what was answered 404


async def test_an_agent_that_asks_is_answered_and_shows_its_attempts(
    visitor: Visitor, shop: Workshop
) -> None:
    page = visitor.page
    async with serve(DemoAgent("demo"), "http://127.0.0.1:0/", drain=0) as serving:
        await shop.house.do("create_agent", name="demo", url=serving.url)
        steps = [
            {"name": "ask", "type": "agent", "agent": "demo", "input": "ask Which harbour?"},
            {
                "name": "again",
                "type": "agent",
                "agent": "demo",
                "input": "fail always",
                "retry": {"attempts": 2, "initial_delay": 0, "jitter": False, "failures": "all"},
            },
        ]
        await shop.save({"name": "asking", "steps": steps})
        id = await shop.start("asking")
        await shop.until(id, "waiting")
        await visitor.open(f"/runs/{id}")
        panel = page.locator("#run-step")
        await expect(panel).to_contain_text("The agent asks")
        await panel.get_by_role("textbox", name="Answer").fill("The small one")
        await panel.get_by_role("button", name="Answer the agent").click()
        await expect(page.locator("#run-state")).to_contain_text("Failed")
        await page.locator("#run-timeline").get_by_role("link", name="again").click()
        await expect(panel).to_contain_text("2 attempts")
        await page.locator("#run-timeline").get_by_role("link", name="ask").click()
        await expect(panel).to_contain_text("The small one")


async def test_runs_are_listed_as_they_come(visitor: Visitor, shop: Workshop, axe: str) -> None:
    page = visitor.page
    await visitor.open("/runs?workflow=hear&started_by=ulla")
    await expect(page.get_by_role("heading", name="No run fits")).to_be_visible()
    id = await shop.start("hear", by="ulla")
    await expect(page.get_by_role("link", name=id[-8:])).to_be_visible()
    assert await violations(page, axe) == []
    await page.get_by_label("Started by").fill("nobody-else")
    await page.get_by_role("button", name="Filter").click()
    await expect(page.get_by_role("heading", name="No run fits")).to_be_visible()


async def test_who_may_not_command_a_run_sees_it_only(
    browser: Browser, house: House, shop: Workshop
) -> None:
    id = await shop.start("gate")
    await shop.until(id, "waiting")
    for name in ("carla", "ulla"):
        async with visiting(browser, house, name) as visitor:
            await visitor.open(f"/runs/{id}")
            await expect(visitor.page.locator("#run-step")).to_contain_text("You are not asked.")
            await expect(visitor.page.locator("#run-acts .button")).to_have_count(0)
    await house.do("cancel_run", run=id)
    await shop.until(id, "cancelled")


async def test_decisions_and_what_was_given_up_wait_in_lists(
    visitor: Visitor, shop: Workshop, axe: str
) -> None:
    page = visitor.page
    gate = await shop.start("gate")
    await shop.until(gate, "waiting")
    lost = await shop.start("review-requirement", {"requirement": "REQ-999"})
    await shop.until(lost, "failed")
    await visitor.open("/approvals")
    assert await violations(page, axe) == []
    row = page.locator("li", has_text=f"run {gate[-8:]}")
    await row.get_by_label("Comment on ok of gate").fill("seen in the list")
    await row.get_by_role("button", name="Approve ok of gate").click()
    await expect(page.get_by_text("Approved.")).to_be_visible()
    assert (await shop.until(gate, "completed")).output == "seen in the list"
    await visitor.open("/dead-letters")
    letter = page.locator("li", has=page.get_by_role("link", name=f"run {lost[-8:]}"))
    await expect(letter).to_contain_text("there is no requirement 'REQ-999'")
    assert await violations(page, axe) == []
    await letter.get_by_role("link", name="not_found").click()
    await expect(page.get_by_role("heading", name="not_found")).to_be_visible()
    await page.get_by_role("button", name="Replay").click()
    await page.wait_for_url(f"**/runs/{lost}?follow=1")
    await expect(page.locator("#run-events")).to_contain_text("retried by admin")


@pytest.mark.req("W-17")
async def test_a_failed_run_offers_the_steps_to_retry_from_with_what_they_answered(
    visitor: Visitor, shop: Workshop, axe: str
) -> None:
    page = visitor.page
    await shop.save(USELESS)
    id = await shop.start("useless")
    await shop.until(id, "failed")
    await visitor.open(f"/runs/{id}")
    step = page.locator("#run-step")
    await expect(step.get_by_role("heading", name="load")).to_be_visible()
    rows = step.locator(".again li")
    await expect(rows).to_have_count(2)
    await expect(rows.nth(0)).to_contain_text("there is no requirement")
    await expect(rows.nth(1)).to_contain_text("ears-review: which one?")
    assert await violations(page, axe) == []
    await rows.nth(1).get_by_role("button", name="Retry from first").click()
    await came_to(page, "Retrying from first.")
    await expect(page.locator("#run-events")).to_contain_text("retried from first by admin")


@pytest.mark.req("W-18")
async def test_the_step_that_matters_is_shown_until_somebody_chooses_another(
    visitor: Visitor, shop: Workshop
) -> None:
    page = visitor.page
    await shop.save(USELESS)
    agent = shop.agents["ears-review"]
    for path, ended in (("", "load"), ("?step=first", "first")):
        agent.go.clear()
        id = await shop.start("useless")
        await shop.until_step(id, "first", "running")
        await visitor.open(f"/runs/{id}{path}")
        step = page.locator("#run-step")
        await expect(step.get_by_role("heading", name="first", exact=True)).to_be_visible()
        await expect(page.locator("#run-waits")).to_have_text("waiting for ears-review (first)")
        agent.go.set()
        await expect(page.locator("#run-state")).to_contain_text("Failed")
        await expect(step.get_by_role("heading", name=ended, exact=True)).to_be_visible()
        await expect(page.locator("#run-graph .marked")).to_contain_text(ended)
        await expect(page.locator("#run-waits")).to_be_hidden()


@pytest.mark.req("W-18")
async def test_who_decides_sees_what_there_is_to_decide(
    visitor: Visitor, shop: Workshop, axe: str
) -> None:
    page = visitor.page
    await shop.save(PUBLISH)
    id = await shop.start("publish", {"title": "Ferry", "pages": 3})
    await shop.until(id, "waiting")
    await visitor.open(f"/runs/{id}")
    await expect(page.locator("#run-waits")).to_have_text(
        "waiting for the approval of Administrator (ok), expires in 24.0 h"
    )
    step = page.locator("#run-step")
    await expect(step).to_contain_text("Publish Ferry?")
    await expect(step).to_contain_text('"pages": 3')
    assert await violations(page, axe) == []
    await page.locator("summary", has_text="Approve").click()
    await expect(page.locator("#pop-approve")).to_contain_text("Publish Ferry?")
    await visitor.open("/approvals")
    row = page.locator("li", has_text=f"run {id[-8:]}")
    await expect(row).to_contain_text("Publish Ferry?")
    await expect(row).to_contain_text('"pages": 3')
    assert await violations(page, axe) == []
    await visitor.open("/")
    await expect(page.get_by_text("Publish Ferry?")).to_be_visible()
    await shop.house.do("approve_run", run=id)
    await shop.until(id, "completed")


@pytest.mark.req("W-16")
async def test_a_run_that_cannot_be_read_says_so(
    visitor: Visitor, house: House, shop: Workshop, axe: str
) -> None:
    page = visitor.page
    id = await shop.start("gate", None)
    await shop.until(id, "waiting")
    change = "UPDATE run_history SET events = $2 WHERE run_id = $1"
    newer = '[{"type":"unheard_of","schema":99,"at":1}]'
    await house.system.runtime.store.execute(change, id, newer)
    for path in (f"/runs/{id}", f"/runs/{id}?step=ok"):
        await visitor.open(path)
        await expect(page.locator("#run-problem")).to_contain_text("This run does not go on.")
        await expect(page.locator("#run-problem")).to_contain_text("a newer release of Accord")
        await expect(page.locator("#run-events")).to_contain_text("unheard of")
    assert await violations(page, axe) == []
    await visitor.open("/runs")
    await expect(page.get_by_role("link", name=id[-8:])).to_be_visible()


async def test_everything_fits_a_narrow_dark_window(
    browser: Browser, house: House, shop: Workshop, axe: str
) -> None:
    id = await shop.under_way()
    narrow: dict[str, Any] = {"width": 320, "height": 640}
    async with visiting(browser, house, viewport=narrow, color_scheme="dark") as visitor:
        for path in ("/runs", f"/runs/{id}", f"/runs/{id}/history", "/approvals", "/dead-letters"):
            await visitor.open(path)
            assert await overflow(visitor.page) == [], path
        await visitor.open(f"/runs/{id}")
        assert await violations(visitor.page, axe) == []
    shop.agents["threat-model"].go.set()
    await shop.until(id, "waiting")
    await house.do("cancel_run", run=id)
    await shop.until(id, "cancelled")
