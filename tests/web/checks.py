"""What holds on every page: everybody can use it, it fits, and it can be read."""

from __future__ import annotations

from playwright.async_api import Frame, Page

AXE_TAGS = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"]


async def violations(page: Page | Frame, axe: str) -> list[str]:
    """What keeps somebody from using the page, as axe finds it (WCAG 2.2 AA)."""
    await page.evaluate(axe)
    # What passed is a lot, and would take longer to be handed over than all else.
    found: list[str] = await page.evaluate(
        """async tags => {
          const only = {type: "tag", values: tags};
          const options = {runOnly: only, iframes: false, resultTypes: ["violations"]};
          return (await axe.run(document, options)).violations.flatMap((each) => each.nodes.map(
            (node) => `${each.id}: ${each.help} at ${node.target}: ${node.failureSummary}`));
        }""",
        AXE_TAGS,
    )
    return found


async def overflow(page: Page) -> list[str]:
    """What is wider than the window, but for what scrolls by itself."""
    found: list[str] = await page.evaluate(
        """() => {
          const wide = document.documentElement.clientWidth;
          const inside = (each) => {
            for (let up = each; up; up = up.parentElement) {
              if (["auto", "scroll", "hidden"].includes(getComputedStyle(up).overflowX)) return true;
            }
            return false;
          };
          return [...document.querySelectorAll("body *")]
            .filter((each) => each.getBoundingClientRect().right > wide + 1 && !inside(each))
            .map((each) => `${each.tagName}.${each.getAttribute("class")}`);
        }"""
    )
    return found
