"""`Shared`: one endpoint among several that serve the same clients.

    McpEndpoint(server, shared="postgresql://…")

While it is entered, the endpoint's sessions and events, and the tasks, changes and secrets of its
server are those of all processes that share the same store.
"""

from __future__ import annotations

from contextlib import AsyncExitStack
from importlib.resources import files
from secrets import token_bytes
from types import TracebackType
from typing import TYPE_CHECKING, Final

from accord.mcp.protocol.sealed import MIN_KEY_BYTES
from accord.mcp.server.http.http_session import Others
from accord.mcp.server.shared.changes import SharedChanges
from accord.mcp.server.shared.events import SharedEvents
from accord.mcp.server.shared.mail import Completed
from accord.mcp.server.shared.sessions import SharedSessions
from accord.mcp.server.shared.tasks import SharedTasks
from accord.mcp.server.shared.worker import Worker
from accord.mcp.server.tasks.store import MemoryTaskStore
from accord.store import Store, Transaction, open_store

if TYPE_CHECKING:
    from accord.mcp.server.http.endpoint import McpEndpoint

PART: Final = "accord.mcp"
_SEAL: Final = "seal"


class Shared:
    """What one endpoint shares; use it as `async with Shared(endpoint, url) as shared`."""

    sessions: SharedSessions
    events: SharedEvents

    def __init__(self, endpoint: McpEndpoint, url: str) -> None:
        self._endpoint = endpoint
        self._server = endpoint.server
        self._url = url
        self._stack = AsyncExitStack()

    @property
    def others(self) -> Others:
        return self.sessions

    async def __aenter__(self) -> Shared:
        async with AsyncExitStack() as stack:
            # Sessions need not outlive the machine.
            store = await stack.enter_async_context(open_store(self._url, durable=False))
            await store.migrate(PART, files(__package__) / "migrations")
            worker = Worker(store)
            self.sessions = SharedSessions(self._endpoint, worker)
            self.events = SharedEvents(worker)
            tasks = SharedTasks(worker)
            changes = SharedChanges(self._server.listeners, worker)
            self._share_elicitations(worker, stack)
            self._server.asker.share_key(await _secret(store, _SEAL))
            await worker.join()
            stack.push_async_callback(worker.leave)
            self._keep_tasks(tasks, stack)
            changes.begin()
            stack.callback(changes.end)
            self._stack = stack.pop_all()
        return self

    async def __aexit__(
        self,
        exc_type: type[BaseException] | None,
        exc: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        await self._stack.aclose()

    def _keep_tasks(self, tasks: SharedTasks, stack: AsyncExitStack) -> None:
        if self._server.task_settings.store is None:
            own = self._server.core.tasks
            own.keep_in(tasks)
            stack.callback(lambda: own.keep_in(MemoryTaskStore()))

    def _share_elicitations(self, worker: Worker, stack: AsyncExitStack) -> None:
        elicitations = self._server.asker.elicitations
        elicitations.on_unknown = lambda id: worker.send_all(Completed(id))
        worker.on(Completed, lambda completed: elicitations.complete_here(completed.elicitation))
        stack.callback(setattr, elicitations, "on_unknown", None)


async def _secret(store: Store, name: str) -> bytes:
    """A secret of all workers, from chance where there is none yet."""

    async def work(transaction: Transaction) -> bytes:
        await transaction.execute(
            "INSERT INTO mcp_secrets (name, value) VALUES ($1, $2) ON CONFLICT (name) DO NOTHING",
            name, token_bytes(MIN_KEY_BYTES),
        )  # fmt: skip
        [row] = await transaction.fetch("SELECT value FROM mcp_secrets WHERE name = $1", name)
        return bytes(row["value"])

    return await store.transact(work)
