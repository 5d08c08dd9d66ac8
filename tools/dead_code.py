"""List code under src that nothing uses: functions, classes, methods, constants, unreachable lines.

    python -m tools.dead_code

vulture finds names that no Python file under src uses. A name counts as used, too, if a template, a
script of a page, a document or an example has it as a word, if it is published, or if a decorator
registers it. Fields of structures are not checked: what is written as JSON may have no other use.
"""

from __future__ import annotations

import re
import sys
from pathlib import Path
from typing import Final

from vulture import Vulture
from vulture.core import Item

PROJECT: Final = Path(__file__).parents[1]
KINDS: Final = {"class", "function", "method", "property", "import", "unreachable_code"}
REGISTERING: Final = ["@*.*", "@*page*", "@*command*"]
"""Decorators that put a function into a table."""
USERS: Final = (
    "src/accord/web/templates/**/*.html",
    "src/accord/**/*.js",
    "docs/**/*.md",
    "README.md",
    "examples/**/*.py",
    "tests/published_names.txt",
    "tests/snapshots/public-names.txt",
)
ALLOWED: Final = {
    # Python, or a library, calls these.
    "__dir__",
    "__instancecheck__",
    "complex_schema",
    "create_module",
    "dict_schema",
    "emit_warning",
    "field_title_should_be_set",
    "get_reset_query",
    "handle_invalid_for_json_schema",
    "is_reading",
    "on_header",
    "on_headers_complete",
    "redirect_request",
    # Messages of MCP that servers of others send; tests compare them with the specification.
    "AcknowledgedParams",
    "ElicitationCompleteParams",
    "RelatedTask",
    "UpdatedParams",
}


def find_dead_code(project: Path = PROJECT) -> list[Item]:
    """Return what nothing uses, in the order of the files."""
    vulture = Vulture(ignore_decorators=REGISTERING)
    vulture.scavenge([project / "src"])
    used = ALLOWED.union(
        *(
            re.findall(r"\w+", file.read_text(encoding="utf-8"))
            for pattern in USERS
            for file in project.glob(pattern)
        )
    )
    return [
        item
        for item in vulture.get_unused_code()
        if (item.typ in KINDS or (item.typ == "variable" and item.name.isupper()))
        and item.name not in used
    ]


def main() -> int:
    found = find_dead_code()
    for item in found:
        place = f"{Path(item.filename).relative_to(PROJECT)}:{item.first_lineno}"
        print(f"{place}: {item.typ} {item.name} is not used")
    return min(len(found), 1)


if __name__ == "__main__":
    sys.exit(main())
