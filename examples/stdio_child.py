"""Counts words in documents that it does not have: it asks its parent for them.

Started by stdio_parent.py. Whatever it prints goes to stderr: stdout belongs to messages.
"""

from __future__ import annotations

from accord import Context, Router, run

router = Router()


@router.method
async def count_words(names: list[str], context: Context) -> dict[str, int]:
    counts = {}
    for place, name in enumerate(names, 1):
        text = await context.call("read", [name])
        counts[name] = len(text.split())
        await context.notify("progress", {"done": place, "total": len(names)})
    return counts


if __name__ == "__main__":
    run(router, "stdio:", framing="content-length")
