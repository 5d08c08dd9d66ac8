"""`check`: all rules, one agent, a report.

    card ──▶ the formats that it names ──▶ for each: errors, messages, tasks, streams
      └─ an agent that answers no JSON-RPC is asked in the older plain format once

The older plain format: `{task_id, input}` is posted, `{task_id, status, output, error}` comes
back. The agent does real work for a check: a few messages with `text` are sent in each format.
"""

from __future__ import annotations

import ssl
from collections.abc import Mapping
from contextlib import suppress
from typing import Any, Final
from uuid import uuid4

import msgspec
from msgspec import Struct

from accord.a2a.checker.cards import check_card, named_wires
from accord.a2a.checker.messages import MessageChecks
from accord.a2a.checker.probes import (
    NoReply,
    Probe,
    ProbeFailure,
    ProbeResponse,
    RpcProbe,
    read_reply,
    reply_faults,
)
from accord.a2a.checker.rules import RULES, CheckReport, FindingCollector
from accord.a2a.checker.tasks import NO_METHOD, check_errors, check_stream, check_tasks
from accord.a2a.protocol.addresses import AddressPolicy
from accord.a2a.protocol.card import AgentCard
from accord.a2a.protocol.errors import RefusedError, UnknownOutcomeError
from accord.a2a.protocol.fields import Wire
from accord.jsonrpc.errors import ConnectError
from accord.transports.web_address import WebAddress, parse

PLAIN: Final = "plain"
_JSON_HEADERS: Final = {"accept": "application/json", "content-type": "application/json"}


async def ask_plainly(
    probe: Probe, address: WebAddress, headers: Mapping[str, str], text: str, task_id: str
) -> ProbeResponse | ProbeFailure:
    """Ask in the older format."""
    body = msgspec.json.encode({"task_id": task_id, "input": text})
    return await probe.ask("POST", address, {**headers, **_JSON_HEADERS}, body)


def is_plain(seen: ProbeResponse | ProbeFailure) -> bool:
    """Return true for an answer that looks like the older format."""
    value = seen.json if isinstance(seen, ProbeResponse) else None
    return isinstance(value, dict) and "task_id" in value and "jsonrpc" not in value


def judge_plain(seen: ProbeResponse | ProbeFailure, task_id: str, notes: FindingCollector) -> None:
    """Tell what is wrong with an answer, and that there is a newer format."""
    problems = _plain_problems(seen, task_id)
    if problems:
        notes.failed("plain-answer", "; ".join(problems), wire=PLAIN)
    else:
        notes.passed("plain-answer", wire=PLAIN)
    notes.failed("plain-moved", "the agent speaks the older plain format", wire=PLAIN)


def _plain_problems(seen: ProbeResponse | ProbeFailure, task_id: str) -> list[str]:
    if isinstance(seen, ProbeFailure):
        return [seen.why]
    value = seen.json
    if not isinstance(value, dict):
        return [f"it was HTTP {seen.status}, and no JSON object"]
    problems = [] if seen.status == 200 else [f"it was HTTP {seen.status}"]
    if value.get("task_id") != task_id:
        problems.append("the task_id is not that of the request")
    return problems + _status_problems(value)


def _status_problems(value: dict[str, Any]) -> list[str]:
    match value.get("status"):
        case "success":
            return [] if "output" in value else ["there is no output"]
        case "error":
            return [] if value.get("error") else ["there is no error"]
        case _:
            return ["the status is neither success nor error"]


TEXT: Final = "Hello! This is a test of the connection; a short answer is enough."
TIMEOUT_SECONDS: Final = 30.0
STREAM_TIMEOUT_SECONDS: Final = 60.0
_RULES_OF_NO_FORMAT: Final = ("card-", "plain-")


class CheckOptions(Struct, frozen=True, kw_only=True):
    """Options of a check."""

    wires: tuple[Wire, ...] = ()
    """The formats; those that the card names unless given."""
    plain: bool = False
    """Whether the agent is said to speak the older format."""
    credentials: Mapping[str, str] = {}
    """Headers by which the agent knows who asks."""
    headers: Mapping[str, str] = {}
    policy: AddressPolicy = AddressPolicy()
    text: str = TEXT
    long: str = ""
    """A text that keeps the agent busy for a while, to cancel it then."""
    timeout: float = TIMEOUT_SECONDS
    patience: float = STREAM_TIMEOUT_SECONDS
    tls: ssl.SSLContext | None = None


async def check(url: str, asking: CheckOptions) -> CheckReport:
    """Check the agent at `url`. Raises CallError if it cannot be reached."""
    address, notes = _parse(url), FindingCollector()
    async with Probe(
        policy=asking.policy, timeout=asking.timeout, patience=asking.patience, tls=asking.tls
    ) as probe:
        checker = _Checker(probe, address, asking, notes)
        card = None if asking.plain else await checker.card()
        wires = await (checker.plain() if asking.plain else checker.formats(card))
    return CheckReport(
        url=url,
        agent="" if card is None else f"{card.name} {card.version}".strip(),
        wires=tuple(wires),
        findings=notes.findings(),
    )


class _Checker:
    def __init__(
        self, probe: Probe, address: WebAddress, asking: CheckOptions, notes: FindingCollector
    ) -> None:
        self._probe = probe
        self._address = address
        self._asking = asking
        self._notes = notes
        self._key = f"check-{uuid4()}"

    async def card(self) -> AgentCard | None:
        headers = {**self._asking.headers, **self._asking.credentials}
        return await check_card(self._probe, self._address, headers, self._notes)

    async def formats(self, card: AgentCard | None) -> list[str]:
        """Check the formats of an agent; those that were."""
        named = {} if card is None else named_wires(card)
        checked: list[str] = []
        for wire in self._asking.wires or tuple(named) or (Wire.V03,):
            talk = self._talk(wire, named.get(wire))
            seen = await self._greet(talk)
            if isinstance(read_reply(seen), NoReply):
                if await self._is_plain(seen):
                    return [PLAIN]
                self._give_up(talk, seen)
            else:
                await self._check_format(talk, card)
            checked.append(wire)
        return checked

    async def plain(self) -> list[str]:
        """Check the older format. Raises CallError for an agent that is not there."""
        seen = await self._ask_plainly()
        if isinstance(seen, ProbeFailure) and seen.unreachable:
            raise UnknownOutcomeError("unreachable", seen.why)
        judge_plain(seen, self._key, self._notes)
        return [PLAIN]

    def _talk(self, wire: Wire, url: str | None) -> RpcProbe:
        address = self._address
        if url is not None:
            with suppress(RefusedError):  # the rules for cards tell of it
                address = _parse(url)
        # A card must not be able to send credentials elsewhere, nor headers that may be some.
        ours = _origin(address) == _origin(self._address)
        return RpcProbe(
            self._probe,
            address,
            wire,
            self._notes,
            headers=self._asking.headers if ours else {},
            credentials=self._asking.credentials if ours else {},
            key=self._key,
        )

    async def _greet(self, talk: RpcProbe) -> ProbeResponse | ProbeFailure:
        """Send a request without side effects.

        Raises CallError for an agent that cannot be reached.
        """
        request = {"jsonrpc": "2.0", "id": "1", "method": NO_METHOD, "params": {}}
        seen = await talk.look(msgspec.json.encode(request))
        if isinstance(seen, ProbeFailure) and seen.unreachable:
            raise UnknownOutcomeError("unreachable", seen.why)
        return seen

    async def _is_plain(self, greeted: ProbeResponse | ProbeFailure) -> bool:
        """Check the older format; return true if the agent speaks it."""
        if isinstance(greeted, ProbeFailure):
            return False
        seen = await self._ask_plainly()
        if not is_plain(seen):
            return False
        judge_plain(seen, self._key, self._notes)
        return True

    async def _ask_plainly(self) -> ProbeResponse | ProbeFailure:
        headers = {**self._asking.headers, **self._asking.credentials}
        return await ask_plainly(self._probe, self._address, headers, self._asking.text, self._key)

    def _give_up(self, talk: RpcProbe, seen: ProbeResponse | ProbeFailure) -> None:
        talk.judge(reply_faults(seen, "1"))
        talk.failed("error-method", f"it was {read_reply(seen)}")
        for rule in RULES:
            if not rule.startswith(_RULES_OF_NO_FORMAT):
                talk.skipped(rule, "the agent does not answer JSON-RPC")

    async def _check_format(self, talk: RpcProbe, card: AgentCard | None) -> None:
        asking = self._asking
        await self._check_credentials(talk)
        await check_errors(talk)
        sending = MessageChecks(talk, asking.text, asking.patience)
        answer = await sending.check()
        await check_tasks(talk, sending, answer, asking.long)
        await check_stream(talk, asking.text, card)
        talk.conclude()

    async def _check_credentials(self, talk: RpcProbe) -> None:
        if not self._asking.credentials:
            talk.skipped("auth-needed", "no credentials were given")
            return
        request = {"jsonrpc": "2.0", "id": "1", "method": NO_METHOD, "params": {}}
        seen = await talk.look(msgspec.json.encode(request), credentials=False)
        if isinstance(seen, ProbeFailure):
            talk.failed("auth-needed", seen.why)
        elif seen.status != 401:
            talk.failed("auth-needed", f"it was HTTP {seen.status}")
        elif "www-authenticate" not in seen.headers:
            talk.failed("auth-needed", "the header WWW-Authenticate is missing")
        else:
            talk.passed("auth-needed")


def _parse(url: str) -> WebAddress:
    try:
        address = parse(url)
    except ConnectError as error:
        raise RefusedError("url", error.message) from error
    if address.scheme not in ("http", "https"):
        raise RefusedError("url", f"agents are reached by http or https, not {address.scheme}")
    return address


def _origin(address: WebAddress) -> tuple[str, str, int]:
    return address.scheme, address.host, address.port
