"""A member of the chat room that chat_server.py keeps.

python chat_client.py NAME [URL]

What you type is said to everybody; a line that begins with ? is put to the vote.
"""

from __future__ import annotations

import asyncio
import sys

from accord import Router, TransportError, connect

router = Router()


@router.method
def heard(speaker: str, text: str) -> None:
    print(f"{speaker}: {text}", flush=True)


@router.method
def asked(question: str) -> str:
    answer = "yes" if len(question) % 2 else "no"
    print(f"asked: {question} - said {answer}", flush=True)
    return answer


async def main(name: str, url: str) -> None:
    async with connect(url, router) as server:
        print("here:", ", ".join(await server.call("join", [name])), flush=True)
        while line := await asyncio.to_thread(sys.stdin.readline):
            if line.startswith("?"):
                votes = await server.call("poll", [line[1:].strip()])
                print(
                    "votes:", ", ".join(f"{who} {vote}" for who, vote in votes.items()), flush=True
                )
            else:
                await server.call("say", [line.strip()])


if __name__ == "__main__":
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    try:
        asyncio.run(
            main(sys.argv[1], sys.argv[2] if len(sys.argv) > 2 else "ws://127.0.0.1:7000/chat")
        )
    except TransportError as error:
        sys.exit(f"{error.message}. {error.advice}")
