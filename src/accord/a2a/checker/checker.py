"""`check`: check one agent by all rules, and return a report.

`check_card` checks only the agent's card.

    card ──▶ the formats that it names ──▶ for each: errors, messages, tasks, streams
      └─ an agent that answers no JSON-RPC is asked in the plain format once

The plain format is older than the formats of A2A, and does not use JSON-RPC: `{task_id, input}` is
posted, `{task_id, status, output, error}` comes back. The agent does real work for a check: a few
messages with `text` are sent in each format.
"""

from __future__ import annotations

import ssl
from collections.abc import Mapping
from contextlib import suppress
from typing import Any, Final
from uuid import uuid4

import msgspec
from msgspec import Struct

from accord.a2a.checker.messages import (
    NO_METHOD,
    MessageChecks,
    check_errors,
    check_stream,
    check_tasks,
)
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
from accord.a2a.protocol.addresses import AddressPolicy
from accord.a2a.protocol.card import WELL_KNOWN, AgentCard, read_card
from accord.a2a.protocol.errors import RefusedError, UnknownOutcomeError
from accord.a2a.protocol.fields import Wire
from accord.jsonrpc.protocol.errors import ConnectError
from accord.transports.urls import WebAddress, parse_web_address

_CARD_MEMBERS: Final = {
    "name": str,
    "description": str,
    "version": str,
    "capabilities": dict,
    "defaultInputModes": list,
    "defaultOutputModes": list,
    "skills": list,
}
_CARD_MEMBERS_03: Final = {"url": str, "protocolVersion": str}
_CARD_MEMBERS_10: Final = {"supportedInterfaces": list}
_SKILL_MEMBERS: Final = {"id": str, "name": str, "description": str, "tags": list}
_INTERFACE_MEMBERS: Final = {"url": str, "protocolBinding": str, "protocolVersion": str}
_RULES_AFTER_CARD: Final = ("card-type", "card-members", "card-interface", "card-address")


async def check_card(
    probe: Probe, address: WebAddress, headers: Mapping[str, str], findings: FindingCollector
) -> AgentCard | None:
    """Check an agent's card. Return it, or None if it is unreadable."""
    response = await _find(probe, address, headers, findings)
    if response is None:
        for rule in _RULES_AFTER_CARD:
            findings.skipped(rule, "there is no card")
        return None
    findings.passed("card-found")
    if response.content_type == "application/json":
        findings.passed("card-type")
    else:
        findings.failed("card-type", f"the type is {response.content_type[:80]!r}")
    problems = problems_of(response.json)
    if problems:
        findings.failed("card-members", "; ".join(problems))
    else:
        findings.passed("card-members")
    return _read(response, address, findings)


async def _find(
    probe: Probe, address: WebAddress, headers: Mapping[str, str], findings: FindingCollector
) -> ProbeResponse | None:
    reason = ""
    for place in card_urls(address):
        response = await probe.ask("GET", place, {**headers, "accept": "application/json"})
        if isinstance(response, ProbeResponse) and response.status == 200:
            return response
        found = (
            response.why if isinstance(response, ProbeFailure) else f"it was HTTP {response.status}"
        )
        reason = reason or f"{place}: {found}"
    findings.failed("card-found", reason)
    return None


def card_urls(address: WebAddress) -> list[WebAddress]:
    """Return the URLs at which an agent's card may be, in order of trial.

    For a URL that ends in `.json` this is the URL itself, otherwise the well-known path below the
    URL and at the root of the host.
    """
    if address.path.endswith(".json"):
        return [address]
    paths = dict.fromkeys((address.path.rstrip("/") + WELL_KNOWN, WELL_KNOWN))
    return [WebAddress(address.scheme, address.host, address.port, path) for path in paths]


def _read(
    response: ProbeResponse, address: WebAddress, findings: FindingCollector
) -> AgentCard | None:
    try:
        card = read_card(response.body)
    except ValueError as error:
        findings.failed("card-interface", str(error))
        findings.skipped("card-address", "the card cannot be read")
        return None
    found = card.interface()
    if found is None:
        named = ", ".join(f"{each.binding} {each.version}" for each in card.interfaces)
        findings.failed("card-interface", f"it names {named[:200]}")
        findings.skipped("card-address", "there is no such interface")
        return card
    findings.passed("card-interface", f"{found[0].url} speaks {found[1]}")
    _compare(found[0].url, address, findings)
    return card


def _compare(url: str, address: WebAddress, findings: FindingCollector) -> None:
    try:
        named = parse_web_address(url)
    except ConnectError as error:
        findings.failed("card-address", error.message)
        return
    if (named.scheme, named.host, named.port) == (address.scheme, address.host, address.port):
        findings.passed("card-address")
    else:
        findings.failed("card-address", f"the card is at {address.authority}, the agent at {url}")


def problems_of(value: Any) -> list[str]:
    """Describe the members of a card that are missing or of the wrong type."""
    if not isinstance(value, dict):
        return ["it is no JSON object"]
    problems = _member_problems(value, _CARD_MEMBERS, "")
    old, new = "url" in value, "supportedInterfaces" in value
    if old or not new:
        problems += _member_problems(value, _CARD_MEMBERS_03, "")
    if new:
        problems += _member_problems(value, _CARD_MEMBERS_10, "")
        problems += _list_problems(
            value["supportedInterfaces"], _INTERFACE_MEMBERS, "supportedInterfaces"
        )
    return problems + _list_problems(value.get("skills"), _SKILL_MEMBERS, "skills")


def _list_problems(listed: Any, members: Mapping[str, type], name: str) -> list[str]:
    if not isinstance(listed, list):
        return []
    return [
        problem
        for place, each in enumerate(listed)
        for problem in _member_problems(each, members, f"{name}[{place}].")
    ]


def _member_problems(value: Any, members: Mapping[str, type], where: str) -> list[str]:
    if not isinstance(value, dict):
        return [f"{where.rstrip('.')} is no object"]
    problems = [f"{where}{name} is missing" for name in members if name not in value]
    return problems + [
        f"{where}{name} is of the wrong type"
        for name, kind in members.items()
        if name in value and not isinstance(value[name], kind)
    ]


def named_wires(card: AgentCard) -> dict[Wire, str]:
    """Return the wire formats that a card names for JSON-RPC, each with its URL."""
    found: dict[Wire, str] = {}
    for wire in Wire:
        reached = card.interface(wire)
        if reached is not None:
            found[wire] = reached[0].url
    return found


PLAIN: Final = "plain"
_JSON_HEADERS: Final = {"accept": "application/json", "content-type": "application/json"}


async def ask_plainly(
    probe: Probe, address: WebAddress, headers: Mapping[str, str], text: str, task_id: str
) -> ProbeResponse | ProbeFailure:
    """Post `text` to an agent as `{task_id, input}`, in the older plain format."""
    body = msgspec.json.encode({"task_id": task_id, "input": text})
    return await probe.ask("POST", address, {**headers, **_JSON_HEADERS}, body)


def is_plain(response: ProbeResponse | ProbeFailure) -> bool:
    """Return true for an answer that looks like the older plain format."""
    value = response.json if isinstance(response, ProbeResponse) else None
    return isinstance(value, dict) and "task_id" in value and "jsonrpc" not in value


def judge_plain(
    response: ProbeResponse | ProbeFailure, task_id: str, findings: FindingCollector
) -> None:
    """Record the findings about an agent's answer in the older plain format."""
    problems = _plain_problems(response, task_id)
    if problems:
        findings.failed("plain-answer", "; ".join(problems), wire=PLAIN)
    else:
        findings.passed("plain-answer", wire=PLAIN)
    findings.failed("plain-moved", "the agent speaks the older plain format", wire=PLAIN)


def _plain_problems(response: ProbeResponse | ProbeFailure, task_id: str) -> list[str]:
    if isinstance(response, ProbeFailure):
        return [response.why]
    value = response.json
    if not isinstance(value, dict):
        return [f"it was HTTP {response.status}, and no JSON object"]
    problems = [] if response.status == 200 else [f"it was HTTP {response.status}"]
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
    """The formats to check; empty for those that the card names."""
    plain: bool = False
    """True to check the older plain format only."""
    credentials: Mapping[str, str] = {}
    """Headers that authenticate the checker."""
    headers: Mapping[str, str] = {}
    policy: AddressPolicy = AddressPolicy()
    text: str = TEXT
    long: str = ""
    """A text that keeps the agent busy for a while, to test cancellation; empty to skip that
    test."""
    timeout: float = TIMEOUT_SECONDS
    patience: float = STREAM_TIMEOUT_SECONDS
    tls: ssl.SSLContext | None = None


async def check(url: str, options: CheckOptions) -> CheckReport:
    """Check the agent at `url`. Raises CallError if it cannot be reached."""
    address, findings = _parse(url), FindingCollector()
    async with Probe(
        policy=options.policy, timeout=options.timeout, patience=options.patience, tls=options.tls
    ) as probe:
        checker = _Checker(probe, address, options, findings)
        card = None if options.plain else await checker.card()
        wires = await (checker.plain() if options.plain else checker.formats(card))
    return CheckReport(
        url=url,
        agent="" if card is None else f"{card.name} {card.version}".strip(),
        wires=tuple(wires),
        findings=findings.findings(),
    )


class _Checker:
    def __init__(
        self, probe: Probe, address: WebAddress, options: CheckOptions, findings: FindingCollector
    ) -> None:
        self._probe = probe
        self._address = address
        self._options = options
        self._findings = findings
        self._key = f"check-{uuid4()}"

    async def card(self) -> AgentCard | None:
        headers = {**self._options.headers, **self._options.credentials}
        return await check_card(self._probe, self._address, headers, self._findings)

    async def formats(self, card: AgentCard | None) -> list[str]:
        """Check the agent in each of its formats; return the formats that were checked."""
        named = {} if card is None else named_wires(card)
        checked: list[str] = []
        for wire in self._options.wires or tuple(named) or (Wire.V03,):
            rpc = self._rpc_probe(wire, named.get(wire))
            response = await self._greet(rpc)
            if isinstance(read_reply(response), NoReply):
                if await self._is_plain(response):
                    return [PLAIN]
                self._give_up(rpc, response)
            else:
                await self._check_format(rpc, card)
            checked.append(wire)
        return checked

    async def plain(self) -> list[str]:
        """Check the agent in the older plain format only.

        Raises CallError if the agent cannot be reached.
        """
        response = await self._ask_plainly()
        if isinstance(response, ProbeFailure) and response.unreachable:
            raise UnknownOutcomeError("unreachable", response.why)
        judge_plain(response, self._key, self._findings)
        return [PLAIN]

    def _rpc_probe(self, wire: Wire, url: str | None) -> RpcProbe:
        address = self._address
        if url is not None:
            with suppress(RefusedError):  # reported by the rules for cards
                address = _parse(url)
        # A card must not redirect credentials to another origin; any header may be one.
        ours = _origin(address) == _origin(self._address)
        return RpcProbe(
            self._probe,
            address,
            wire,
            self._findings,
            headers=self._options.headers if ours else {},
            credentials=self._options.credentials if ours else {},
            key=self._key,
        )

    async def _greet(self, rpc: RpcProbe) -> ProbeResponse | ProbeFailure:
        """Call a method that does not exist, to find out if the agent speaks JSON-RPC.

        Raises CallError for an agent that cannot be reached.
        """
        request = {"jsonrpc": "2.0", "id": "1", "method": NO_METHOD, "params": {}}
        response = await rpc.look(msgspec.json.encode(request))
        if isinstance(response, ProbeFailure) and response.unreachable:
            raise UnknownOutcomeError("unreachable", response.why)
        return response

    async def _is_plain(self, greeted: ProbeResponse | ProbeFailure) -> bool:
        """Ask an agent without JSON-RPC in the older plain format, and check its answer.

        Returns true if the agent speaks the plain format; otherwise nothing is recorded.
        """
        if isinstance(greeted, ProbeFailure):
            return False
        response = await self._ask_plainly()
        if not is_plain(response):
            return False
        judge_plain(response, self._key, self._findings)
        return True

    async def _ask_plainly(self) -> ProbeResponse | ProbeFailure:
        headers = {**self._options.headers, **self._options.credentials}
        return await ask_plainly(self._probe, self._address, headers, self._options.text, self._key)

    def _give_up(self, rpc: RpcProbe, response: ProbeResponse | ProbeFailure) -> None:
        rpc.judge(reply_faults(response, "1"))
        rpc.failed("error-method", f"it was {read_reply(response)}")
        for rule in RULES:
            if not rule.startswith(_RULES_OF_NO_FORMAT):
                rpc.skipped(rule, "the agent does not answer JSON-RPC")

    async def _check_format(self, rpc: RpcProbe, card: AgentCard | None) -> None:
        options = self._options
        await self._check_credentials(rpc)
        await check_errors(rpc)
        sending = MessageChecks(rpc, options.text, options.patience)
        answer = await sending.check()
        await check_tasks(rpc, sending, answer, options.long)
        await check_stream(rpc, options.text, card)
        rpc.conclude()

    async def _check_credentials(self, rpc: RpcProbe) -> None:
        if not self._options.credentials:
            rpc.skipped("auth-needed", "no credentials were given")
            return
        request = {"jsonrpc": "2.0", "id": "1", "method": NO_METHOD, "params": {}}
        response = await rpc.look(msgspec.json.encode(request), credentials=False)
        if isinstance(response, ProbeFailure):
            rpc.failed("auth-needed", response.why)
        elif response.status != 401:
            rpc.failed("auth-needed", f"it was HTTP {response.status}")
        elif "www-authenticate" not in response.headers:
            rpc.failed("auth-needed", "the header WWW-Authenticate is missing")
        else:
            rpc.passed("auth-needed")


def _parse(url: str) -> WebAddress:
    try:
        address = parse_web_address(url)
    except ConnectError as error:
        raise RefusedError("url", error.message) from error
    if address.scheme not in ("http", "https"):
        raise RefusedError("url", f"agents are reached by http or https, not {address.scheme}")
    return address


def _origin(address: WebAddress) -> tuple[str, str, int]:
    return address.scheme, address.host, address.port
