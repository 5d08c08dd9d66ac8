"""The program that the conformance suite runs as a client: its last argument is the URL of the
suite's server, the environment says which scenario it is."""

from __future__ import annotations

import asyncio
import json
import os
import sys
import urllib.error
import urllib.request
from collections.abc import Callable, Coroutine
from typing import Any

from accord.mcp import Client
from accord.mcp.client.auth import (
    AuthorizationError,
    ClientCredentials,
    EnterpriseManaged,
    OAuth,
    PrivateKey,
    WorkloadIdentity,
)
from accord.mcp.client.auth_hook import Auth
from accord.mcp.protocol.definitions import Tool

SCENARIO = os.environ.get("MCP_CONFORMANCE_SCENARIO", "")
CONTEXT: dict[str, Any] = json.loads(os.environ.get("MCP_CONFORMANCE_CONTEXT") or "{}")
VERSION = os.environ.get("MCP_CONFORMANCE_PROTOCOL_VERSION") or None

REDIRECT = "http://localhost:3000/callback"
METADATA_URL = "https://conformance-test.local/client-metadata.json"

REFUSED = frozenset(
    (
        "auth/scope-retry-limit",
        "auth/resource-mismatch",
        "auth/iss-supported-missing",
        "auth/iss-wrong-issuer",
        "auth/iss-unexpected",
        "auth/iss-normalized",
        "auth/metadata-issuer-mismatch",
    )
)
"""Where a client that goes on has failed."""


class _Stay(urllib.request.HTTPRedirectHandler):
    def redirect_request(self, *args: Any) -> None:
        return None


def _visit(url: str) -> str:
    """What a browser does with a user who agrees to everything."""
    try:
        urllib.request.build_opener(_Stay).open(url, timeout=10)
    except urllib.error.HTTPError as error:
        if error.code in (301, 302, 303, 307, 308):
            return str(error.headers["Location"])
        raise
    raise AssertionError("the authorization endpoint did not redirect")


async def visit(url: str) -> str:
    return await asyncio.to_thread(_visit, url)


def user(**options: Any) -> OAuth:
    return OAuth(
        client_name="accord conformance", redirect=REDIRECT, redirect_handler=visit, **options
    )


def auth_for(scenario: str) -> Auth:
    match scenario:
        case "auth/client-credentials-basic":
            return ClientCredentials(CONTEXT["client_id"], CONTEXT["client_secret"])
        case "auth/client-credentials-jwt":
            key = PrivateKey(CONTEXT["private_key_pem"], CONTEXT["signing_algorithm"])
            return ClientCredentials(CONTEXT["client_id"], private_key=key)
        case "auth/enterprise-managed-authorization" | "auth/cross-app-access-complete-flow":
            return EnterpriseManaged(
                idp=CONTEXT["idp_issuer"],
                idp_client_id=CONTEXT["idp_client_id"],
                id_token=CONTEXT["idp_id_token"],
                client_id=CONTEXT["client_id"],
                client_secret=CONTEXT["client_secret"],
            )
        case "auth/wif-jwt-bearer":
            return WorkloadIdentity(CONTEXT["valid_jwt"], client_id=CONTEXT["client_id"])
        case "auth/pre-registration":
            return user(
                client_id=CONTEXT["client_id"],
                client_secret=CONTEXT["client_secret"],
                issuer=CONTEXT.get("issuer"),
            )
        case "auth/dpop" | "auth/dpop-nonce":
            return user(dpop=True)
        case "auth/basic-cimd":
            return user(client_metadata_url=METADATA_URL)
        case _:
            return user()


async def authorized(url: str) -> None:
    """Use a server that wants tokens."""
    try:
        async with Client(url, auth=auth_for(SCENARIO), protocol_version=VERSION) as client:
            await client.list_tools()
            await client.call_tool("test-tool")
    except AuthorizationError:
        if SCENARIO not in REFUSED:
            raise


async def everything(url: str) -> None:
    """Use all that a server offers."""
    async with plain(url) as client:
        offered = client.capabilities
        if offered.tools is not None:
            tools = await client.list_tools()
            calls = CONTEXT.get("toolCalls") or [{"name": it.name, **fitting(it)} for it in tools]
            await asyncio.gather(*(client.call_tool(it["name"], it["arguments"]) for it in calls))
        if offered.resources is not None:
            for resource in await client.list_resources():
                await client.read_resource(resource.uri)
        if offered.prompts is not None:
            for prompt in await client.list_prompts():
                await client.get_prompt(prompt.name)


async def only_list(url: str) -> None:
    """See the tools of a server and call none."""
    async with plain(url) as client:
        await client.list_tools()


async def echo_schema(url: str) -> None:
    """Give a tool's schema back as it came."""
    async with plain(url) as client:
        [tool] = [it for it in await client.list_tools() if it.name == "json_schema_2020_12_tool"]
        await client.call_tool("json_schema_echo", {"schema": tool.input_schema})


def plain(url: str) -> Client:
    """A client that answers whatever it is asked."""
    return Client(
        url,
        protocol_version=VERSION,
        elicitation=lambda form: {},
        sampling=lambda asked: "an answer",
        roots=["file:///work"],
    )


def fitting(tool: Tool) -> dict[str, Any]:
    """Arguments that a tool takes."""
    schema = tool.input_schema
    kinds = {name: schema["properties"][name]["type"] for name in schema.get("required", ())}
    return {"arguments": {name: VALUES[kind] for name, kind in kinds.items()}}


VALUES = {"string": "text", "number": 2, "integer": 3, "boolean": True}

SCENARIOS: dict[str, Callable[[str], Coroutine[Any, Any, None]]] = {
    "json-schema-ref-no-deref": only_list,
    "json-schema-2020-12-preservation": echo_schema,
}


def scenario_of(name: str) -> Callable[[str], Coroutine[Any, Any, None]]:
    return authorized if name.startswith("auth/") else SCENARIOS.get(name, everything)


if __name__ == "__main__":
    asyncio.run(scenario_of(SCENARIO)(sys.argv[-1]))
