"""A chat room over WebSocket. Clients call the server, and the server calls its clients.

python chat_server.py [URL]
"""

from __future__ import annotations

import asyncio
import sys

from accord import Context, InvalidParamsError, Peer, Router, RpcError, State, run

router = Router()
members: dict[Peer, str] = {}


@router.method
async def join(name: str, context: Context) -> list[str]:
    """Enter the room; returns who is there."""
    if name in members.values():
        raise InvalidParamsError(f"the name {name!r} is taken")
    peer = context.peer
    assert isinstance(peer, Peer)
    members[peer] = name
    peer.observe(lambda state, error: leave(peer) if state is State.CLOSED else None)
    return sorted(members.values())


@router.method
async def say(text: str, context: Context) -> None:
    """Tell everybody."""
    speaker = member(context)
    for peer in list(members):
        await peer.notify("heard", {"speaker": speaker, "text": text})


@router.method
async def poll(question: str, context: Context) -> dict[str, str]:
    """Ask everybody, all at the same time; returns the answers by name."""
    member(context)
    asked = dict(members)
    answers = await asyncio.gather(*(ask(peer, question) for peer in asked))
    return dict(zip(asked.values(), answers, strict=True))


async def ask(peer: Peer, question: str) -> str:
    try:
        return await peer.call("asked", [question], into=str, timeout=5)
    except RpcError:
        return "(no answer)"


def member(context: Context) -> str:
    assert isinstance(context.peer, Peer)
    if context.peer not in members:
        raise RpcError("join first", code=1)
    return members[context.peer]


def leave(peer: Peer) -> None:
    members.pop(peer, None)


if __name__ == "__main__":
    url = sys.argv[1] if len(sys.argv) > 1 else "ws://127.0.0.1:7000/chat"
    run(router, url, on_listen=lambda server: print(f"chat at {server.url}", flush=True))
