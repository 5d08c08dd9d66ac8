"""Takes the pictures of the pages in docs/pictures, in a real browser, of the sample project.

python -m tools.web_pictures [NAME…]
"""

from __future__ import annotations

import asyncio
import sys
import tempfile
from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path
from typing import Any, Final, TypeAlias

from msgspec.structs import replace
from playwright.async_api import Browser

from accord.operations.arguments import convert
from tests.browser import launched, program
from tests.web.house import PASSWORD, House, Visitor, housed, make, visiting
from tests.web.workshop import Workshop
from tools import trace_scenes
from tools.small_png import smaller
from tools.workflow_scenes import edited, run_in_the_dark, workflow_page

FOLDER: Final = Path(__file__).parent.parent / "docs" / "pictures"
WINDOW: Final = {"width": 1440, "height": 820}

RELEASE: Final = {
    "name": "release-timetable",
    "steps": [{"name": "harbour-master", "type": "wait", "approval": {"by": ["Administrator"]}}],
}
BREAKS: Final = {
    "name": "notify-harbour",
    "steps": [{"name": "find", "type": "call", "operation": "get_epic", "input": {"id": "EP-999"}}],
}
IMPORTED: Final = """\
kind,reference_id,parent,title,status,priority
epic,EP-900,,Night crossings,Backlog,High
user_story,US-900,EP-900,Sleep on board,Backlog,High
requirement,REQ-900,US-900,Offer cabins for two,Draft,Medium
requirement,REQ-901,US-900,Wake passengers before arrival,Draft,Medium
requirement,REQ-902,US-777,Serve breakfast,Draft,Low
requirement,REQ-004,US-001,Offer the nearest sailings,Active,High
"""

Scene: TypeAlias = Callable[[Visitor], Awaitable[None]]
"""Opens a page of the sample project and does what is to be seen on it."""


def page(path: str) -> Scene:
    """A page as it opens."""

    async def scene(visitor: Visitor) -> None:
        await visitor.open(path)

    return scene


async def assist(house: House, operation: str, **arguments: Any) -> None:
    """Have an assistant do something."""
    runner = house.system.runtime.runner
    found = runner.registry[operation]
    caller = replace(await house.caller("admin"), face="mcp", client="claude-code 2.1")
    await runner.run(found, lambda: convert(found, arguments), caller)


async def home(visitor: Visitor) -> None:
    do = visitor.house.do
    workshop = Workshop(visitor.house, {})
    await workshop.save(RELEASE, BREAKS)
    await workshop.until(await workshop.start("notify-harbour"), "failed")
    await workshop.until(await workshop.start("release-timetable"), "waiting")
    await do("create_epic", title="Winter timetable", status="In Progress", assignee="admin")
    title = "Keep no numbers of payment cards"
    await assist(visitor.house, "update_requirement", id="REQ-012", title=title)
    await do("update_requirement", id="REQ-031", status="Obsolete")
    await do("create_relationship", source_id="REQ-020", target_id="REQ-012", type="depends_on")
    await do("add_comment", target_id="REQ-014", text="Does this hold for the night ferry, too?")
    raised = {"operation": "update_requirement", "arguments": {"id": "REQ-015", "priority": 1}}
    await do("propose_changes", reason="Say first what loses a booking", steps=[raised])
    shorter = {"id": "REQ-016", "title": "Take payment at the pier"}
    steps = [{"operation": "update_requirement", "arguments": shorter}]
    proposal = await do("propose_changes", reason="A title that fits on a ticket", steps=steps)
    await do("accept_proposal", id=proposal.id)
    await visitor.page.context.add_cookies(
        [{"name": "accord_steps", "value": "hidden", "url": visitor.house.url}]
    )
    await visitor.open("/")


async def search(visitor: Visitor) -> None:
    views: dict[str, dict[str, Any]] = {
        "Active requirements": {"kind": "requirement", "status": "Active"},
        "In progress, mine": {"assignee": "admin", "status": "In Progress"},
        "Refunds": {"query": "refund"},
    }
    for name, filter in views.items():
        await visitor.house.do("create_view", name=name, filter=filter, shared=name == "Refunds")
    await visitor.open("/search?q=refund")


async def palette(visitor: Visitor) -> None:
    await visitor.open("/items/REQ-012")
    await visitor.page.keyboard.press("Control+k")
    await visitor.page.keyboard.type("refund")
    await visitor.page.get_by_role("option", name="All results").wait_for()


async def keys(visitor: Visitor) -> None:
    await visitor.open("/items/REQ-012")
    await visitor.page.keyboard.press("?")
    await visitor.page.get_by_role("dialog", name="Keys").wait_for()


async def told_item(visitor: Visitor) -> None:
    """A requirement that an assistant changed, with a link that is suspect since, and a comment."""
    do = visitor.house.do
    shall = "then the booking service shall release the seats"
    before = f"If a payment is not confirmed, {shall} as early as possible."
    after = f"If a payment is not confirmed within 15 minutes, {shall} in a timely manner."
    await do("update_requirement", id="REQ-007", title="Release seats that are not paid")
    await do("update_requirement", id="REQ-007", description=before)
    await do("create_relationship", source_id="AC-003", target_id="REQ-007", type="verifies")
    await assist(visitor.house, "update_requirement", id="REQ-007", description=after)
    await do("label_item", id="REQ-007", label="payments")
    await do("add_comment", target_id="REQ-007", text="Fifteen, or the ten of the season before?")


async def item(visitor: Visitor) -> None:
    await told_item(visitor)
    await visitor.open("/items/REQ-007")


async def item_edited(visitor: Visitor) -> None:
    await told_item(visitor)
    await visitor.open("/items/REQ-007")
    await visitor.page.keyboard.press("e")
    await visitor.page.get_by_role("button", name="Preview").click()
    await visitor.page.get_by_role("region", name="Preview").wait_for()


async def item_conflict(visitor: Visitor) -> None:
    await told_item(visitor)
    await visitor.open("/items/REQ-007/edit")
    text = visitor.page.get_by_label("Text", exact=True)
    await text.fill((await text.input_value()).replace("in a timely manner", "within 10 s"))
    await visitor.house.do(
        "edit_text", id="REQ-007", old="the seats", new="its seats and deck space", by="mara"
    )
    await visitor.page.get_by_role("button", name="Save").click()
    await visitor.page.get_by_text("while you were editing").wait_for()


async def item_history(visitor: Visitor) -> None:
    await told_item(visitor)
    await visitor.open("/items/REQ-007/history")


async def created_token(visitor: Visitor) -> None:
    await visitor.open("/tokens/new")
    await visitor.page.get_by_label("Name").fill("claude-code on my laptop")
    await visitor.page.get_by_role("button", name="Create token").click()
    await visitor.page.locator("#new-token").wait_for()


async def set_up(visitor: Visitor) -> None:
    await visitor.house.add_person("nina", "User")
    await visitor.page.context.clear_cookies()
    await visitor.open("/sign-in")
    await visitor.page.get_by_label("Username").fill("nina")
    await visitor.page.get_by_label("Password").fill(PASSWORD)
    await visitor.page.get_by_role("button", name="Sign in").click()
    await visitor.page.get_by_text("Choose a password").wait_for()


async def explorer(visitor: Visitor) -> None:
    await visitor.open("/explorer#/method/get_epic?params=%7B%22id%22%3A%22EP-001%22%7D")
    inside = visitor.page.frame_locator("iframe")
    await inside.get_by_role("button", name="Send").first.wait_for()
    await inside.locator("body").press("Control+Enter")
    await inside.locator(".answer-body").wait_for()


async def audit(visitor: Visitor) -> None:
    do = visitor.house.do
    await assist(visitor.house, "update_requirement", id="REQ-012", status="Obsolete")
    await do("add_comment", target_id="REQ-014", text="Does this hold for the night ferry, too?")
    await do("create_user", username="nina", role="User")
    await do("update_requirement", id="REQ-031", status="Obsolete")
    await assist(visitor.house, "create_label", name="winter")
    await visitor.open("/audit")


async def requirements(visitor: Visitor) -> None:
    await visitor.house.do(
        "edit_text",
        id="REQ-001",
        old="in order of departure",
        new="in the order in which they depart",
    )
    await visitor.open("/items/REQ-003?open=EP-002")


async def selecting(visitor: Visitor) -> None:
    await visitor.open("/requirements?open=EP-001,US-001,EP-002&select=1")
    for name in ("REQ-001", "REQ-002", "US-002"):
        await visitor.page.get_by_role("checkbox", name=f"Select {name}").check()
    await visitor.page.get_by_label("New status").select_option("Done")
    await visitor.page.get_by_role("button", name="Change", exact=True).click()
    await visitor.page.get_by_role("alert").wait_for()
    visitor.faults.clear()  # browsers log what was answered 422


async def creating(visitor: Visitor) -> None:
    await visitor.open("/new?parent=US-004")
    await visitor.page.get_by_label("Title").fill("Send the ticket by e-mail")


async def importing(visitor: Visitor) -> None:
    await visitor.open("/import")
    await visitor.page.get_by_label("Or paste it").fill(IMPORTED)
    await visitor.page.get_by_role("button", name="See what it would do").click()
    await visitor.page.get_by_role("heading", name="What the import would do").wait_for()


PICTURES: Final[dict[str, Scene]] = {
    "account": page("/account"),
    "audit": audit,
    "explorer": explorer,
    "prompt": page("/prompts/PROMPT-001"),
    "set-up": set_up,
    "settings": page("/settings"),
    "token": created_token,
    "users": page("/users"),
    "home": home,
    "search": search,
    "palette": palette,
    "keys": keys,
    "item": item,
    "item-edited": item_edited,
    "item-conflict": item_conflict,
    "item-history": item_history,
    "workflows": workflow_page("/workflows"),
    "workflow": workflow_page("/workflows/review-requirement"),
    "workflow-edited": edited,
    "runs": workflow_page("/runs"),
    "run": workflow_page("/runs/{id}"),
    "run-dark": run_in_the_dark,
    "agents": workflow_page("/agents"),
    "agent": workflow_page("/agents/threat-model"),
    "approvals": workflow_page("/approvals"),
    "dead-letters": workflow_page("/dead-letters"),
    "requirements": requirements,
    "requirements-refused": selecting,
    "requirements-new": creating,
    "requirements-import": importing,
    **trace_scenes.SCENES,
}
"""By name: `home` becomes web-home.png. Each is taken of a house of its own, so that none sees what
another one did."""


async def main(names: Sequence[str]) -> None:
    if program() is None:
        sys.exit("chromium is not installed; tools/install-programs installs it")
    unknown = [name for name in names if name not in PICTURES]
    if unknown:
        sys.exit(f"no picture is called {unknown[0]}; there are: {', '.join(PICTURES)}")
    with tempfile.TemporaryDirectory() as folder:
        made = Path(folder) / "made"
        await make(made, demo=True)
        async with launched() as browser:
            for name in names or PICTURES:
                await take(browser, made, Path(folder) / name, name)


async def take(browser: Browser, made: Path, data: Path, name: str) -> None:
    async with (
        housed(made, data, allow_private_agents=True) as house,
        visiting(browser, house, viewport=WINDOW, color_scheme="light") as visitor,
    ):
        await PICTURES[name](visitor)
        await visitor.page.wait_for_load_state("networkidle")
        path = FOLDER / f"web-{name}.png"
        picture = smaller(await visitor.page.screenshot())
        path.write_bytes(picture)
        print(f"{path.name}: {len(picture):,} bytes")


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1:]))
