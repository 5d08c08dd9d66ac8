"""Definitions as they are kept, and ready to run. A version never changes, so that what was made
ready once is shared by all its runs."""

from __future__ import annotations

from typing import Final

from accord.store.store import Reading
from accord.workflows.core.program import Program, compile_program
from accord.workflows.core.reading import decode_definition
from accord.workflows.storage.errors import UnknownWorkflowError

MOST: Final = 256
"""How many versions are kept ready."""

_GET: Final = "SELECT definition FROM workflows WHERE name = $1 AND version = $2"
_NEWEST: Final = "SELECT max(version) AS version FROM workflows WHERE name = $1 AND active = 1"
_IS_ACTIVE: Final = "SELECT 1 FROM workflows WHERE name = $1 AND version = $2 AND active = 1"


class Definitions:
    """The programs of one store. What is kept is read and changed by the thread that writes too:
    each step of it is one operation of a dictionary."""

    def __init__(self) -> None:
        self._programs: dict[tuple[str, int], Program] = {}

    async def get(self, db: Reading, name: str, version: int) -> Program:
        """A version, ready to run. Raises UnknownWorkflowError."""
        found = self._programs.get((name, version))
        if found is not None:
            return found
        rows = await db.fetch(_GET, name, version)
        if not rows:
            raise UnknownWorkflowError(name, version)
        program = compile_program(decode_definition(rows[0]["definition"]))
        if len(self._programs) >= MOST:
            self._programs = {}
        self._programs[name, version] = program
        return program

    async def newest(self, db: Reading, name: str) -> int:
        """The newest version of which runs may be started. Raises UnknownWorkflowError."""
        [row] = await db.fetch(_NEWEST, name)
        if row["version"] is None:
            raise UnknownWorkflowError(name)
        return int(row["version"])

    async def startable(self, db: Reading, name: str, version: int | None) -> tuple[int, Program]:
        """The version that a new run gets, the newest unless one is given. Raises
        UnknownWorkflowError where there is none of which runs may be started."""
        if version is None:
            version = await self.newest(db, name)
        elif not await db.fetch(_IS_ACTIVE, name, version):
            raise UnknownWorkflowError(name, version)
        return version, await self.get(db, name, version)
