"""Programs that are started, killed and started again, as an operator's supervisor does it."""

from __future__ import annotations

import asyncio
import os
import signal
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final

PATIENCE: Final = 60.0
AGAIN_SECONDS: Final = 0.2


class ProgramError(Exception):
    """It does not start; the message says where its log is."""


class Program:
    """One of them: it is ready when it has printed a line."""

    def __init__(
        self, name: str, command: Sequence[str], log: Path, env: Mapping[str, str] | None = None
    ) -> None:
        self.name = name
        self.deaths: list[str] = []
        """How often it ended though nobody killed it."""
        self._command = list(command)
        self._log = log
        self._env = {**os.environ, **(env or {})}
        self._process: asyncio.subprocess.Process | None = None
        self._watching: asyncio.Task[None] | None = None

    async def start(self, *more: str) -> None:
        """Returns when it is ready; one that ends before is started again, as supervisors do it.
        Raises ProgramError."""
        try:
            async with asyncio.timeout(PATIENCE):
                while not await self._start(more):  # noqa: ASYNC110
                    await asyncio.sleep(AGAIN_SECONDS)
        except TimeoutError:
            raise ProgramError(f"{self.name} does not start: see {self._log}") from None

    async def kill(self) -> None:
        process, self._process = self._process, None
        if process is None:
            return
        if process.returncode is None:
            process.kill()
        await process.wait()
        if self._watching is not None:
            await self._watching

    async def freeze(self) -> None:
        """It does nothing more, and knows nothing of it."""
        self._signal(signal.SIGSTOP)

    async def thaw(self) -> None:
        self._signal(signal.SIGCONT)

    def _signal(self, number: signal.Signals) -> None:
        if self._process is not None and self._process.returncode is None:
            self._process.send_signal(number)

    async def _start(self, more: Sequence[str]) -> bool:
        with self._log.open("ab") as log:
            process = await asyncio.create_subprocess_exec(
                *self._command,
                *more,
                stdin=asyncio.subprocess.DEVNULL,
                stdout=asyncio.subprocess.PIPE,
                stderr=log,
                env=self._env,
                start_new_session=True,  # an interrupt is for us: we stop it
            )
        self._process = process
        assert process.stdout is not None
        if not await process.stdout.readline():
            await process.wait()
            return False
        self._watching = asyncio.create_task(self._watch(process))
        return True

    async def _watch(self, process: asyncio.subprocess.Process) -> None:
        assert process.stdout is not None
        while await process.stdout.readline():
            pass
        code = await process.wait()
        if process is self._process:
            self.deaths.append(f"{self.name} ended by itself with {code}: see {self._log}")
