"""A stranger's first minutes: from a wheel and an empty folder to an assistant that is connected
and a workflow that has finished.

`python3 tools/stranger.py dist/accord-….whl` needs nothing but Python and its package index. What
it starts sees no other program and nothing of the person's home. `--client` names a Python that
has the official MCP SDK; without it one is made. Exits with 1 at the first step that goes wrong.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import venv
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final, NoReturn
from urllib.parse import urljoin
from urllib.request import urlopen

PATIENCE: Final = 120.0
"""Seconds that anything but an installation may take."""
CONSTRAINTS: Final = Path(__file__).parent.parent / "requirements.lock"

WORKFLOW: Final = """\
name: greet
steps:
  - {name: greet, type: agent, agent: demo, input: "echo Hello ${input.who}"}
  - {name: keep, type: call, operation: create_epic, input: {title: "${steps.greet.output}"}}
output: {said: "${steps.greet.output}", kept_as: "${steps.keep.output.reference_id}"}
"""

ASSISTANT: Final = """\
import asyncio, json, sys
from mcp import Client
from mcp.client.streamable_http import create_mcp_http_client, streamable_http_client

async def main(url, token):
    headers = {"Authorization": f"Bearer {token}"}
    async with (
        create_mcp_http_client(headers=headers) as http,
        Client(streamable_http_client(url, http_client=http)) as client,
    ):
        steps = [{"operation": "create_epic", "arguments": {"title": "Payments"}}]
        asked = {"reason": "People have to pay", "steps": steps}
        proposal = (await client.call_tool("propose_changes", asked)).structured_content
        tools = (await client.list_tools()).tools
        print(json.dumps({"tools": len(tools), "proposal": proposal["id"]}))

asyncio.run(main(*sys.argv[1:]))
"""


class WalkError(Exception):
    """What went wrong, for people."""


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("wheel", type=Path)
    parser.add_argument("--client", metavar="PYTHON", help="one with the official MCP SDK")
    given = parser.parse_args()
    began = time.monotonic()
    with tempfile.TemporaryDirectory(prefix="accord-stranger-") as folder:
        try:
            Walk(Path(folder)).go(given.wheel.resolve(), given.client)
        except WalkError as error:
            print(f"      {error}", file=sys.stderr)
            return 1
    print(f"all of it took {time.monotonic() - began:.0f} seconds")
    return 0


class Walk:
    """Everything happens in one folder, which was empty."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._bin = folder / "environment" / "bin"
        self._steps = 0

    def go(self, wheel: Path, client: str | None) -> None:
        """Raises WalkError."""
        self._do("install the wheel", lambda: self._install(wheel))
        with self._serving(
            "serve", "--data", "data", "--port", "0", "--allow-agents", "127.0.0.1"
        ) as url:
            self._say(f"the server is ready at {url}")
            self._do("open the first page, with all it loads", lambda: _open_page(url))
            self._do("look for problems", lambda: self._accord("doctor"))
            self._do("connect the official MCP client", lambda: self._assist(url, client))
            with self._serving("agent", "demo", "--port", "0") as agent:
                self._say(f"an agent is at {agent}")
                self._do("run a workflow", lambda: self._run_workflow(agent))
            self._do("keep a copy of it all", self._back_up)
        self._say("the server has stopped")

    def _install(self, wheel: Path) -> str:
        _make_environment(self._bin.parent)
        _pip(self._bin / "python", "--constraint", str(_unhashed(self._folder)), f"{wheel}[all]")
        return self._accord("--version")

    def _assist(self, url: str, client: str | None) -> str:
        if client is None:
            other = self._folder / "assistant"
            _make_environment(other)
            client = str(other / "bin" / "python")
            _pip(Path(client), "--pre", "mcp>=2.0.0b1")
        first = (self._folder / "data" / "first-run.txt").read_text()
        token = re.search(r"accord_pat_\w+", first)
        if token is None:
            _fail("there is no token in first-run.txt")
        done = self._output(client, "-c", ASSISTANT, f"{url}/api/v1/mcp", token[0])
        seen = json.loads(done)
        if not seen["tools"]:
            _fail(f"the assistant saw {done}")
        accepted = self._accord("hub", "do", "accept_proposal", f"id={seen['proposal']}", "--json")
        if json.loads(accepted)["results"][0]["result"]["reference_id"] != "EP-001":
            _fail(f"accepting what it proposed gave {accepted}")
        return f"{seen['tools']} tools; it proposed EP-001, and somebody accepted it"

    def _run_workflow(self, agent: str) -> str:
        (self._folder / "greet.yaml").write_text(WORKFLOW)
        self._accord("agent", "add", "demo", agent, "--allow-agents", "127.0.0.1")
        self._accord("workflow", "save", "greet.yaml")
        said = self._accord("workflow", "run", "greet", "--input", '{"who": "stranger"}', "--wait")
        if json.loads(said) != {"said": "Hello stranger", "kept_as": "EP-002"}:
            _fail(f"the run ended with {said}")
        return "Hello stranger"

    def _back_up(self) -> str:
        return self._accord("backup", "copy.tar.gz").splitlines()[0]

    def _accord(self, *arguments: str) -> str:
        where = () if arguments[0].startswith("-") else ("--data", "data")
        return self._output(str(self._bin / "accord"), *arguments, *where)

    def _output(self, *command: str) -> str:
        done = subprocess.run(
            command,
            cwd=self._folder,
            env=self._environment(),
            capture_output=True,
            text=True,
            timeout=PATIENCE,
            check=False,
        )
        if done.returncode:
            said = done.stderr or done.stdout
            _fail(f"{' '.join(command[:3])} ended with {done.returncode}: {said}")
        return done.stdout.strip()

    @contextmanager
    def _serving(self, *arguments: str) -> Iterator[str]:
        """The address that a program of ours says it is at; it is stopped at the end."""
        log = (self._folder / f"{arguments[0]}.log").open("w")
        process = subprocess.Popen(
            [str(self._bin / "accord"), *arguments],
            cwd=self._folder,
            env=self._environment(),
            stdout=subprocess.PIPE,
            stderr=log,
            text=True,
        )
        assert process.stdout is not None
        try:
            address = re.search(r"http://[\w.:]+", process.stdout.readline())
            if address is None:
                _fail(f"accord {arguments[0]} did not start: {Path(log.name).read_text()}")
            yield address[0]
            process.send_signal(signal.SIGTERM)
            if process.wait(PATIENCE):
                _fail(f"accord {arguments[0]} ended with {process.returncode}")
        finally:
            process.kill()
            process.communicate()
            log.close()

    def _environment(self) -> dict[str, str]:
        """That of somebody who has Python and nothing else."""
        found = self._folder / "programs"
        if not found.exists():
            found.mkdir()
            (found / "python3").symlink_to(shutil.which("python3") or sys.executable)
        return {"PATH": str(found), "HOME": str(self._folder)}

    def _do(self, what: str, step: Callable[[], str]) -> None:
        self._say(what)
        began = time.monotonic()
        came = step()
        print(f"      {came.splitlines()[-1]} ({time.monotonic() - began:.1f} s)", flush=True)

    def _say(self, what: str) -> None:
        self._steps += 1
        print(f"{self._steps:>4}. {what}", flush=True)


def _open_page(url: str) -> str:
    """What the page that everybody sees first loads; htmx must be among it."""
    with urlopen(url, timeout=PATIENCE) as answer:
        where, page = answer.url, answer.read().decode()
    parts = re.findall(r'(?:src|href)="([^"]*/static/[^"]+)"', page)
    for part in parts:
        with urlopen(urljoin(where, part), timeout=PATIENCE) as answer:
            answer.read()
    if not any("htmx" in part for part in parts):
        _fail("the page has no htmx: was the wheel built after `make assets`?")
    return f"{len(parts)} files"


def _make_environment(folder: Path) -> None:
    venv.create(folder, with_pip=True, symlinks=True)


def _unhashed(folder: Path) -> Path:
    """The versions of the lock file as constraints, which have neither hashes nor extras."""
    kept = folder / "constraints.txt"
    lines = CONSTRAINTS.read_text().splitlines()
    pins = (re.sub(r"\[.*?\]", "", line) for line in lines if line[:1].isalnum())
    kept.write_text("\n".join(pin.removesuffix(" \\") for pin in pins))
    return kept


def _pip(python: Path, *arguments: str) -> None:
    command = [
        str(python),
        "-m",
        "pip",
        "install",
        "--quiet",
        "--disable-pip-version-check",
        *arguments,
    ]
    done = subprocess.run(command, env=_outside(), capture_output=True, text=True, check=False)
    if done.returncode:
        _fail(f"pip could not install {arguments[-1]}: {done.stderr}")


def _outside() -> dict[str, Any]:
    """Who installs reaches the package index as the person does, with nothing of their Python."""
    return {
        name: value
        for name, value in os.environ.items()
        if name not in ("PYTHONPATH", "VIRTUAL_ENV")
    }


def _fail(what: str) -> NoReturn:
    raise WalkError(what)


if __name__ == "__main__":
    sys.exit(main())
