"""The page on relationships and quality names all that there is."""

from __future__ import annotations

from pathlib import Path

from accord.hub.domain.lint import RULES
from accord.hub.entities import GAPS
from tests.hub.relations.shop import Shop

PAGE = (Path(__file__).parents[3] / "docs/hub/quality.md").read_text(encoding="utf-8")


def test_the_page_names_every_rule_and_every_gap() -> None:
    assert [name for name in (*RULES, *GAPS) if f"`{name}`" not in PAGE] == []


async def test_the_page_names_every_type_of_relationships(shop: Shop) -> None:
    types = await shop.call("list_relationship_types")
    rows = [line.split("|")[1:4] for line in PAGE.splitlines() if line.startswith("| `")]
    told = {row[0].strip(" `"): (row[1].strip(" `"), row[2].strip()) for row in rows}
    for each in types.items:
        note = "no circles" if each.acyclic else "the same from both ends" if each.symmetric else ""
        assert told[each.name] == (each.inverse, note)
