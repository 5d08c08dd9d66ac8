"""Agent cards: what an agent says about itself, in both formats at once.

A card has the members of 1.0 and those of 0.3 side by side, as the official SDKs write it:
readers of either ignore what they do not know.
"""

from __future__ import annotations

from typing import Any, Final, TypeVar

import msgspec
from msgspec import Struct

from accord.a2a.protocol.formats import UNREADABLE
from accord.a2a.protocol.versions import Wire, wire_of_card

JSONRPC: Final = "JSONRPC"
WELL_KNOWN: Final = "/.well-known/agent-card.json"
TEXT: Final = "text/plain"
JSON: Final = "application/json"
MAX_LISTED: Final = 1_000
"""Most interfaces, and most skills, of a card that is read."""


class Interface(Struct, frozen=True, kw_only=True):
    """Where and how an agent is reached."""

    url: str
    binding: str = JSONRPC
    version: str = Wire.V10.value
    tenant: str = ""


class Skill(Struct, frozen=True, kw_only=True):
    """Something that an agent can do."""

    id: str
    name: str
    description: str = ""
    tags: tuple[str, ...] = ()
    examples: tuple[str, ...] = ()
    input_modes: tuple[str, ...] = ()
    output_modes: tuple[str, ...] = ()


class Provider(Struct, frozen=True, kw_only=True):
    organization: str
    url: str


class AgentCard(Struct, frozen=True, kw_only=True):
    """Who an agent is."""

    name: str
    description: str
    version: str
    interfaces: tuple[Interface, ...]
    skills: tuple[Skill, ...] = ()
    streaming: bool = False
    push_notifications: bool = False
    extended_card: bool = False
    input_modes: tuple[str, ...] = (TEXT,)
    output_modes: tuple[str, ...] = (TEXT,)
    provider: Provider | None = None
    documentation_url: str = ""
    icon_url: str = ""
    security_schemes: dict[str, Any] = {}
    """As they stand in the card."""

    def interface(self, *wires: Wire) -> tuple[Interface, Wire] | None:
        """The first interface of JSON-RPC in one of these formats, all by default: the agent's
        order is its preference (1.0, section 8.3)."""
        for interface in self.interfaces:
            wire = wire_of_card(interface.version)
            if interface.binding == JSONRPC and wire is not None and wire in (wires or Wire):
                return interface, wire
        return None


class _Object(Struct, frozen=True, kw_only=True, rename="camel"):
    pass


class _Interface(_Object, frozen=True, kw_only=True):
    url: str
    protocol_binding: str | None = None
    protocol_version: str | None = None
    tenant: str | None = None
    transport: str | None = None


class _Skill(_Object, frozen=True, kw_only=True):
    id: str
    name: str
    description: str | None = None
    tags: list[str] | None = None
    examples: list[str] | None = None
    input_modes: list[str] | None = None
    output_modes: list[str] | None = None


class _Capabilities(_Object, frozen=True, kw_only=True):
    streaming: bool | None = None
    push_notifications: bool | None = None
    extended_agent_card: bool | None = None


class _Provider(_Object, frozen=True, kw_only=True):
    organization: str
    url: str


class _Card(_Object, frozen=True, kw_only=True):
    name: str
    description: str | None = None
    version: str | None = None
    supported_interfaces: list[_Interface] | None = None
    url: str | None = None
    protocol_version: str | None = None
    preferred_transport: str | None = None
    additional_interfaces: list[_Interface] | None = None
    capabilities: _Capabilities | None = None
    skills: list[_Skill] | None = None
    default_input_modes: list[str] | None = None
    default_output_modes: list[str] | None = None
    provider: _Provider | None = None
    documentation_url: str | None = None
    icon_url: str | None = None
    security_schemes: dict[str, Any] | None = None
    supports_authenticated_extended_card: bool | None = None


_decode: Final = msgspec.json.Decoder(_Card).decode
T = TypeVar("T")


def read_card(body: bytes) -> AgentCard:
    """The card in `body`, of either format. Raises ValueError saying what is wrong with it."""
    try:
        card = _decode(body)
    except (*UNREADABLE, msgspec.DecodeError, RecursionError) as error:
        raise ValueError(f"the agent card is not valid: {error}") from None
    interfaces = _interfaces(card)
    if not interfaces:
        raise ValueError("the agent card names no interface")
    capabilities = card.capabilities or _Capabilities()
    extended = capabilities.extended_agent_card or card.supports_authenticated_extended_card
    return AgentCard(
        name=card.name,
        description=card.description or "",
        version=card.version or "",
        interfaces=interfaces,
        skills=tuple(map(_read_skill, _few(card.skills))),
        streaming=bool(capabilities.streaming),
        push_notifications=bool(capabilities.push_notifications),
        extended_card=bool(extended),
        input_modes=tuple(card.default_input_modes or ()),
        output_modes=tuple(card.default_output_modes or ()),
        provider=_read_provider(card.provider),
        documentation_url=card.documentation_url or "",
        icon_url=card.icon_url or "",
        security_schemes=card.security_schemes or {},
    )


def _few(listed: list[T] | None) -> list[T]:
    return (listed or [])[:MAX_LISTED]


def _interfaces(card: _Card) -> tuple[Interface, ...]:
    """Those of 1.0 in their order, then those of 0.3 that are not among them."""
    found = [
        Interface(
            url=each.url,
            binding=each.protocol_binding or JSONRPC,
            version=each.protocol_version or Wire.V10.value,
            tenant=each.tenant or "",
        )
        for each in _few(card.supported_interfaces)
    ]
    version = card.protocol_version or Wire.V03.value
    if card.url:
        binding = card.preferred_transport or JSONRPC
        found.append(Interface(url=card.url, binding=binding, version=version))
    for other in _few(card.additional_interfaces):
        binding = other.transport or JSONRPC
        found.append(Interface(url=other.url, binding=binding, version=version))
    once: dict[tuple[str, str, str], Interface] = {}
    for each in found:
        once.setdefault(_key(each), each)
    return tuple(once.values())


def _key(interface: Interface) -> tuple[str, str, str]:
    version = wire_of_card(interface.version) or interface.version
    return interface.url.rstrip("/"), interface.binding, version


def _read_skill(skill: _Skill) -> Skill:
    return Skill(
        id=skill.id,
        name=skill.name,
        description=skill.description or "",
        tags=tuple(skill.tags or ()),
        examples=tuple(skill.examples or ()),
        input_modes=tuple(skill.input_modes or ()),
        output_modes=tuple(skill.output_modes or ()),
    )


def _read_provider(provider: _Provider | None) -> Provider | None:
    if provider is None:
        return None
    return Provider(organization=provider.organization, url=provider.url)


def encode_card(card: AgentCard, *, strict: bool = False) -> bytes:
    """The card for readers of both formats; with `strict` it has nothing that 1.0 has not."""
    return msgspec.json.encode({**_card_10(card), **({} if strict else _members_03(card))})


def _card_10(card: AgentCard) -> dict[str, Any]:
    capabilities = {
        "streaming": card.streaming,
        "pushNotifications": card.push_notifications,
        "extendedAgentCard": card.extended_card,
    }
    members: dict[str, Any] = {
        "name": card.name,
        "description": card.description,
        "version": card.version,
        "supportedInterfaces": [_interface_10(each) for each in card.interfaces],
        "capabilities": capabilities,
        "defaultInputModes": card.input_modes,
        "defaultOutputModes": card.output_modes,
        "skills": [_skill(each) for each in card.skills],
        "provider": card.provider,
        "documentationUrl": card.documentation_url,
        "iconUrl": card.icon_url,
        "securitySchemes": card.security_schemes,
        "securityRequirements": [
            {"schemes": {name: {"list": []}}} for name in card.security_schemes
        ],
    }
    required = ("description", "skills")
    return {name: each for name, each in members.items() if each or name in required}


def _interface_10(interface: Interface) -> dict[str, Any]:
    members = {
        "url": interface.url,
        "protocolBinding": interface.binding,
        "protocolVersion": interface.version,
        "tenant": interface.tenant,
    }
    return {name: each for name, each in members.items() if each}


def _skill(skill: Skill) -> dict[str, Any]:
    members = {
        "id": skill.id,
        "name": skill.name,
        "description": skill.description,
        "tags": skill.tags,
        "examples": skill.examples,
        "inputModes": skill.input_modes,
        "outputModes": skill.output_modes,
    }
    required = ("description", "tags")
    return {name: each for name, each in members.items() if each or name in required}


def _members_03(card: AgentCard) -> dict[str, Any]:
    """What only 0.3 has; nothing for an agent that does not speak it."""
    found = card.interface(Wire.V03)
    if found is None:
        return {}
    members: dict[str, Any] = {
        "url": found[0].url,
        "preferredTransport": JSONRPC,
        "protocolVersion": "0.3.0",
    }
    members["security"] = [{name: []} for name in card.security_schemes]
    members["supportsAuthenticatedExtendedCard"] = card.extended_card
    return {name: each for name, each in members.items() if each}


def bearer_scheme() -> dict[str, Any]:
    """The security scheme of bearer tokens, as readers of both formats look for it."""
    return {"type": "http", "scheme": "bearer", "httpAuthSecurityScheme": {"scheme": "Bearer"}}
