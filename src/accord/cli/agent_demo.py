"""`accord agent demo`: an agent to try things with."""

from __future__ import annotations

import argparse
import logging
from typing import TYPE_CHECKING, Final

from accord.cli import exits
from accord.cli.flags import count
from accord.cli.output import print_json, print_line
from accord.cli.parser import Parser

if TYPE_CHECKING:
    from accord.a2a.server.serving import Serving

USAGE: Final = "accord agent demo [--port PORT] [options]"

DESCRIPTION: Final = """\
Serve an agent until Ctrl-C that does what the first word of a message says:

  echo TEXT         answers the text, and so does anything else
  slow SECONDS      answers after so many seconds, at most 600
  stream TEXT       answers word by word
  ask TEXT          asks the text, and answers what it is told
  fail TEXT         fails
  reject TEXT       rejects the task
  crash TEXT        answers with an internal error when a message comes first, later with the text
  forget TEXT       forgets its task when a message comes first, later answers the text

It speaks the formats 0.3 and 1.0, and has its card at /.well-known/agent-card.json.

examples:
  accord agent demo
  accord agent demo --port 0 --token secret --wire a2a-0.3
"""


def configure(parser: Parser) -> None:
    add = parser.add_argument
    add("--port", metavar="PORT", type=count, default=9000, help="0 for a free one (default: 9000)")
    add("--host", metavar="HOST", default="127.0.0.1", help="(default: 127.0.0.1)")
    add("--name", metavar="NAME", default="demo", help="what it calls itself (default: demo)")
    add("--token", metavar="TOKEN", default="", help="let in only who has this bearer token")
    add("--wire", choices=("a2a-0.3", "a2a-1.0"), help="speak only this format")
    add("--json", action="store_true", help="announce it as a line of JSON")


def run(arguments: argparse.Namespace) -> int:
    from accord.a2a.demo import BOTH, DemoAgent
    from accord.a2a.protocol.versions import Wire

    level = logging.DEBUG if arguments.debug else logging.WARNING
    logging.basicConfig(level=level, format="%(levelname)s %(name)s: %(message)s")
    wire = arguments.wire
    wires = BOTH if wire is None else (Wire(wire.removeprefix("a2a-")),)
    agent = DemoAgent(arguments.name, token=arguments.token, wires=wires)
    host = f"[{arguments.host}]" if ":" in arguments.host else arguments.host

    def announce(serving: Serving) -> None:
        if arguments.json:
            card = f"{serving.url}.well-known/agent-card.json"
            print_json({"event": "ready", "url": serving.url, "card": card})
            return
        print_line(f"Agent {arguments.name} listening on {serving.url} (press Ctrl-C to stop)")
        print_line(f"Its card is at {serving.url}.well-known/agent-card.json")
        added = f"accord agent add {arguments.name} {serving.url} --allow-agents {arguments.host}"
        print_line(f"Register it: {added}")

    agent.run(f"http://{host}:{arguments.port}/", on_listen=announce)
    return exits.OK
