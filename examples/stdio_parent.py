"""Starts stdio_child.py, has it count words, and serves it the documents meanwhile."""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path

from accord import InvalidParamsError, Router, connect

DOCUMENTS = {
    "haiku": "An old silent pond\nA frog jumps into the pond\nSplash! Silence again",
    "motto": "Programs must be written for people to read",
}
CHILD = [sys.executable, str(Path(__file__).with_name("stdio_child.py"))]

router = Router()


@router.method
def read(name: str) -> str:
    if name not in DOCUMENTS:
        raise InvalidParamsError(f"there is no document {name!r}")
    return DOCUMENTS[name]


@router.method
def progress(done: int, total: int) -> None:
    print(f"{done} of {total} counted")


async def main() -> None:
    async with connect(CHILD, router, framing="content-length") as child:
        print(await child.call("count_words", [list(DOCUMENTS)]))
        try:
            await child.call("count_words", {"names": ["manifesto"]})
        except InvalidParamsError as error:  # raised here, passed on by the child
            print(error.message)


if __name__ == "__main__":
    asyncio.run(main())
