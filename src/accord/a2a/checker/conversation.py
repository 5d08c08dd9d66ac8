"""Requests of one format to one agent; every answer is judged by the rules for all answers."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

import msgspec

from accord.a2a.checker.envelope import Said, faults, read
from accord.a2a.checker.probe import Probe, Seen, Unseen
from accord.a2a.checker.report import Notes
from accord.a2a.protocol.versions import METHODS, VERSION, Verb, Wire
from accord.transports.web_address import WebAddress

ENVELOPE: Final = (
    "answer-status",
    "answer-type",
    "answer-coding",
    "answer-version",
    "answer-id",
    "answer-one-of",
    "answer-error",
)
"""The rules for all answers."""
_NONE: Final[Mapping[str, str]] = {}
_HEADERS: Final = {"accept": "application/json", "content-type": "application/json"}


class Conversation:
    """Asks an agent at `address`, in one format."""

    def __init__(
        self,
        probe: Probe,
        address: WebAddress,
        wire: Wire,
        notes: Notes,
        *,
        headers: Mapping[str, str],
        credentials: Mapping[str, str],
        key: str,
    ) -> None:
        self._probe = probe
        self._address = address
        self.wire = wire
        self._notes = notes
        version = {} if wire is Wire.V03 else {VERSION: wire.value}
        self._headers = {**headers, **_HEADERS, **version, "x-correlation-id": key}
        self._credentials = credentials
        self._key = key
        self._asked = 0

    def new_id(self) -> str:
        """An id as Accord's own are: a run, a step, and the round of a loop."""
        self._asked += 1
        return f"{self._key}/check[{self._asked}]"

    async def ask(self, verb: Verb, params: Any) -> Said:
        """Ask for something, and judge the answer's form."""
        return await self.call(METHODS[self.wire][verb], params)

    async def call(self, method: str, params: Any, headers: Mapping[str, str] = _NONE) -> Said:
        id = self.new_id()
        request = {"jsonrpc": "2.0", "id": id, "method": method, "params": params}
        return await self.post(msgspec.json.encode(request), id, headers)

    async def post(self, body: bytes, id: str | None, headers: Mapping[str, str] = _NONE) -> Said:
        """Send a body, whatever it is."""
        seen = await self.look(body, headers)
        self.judge(faults(seen, id))
        return read(seen)

    async def look(
        self, body: bytes, headers: Mapping[str, str] = _NONE, *, credentials: bool = True
    ) -> Seen | Unseen:
        """Send a body, and judge nothing."""
        sent = {**self._headers, **(self._credentials if credentials else {})}
        return await self._probe.ask("POST", self._address, {**sent, **headers}, body)

    def judge(self, broken: list[tuple[str, str]]) -> None:
        for rule, detail in broken:
            self.failed(rule, detail)

    def conclude(self) -> None:
        """What was never broken holds."""
        for rule in ENVELOPE:
            self.passed(rule)

    # Findings of this format

    def passed(self, rule: str, detail: str = "") -> None:
        self._notes.passed(rule, detail, wire=self.wire)

    def failed(self, rule: str, detail: str) -> None:
        self._notes.failed(rule, detail, wire=self.wire)

    def skipped(self, rule: str, why: str) -> None:
        self._notes.skipped(rule, why, wire=self.wire)
