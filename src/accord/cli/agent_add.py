"""`accord agent add`: registers an agent, for workflows to ask."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING, Any, Final

from accord.cli import exits
from accord.cli.exits import UsageError
from accord.cli.flags import seconds
from accord.cli.local import add_local_flags, run_local
from accord.cli.output import print_json, print_line, printable
from accord.cli.parser import Parser

if TYPE_CHECKING:
    from accord.app.local import Local

USAGE: Final = "accord agent add NAME URL [options]"

DESCRIPTION: Final = """\
Register an agent by a name that workflows call it by. Its format is read from its card, unless
--wire names one.

Agents on this machine or in private networks have to be allowed, here and where they are called:
by --allow-agents, or all of them by --allow-private-agents (see accord config). Secrets are never
given here: --bearer and --api-key say where one is found, env:ACCORD_SECRET_NAME or file:NAME in
the folder that the setting `secrets` names.

examples:
  accord agent add reviewer https://agents.example.com/review --bearer env:ACCORD_SECRET_REVIEWER
  accord agent add demo http://127.0.0.1:9000/ --allow-agents 127.0.0.1
"""

WIRES: Final = ("auto", "a2a-0.3", "a2a-1.0", "plain")


def configure(parser: Parser) -> None:
    add = parser.add_argument
    add("name", metavar="NAME", nargs="?", help="what workflows call it")
    add("url", metavar="URL", nargs="?", help="where it is")
    add("--wire", choices=WIRES, default="auto", help="how it is asked (default: auto)")
    add("--bearer", metavar="SECRET", help="where the token is found that it is shown")
    add("--api-key", metavar="SECRET", help="where the key is found that it is shown")
    add("--header", metavar="NAME", help="the header of the key (default: X-API-Key)")
    add("--timeout", metavar="SECONDS", type=seconds, help="of one request (default: 30)")
    add("--description", metavar="TEXT", default="", help="what it does")
    add("--json", action="store_true", help="for programs")
    add_local_flags(parser, "allow_agents", "allow_private_agents")


def run(arguments: argparse.Namespace) -> int:
    if arguments.name is None or arguments.url is None:
        raise UsageError("a NAME and a URL are needed")
    given: dict[str, Any] = {
        "name": arguments.name,
        "url": arguments.url,
        "wire": arguments.wire,
        "description": arguments.description,
        "auth": _auth(arguments),
    }
    if arguments.timeout is not None:
        given["timeout"] = arguments.timeout

    async def use(local: Local) -> int:
        outcome = await local.run("create_agent", **given)
        if arguments.json:
            print_json(outcome.result)
            return exits.OK
        print_line(f"{outcome.result.name} is at {printable(outcome.result.url)}")
        for hint in outcome.hints:
            print_line(f"note: {printable(hint.message)}")
        return exits.OK

    return run_local(arguments, use, new=True)


def _auth(arguments: argparse.Namespace) -> dict[str, str]:
    if arguments.bearer and arguments.api_key:
        raise UsageError("either --bearer or --api-key")
    if arguments.bearer:
        return {"type": "bearer", "secret": arguments.bearer}
    if arguments.api_key:
        header = {"header": arguments.header} if arguments.header else {}
        return {"type": "api_key", "secret": arguments.api_key, **header}
    return {"type": "none"}
