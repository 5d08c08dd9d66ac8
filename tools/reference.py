"""Writes docs/reference, all pages that come from code and stand in that folder."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from tools import commands_page, methods_page, rest_page, tools_page, values_page
from tools.described import Described, ask

PAGES: dict[Path, Callable[[Described], str]] = {
    commands_page.PAGE: lambda described: commands_page.render(),
    methods_page.PAGE: methods_page.render,
    rest_page.PAGE: rest_page.render,
    tools_page.PAGE: tools_page.render,
    values_page.PAGE: values_page.render,
}
"""Each page, and what gives its text."""


if __name__ == "__main__":
    described = ask()
    for page, render in PAGES.items():
        page.parent.mkdir(exist_ok=True)
        page.write_text(render(described), encoding="utf-8")
