"""A thousand sessions of the handshake era over HTTP: what they cost to begin, and to keep.

Each begins by a handshake and is used for one call. Nothing ends them. The others run as they
come, and answer by streams of events.
"""

from __future__ import annotations

import json

from benchmarks.eras import HANDSHAKE, PATH, open_session, tool_call
from benchmarks.framings import Http
from benchmarks.harness import Costs, Plan, one_core
from benchmarks.load import Socket
from benchmarks.processes import Process, running
from benchmarks.report import Row, at_most

TITLE = "1,000 sessions of MCP over HTTP, each used once"
SESSIONS, ROUNDS = 1_000, 10
WARM_UP = 100
TEXT = "The quick brown fox jumps over the lazy dog."

OURS = "`async def`"
PEERS = ("mcp", "fastmcp")


def rows(plan: Plan) -> list[Row]:
    with one_core():
        clients = {name: _Client(name) for name in (OURS, *PEERS)}
        with running(*(client.process for client in clients.values())):
            for client in clients.values():
                client.begin(WARM_UP)
            before = {name: client.process.memory() for name, client in clients.items()}
            rounds = [
                {name: client.begin(SESSIONS // ROUNDS) for name, client in clients.items()}
                for _ in range(ROUNDS)
            ]
            held = {
                name: (client.process.memory() - before[name]) / SESSIONS
                for name, client in clients.items()
            }
    costs = Costs({name: [each[name] for each in rounds] for name in clients})
    return [*_cpu(costs), *_memory(held)]


def _cpu(costs: Costs) -> list[Row]:
    return [
        Row(
            group="mcp_sessions",
            what="CPU time of a handshake and a call",
            ours=costs.cost(OURS) * 1e6,
            unit="µs",
            against=peer,
            theirs=costs.cost(peer) * 1e6,
            ratio=costs.ratio(peer, OURS),
        )
        for peer in PEERS
    ]


def _memory(held: dict[str, float]) -> list[Row]:
    return [
        Row(
            group="mcp_sessions",
            what="memory of a session",
            ours=held[OURS] / 1024,
            unit="KB",
            against=peer,
            theirs=held[peer] / 1024,
            bound=at_most(4),
        )
        for peer in PEERS
    ]


class _Client:
    """Begins sessions of one server, one after the other."""

    def __init__(self, name: str) -> None:
        self.process = _process(name)
        self._wire = Socket(int(self.process.line()))
        self._work = tool_call(HANDSHAKE)(TEXT)
        self._request = self._work.requests()[0]

    def begin(self, count: int) -> float:
        """Seconds of CPU that one session takes, if so many are begun."""
        before = self.process.cpu()
        for _ in range(count):
            self._call(open_session(self._wire))
        return (self.process.cpu() - before) / count

    def _call(self, lines: bytes) -> None:
        framing = Http(PATH, lines)
        self._wire.write(framing.frame(self._request))
        reader = framing.reader()
        while not (answers := reader.feed(self._wire.read())):
            pass
        if not self._work.is_right(json.loads(answers[0])["result"]):
            raise AssertionError(f"wrong answer: {answers[0][:500]!r}")


def _process(name: str) -> Process:
    if name == OURS:
        return Process("benchmarks.ours.mcp_server", "http://127.0.0.1:0/mcp", "5")
    return Process(f"benchmarks.peers.{name}_server", "http", "5", peer=name)
