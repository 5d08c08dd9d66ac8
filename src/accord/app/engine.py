"""The engine that executes runs: executors that decide, workers for their tasks, and a bus.

The bus carries tasks and their results between executors and workers. `accord serve` runs all
three. `accord executor` runs no workers that call agents, and `accord bridge` runs no executors.

The bus starts first and stops last. To stop, a component takes no more work and lets work in flight
finish; the rest is released at once, for other processes.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Iterable, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from typing import Final, Literal, Protocol, TypeAlias

from msgspec import Struct

from accord.app.observers import SpanMakers
from accord.app.runtime import Runtime, agent_addresses, agent_secrets, run_retention
from accord.app.settings import Settings
from accord.telemetry.metrics import Exposition
from accord.workflows.bridge.agents import AgentCache, AgentCaller, HealthChecks
from accord.workflows.bridge.callers import MethodCaller, OperationCaller, PluginCaller, ToolCaller
from accord.workflows.bridge.task import TaskCaller
from accord.workflows.bridge.worker import TaskWorker
from accord.workflows.bus.bus import Bus, EmbeddedBus
from accord.workflows.executor.executor import Executor
from accord.workflows.storage.leases import MemberKind, Membership, forget_members
from accord.workflows.storage.tasks import Kind
from accord.workflows.triggers.triggers import Scheduler

Role: TypeAlias = Literal["executor", "bridge", "both"]

EMBEDDED_BUS: Final = "embedded"
KAFKA_SCHEME: Final = "kafka://"


class EngineError(Exception):
    """The engine cannot run with these settings; the message says what to do."""


class Startable(Protocol):
    """A component that is started and closed."""

    async def start(self) -> None: ...

    async def close(self) -> None: ...


class Engine(Struct, frozen=True):
    """A running engine."""

    member: Membership
    counts: tuple[Callable[[Exposition], None], ...]

    @property
    def is_alive(self) -> bool:
        """Return True while this process is a member, with a lease that has not expired."""
        return not self.member.lost.is_set()

    def write(self, page: Exposition) -> None:
        for count in self.counts:
            count(page)


@asynccontextmanager
async def open_engine(
    settings: Settings, runtime: Runtime, *, role: Role = "both", spans: SpanMakers | None = None
) -> AsyncIterator[Engine]:
    """Start the components that execute runs, and stop them at the end.

    `role` selects the components. Raises EngineError for unusable settings, and StoreError.
    """
    async with AsyncExitStack() as stack:
        builder = _EngineBuilder(settings, runtime, stack, spans)
        bus = await builder.bus(role)
        member = await builder.member("bridge" if role == "bridge" else "executor")
        callers: dict[Kind, TaskCaller] = {}
        if role != "bridge":
            callers["operation"] = OperationCaller(runtime.runner, spans=builder.outgoing)
        if role != "executor":
            callers |= await builder.callers()
        worker = builder.worker(bus, member, callers)
        if role != "bridge":
            await builder.executor(bus, member, worker)
        await builder.working(worker, callers)
        bus.join(local_worker=worker.handoff)
        yield Engine(member, tuple(builder.counts))


class _EngineBuilder:
    """Starts components one by one; `stack` closes them in reverse order."""

    def __init__(
        self, settings: Settings, runtime: Runtime, stack: AsyncExitStack, spans: SpanMakers | None
    ) -> None:
        self.counts: list[Callable[[Exposition], None]] = []
        self._settings = settings
        self._runtime = runtime
        self._store = runtime.store
        self._stack = stack
        self._past = None if spans is None else spans.past
        self.outgoing = None if spans is None else spans.outgoing

    async def bus(self, role: Role) -> Bus:
        settings = self._settings
        if settings.bus == EMBEDDED_BUS:
            return EmbeddedBus()
        if not settings.bus.startswith(KAFKA_SCHEME):
            raise EngineError(f"bus is {EMBEDDED_BUS}, or {KAFKA_SCHEME}host:port,host:port")
        try:
            from accord.workflows.bus.bus import BusError
            from accord.workflows.bus.kafka import KafkaBus
        except ImportError as error:
            raise EngineError(f"bus: {error} (pip install accord[kafka])") from None
        try:
            bus = KafkaBus.at(
                settings.bus,
                self._store,
                role=role,
                lease_seconds=settings.lease_seconds,
                spans=self._past,
            )
            await self._run(bus)
        except BusError as error:
            raise EngineError(str(error)) from None
        self.counts.append(bus.metrics.write)
        return bus

    async def member(self, kind: MemberKind) -> Membership:
        if not self._settings.is_shared:  # one server at a time, so that the last one is gone
            await forget_members(self._store)
        member = Membership(self._store, kind, lease=self._settings.lease_seconds)
        await self._run(member)
        return member

    async def executor(self, bus: Bus, member: Membership, worker: TaskWorker) -> None:
        executor = Executor(
            self._store, bus, member, local_worker=bus.lend(worker.handoff), spans=self._past
        )
        await self._run(executor)
        bus.join(local_executor=executor)
        await self._run(Scheduler(self._store, self._runtime.runner.trail))
        await self._run(run_retention(self._settings, self._store))
        self.counts.append(executor.metrics.write)

    async def callers(self) -> dict[Kind, TaskCaller]:
        """Start the callers of agents, tools, methods, plugins; return them by task kind."""
        policy, secrets = agent_addresses(self._settings), agent_secrets(self._settings)
        spans = self.outgoing
        agents = AgentCache(self._store)
        await self._run(agents)
        await self._run(HealthChecks(self._store, policy, secrets))
        asking = AgentCaller(agents, policy, secrets, spans=spans)
        methods = MethodCaller(policy, spans=spans)
        for caller in (asking, methods):
            self._stack.push_async_callback(caller.close)
        tools = ToolCaller(policy, spans=spans)
        plugins = PluginCaller(self._runtime.plugins.steps, spans=spans)
        return {"agent": asking, "tool": tools, "method": methods, "plugin": plugins}

    def worker(
        self, bus: Bus, member: Membership, callers: Mapping[Kind, TaskCaller]
    ) -> TaskWorker:
        return TaskWorker(self._store, member, bus, callers, drain=self._settings.drain_seconds)

    async def working(self, worker: TaskWorker, kinds: Iterable[Kind]) -> None:
        await self._run(worker)
        for kind in kinds:
            self._runtime.breakers.add(kind, worker.breakers)
            self._stack.callback(self._runtime.breakers.remove, kind)
        self.counts.append(worker.write)

    async def _run(self, part: Startable) -> None:
        # In this order, so that a component that fails while it starts is closed too.
        self._stack.push_async_callback(part.close)
        await part.start()
