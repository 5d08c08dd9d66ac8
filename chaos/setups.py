"""Installations as operators run them: `accord serve` alone on SQLite, or beside executors and
bridges on PostgreSQL, with Kafka or without; and the agent that they call."""

from __future__ import annotations

import asyncio
import os
import signal
import socket
import sys
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path
from typing import Any, Final, Literal, TypeAlias

from msgspec import Struct

from chaos.client import Client
from chaos.judge import Judge
from chaos.ledger import Ledger
from chaos.programs import Program
from chaos.tables import tables_of
from chaos.workflow import agent_names, definitions
from tests.store.cluster import Cluster, running_cluster
from tests.working_token import working_token
from tools.kafka import Broker

SetUp: TypeAlias = Literal["sqlite", "postgresql", "kafka"]

PAIRS: Final = 2
"""Executors and bridges, of each so many."""
LEASE_SECONDS: Final = 2
STOPPED: Final = "-stopped"
"""How the names of victims end that are stopped, and woken when their lease is over."""
PATIENCE: Final = 60.0
RETRY: Final = {"attempts": 50, "initial_delay": 0.7, "multiplier": 1.2, "max_delay": 2.0}
"""Whoever asks more often than an agent comes back finds it left alone for a minute."""
_SECRET: Final = {"ACCORD_SECRET_KEY": "chaos-" * 8}


class Victim(Struct, frozen=True):
    """What can be killed, and started again."""

    kill: Callable[[], Awaitable[None]]
    start: Callable[[], Awaitable[None]]


class World(Struct, frozen=True):
    """An installation that runs, and whoever watches it."""

    client: Client
    ledger: Ledger
    judge: Judge
    programs: list[Program]
    victims: dict[str, Victim]
    """By name: `agent-forgets` is the agent, which remembers nothing when it is back; `…-stopped`
    is not killed, but stopped for longer than its lease, and woken."""

    def deaths(self) -> list[str]:
        """Those that ended though nobody killed them, since the last time."""
        found = [death for program in self.programs for death in program.deaths]
        for program in self.programs:
            program.deaths.clear()
        return found


@asynccontextmanager
async def installation(set_up: SetUp, folder: Path) -> AsyncIterator[World]:
    """An installation in a new folder, with agents and workflows."""
    async with AsyncExitStack() as stack:
        plant = _Plant(set_up, folder, stack)
        await plant.start_servers()
        await plant.start_programs()
        yield await plant.furnish()


class _Plant:
    """An installation on its way; `stack` ends what was started, the last first."""

    def __init__(self, set_up: SetUp, folder: Path, stack: AsyncExitStack) -> None:
        folder.mkdir(parents=True)
        self._set_up = set_up
        self._folder = folder
        self._stack = stack
        self._data = folder / "data"
        self._url = f"sqlite://{self._data}/accord.db"
        self._ports = {"serve": _free_port(), "agent": _free_port()}
        self._common = ["--data", str(self._data), "--lease-seconds", str(LEASE_SECONDS)]
        self._programs: list[Program] = []
        self._victims: dict[str, Victim] = {}

    async def start_servers(self) -> None:
        """The database and the broker, where there are any."""
        if self._set_up == "sqlite":
            return
        cluster = self._stack.enter_context(running_cluster())
        self._url = cluster.database()
        self._victims["postgresql"] = _database(cluster)
        self._common += ["--database", self._url]
        if self._set_up == "kafka":
            folder = self._folder / "kafka"
            folder.mkdir()
            broker = Broker(folder, brief=True)
            self._stack.callback(broker.kill)
            self._victims["kafka"] = _broker(broker)
            await self._victims["kafka"].start()
            self._common += ["--bus", f"kafka://{broker.servers}"]

    async def start_programs(self) -> None:
        agent, *others = (self._program(*each) for each in self._commands())
        self._victims["agent"] = Victim(agent.kill, agent.start)
        self._victims["agent-forgets"] = Victim(agent.kill, lambda: agent.start("--forget"))
        for each in others:
            self._victims[each.name] = Victim(each.kill, each.start)
            if each.name != "serve":
                self._victims[f"{each.name}{STOPPED}"] = Victim(each.freeze, each.thaw)
        for each in (agent, *others):
            self._stack.push_async_callback(each.kill)
            await each.start()

    def _commands(self) -> Iterator[tuple[str, ...]]:
        """What is run: names and arguments."""
        ledger, ports = self._folder / "ledger.jsonl", self._ports
        yield "agent", "chaos.agent", str(ledger), str(ports["agent"])
        private, shared = "--allow-private-agents", self._set_up != "sqlite"
        serve = ["--port", str(ports["serve"]), "--rate-limit", "0", private]
        where = ["--workflows", "elsewhere"] if shared else []
        yield "serve", "accord", "serve", *serve, *where, *self._common
        for number in range(1, PAIRS + 1) if shared else ():
            yield f"executor-{number}", "accord", "executor", *self._common
            yield f"bridge-{number}", "accord", "bridge", private, *self._common

    def _program(self, name: str, *command: str) -> Program:
        log = self._folder / f"{name}.log"
        program = Program(name, [sys.executable, "-m", *command], log, _SECRET)
        self._programs.append(program)
        return program

    async def furnish(self) -> World:
        hub = f"http://127.0.0.1:{self._ports['serve']}"
        token = await asyncio.to_thread(working_token, hub, self._data / "first-run.txt")
        client = Client(hub, token)
        self._stack.push_async_callback(client.close)
        tables = tables_of(self._url)
        self._stack.push_async_callback(tables.close)
        url = f"http://127.0.0.1:{self._ports['agent']}/"
        for name in agent_names():
            agent: dict[str, Any] = {"name": name, "url": url, "wire": "a2a-0.3", "timeout": 5}
            await client.ask("POST", "/agents", {**agent, "retry": RETRY})
        for definition in definitions():
            await client.ask("POST", "/workflows", definition)
        ledger = Ledger(self._folder / "ledger.jsonl")
        return World(client, ledger, Judge(tables), self._programs, self._victims)


def _database(cluster: Cluster) -> Victim:
    async def kill() -> None:
        pid = cluster.pid
        os.kill(pid, signal.SIGKILL)
        async with asyncio.timeout(PATIENCE):
            while _lives(pid):  # noqa: ASYNC110 - it is no child of ours
                await asyncio.sleep(0.01)

    async def start() -> None:
        async with asyncio.timeout(PATIENCE):
            while True:
                try:
                    await asyncio.to_thread(cluster.start)
                    return
                except AssertionError:  # what is left of the one before is still there
                    await asyncio.sleep(0.1)

    return Victim(kill, start)


def _broker(broker: Broker) -> Victim:
    return Victim(lambda: asyncio.to_thread(broker.kill), lambda: asyncio.to_thread(broker.start))


def _lives(pid: int) -> bool:
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except FileNotFoundError:
        return False
    return state != "Z"


def _free_port() -> int:
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        port: int = found.getsockname()[1]
        return port
