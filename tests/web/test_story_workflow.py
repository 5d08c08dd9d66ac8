"""A whole story: an administrator adds an agent and writes a workflow, somebody runs it, the
administrator approves, and what the agent said stands below the requirement. All of it by hand, on
the pages; only the agent is the test's own."""

from __future__ import annotations

import pytest
from playwright.async_api import Browser, expect

from accord.a2a.server.serving import serve
from tests.web.house import House, Visitor, visiting
from tests.web.workshop import Reviewer

pytestmark = [pytest.mark.asyncio(loop_scope="session"), pytest.mark.req("H-21", "W-07")]

SOURCE = """\
name: review
description: An agent reviews a requirement; somebody decides what is written down.
input:
  type: object
  required: [requirement]
  properties: {requirement: {type: string}}
steps:
  - name: load
    type: call
    operation: get_requirement
    input: {id: "${input.requirement}"}
  - {name: ask, type: agent, agent: reviewer, input: "${steps.load.output.title}"}
  - {name: decide, type: wait, approval: {by: [Administrator]}}
  - name: write
    type: call
    operation: add_comment
    input: {target_id: "${input.requirement}", text: "${steps.ask.output} (${steps.decide.output.reason})"}
"""


async def test_a_workflow_is_written_run_and_approved(browser: Browser, house: House) -> None:
    await house.add_person("maria", "User")
    agent = Reviewer("reviewer")
    agent.go.clear()
    async with (
        serve(agent, "http://127.0.0.1:0/", drain=0) as serving,
        visiting(browser, house) as admin,
        visiting(browser, house, "maria") as maria,
    ):
        await add_agent(admin, serving.url)
        await write_workflow(admin)
        id = await start(maria)
        await expect(maria.page.locator("[data-node=ask]")).to_contain_text("running")
        agent.go.set()
        await expect(maria.page.locator("#run-state")).to_contain_text("Waiting")
        await expect(maria.page.locator("#run-acts")).not_to_contain_text("Approve")
        await approve(admin, id)
        await expect(maria.page.locator("#run-state")).to_contain_text("Completed")
        await expect(maria.page.locator("#run-events")).to_contain_text(
            "decide: approved by admin: well seen"
        )
    [title] = agent.texts
    comments = (await house.do("list_comments", target_id="REQ-001")).items
    said = [each.text for each in comments if each.author == "maria"]
    assert said == [f"reviewer: {title} (well seen)"]


async def add_agent(admin: Visitor, url: str) -> None:
    page = admin.page
    await admin.open("/agents")
    await page.get_by_role("link", name="Add the first agent").click()
    await page.get_by_label("Name").fill("reviewer")
    await page.get_by_label("Address").fill(url)
    await page.get_by_role("button", name="Add agent").click()
    await page.get_by_role("button", name="Check now").click()
    await expect(page.get_by_text("reviewer is healthy.")).to_be_visible()


async def write_workflow(admin: Visitor) -> None:
    page = admin.page
    await admin.open("/workflows/new")
    await page.get_by_label("Definition, as YAML or JSON").fill(SOURCE)
    await expect(page.locator("#checked")).to_contain_text("Valid review 4 steps")
    await page.get_by_role("button", name="Save").click()
    await expect(page.get_by_text("review@1 is saved.")).to_be_visible()


async def start(maria: Visitor) -> str:
    page = maria.page
    await maria.open("/workflows")
    await page.get_by_role("link", name="review", exact=True).click()
    await page.get_by_label("requirement", exact=True).fill("REQ-001")
    await page.get_by_role("button", name="Start run").click()
    await page.wait_for_url("**/runs/*")
    return maria.path.rpartition("/")[2]


async def approve(admin: Visitor, id: str) -> None:
    page = admin.page
    await admin.open("/approvals")
    await page.get_by_role("link", name="decide of review").click()
    await page.wait_for_url(f"**/runs/{id}?step=decide")
    await expect(page.locator("#run-step")).to_contain_text(
        "Waiting for the approval of Administrator"
    )
    await page.keyboard.press("a")
    await expect(page.locator("#approve-reason")).to_be_focused()
    await page.keyboard.type("well seen")
    await page.keyboard.press("Tab")
    await page.keyboard.press("Enter")
    await expect(page.get_by_text("Approved.")).to_be_visible()
    await expect(page.locator("#run-state")).to_contain_text("Completed")
