"""The check for dead code finds what nothing uses."""

from __future__ import annotations

from pathlib import Path

from tools.dead_code import find_dead_code

SOURCE = """
UNUSED = 1
USED = 2


def unused() -> int:
    return USED
    print("never")


def shown() -> None: ...


@table.command
def registered() -> None: ...
"""


def test_what_nothing_uses_is_found(tmp_path: Path) -> None:
    for name, text in (
        ("src/small.py", SOURCE),
        ("src/accord/web/templates/page.html", "{{ shown() }}"),
    ):
        file = tmp_path / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)
    found = {(item.typ, item.name) for item in find_dead_code(tmp_path)}
    assert found == {("variable", "UNUSED"), ("function", "unused"), ("unreachable_code", "return")}
